"""What was asked for and takes more than one step: reassignments, deletions, elections of preferred leaders.

Rules of this file: each function looks at the state, does what can be done now, and may be called at any time, as often
as one likes; what it cannot do yet it leaves for the next time. So a new controller takes up what an old one began.
"""

from __future__ import annotations

import logging
from dataclasses import replace
from typing import TYPE_CHECKING

from kwire.cluster.controller.fenced_writer import Conflict
from kwire.cluster.controller.state import NO_NODE, NO_STATE
from kwire.cluster.controller.state_loader import subtree
from kwire.cluster.controller.topic_steps import begin_moves, finish_moves, prefer_first
from kwire.cluster.controller.topic_writes import deletion
from kwire.cluster.zookeeper.admin_requests import PreferredElection, Reassignment
from kwire.cluster.zookeeper.configs import EntityConfig
from kwire.cluster.zookeeper.errors import NodeExists, NoNode, ZnodeError
from kwire.cluster.zookeeper.operations import Delete, Set
from kwire.cluster.zookeeper.topics import DeletionMarker, TopicRegistration

if TYPE_CHECKING:
    from collections.abc import Iterable

    from kwire.cluster.controller.controller_context import ControllerContext
    from kwire.cluster.controller.state import Cluster, Topic
    from kwire.cluster.zookeeper.admin_requests import TopicPartition
    from kwire.cluster.zookeeper.errors import StoreError

__all__ = ["begin_pending", "delete_marked", "elect_preferred", "prefer_first_replicas", "reassign"]

log = logging.getLogger("kwire.cluster.controller")


async def reassign(office: ControllerContext) -> None:
    """Begin what is pending, finish what has arrived, and take the node away in the end."""
    if office.cluster.pending:
        await begin_pending(office)
    while True:
        now = office.now
        wanted = [finish_moves(topic, now) for topic in office.cluster.topics if topic.moves]
        if all(topic is office.cluster.topics.get(topic.name) for topic in wanted):
            break
        if await office.write_topics(wanted):
            break  # read again first
    await _tidy_reassignment(office)


async def begin_pending(office: ControllerContext) -> None:
    """Write into topics what of them shall move; what could not be written stays pending."""
    by_topic: dict[str, dict[int, tuple[int, ...]]] = {}
    for (name, index), replicas in office.cluster.pending.items():
        by_topic.setdefault(name, {})[index] = replicas
    wanted = []
    for name, targets in by_topic.items():
        topic = office.cluster.topics.get(name)
        sound = {} if topic is None else _sound(topic, targets, marked=name in office.cluster.marked)
        for index in targets.keys() - sound.keys():
            log.warning("reassignment of %s-%d to %s left out: it cannot be", name, index, list(targets[index]))
        if topic is not None and sound:
            wanted.append(begin_moves(topic, sound, office.now))
    failed = await office.write_topics(wanted)
    office.with_cluster(pending={key: replicas for key, replicas in office.cluster.pending.items() if key[0] in failed})


def _sound(topic: Topic, targets: dict[int, tuple[int, ...]], *, marked: bool) -> dict[int, tuple[int, ...]]:
    """What can be: of a topic that is to be deleted only the way back, which ends a move that deletion waits for."""
    return {
        index: replicas
        for index, replicas in targets.items()
        if (partition := topic.partition(index)) is not None
        and replicas
        and len(set(replicas)) == len(replicas)
        and min(replicas) >= 0
        and (not marked or set(replicas) == set(topic.origin(partition)))
    }


async def _tidy_reassignment(office: ControllerContext) -> None:
    """The node lists what is still to be done, and is gone once nothing is."""
    if office.reassignment is None or not office.cluster.reassigning:
        return
    node, version = office.reassignment
    running = {(topic.name, index) for topic in office.cluster.topics if topic.moves for index in topic.moves}
    left = tuple(
        one
        for one in node.partitions
        if (one.topic, one.partition) in running or (one.topic, one.partition) in office.cluster.pending
    )
    path = Reassignment.path()
    if not left and not running and not office.cluster.pending:
        pending = office.writer.commit([Delete(path, version)])
    elif left != node.partitions:
        node = replace(node, partitions=left)
        pending = office.writer.commit([Set(path, node.encode(), version)])
    else:
        return
    try:
        await pending
    except Conflict as conflict:
        log.warning("the reassignment was changed by somebody else and is read again: %s", conflict)
        office.queue.look(path)
        return
    if left or running or office.cluster.pending:
        office.reassignment = node, version + 1
    else:
        office.reassignment = None
        office.with_cluster(reassigning=False)


async def delete_marked(office: ControllerContext) -> None:
    """Delete what is marked and holds still: nothing of it moves, and all its replicas are alive."""
    pending = {}
    for name in sorted(office.cluster.marked):
        topic = office.cluster.topics.get(name)
        if topic is not None:
            if may_be_deleted(topic, office.cluster):
                below = [path for partition in topic.partitions for path in _nodes(topic, partition.id)]
                above = [f"{TopicRegistration.path(name)}/partitions"] if topic.has_partitions_node else []
                has_config = topic.config_version != NO_NODE
                pending[name] = office.begin(deletion(name, above + below, has_config=has_config))
        elif name not in office.cluster.unreadable:
            log.warning("deletion of %s, which is no topic: marker removed", name)
            pending[name] = office.writer.commit([Delete(DeletionMarker.path(name))])
    failed = await office.ends(pending)
    for name in failed.keys() | office.cluster.unreadable & office.cluster.marked:
        await _delete_as_found(office, name)
    office.take_over(gone=[name for name in pending if name not in failed])
    office.with_cluster(marked=office.cluster.marked.difference(pending.keys() - failed.keys()))


def may_be_deleted(topic: Topic, cluster: Cluster) -> bool:
    """Whether nothing stands in the way of its deletion."""
    if topic.moves or any(name == topic.name for name, _ in cluster.pending):
        return False
    return all(broker in cluster.brokers for partition in topic.partitions for broker in partition.replicas)


def _nodes(topic: Topic, index: int) -> list[str]:
    partition = topic.partition(index)
    path = f"{TopicRegistration.path(topic.name)}/partitions/{index}"
    if partition is None or partition.version == NO_NODE:
        return []
    return [path] if partition.version == NO_STATE else [path, f"{path}/state"]


async def _delete_as_found(office: ControllerContext, name: str) -> None:
    """Delete a topic whose nodes are not as they were thought to be, or which nobody can read."""
    path = TopicRegistration.path(name)
    below = await subtree(office.store, path)
    has_config = await office.store.exists(EntityConfig.path("topics", name)) is not None
    try:
        await office.begin(deletion(name, below, has_config=has_config))
    except Conflict as conflict:
        log.warning("topic %s changes while it is deleted, which is tried again: %s", name, conflict)
        if isinstance(conflict.error, NoNode) and conflict.path == path:  # it is gone, and the marker is not
            await office.ends({name: office.writer.commit([Delete(DeletionMarker.path(name))])})
        office.queue.look(DeletionMarker.root)
        return
    office.take_over(gone=[name])
    office.with_cluster(
        marked=office.cluster.marked.difference([name]), unreadable=office.cluster.unreadable.difference([name])
    )


async def elect_preferred(office: ControllerContext) -> None:
    """Do what the node asks for, if it is there, and take it away."""
    path = PreferredElection.path()
    stat = await office.store.exists(path, office.watch)
    if stat is None:
        return
    try:
        node = await office.store.get(path)
        asked = PreferredElection.decode(node.data, path)
    except NoNode:
        return
    except ZnodeError as error:
        office.report(error)
        return
    await prefer_first_replicas(office, asked.partitions)
    try:
        await office.writer.commit([Delete(path)])
    except Conflict as conflict:
        if not isinstance(conflict.error, (NoNode, NodeExists)):
            raise
        log.warning("the election of preferred leaders was withdrawn by somebody else")


async def prefer_first_replicas(
    office: ControllerContext, partitions: Iterable[TopicPartition]
) -> dict[str, Conflict | StoreError]:
    """Have these partitions led by the first of their replicas; what could not be written, by topic."""
    by_topic: dict[str, set[int]] = {}
    for name, index in partitions:
        by_topic.setdefault(name, set()).add(index)
    wanted = []
    for name, indexes in by_topic.items():
        topic = office.cluster.topics.get(name)
        if topic is None or name in office.cluster.marked:
            log.warning("preferred leaders of %s cannot be elected: there is no such topic", name)
        else:
            wanted.append(prefer_first(topic, indexes, office.now))
    return await office.write_topics(wanted)
