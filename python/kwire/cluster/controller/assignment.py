"""Which brokers hold which partition, when nobody says so: Kafka's rules (``AdminUtils``, Kafka 3.9).

Rules of this file: pure functions; what is random comes from the caller's ``random.Random``. Replicas are spread so
that each broker leads its share, and that the followers of what one broker leads are spread over all others. Where
every broker has a rack, the replicas of a partition stand in as many racks as can be.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kwire.cluster.controller.errors import AdminError
from kwire.messages.kip4.error_codes import ErrorCode

if TYPE_CHECKING:
    import random
    from collections.abc import Mapping, Sequence

__all__ = ["assign", "extend", "rack_alternated"]


def assign(
    racks: Mapping[int, str | None],
    partitions: int,
    replication_factor: int,
    rng: random.Random,
    *,
    start_index: int = -1,
    first_partition: int = 0,
) -> list[tuple[int, ...]]:
    """The replicas of ``partitions`` partitions, the first of which has the number ``first_partition``.

    ``racks``: of every live broker; they count only where none is None. ``start_index``: the place, in the list of
    brokers, of the first replica of partition 0, and how far followers are shifted; -1: chosen at random.
    Errors: AdminError 1002 for fewer than one partition, 1004 for a factor below one or above the number of brokers.
    """
    if partitions < 1:
        raise AdminError(ErrorCode.INVALID_ARGUMENT_PARTITIONS, f"a topic cannot have {partitions} partitions")
    if not 1 <= replication_factor <= len(racks):
        reason = f"replication factor {replication_factor} with {len(racks)} live brokers"
        raise AdminError(ErrorCode.INVALID_ARGUMENT_REPLICATION_FACTOR, reason)
    known = {broker: rack for broker, rack in racks.items() if rack is not None}
    rack_aware = len(known) == len(racks)
    brokers = rack_alternated(known) if rack_aware else sorted(racks)
    first = start_index if start_index >= 0 else rng.randrange(len(brokers))
    shift = start_index if start_index >= 0 else rng.randrange(len(brokers))
    numbers = range(first_partition, first_partition + partitions)
    if rack_aware:
        return _rack_aware(brokers, known, numbers, replication_factor, first, shift)
    return _rack_unaware(brokers, numbers, replication_factor, first, shift)


def extend(
    racks: Mapping[int, str | None],
    first_replicas: Sequence[int],
    existing: int,
    added: int,
    replication_factor: int,
    rng: random.Random,
) -> list[tuple[int, ...]]:
    """The replicas of ``added`` partitions that follow on ``existing`` ones, going on where those stopped.

    ``first_replicas``: of partition 0, whose head tells where the assignment began. Errors: as ``assign``.
    """
    ordered = sorted(racks)
    head = first_replicas[0] if first_replicas else -1
    # Kafka looks the broker up in the list by id, also where it then uses the list by racks.
    start_index = next((index for index, broker in enumerate(ordered) if broker >= head), -1)
    return assign(racks, added, replication_factor, rng, start_index=max(0, start_index), first_partition=existing)


def rack_alternated(racks: Mapping[int, str]) -> list[int]:
    """The brokers in turns from each rack: racks by name, brokers of a rack by id."""
    by_rack: dict[str, list[int]] = {}
    for broker in sorted(racks):
        by_rack.setdefault(racks[broker], []).append(broker)
    shelves = [by_rack[rack] for rack in sorted(by_rack)]
    longest = max(map(len, shelves), default=0)
    return [shelf[turn] for turn in range(longest) for shelf in shelves if turn < len(shelf)]


def _rack_unaware(
    brokers: Sequence[int], numbers: range, replication_factor: int, start: int, shift: int
) -> list[tuple[int, ...]]:
    count = len(brokers)
    assigned = []
    for number in numbers:
        if number > 0 and number % count == 0:
            shift += 1
        first = (number + start) % count
        replicas = [brokers[first]]
        replicas += [brokers[_follower(first, shift, step, count)] for step in range(replication_factor - 1)]
        assigned.append(tuple(replicas))
    return assigned


def _rack_aware(
    brokers: Sequence[int],
    racks: Mapping[int, str],
    numbers: range,
    replication_factor: int,
    start: int,
    shift: int,
) -> list[tuple[int, ...]]:
    count = len(brokers)
    rack_count = len(set(racks.values()))
    assigned = []
    for number in numbers:
        if number > 0 and number % count == 0:
            shift += 1
        first = (number + start) % count
        leader = brokers[first]
        replicas = [leader]
        racks_used = {racks[leader]}
        step = 0
        while len(replicas) < replication_factor:
            broker = brokers[_follower(first, shift * rack_count, step, count)]
            step += 1
            # A rack is used again only once all are; a broker never, since the factor is at most their number.
            if broker not in replicas and (racks[broker] not in racks_used or len(racks_used) == rack_count):
                replicas.append(broker)
                racks_used.add(racks[broker])
        assigned.append(tuple(replicas))
    return assigned


def _follower(first: int, shift: int, step: int, count: int) -> int:
    return (first + 1 + (shift + step) % (count - 1)) % count
