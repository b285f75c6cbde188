"""Replica assignments for benchmarks: like Kafka's, or random.

The difference matters to a codec. Kafka's assignment repeats a few distinct lists, so a cache of lists helps. Random
lists hardly ever repeat, so a cache does not help.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence
    from random import Random


def kafka_like(random: Random, brokers: Sequence[int], partitions: int, factor: int) -> list[tuple[int, ...]]:
    """Assign as Kafka does without racks: leaders in turn, followers with a shift that grows after each round."""
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
    """Assign random brokers to every partition."""
    return [tuple(random.sample(brokers, factor)) for _ in range(partitions)]
