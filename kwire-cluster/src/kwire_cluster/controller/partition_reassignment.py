"""Work that tools request in `/admin/reassign_partitions` and `/admin/preferred_replica_election`.

Reassignments are started, completed when they are finished, and removed from their znode. `advance_reassignments` does
what is possible in the current cluster state and may be called at any time, so a new controller continues what the
previous one started. Elections are carried out at once.
"""

from __future__ import annotations

import logging
from dataclasses import replace
from typing import TYPE_CHECKING

from kwire_cluster.controller.fenced_writer import WriteConflict
from kwire_cluster.controller.topic_state import MALFORMED
from kwire_cluster.controller.topic_transitions import (
    begin_reassignment,
    cancel_reassignment,
    complete_reassignment,
    elect_preferred_replicas,
)
from kwire_cluster.zookeeper.admin_requests import PartitionReassignment, PreferredReplicaElection, ReassignPartitions
from kwire_cluster.zookeeper.errors import NodeExists, NoNode, PacketTooLarge, StoreError, ZnodeError
from kwire_cluster.zookeeper.operations import Create, Delete, SetData

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

    from kwire_cluster.controller.controller_context import ControllerContext
    from kwire_cluster.controller.topic_state import Topic
    from kwire_cluster.zookeeper.admin_requests import ListedPartition

log = logging.getLogger("kwire_cluster.controller")


async def advance_reassignments(context: ControllerContext) -> None:
    """Start pending reassignments, complete finished ones, and update or delete `/admin/reassign_partitions`."""
    if context.cluster.pending_reassignments:
        await start_pending_reassignments(context)
    while True:
        election = context.election
        topics = [complete_reassignment(topic, election) for topic in context.cluster.topics if topic.reassignments]
        if all(topic is context.cluster.topics.get(topic.name) for topic in topics):
            break
        if await context.write_topics(topics):
            break  # read the topics that could not be written first
    await _update_znode(context)


async def start_pending_reassignments(context: ControllerContext, author: str | None = None) -> None:
    """Start all pending reassignments; a reassignment that cannot be written stays pending.

    With an author, each start has an audit entry. Otherwise, the request has it.
    """
    pending = context.cluster.pending_reassignments
    failed = await context.write_topics(begin_reassignments(context, pending.items()), author)
    context.update_cluster(
        pending_reassignments={key: replicas for key, replicas in pending.items() if key[0] in failed}
    )


def begin_reassignments(
    context: ControllerContext, requested: Iterable[tuple[tuple[str, int], tuple[int, ...]]]
) -> list[Topic]:
    """Return the topics in which the requested reassignments begin. Invalid ones are left out."""
    by_topic: dict[str, dict[int, tuple[int, ...]]] = {}
    for (name, index), replicas in requested:
        by_topic.setdefault(name, {})[index] = replicas
    topics = []
    for name, targets in by_topic.items():
        topic = context.cluster.topics.get(name)
        deleting = name in context.cluster.topics_to_delete
        valid = {} if topic is None else _valid_targets(topic, targets, deleting=deleting)
        for index in targets.keys() - valid.keys():
            log.warning("skipping invalid reassignment of %s-%d to %s", name, index, list(targets[index]))
        if topic is not None and valid:
            topics.append(begin_reassignment(topic, valid, context.election))
    return topics


def _valid_targets(topic: Topic, targets: dict[int, tuple[int, ...]], *, deleting: bool) -> dict[int, tuple[int, ...]]:
    """Return the valid targets.

    The state of the partition must be readable. A topic that is marked for deletion may only return to its original
    replicas, which ends the reassignment that its deletion waits for.
    """
    return {
        index: replicas
        for index, replicas in targets.items()
        if (partition := topic.partition(index)) is not None
        and replicas
        and len(set(replicas)) == len(replicas)
        and min(replicas) >= 0
        and partition.version != MALFORMED
        and (not deleting or set(replicas) == set(topic.original_replicas(partition)))
    }


async def cancel_reassignments(
    context: ControllerContext, partitions: Mapping[str, Collection[int]], author: str | None = None
) -> dict[str, WriteConflict | StoreError]:
    """Return partitions to the replicas that they had before, and return the errors by topic.

    The znode is written first: otherwise its list would start the reassignments again. A reassignment that has not
    started is canceled by that alone, so its audit entry is in the transaction of the znode.
    """
    pending = context.cluster.pending_reassignments
    canceled = {key: replicas for key, replicas in pending.items() if key[1] in partitions.get(key[0], ())}
    topics = [topic for name in partitions if (topic := context.cluster.topics.get(name)) is not None]
    if context.reassignment is not None:
        requested, version = context.reassignment
        rest = tuple(one for one in requested.partitions if one.partition not in partitions.get(one.topic, ()))
        try:
            if rest != requested.partitions:
                requested = replace(requested, partitions=rest)
                audit = await context.audit_all(author, begin_reassignments(context, canceled.items()), is_undone=True)
                await context.writer.commit([SetData(ReassignPartitions.path(), requested.encode(), version), *audit])
                context.reassignment = requested, version + 1
        except (WriteConflict, StoreError) as error:
            context.queue.enqueue_change(ReassignPartitions.path())
            return dict.fromkeys(partitions, error)
    kept = {key: replicas for key, replicas in pending.items() if key not in canceled}
    context.update_cluster(pending_reassignments=kept)
    election = context.election
    failed = await context.write_topics(
        [cancel_reassignment(topic, partitions[topic.name], election) for topic in topics], author
    )
    log.info("canceled the reassignment of %s", ", ".join(sorted(partitions.keys() - failed.keys())))
    context.queue.enqueue_change(ReassignPartitions.path())
    return failed


async def lock_reassignment(context: ControllerContext) -> bool:
    """Create an empty `/admin/reassign_partitions`, so that no other reassignment can start.

    The reassignments themselves are written into the topics. If this controller fails before it lists them in the
    znode, the next controller finds them there.

    Returns:
        Whether the znode was created; False if another reassignment is in progress.
    """
    empty = ReassignPartitions(())
    try:
        await context.writer.commit([Create(ReassignPartitions.path(), empty.encode())])
    except WriteConflict:
        context.queue.enqueue_change(ReassignPartitions.path())
        return False
    context.reassignment = empty, 0
    context.update_cluster(reassignment_requested=True)
    context.queue.enqueue_change(ReassignPartitions.path())
    return True


async def list_reassignments(context: ControllerContext, topics: Iterable[Topic]) -> None:
    """Write the ongoing reassignments of these topics into the znode, for tools that read it."""
    listed = ReassignPartitions(
        tuple(
            PartitionReassignment(topic.name, index, topic.target_replicas(partition))
            for topic in topics
            for index in topic.reassignments
            if (partition := topic.partition(index)) is not None
        )
    )
    try:
        await context.writer.commit([SetData(ReassignPartitions.path(), listed.encode(), 0)])
    except (WriteConflict, PacketTooLarge) as error:  # only tools need the list: the topics are already written
        log.warning("cannot list the reassignments in %s: %s", ReassignPartitions.path(), error)
    else:
        context.reassignment = listed, 1


async def _update_znode(context: ControllerContext) -> None:
    """Remove finished reassignments from the znode, and delete it after the last one."""
    if context.reassignment is None or not context.cluster.reassignment_requested:
        return
    requested, version = context.reassignment
    ongoing = {(topic.name, index) for topic in context.cluster.topics for index in topic.reassignments}
    pending = context.cluster.pending_reassignments
    unfinished = tuple(
        one
        for one in requested.partitions
        if (one.topic, one.partition) in ongoing or (one.topic, one.partition) in pending
    )
    path = ReassignPartitions.path()
    finished = not unfinished and not ongoing and not pending
    if finished:
        write = context.writer.commit([Delete(path, version)])
    elif unfinished != requested.partitions:
        requested = replace(requested, partitions=unfinished)
        write = context.writer.commit([SetData(path, requested.encode(), version)])
    else:
        return
    try:
        await write
    except WriteConflict as conflict:
        log.warning("%s was changed by another client, reading it again: %s", path, conflict)
        context.queue.enqueue_change(path)
        return
    if finished:
        context.reassignment = None
        context.update_cluster(reassignment_requested=False)
    else:
        context.reassignment = requested, version + 1


async def elect_requested_leaders(context: ControllerContext) -> None:
    """Carry out the election requested in `/admin/preferred_replica_election`, if any, and delete the znode."""
    path = PreferredReplicaElection.path()
    try:
        if await context.store.exists(path, context.watch) is None:
            return
        znode = await context.store.get(path)
        election = PreferredReplicaElection.decode(znode.data, path)
    except NoNode:
        return
    except ZnodeError as error:
        # It cannot be carried out, and it would keep all other elections from starting. Kafka deletes it as well.
        context.report(error)
        election = PreferredReplicaElection(())
    await write_preferred_leaders(context, election.partitions)
    try:
        await context.writer.commit([Delete(path)])
    except WriteConflict as conflict:
        if not isinstance(conflict.error, (NoNode, NodeExists)):
            raise
        log.warning("%s was deleted by another client", path)


async def write_preferred_leaders(
    context: ControllerContext, partitions: Iterable[ListedPartition], author: str | None = None
) -> dict[str, WriteConflict | StoreError]:
    """Make the preferred replicas of these partitions their leaders, and return the errors by topic.

    With an author, the changes have audit entries. Otherwise, the request has them.
    """
    return await context.write_topics(elect_listed(context, partitions), author)


def elect_listed(context: ControllerContext, partitions: Iterable[ListedPartition]) -> list[Topic]:
    """Return the topics in which the preferred replicas of these partitions are leaders, where they can be."""
    by_topic: dict[str, set[int]] = {}
    for name, index in partitions:
        by_topic.setdefault(name, set()).add(index)
    topics = []
    for name, indexes in by_topic.items():
        topic = context.cluster.topics.get(name)
        if topic is None or name in context.cluster.topics_to_delete:
            log.warning("skipping preferred leader election of unknown topic %s", name)
        else:
            topics.append(elect_preferred_replicas(topic, indexes, context.election))
    return topics
