"""ZooKeeper transactions that turn one state of a topic into another.

All changes of a topic go into one transaction. Only changes too large for one ZooKeeper packet are split: registration,
configs, and the audit entry first, then partition states, which can be rebuilt from them. Every write is conditional on
the version that was read. All functions are pure.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from kwire_cluster.controller.topic_state import MALFORMED, NO_ZNODE, Partition, Topic
from kwire_cluster.zookeeper.configs import ConfigChangeNotification, EntityConfig
from kwire_cluster.zookeeper.operations import Create, Delete, Operation, SetData
from kwire_cluster.zookeeper.topics import DeletionMarker, TopicRegistration

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from kwire_cluster.zookeeper.configs import NotificationFormat

MAX_TRANSACTION_SIZE = 700_000
"""Bytes of paths and data plus 100 for each operation: safely below the packet limit of 1 MB."""

_OPERATION_OVERHEAD = 100


class TopicWrites(NamedTuple):
    """Planned writes of one topic.

    Attributes:
        transactions: in order, each without the check of the controller epoch.
        after: the topic with its new znode versions once all transactions are committed.
    """

    transactions: list[list[Operation]]
    after: Topic


class _StateWrites(NamedTuple):
    """The partition states to write, and the partitions with the new versions of their states."""

    operations: list[Operation]
    partitions: tuple[Partition, ...]
    has_partitions_znode: bool


def plan_writes(
    before: Topic | None,
    after: Topic,
    stale_config_version: int = NO_ZNODE,
    notification_form: NotificationFormat = "v2",
    audit: Sequence[Operation] = (),
) -> TopicWrites:
    """Plan the writes that turn `before` into `after`; there are no transactions if both are equal.

    Args:
        before: the topic as last read or written, None to create it.
        after: the topic to write.
        stale_config_version: for a new topic, the version of configs that already exist in ZooKeeper.
        notification_form: the form of the notification about changed configs.
        audit: the write of the audit entry, if the change has an author.
    """
    operations: list[Operation] = []
    written = after
    if before is None or _registration_differs(before, after):
        data = after.registration().encode()
        path = TopicRegistration.path(after.name)
        operations.append(Create(path, data) if before is None else SetData(path, data, before.version))
        written = replace(written, version=0 if before is None else before.version + 1)
    if before is None or before.config != after.config:
        version = stale_config_version if before is None else before.config_version
        data = EntityConfig(after.config, after.config_unknown).encode()
        path = EntityConfig.path("topics", after.name)
        operations.append(Create(path, data) if version == NO_ZNODE else SetData(path, data, version))
        written = replace(written, config_version=version + 1)
    if before is not None and before.config != after.config:
        notification = ConfigChangeNotification(f"topics/{after.name}").encode(notification_form)
        operations.append(Create(ConfigChangeNotification.path(), notification, sequential=True))
    together = max(len(operations), 1) + len(audit)
    had_partitions_znode = before is not None and before.has_partitions_znode
    states = _plan_states(before, after, has_partitions_znode=had_partitions_znode)
    operations += states.operations
    if operations:
        operations[1:1] = audit  # not first: the first operation shows whether a transaction was applied
    if states.operations or states.has_partitions_znode != had_partitions_znode:
        written = replace(written, partitions=states.partitions, has_partitions_znode=states.has_partitions_znode)
    return TopicWrites(split_transactions(operations, together), written)


def _registration_differs(before: Topic, after: Topic) -> bool:
    if before.topic_id != after.topic_id or before.reassignments != after.reassignments:
        return True
    if len(before.partitions) != len(after.partitions):
        return True
    return any(
        one.id != other.id or (one.replicas is not other.replicas and one.replicas != other.replicas)
        for one, other in zip(before.partitions, after.partitions, strict=True)
    )


def _plan_states(before: Topic | None, after: Topic, *, has_partitions_znode: bool) -> _StateWrites:
    parent = f"{TopicRegistration.path(after.name)}/partitions"
    operations: list[Operation] = []
    partitions = []
    old = () if before is None else before.partitions
    for place, partition in enumerate(after.partitions):
        state = partition.state
        earlier = old[place] if place < len(old) and old[place].id == partition.id else None
        unchanged = earlier is not None and earlier.state is state
        if state is None or partition.version == MALFORMED or unchanged:
            partitions.append(partition)
            continue
        if not has_partitions_znode:
            operations.append(Create(parent))
            has_partitions_znode = True
        path = f"{parent}/{partition.id}"
        if partition.version == NO_ZNODE:
            operations += (Create(path), Create(f"{path}/state", state.encode()))
            version = 0
        elif partition.version < 0:
            operations.append(Create(f"{path}/state", state.encode()))
            version = 0
        else:
            operations.append(SetData(f"{path}/state", state.encode(), partition.version))
            version = partition.version + 1
        partitions.append(Partition(partition.id, partition.replicas, state, version))
    return _StateWrites(operations, tuple(partitions), has_partitions_znode)


def plan_deletion(name: str, descendants: Iterable[str], *, has_config: bool) -> list[list[Operation]]:
    """Plan the deletion of a topic.

    If the operations need several transactions, the deletion marker goes last, so that an interrupted deletion
    continues.

    Args:
        name: the topic.
        descendants: full paths of all znodes below the topic's registration.
        has_config: true if the topic's configs exist.
    """
    operations: list[Operation] = [Delete(path) for path in sorted(descendants, key=lambda path: -path.count("/"))]
    operations.append(Delete(TopicRegistration.path(name)))
    if has_config:
        operations.append(Delete(EntityConfig.path("topics", name)))
    operations.append(Delete(DeletionMarker.path(name)))
    return split_transactions(operations)


def split_transactions(operations: Sequence[Operation], together: int = 1) -> list[list[Operation]]:
    """Split operations into as few transactions as fit; one operation that is too large stays alone.

    The first `together` operations are in one transaction, whatever their size.
    """
    transactions: list[list[Operation]] = []
    size = 0
    for number, operation in enumerate(operations):
        data = getattr(operation, "data", b"")
        added = len(operation.path.encode()) + len(data) + _OPERATION_OVERHEAD
        if not number or (number >= together and size + added > MAX_TRANSACTION_SIZE):
            transactions.append([])
            size = 0
        transactions[-1].append(operation)
        size += added
    return transactions
