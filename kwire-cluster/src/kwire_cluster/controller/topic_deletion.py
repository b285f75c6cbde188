"""Deletion of the topics that are marked in `/admin/delete_topics`.

`delete_marked_topics` deletes what can be deleted in the current cluster state and may be called at any time. A
deletion waits while a reassignment of the topic is in progress, and for replicas on brokers that failed. It does not
wait for brokers that were not alive since this controller was elected, because they might not exist at all. A deletion
that was interrupted does not wait for a reassignment: without the states of its partitions, none can end.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from kwire_cluster.controller.fenced_writer import WriteConflict
from kwire_cluster.controller.state_loader import list_descendants
from kwire_cluster.controller.topic_state import NO_STATE_ZNODE, NO_ZNODE
from kwire_cluster.controller.topic_writes import plan_deletion
from kwire_cluster.zookeeper.configs import EntityConfig
from kwire_cluster.zookeeper.errors import ConnectionLost, NoNode, SessionExpired, StoreClosed, StoreError
from kwire_cluster.zookeeper.operations import Delete
from kwire_cluster.zookeeper.topics import DeletionMarker, TopicRegistration

if TYPE_CHECKING:
    from kwire_cluster.controller.cluster_state import Cluster
    from kwire_cluster.controller.controller_context import ControllerContext
    from kwire_cluster.controller.topic_state import Topic

log = logging.getLogger("kwire_cluster.controller")


def begun_deletions(cluster: Cluster) -> set[str]:
    """Return the marked topics whose deletion an earlier controller has begun: states of partitions are gone."""
    topics = (cluster.topics.get(name) for name in cluster.topics_to_delete)
    missing = {NO_ZNODE, NO_STATE_ZNODE}
    return {topic.name for topic in topics if topic and any(one.version in missing for one in topic.partitions)}


async def delete_marked_topics(context: ControllerContext) -> None:
    """Delete all marked topics that can be deleted now."""
    pending = {}
    for name in sorted(context.cluster.topics_to_delete):
        topic = context.cluster.topics.get(name)
        if topic is not None:
            obstacle = _obstacle(topic, context)
            if obstacle and obstacle != context.obstacles.get(name):
                log.warning("deletion of topic %s waits for %s", name, obstacle)
            context.obstacles[name] = obstacle
            if not obstacle:
                has_config = topic.config_version != NO_ZNODE
                operations = plan_deletion(name, _descendants(topic), has_config=has_config)
                pending[name] = context.writer.commit_all(operations)
        elif name not in context.cluster.malformed_topics:
            log.warning("ignoring request to delete non-existing topic %s", name)
            pending[name] = context.writer.commit([Delete(DeletionMarker.path(name))])
    for name in context.obstacles.keys() - context.cluster.topics_to_delete:
        del context.obstacles[name]
    failed = await context.wait_for_writes(pending)
    for name in failed.keys() | context.cluster.malformed_topics & context.cluster.topics_to_delete:
        await _delete_unconditionally(context, name)
    context.update_topics(removed=[name for name in pending if name not in failed])


def _obstacle(topic: Topic, context: ControllerContext) -> str:
    """Return what the deletion of a topic waits for; empty if it can begin."""
    cluster = context.cluster
    if awaited := _awaited_brokers(topic, cluster):
        return f"brokers {awaited}"
    if topic.name in context.begun_deletions:
        return ""
    reassigned = {id: set(reassignment.adding) for id, reassignment in topic.reassignments.items()}
    for name, id in cluster.pending_reassignments:
        if name == topic.name:
            reassigned.setdefault(id, set())
    if not reassigned:
        return ""
    missing = sorted(set().union(*reassigned.values()) - cluster.brokers.keys())
    cause = f", which cannot end while brokers {missing} are not alive: start them, or cancel it" if missing else ""
    return f"the reassignment of partitions {sorted(reassigned)}{cause}"


def _awaited_brokers(topic: Topic, cluster: Cluster) -> list[int]:
    """Return the failed brokers with replicas of a topic."""
    replicas = {broker for partition in topic.partitions for broker in partition.replicas}
    return sorted(broker for broker in replicas & cluster.known_brokers if broker not in cluster.brokers)


def _descendants(topic: Topic) -> list[str]:
    """Return the paths of all known znodes below the topic's registration."""
    parent = f"{TopicRegistration.path(topic.name)}/partitions"
    paths = [parent] if topic.has_partitions_znode else []
    for partition in topic.partitions:
        path = f"{parent}/{partition.id}"
        if partition.version != NO_ZNODE:
            paths.append(path)
            if partition.version != NO_STATE_ZNODE:
                paths.append(f"{path}/state")
    return paths


async def _delete_unconditionally(context: ControllerContext, name: str) -> None:
    """Delete a topic that is malformed or has other znodes than expected, reading its znodes first.

    Everything below the znodes of the topic is deleted as well. Protected znodes are tried again later.
    """
    path = TopicRegistration.path(name)
    roots = (path, EntityConfig.path("topics", name), DeletionMarker.path(name))
    try:
        descendants = [descendant for root in roots for descendant in await list_descendants(context.store, root)]
        has_config = await context.store.exists(EntityConfig.path("topics", name)) is not None
        await context.writer.commit_all(plan_deletion(name, descendants, has_config=has_config))
    except (ConnectionLost, SessionExpired, StoreClosed):
        raise
    except (WriteConflict, StoreError) as error:
        if isinstance(error, WriteConflict) and isinstance(error.error, NoNode) and error.path == path:
            # Only the marker is left.
            below = await list_descendants(context.store, DeletionMarker.path(name))
            rest = [Delete(path) for path in (*reversed(below), DeletionMarker.path(name))]
            await context.wait_for_writes({name: context.writer.commit(rest)})
        context.retry(DeletionMarker.root, error)
        return
    context.update_topics(removed=[name])
