"""Requests about replicas and leaders: reassignment, preferred leader election, and controlled shutdown.

There is one function for each of these methods of `AdminBackend`; the consumer of the event queue runs it. Success
means that the request is stored in ZooKeeper and survives this controller; the work itself may take longer. What
validates requests against the cluster state are pure functions.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kwire.messages.kip4.error_codes import ErrorCode
from kwire.messages.kip4.structures import TopicReassignment
from kwire_cluster.controller.backend import Outcome, TopicReassignmentStatus
from kwire_cluster.controller.errors import CommandError, reassignment_in_progress, write_failed
from kwire_cluster.controller.fenced_writer import WriteConflict
from kwire_cluster.controller.manual_assignment import by_partition, check_targets
from kwire_cluster.controller.partition_reassignment import (
    begin_reassignments,
    cancel_reassignments,
    elect_listed,
    list_reassignments,
    lock_reassignment,
    start_pending_reassignments,
    write_preferred_leaders,
)
from kwire_cluster.controller.topic_plans import check_states_readable, existing_topic, require_topic
from kwire_cluster.controller.topic_transitions import elect_leaders_for_shutdown
from kwire_cluster.zookeeper.admin_requests import (
    ListedPartition,
    PartitionReassignment,
    PreferredReplicaElection,
    ReassignPartitions,
)
from kwire_cluster.zookeeper.errors import NodeExists, PacketTooLarge, SessionExpired, StoreClosed, StoreError
from kwire_cluster.zookeeper.operations import Create

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from kwire.messages.kip4.preferred_replica_leader_election import TopicPartitions
    from kwire.messages.kip4.structures import PartitionReplicas
    from kwire_cluster.controller.cluster_state import Cluster
    from kwire_cluster.controller.controller_context import ControllerContext
    from kwire_cluster.controller.topic_state import Topic
    from kwire_cluster.zookeeper.operations import Operation

REASSIGNING = 0
COMPLETED = 1
FAILED = -1


def reassignment_targets(
    name: str, partitions: Sequence[PartitionReplicas], cluster: Cluster
) -> dict[int, tuple[int, ...]]:
    """Return the target replicas of the partitions that do not have them yet.

    Raises:
        CommandError: code 3, 1005, or 1009.
    """
    if cluster.is_reassigning:
        raise reassignment_in_progress()
    topic = require_topic(name, cluster)
    targets = by_partition(partitions)
    _check_partitions_exist(topic, targets)
    check_targets(targets, cluster.brokers)
    check_states_readable(topic, targets)
    return {
        index: replicas
        for index, replicas in targets.items()
        if (partition := topic.partition(index)) is not None and partition.replicas != replicas
    }


def is_cancellation(partitions: Sequence[PartitionReplicas]) -> bool:
    """Return whether a request lists no replicas for any of its partitions: it cancels their reassignments."""
    return bool(partitions) and not any(partition.replica_ids for partition in partitions)


def reassignments_to_cancel(name: str, partitions: Sequence[PartitionReplicas], cluster: Cluster) -> list[int]:
    """Return the partitions to cancel the reassignment of, which may belong to a topic that is marked for deletion.

    Raises:
        CommandError: code 3 or 1005.
    """
    topic = existing_topic(name, cluster)
    indexes = list(by_partition(partitions))
    _check_partitions_exist(topic, indexes)
    for index in indexes:
        if index not in topic.reassignments and (name, index) not in cluster.pending_reassignments:
            reason = f"partition {index}: has no replicas, which cancels a reassignment, but none is in progress"
            raise CommandError(ErrorCode.INVALID_ARGUMENT_REPLICA_ASSIGNMENT, reason)
    return indexes


def reassignment_status(name: str, partitions: Sequence[PartitionReplicas], cluster: Cluster) -> dict[int, int]:
    """Return the status of each partition: REASSIGNING, COMPLETED, or FAILED.

    FAILED means that the partition does not have the given replicas and is not being reassigned.

    Raises:
        CommandError: code 3 or 1005.
    """
    topic = existing_topic(name, cluster)
    targets = by_partition(partitions)
    _check_partitions_exist(topic, targets)
    return {index: _status(topic, index, replicas, cluster) for index, replicas in targets.items()}


def ongoing_reassignments(cluster: Cluster) -> dict[str, list[int]]:
    """Return the partitions that are being reassigned, by topic."""
    ongoing: dict[str, set[int]] = {
        topic.name: set(topic.reassignments) for topic in cluster.topics if topic.reassignments
    }
    for name, partition in cluster.pending_reassignments:
        ongoing.setdefault(name, set()).add(partition)
    return {name: sorted(partitions) for name, partitions in sorted(ongoing.items())}


def choose_partitions(name: str, indexes: Sequence[int], cluster: Cluster) -> list[int]:
    """Return the partitions to elect a preferred leader for: all partitions of the topic if none are named.

    Raises:
        CommandError: code 3 or 1008.
    """
    reason = None
    if len(set(indexes)) != len(indexes):
        reason = f"partitions of topic {name[:249]!r} are named more than once"
    elif any(index < 0 for index in indexes):
        reason = f"invalid partition {min(indexes)} of topic {name[:249]!r}: partition ids start at 0"
    if reason is not None:
        raise CommandError(ErrorCode.INVALID_ARGUMENT_PREFERRED_REPLICA_ELECTION_DATA, reason)
    topic = require_topic(name, cluster)
    _check_partitions_exist(topic, indexes)
    return list(indexes) if indexes else [partition.id for partition in topic.partitions]


def _status(topic: Topic, index: int, replicas: tuple[int, ...], cluster: Cluster) -> int:
    if index in topic.reassignments or (topic.name, index) in cluster.pending_reassignments:
        return REASSIGNING
    partition = topic.partition(index)
    return COMPLETED if partition is not None and partition.replicas == replicas else FAILED


def _check_partitions_exist(topic: Topic, indexes: Iterable[int]) -> None:
    for index in indexes:
        if topic.partition(index) is None:
            reason = f"topic {topic.name!r} has no partition {index}"
            raise CommandError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, reason)


async def reassign_partitions(
    context: ControllerContext, topics: Sequence[TopicReassignment], author: str, *, validate_only: bool = False
) -> list[Outcome]:
    """Store a reassignment in ZooKeeper, which starts after the response, or cancel reassignments.

    A topic without replicas for any of its partitions cancels the reassignments of these partitions (as in KIP-455).
    With `validate_only`, nothing is written.
    """
    merged = _merge(topics)
    errors: dict[str, CommandError] = {}
    requested: list[PartitionReassignment] = []
    canceled: dict[str, list[int]] = {}
    for name, topic in merged.items():
        try:
            if is_cancellation(topic.partitions):
                canceled[name] = reassignments_to_cancel(name, topic.partitions, context.cluster)
                continue
            targets = reassignment_targets(name, topic.partitions, context.cluster)
        except CommandError as error:
            errors[name] = error
        else:
            requested += [PartitionReassignment(name, index, replicas) for index, replicas in targets.items()]
    if validate_only:
        if requested and await _exists(context, ReassignPartitions.path()):
            errors |= dict.fromkeys((one.topic for one in requested), reassignment_in_progress())
        return _outcomes(merged, errors)
    if canceled:
        failed = await cancel_reassignments(context, canceled, author)
        errors |= {name: write_failed(error) for name, error in failed.items()}
    if requested:
        errors |= await _request_reassignment(context, requested, author)
        context.queue.enqueue_change(ReassignPartitions.path())
    return _outcomes(merged, errors)


async def _exists(context: ControllerContext, path: str) -> bool:
    """Return whether a request of this kind is in ZooKeeper, which keeps another one out.

    Raises:
        CommandError: ZooKeeper does not answer.
    """
    try:
        return await context.store.exists(path) is not None
    except (SessionExpired, StoreClosed):
        raise
    except StoreError as error:
        raise write_failed(error) from error


async def _request_reassignment(
    context: ControllerContext, requested: Sequence[PartitionReassignment], author: str
) -> dict[str, CommandError]:
    """Create `/admin/reassign_partitions` with the audit entries of its topics, and return the errors by topic."""
    names = {one.topic for one in requested}
    reassignment = ReassignPartitions(tuple(requested))
    audit = await context.audit_all(author, begin_reassignments(context, reassignment.targets().items()))
    try:
        await context.writer.commit([Create(ReassignPartitions.path(), reassignment.encode()), *audit])
    except WriteConflict:
        return dict.fromkeys(names, reassignment_in_progress())
    except PacketTooLarge:
        return await _start_reassignment(context, reassignment, author)
    except StoreError as error:
        return dict.fromkeys(names, write_failed(error))
    context.reassignment = reassignment, 0
    context.update_cluster(reassignment_requested=True, pending_reassignments=reassignment.targets())
    return {}


async def _start_reassignment(
    context: ControllerContext, reassignment: ReassignPartitions, author: str
) -> dict[str, CommandError]:
    """Start a reassignment that is too large for one transaction before the response, and return the errors by topic.

    Each topic is a transaction with its audit entry. The list may be small enough without the entries.
    """
    names = {one.topic for one in reassignment.partitions}
    if not await lock_reassignment(context):
        return dict.fromkeys(names, reassignment_in_progress())
    context.update_cluster(pending_reassignments=reassignment.targets())
    await start_pending_reassignments(context, author)
    failed = {name for name, _ in context.cluster.pending_reassignments}
    context.update_cluster(pending_reassignments={})
    topics = context.cluster.topics
    await list_reassignments(context, [topic for name in names - failed if (topic := topics.get(name)) is not None])
    return dict.fromkeys(failed, CommandError(ErrorCode.ADMIN_REQUEST_FAILED, "cannot write the topic to ZooKeeper"))


async def verify_reassignments(
    context: ControllerContext, topics: Sequence[TopicReassignment]
) -> list[TopicReassignmentStatus]:
    """Compare partitions with their target replicas; without topics, list the ongoing reassignments."""
    if not topics:
        ongoing = ongoing_reassignments(context.cluster)
        return [TopicReassignmentStatus(name, dict.fromkeys(indexes, REASSIGNING)) for name, indexes in ongoing.items()]
    statuses = []
    for name, topic in _merge(topics).items():
        try:
            partitions = reassignment_status(name, topic.partitions, context.cluster)
        except CommandError as error:
            statuses.append(TopicReassignmentStatus(name, {}, error))
        else:
            statuses.append(TopicReassignmentStatus(name, partitions))
    return statuses


def _merge(topics: Sequence[TopicReassignment]) -> dict[str, TopicReassignment]:
    """Merge the partitions of a topic that is named more than once."""
    merged: dict[str, TopicReassignment] = {}
    for topic in topics:
        earlier = merged.get(topic.topic)
        if earlier is None:
            merged[topic.topic] = topic
        else:
            partitions = earlier.partitions + topic.partitions
            merged[topic.topic] = TopicReassignment(topic=topic.topic, partitions=partitions)
    return merged


async def elect_preferred_leaders(
    context: ControllerContext, topics: Sequence[TopicPartitions], author: str, *, validate_only: bool = False
) -> list[Outcome]:
    """Store an election in ZooKeeper, which takes place after the response; or only validate it."""
    named = _merge_partition_ids(topics)
    marked = context.cluster.topics_to_delete
    requested = named or {name: [] for name in context.cluster.topics.names() if name not in marked}
    errors: dict[str, CommandError] = {}
    partitions: list[ListedPartition] = []
    for name, indexes in requested.items():
        try:
            chosen = choose_partitions(name, indexes, context.cluster)
        except CommandError as error:
            errors[name] = error
        else:
            partitions += _without_preferred_leader(context, name, chosen)
    try:
        if not validate_only:
            errors |= await _request_election(context, partitions, author)
        elif await _exists(context, PreferredReplicaElection.path()):
            raise _election_in_progress()
    except CommandError as error:
        if not named:
            raise
        errors = dict.fromkeys(requested, error) | errors
    if not validate_only:
        context.queue.enqueue_change(PreferredReplicaElection.path())
    return _outcomes(requested, errors)


async def _request_election(
    context: ControllerContext, partitions: Sequence[ListedPartition], author: str
) -> dict[str, CommandError]:
    """Create `/admin/preferred_replica_election` with the audit entries, and return the errors by topic.

    A list that is too large for one transaction is carried out before the response. An empty znode then keeps other
    elections from starting.

    Raises:
        CommandError: the election as a whole was rejected.
    """
    audit = await context.audit_all(author, elect_listed(context, partitions))
    try:
        try:
            await _create_election(context, partitions, audit)
        except PacketTooLarge:
            await _create_election(context)
            failed = await write_preferred_leaders(context, partitions, author)
            return {name: write_failed(error) for name, error in failed.items()}
    except (WriteConflict, StoreError) as error:
        if isinstance(error, WriteConflict) and isinstance(error.error, NodeExists):
            raise _election_in_progress() from error
        raise write_failed(error) from error
    return {}


def _election_in_progress() -> CommandError:
    code = ErrorCode.PREFERRED_REPLICA_LEADER_ELECTION_IN_PROGRESS
    return CommandError(code, "another preferred leader election is in progress")


async def _create_election(
    context: ControllerContext, partitions: Sequence[ListedPartition] = (), audit: Sequence[Operation] = ()
) -> None:
    election = PreferredReplicaElection(tuple(partitions))
    await context.writer.commit([Create(PreferredReplicaElection.path(), election.encode()), *audit])


def _merge_partition_ids(topics: Sequence[TopicPartitions]) -> dict[str, list[int]]:
    """Return the partitions of each topic; an empty list means all partitions."""
    merged: dict[str, list[int]] = {}
    for topic in topics:
        earlier = merged.get(topic.topic)
        if earlier == [] or not topic.partition_ids:
            merged[topic.topic] = []
        else:
            merged[topic.topic] = [*(earlier or ()), *topic.partition_ids]
    return merged


def _without_preferred_leader(context: ControllerContext, name: str, indexes: Sequence[int]) -> list[ListedPartition]:
    topic = context.cluster.topics.get(name)
    assert topic is not None
    partitions = [topic.partition(index) for index in indexes]
    return [
        ListedPartition(name, partition.id)
        for partition in partitions
        if partition is not None and partition.replicas and partition.leader != partition.replicas[0]
    ]


async def controlled_shutdown(context: ControllerContext, broker_id: int, broker_epoch: int) -> list[tuple[str, int]]:
    """Move leadership away from a broker that is about to stop, and return the partitions that it still leads.

    The epoch of its registration is required, other than in Kafka: without it, a delayed or forged request would keep a
    broker that does not stop from leading until it is restarted.
    """
    broker = context.cluster.brokers.get(broker_id)
    if broker is None:
        raise CommandError(ErrorCode.ADMIN_REQUEST_FAILED, f"broker {broker_id} is not alive")
    if broker_epoch != broker.epoch:
        reason = f"stale epoch {broker_epoch} of broker {broker_id}: the current epoch is {broker.epoch}"
        raise CommandError(ErrorCode.ADMIN_REQUEST_FAILED, reason)
    context.update_cluster(shutting_down=context.cluster.shutting_down | {broker_id})
    election = context.election
    await context.write_topics([elect_leaders_for_shutdown(topic, election) for topic in context.cluster.topics])
    return [
        (topic.name, partition.id)
        for topic in context.cluster.topics
        for partition in topic.partitions
        if partition.leader == broker_id
    ]


def _outcomes(topics: Mapping[str, object], errors: Mapping[str, CommandError]) -> list[Outcome]:
    return [Outcome(name, errors.get(name)) for name in topics]
