"""Election of preferred replicas as leaders, requested through `/admin/preferred_replica_election`."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from kwire_cluster.controller.fenced_writer import WriteConflict
from kwire_cluster.controller.topic_transitions import elect_preferred_replicas
from kwire_cluster.zookeeper.admin_requests import PreferredReplicaElection
from kwire_cluster.zookeeper.errors import NodeExists, NoNode, ZnodeError
from kwire_cluster.zookeeper.operations import Delete

if TYPE_CHECKING:
    from collections.abc import Iterable

    from kwire_cluster.controller.controller_context import ControllerContext
    from kwire_cluster.controller.topic_state import Topic
    from kwire_cluster.zookeeper.admin_requests import ListedPartition
    from kwire_cluster.zookeeper.errors import StoreError

__all__ = ["elect_listed", "elect_requested_leaders", "write_preferred_leaders"]

log = logging.getLogger("kwire_cluster.controller")


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
