"""From a topic as it is to the topic as it should be: the writes, and the topic once they have taken place.

Rules of this file: pure functions. A topic is one transaction. Only one too large for a ZooKeeper packet is cut: what
counts comes first (registration and settings), states of partitions behind it, which can be made up at any time from
what came first. Every write is conditional on the version that was read.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from kwire.cluster.controller.state import NO_NODE, UNREADABLE, Partition, Topic
from kwire.cluster.zookeeper.configs import ConfigChange, EntityConfig
from kwire.cluster.zookeeper.operations import Create, Delete, Operation, Set
from kwire.cluster.zookeeper.topics import DeletionMarker, TopicRegistration

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

__all__ = ["LARGEST_TRANSACTION", "TopicWrites", "cut", "deletion", "writes"]

LARGEST_TRANSACTION = 700_000
"""Bytes, by our own count of paths, data and 100 for each operation: safely less than the packet of 1 MB."""

_STEP = ("/brokers/topics/", "/partitions")


class TopicWrites(NamedTuple):
    """``transactions``: in order, each without the check of the controller epoch; ``after``: with new versions."""

    transactions: list[list[Operation]]
    after: Topic


def writes(before: Topic | None, wanted: Topic, config_version: int = NO_NODE) -> TopicWrites:
    """What makes ``wanted`` of ``before``; no transactions when they are equal.

    ``config_version``: of settings that somebody left behind for a topic that is only now created.
    """
    operations: list[Operation] = []
    after = wanted
    if before is None or _registration_differs(before, wanted):
        data = wanted.registration().encode()
        path = TopicRegistration.path(wanted.name)
        operations.append(Create(path, data) if before is None else Set(path, data, before.version))
        after = replace(after, version=0 if before is None else before.version + 1)
    if before is None or before.config != wanted.config:
        had = config_version if before is None else before.config_version
        data = EntityConfig(wanted.config, wanted.config_unknown).encode()
        path = EntityConfig.path("topics", wanted.name)
        operations.append(Create(path, data) if had == NO_NODE else Set(path, data, had))
        after = replace(after, config_version=had + 1)
    had_partitions = before is not None and before.has_partitions_node
    partitions, states, made_partitions = _states(before, wanted, had_partitions=had_partitions)
    operations += states
    if before is not None and before.config != wanted.config:
        note = ConfigChange(f"topics/{wanted.name}").encode()
        operations.append(Create(ConfigChange.path(), note, sequential=True))
    if states or made_partitions != had_partitions:
        after = replace(after, partitions=partitions, has_partitions_node=made_partitions)
    return TopicWrites(cut(operations), after)


def _registration_differs(before: Topic, wanted: Topic) -> bool:
    if before.topic_id != wanted.topic_id or before.moves != wanted.moves:
        return True
    if len(before.partitions) != len(wanted.partitions):
        return True
    return any(
        one.id != other.id or (one.replicas is not other.replicas and one.replicas != other.replicas)
        for one, other in zip(before.partitions, wanted.partitions, strict=True)
    )


def _states(
    before: Topic | None, wanted: Topic, *, had_partitions: bool
) -> tuple[tuple[Partition, ...], list[Operation], bool]:
    above = f"{_STEP[0]}{wanted.name}{_STEP[1]}"
    operations: list[Operation] = []
    partitions = []
    old = () if before is None else before.partitions
    for place, partition in enumerate(wanted.partitions):
        state = partition.state
        earlier = old[place] if place < len(old) and old[place].id == partition.id else None
        if state is None or partition.version == UNREADABLE or (earlier is not None and earlier.state is state):
            partitions.append(partition)
            continue
        if not had_partitions:
            operations.append(Create(above))
            had_partitions = True
        path = f"{above}/{partition.id}"
        if partition.version == NO_NODE:
            operations += (Create(path), Create(f"{path}/state", state.encode()))
            version = 0
        elif partition.version < 0:
            operations.append(Create(f"{path}/state", state.encode()))
            version = 0
        else:
            operations.append(Set(f"{path}/state", state.encode(), partition.version))
            version = partition.version + 1
        partitions.append(Partition(partition.id, partition.replicas, state, version))
    return tuple(partitions), operations, had_partitions


def deletion(name: str, below: Iterable[str], *, has_config: bool) -> list[list[Operation]]:
    """What removes a topic whose registration has ``below`` it these nodes (full paths).

    Should it have to be cut, the marker goes last, so that a deletion that was broken off is taken up again.
    """
    operations: list[Operation] = [Delete(path) for path in sorted(below, key=lambda path: -path.count("/"))]
    operations.append(Delete(TopicRegistration.path(name)))
    if has_config:
        operations.append(Delete(EntityConfig.path("topics", name)))
    operations.append(Delete(DeletionMarker.path(name)))
    return cut(operations)


def cut(operations: Sequence[Operation]) -> list[list[Operation]]:
    """The operations in as few transactions as they fit into; a single one that is too large stays as it is."""
    transactions: list[list[Operation]] = []
    size = LARGEST_TRANSACTION + 1
    for operation in operations:
        data = getattr(operation, "data", b"")
        more = len(operation.path.encode()) + len(data) + 100
        if size + more > LARGEST_TRANSACTION:
            transactions.append([])
            size = 0
        transactions[-1].append(operation)
        size += more
    return transactions
