"""Automatic replica assignment: Kafka's rules (`AdminUtils`, Kafka 3.9).

Leaders are spread evenly over the brokers, and the followers of one leader's partitions over all other brokers. If
every broker has a rack, the replicas of a partition are spread over as many racks as possible. All functions are pure;
randomness comes from the `random.Random` of the caller.
"""

from __future__ import annotations

from kwire._util.light_typing import TYPE_CHECKING
from kwire._util.readable import counted
from kwire.errors import KwireError
from kwire.messages.kip4.error_codes import ErrorCode

if TYPE_CHECKING:
    import random
    from collections.abc import Mapping, Sequence

__all__ = ["ImpossibleAssignment", "alternate_racks", "assign_added_replicas", "assign_replicas"]


class ImpossibleAssignment(KwireError):
    """No assignment has this number of partitions or replicas.

    Attributes:
        code: the error code of the KIP-4 drafts.
        reason: the error for people.
    """

    def __init__(self, code: ErrorCode, reason: str) -> None:
        super().__init__(code, reason)
        self.code = code
        self.reason = reason

    def __str__(self) -> str:
        return self.reason


def assign_replicas(
    racks: Mapping[int, str | None],
    partitions: int,
    replication_factor: int,
    rng: random.Random,
    *,
    start_index: int = -1,
    first_partition: int = 0,
) -> list[tuple[int, ...]]:
    """Return the replicas of consecutive partitions.

    Args:
        racks: the rack of every live broker. Racks are ignored unless every broker has one.
        partitions: the number of partitions to assign.
        replication_factor: the number of replicas of each partition.
        rng: chooses the start.
        start_index: index, in the list of brokers, of the first replica of partition 0, and the initial shift of the
            followers; -1 chooses both at random.
        first_partition: the id of the first partition to assign.

    Raises:
        ImpossibleAssignment: code 1002 for fewer than one partition, 1004 for a replication factor below 1 or above the
            number of brokers.
    """
    if partitions < 1:
        raise ImpossibleAssignment(ErrorCode.INVALID_ARGUMENT_PARTITIONS, f"invalid number of partitions: {partitions}")
    if not 1 <= replication_factor <= len(racks):
        reason = f"invalid replication factor {replication_factor} for {counted(len(racks), 'live broker')}"
        raise ImpossibleAssignment(ErrorCode.INVALID_ARGUMENT_REPLICATION_FACTOR, reason)
    known_racks = {broker: rack for broker, rack in racks.items() if rack is not None}
    rack_aware = len(known_racks) == len(racks)
    brokers = alternate_racks(known_racks) if rack_aware else sorted(racks)
    first = start_index if start_index >= 0 else rng.randrange(len(brokers))
    shift = start_index if start_index >= 0 else rng.randrange(len(brokers))
    numbers = range(first_partition, first_partition + partitions)
    if rack_aware:
        return _assign_rack_aware(brokers, known_racks, numbers, replication_factor, first, shift)
    return _assign_rack_unaware(brokers, numbers, replication_factor, first, shift)


def assign_added_replicas(
    racks: Mapping[int, str | None],
    first_replicas: Sequence[int],
    existing: int,
    added: int,
    replication_factor: int,
    rng: random.Random,
) -> list[tuple[int, ...]]:
    """Return the replicas of partitions that are added to a topic, continuing the pattern of the existing ones.

    Args:
        racks: the rack of every live broker.
        first_replicas: the replicas of partition 0; the first one shows where the assignment started.
        existing: the number of existing partitions.
        added: the number of partitions to add.
        replication_factor: the number of replicas of each partition.
        rng: as for `assign_replicas`.

    Raises:
        ImpossibleAssignment: as for `assign_replicas`.
    """
    ordered = sorted(racks)
    head = first_replicas[0] if first_replicas else -1
    # Kafka looks up the broker in the list sorted by id, even if it then uses the list sorted by racks.
    start_index = next((index for index, broker in enumerate(ordered) if broker >= head), -1)
    return assign_replicas(
        racks, added, replication_factor, rng, start_index=max(0, start_index), first_partition=existing
    )


def alternate_racks(racks: Mapping[int, str]) -> list[int]:
    """Return the brokers, taking one from each rack in turn: racks by name, brokers of a rack by id."""
    by_rack: dict[str, list[int]] = {}
    for broker in sorted(racks):
        by_rack.setdefault(racks[broker], []).append(broker)
    groups = [by_rack[rack] for rack in sorted(by_rack)]
    longest = max(map(len, groups), default=0)
    return [group[turn] for turn in range(longest) for group in groups if turn < len(group)]


def _assign_rack_unaware(
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


def _assign_rack_aware(
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
            # A rack is used again only after all racks are used. Brokers suffice: the factor is at most their number.
            if broker not in replicas and (racks[broker] not in racks_used or len(racks_used) == rack_count):
                replicas.append(broker)
                racks_used.add(racks[broker])
        assigned.append(tuple(replicas))
    return assigned


def _follower(first: int, shift: int, step: int, count: int) -> int:
    return (first + 1 + (shift + step) % (count - 1)) % count
