"""Where replicas stand: as Kafka's controller places them, or anywhere.

It matters to a codec. Kafka's placement repeats few distinct lists over and over, so whatever remembers a list wins;
random triples repeat almost never, so it loses.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence
    from random import Random


def kafka_like(random: Random, brokers: Sequence[int], partitions: int, factor: int) -> list[tuple[int, ...]]:
    """Kafka's own placement without racks: leaders in turn, followers at a distance that grows with every full turn."""
    count = len(brokers)
    start = random.randrange(count)
    shift = random.randrange(count)
    assignment = []
    for partition in range(partitions):
        if partition > 0 and partition % count == 0:
            shift += 1
        first = (partition + start) % count
        followers = ((first + 1 + (shift + turn) % (count - 1)) % count for turn in range(factor - 1))
        assignment.append((brokers[first], *(brokers[index] for index in followers)))
    return assignment


def random_triples(random: Random, brokers: Sequence[int], partitions: int, factor: int) -> list[tuple[int, ...]]:
    """Every partition on brokers of its own choice."""
    return [tuple(random.sample(brokers, factor)) for _ in range(partitions)]
