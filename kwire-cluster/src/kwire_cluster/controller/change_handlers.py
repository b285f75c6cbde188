"""Handlers of changes in ZooKeeper.

There is one handler for each watched path. It reads the path and sets the watch again, compares the result with the
cluster state, applies the differences, and continues elections, reassignments, and deletions. Every handler may be
called at any time. If a handler raises ConnectionLost, the caller reloads the whole state. After any other error of the
store, the caller repeats the handler later. A znode that is missing, or that this session must not read, concerns only
what it describes.
"""

from __future__ import annotations

import logging
import time
from typing import TYPE_CHECKING

from kwire_cluster.controller.controller_election import create_top_level_paths
from kwire_cluster.controller.events import ReloadEvent
from kwire_cluster.controller.feature_commands import process_features_change
from kwire_cluster.controller.fenced_writer import ControllerMovedError, WriteConflict
from kwire_cluster.controller.partition_reassignment import (
    advance_reassignments,
    cancel_reassignments,
    elect_requested_leaders,
)
from kwire_cluster.controller.topic_deletion import begun_deletions, delete_marked_topics
from kwire_cluster.controller.topic_map import TopicMap
from kwire_cluster.zookeeper.admin_requests import IsrChangeNotification, PreferredReplicaElection, ReassignPartitions
from kwire_cluster.zookeeper.brokers import BrokerRegistration
from kwire_cluster.zookeeper.configs import ConfigChangeNotification
from kwire_cluster.zookeeper.controllers import ActiveController, ControllerEpoch
from kwire_cluster.zookeeper.errors import (
    ConnectionLost,
    NoNode,
    NotAuthorized,
    SessionExpired,
    StoreClosed,
    StoreError,
    ZnodeError,
)
from kwire_cluster.zookeeper.features import FeaturesZnode
from kwire_cluster.zookeeper.operations import Delete, Znode
from kwire_cluster.zookeeper.topics import DeletionMarker, TopicRegistration

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping, Sequence

    from kwire_cluster.controller.controller_context import ControllerContext
    from kwire_cluster.controller.events import ChangeEvent

log = logging.getLogger("kwire_cluster.controller")

_TOPIC_PREFIX = f"{TopicRegistration.root}/"


async def process_event(context: ControllerContext, event: ReloadEvent | ChangeEvent) -> None:
    """Process a change in ZooKeeper.

    Raises:
        ControllerMovedError: another controller was elected.
        StoreError, WriteConflict: a znode cannot be read or written.
    """
    if isinstance(event, ReloadEvent):
        await reload_cluster(context)
    elif event.path.startswith(_TOPIC_PREFIX):
        paths = [event.path, *context.queue.take_changes(_TOPIC_PREFIX)]
        names = {path: path.removeprefix(_TOPIC_PREFIX).partition("/")[0] for path in paths}
        # The registration of a topic does not show that a znode below it was repaired.
        context.topics_to_reread.update(name for path, name in names.items() if path != TopicRegistration.path(name))
        await process_topic_data_change(context, list(dict.fromkeys(names.values())))
    elif event.path in _HANDLERS:
        await _HANDLERS[event.path](context)
    elif event.path.startswith(BrokerRegistration.root):
        await process_broker_change(context)
    else:
        await create_top_level_paths(context.store, context.watch)


async def reload_cluster(context: ControllerContext) -> None:
    """Read the whole cluster state and continue what the previous controller started."""
    started = time.perf_counter()
    await process_controller_change(context)
    await process_features_change(context)
    await create_top_level_paths(context.store, context.watch)
    await _read_config_changes(context)
    names = await context.loader.list_topics()
    marked = await context.list_children(DeletionMarker.root)
    loaded = await context.loader.topics(names)
    brokers = await context.read_brokers(loaded.topics)
    shutting_down = frozenset(
        broker
        for broker in context.cluster.shutting_down
        if broker in brokers and brokers[broker].epoch == context.cluster.brokers[broker].epoch
    )
    context.topics_to_reread.clear()
    context.unwatched_topics.clear()
    context.update_cluster(
        brokers=brokers,
        topics=TopicMap().updated(loaded.topics),
        shutting_down=shutting_down,
        topics_to_delete=frozenset(marked or ()),
        malformed_topics=frozenset(loaded.malformed),
    )
    context.begun_deletions = begun_deletions(context.cluster)  # before an election creates the states that are gone
    for name in loaded.unauthorized:
        context.reread_topic(name)
    log.info(
        "controller epoch %d: loaded %d brokers, %d topics, %d partitions in %.3f s",
        context.epoch,
        len(brokers),
        len(loaded.topics),
        context.cluster.topics.partition_count,
        time.perf_counter() - started,
    )
    without_id = [topic for topic in context.cluster.topics if topic.topic_id is None]
    ids = {topic.name: known_id for topic in without_id if (known_id := context.known_topic_id(topic.name)) is not None}
    await context.restore_topic_ids(without_id, ids)
    await context.elect_leaders()
    context.broadcaster.broadcast_all(context.cluster)
    for path in (ReassignPartitions.path(), PreferredReplicaElection.path(), IsrChangeNotification.root):
        try:
            await _HANDLERS[path](context)
        except (ConnectionLost, SessionExpired, StoreClosed):
            raise
        except (StoreError, WriteConflict) as error:  # must not keep the controller from serving
            context.retry(path, error)


async def process_controller_change(context: ControllerContext) -> None:
    """Verify that this broker is still the controller.

    Raises:
        ControllerMovedError: another controller was elected.
    """
    stat = await context.store.exists(ActiveController.path(), context.watch)
    epoch = await context.store.exists(ControllerEpoch.path())
    if stat is None or stat.ephemeral_owner != context.store.session_id:
        raise ControllerMovedError("this session does not own /controller")
    if epoch is None or epoch.version != context.epoch_zk_version:
        raise ControllerMovedError("the controller epoch has changed")


async def process_broker_change(context: ControllerContext) -> None:
    """Process brokers that started, failed, or restarted."""
    brokers = context.cluster.brokers
    live = await context.read_brokers(context.cluster.topics)
    if live == brokers:
        return
    unchanged = {broker for broker in live if broker in brokers and live[broker].epoch == brokers[broker].epoch}
    log.info("new brokers: %s, failed brokers: %s", sorted(live.keys() - unchanged), sorted(brokers.keys() - unchanged))
    context.update_cluster(brokers=live, shutting_down=context.cluster.shutting_down & unchanged)
    await context.elect_leaders()
    context.broadcaster.broadcast(context.cluster, ())
    await advance_reassignments(context)
    await delete_marked_topics(context)


async def process_topic_change(context: ControllerContext) -> None:
    """Process topics that other clients created or deleted."""
    names = set(await context.loader.list_topics())
    known = {topic.name for topic in context.cluster.topics} | context.cluster.malformed_topics
    unwatched = sorted(context.unwatched_topics & names)
    context.unwatched_topics.clear()
    await process_topic_data_change(context, sorted((names - known).union(unwatched)))
    removed = known - names
    if removed:
        context.update_topics(removed=removed)


async def process_topic_data_change(context: ControllerContext, names: Sequence[str]) -> None:
    """Read topics that were written. Writes of this controller are recognized by their version."""
    topics = context.cluster.topics
    recheck = [name for name in names if name not in context.topics_to_reread and name in topics]
    changed = [name for name in names if name not in recheck]
    znodes = await context.store.get_many([TopicRegistration.path(name) for name in recheck], context.watch)
    for name, znode in zip(recheck, znodes, strict=True):
        topic = topics.get(name)
        if topic is None or not isinstance(znode, Znode) or znode.stat.version != topic.version:
            changed.append(name)
    if not changed:
        return
    loaded = await context.loader.topics(sorted(changed))
    context.topics_to_reread.difference_update(changed)
    ids = {name: topic.topic_id for name in changed if (topic := topics.get(name)) is not None and topic.topic_id}
    await context.restore_topic_ids(loaded.topics, ids)
    restored = {topic.name for topic in loaded.topics if topic.topic_id is None and topic.name in ids}
    context.update_topics(
        [topic for topic in loaded.topics if topic.name not in restored], removed=[*loaded.missing, *loaded.malformed]
    )
    context.update_cluster(malformed_topics=context.cluster.malformed_topics.union(loaded.malformed))
    for name in loaded.unauthorized:
        context.reread_topic(name)
    await context.elect_leaders([topic.name for topic in loaded.topics])
    if context.cluster.is_reassigning:
        await advance_reassignments(context)
    await delete_marked_topics(context)


async def process_topic_deletion(context: ControllerContext) -> None:
    """Process topics that were marked for deletion."""
    names = await context.list_children(DeletionMarker.root)
    if names is None:
        return
    marked = frozenset(names)
    unknown = [name for name in marked if name not in context.cluster.topics]
    if unknown:  # a topic may have been created and marked before its creation was processed
        await process_topic_data_change(context, unknown)
    context.update_cluster(topics_to_delete=marked)
    await delete_marked_topics(context)


async def process_partition_reassignment(context: ControllerContext) -> None:
    """Process requested reassignments, and deletions that waited for the end of a reassignment."""
    await _read_reassignment(context)
    await advance_reassignments(context)
    await delete_marked_topics(context)


async def _read_reassignment(context: ControllerContext) -> None:
    path = ReassignPartitions.path()
    try:
        if await context.store.exists(path, context.watch) is None:
            removed = context.cluster.reassignment_requested
            context.reassignment = None
            context.update_cluster(pending_reassignments={}, reassignment_requested=False)
            if removed:  # by another client: this controller deletes it only when nothing is left to do
                ongoing = {
                    topic.name: [*topic.reassignments] for topic in context.cluster.topics if topic.reassignments
                }
                if ongoing:
                    await cancel_reassignments(context, ongoing)
            return
        znode = await context.store.get(path)
        requested = ReassignPartitions.decode(znode.data, path)
    except NoNode:  # the watch reports the deletion
        return
    except (ZnodeError, NotAuthorized) as error:
        context.reassignment = None
        context.update_cluster(pending_reassignments={}, reassignment_requested=True)
        if isinstance(error, NotAuthorized):
            context.retry(path, error)
        else:
            context.report(error)
        return
    context.reassignment = requested, znode.stat.version
    pending = {}
    for (name, index), replicas in requested.targets().items():
        topic = context.cluster.topics.get(name)
        partition = topic.partition(index) if topic is not None else None
        if topic is None or partition is None or topic.target_replicas(partition) != replicas:
            pending[name, index] = replicas
    context.update_cluster(pending_reassignments=pending, reassignment_requested=True)


async def process_isr_change_notifications(context: ControllerContext) -> None:
    """Read the partition states that other brokers report as changed."""
    names = await context.list_children(IsrChangeNotification.root) or ()
    paths = [f"{IsrChangeNotification.root}/{name}" for name in names]
    changed: set[str] = set()
    for path, znode in zip(paths, await context.store.get_many(paths), strict=True):
        notification = context.loader.decoded(path, znode, IsrChangeNotification.decode)
        if notification is not None:
            changed.update(one.topic for one in notification.partitions)
    context.topics_to_reread |= changed
    if changed:
        await process_topic_data_change(context, sorted(changed))
    await _delete_notifications(context, paths)


async def process_config_change_notifications(context: ControllerContext) -> None:
    """Read the configs of topics that other clients changed, and delete old notifications."""
    changed = await _read_config_changes(context)
    context.topics_to_reread |= changed
    existing = [name for name in changed if name in context.cluster.topics]
    if existing:
        await process_topic_data_change(context, sorted(existing))
    oldest = time.time() * 1000 - context.settings.config_change_retention_ms
    expired = [path for path, created in context.config_changes.items() if created < oldest]
    await _delete_notifications(context, expired)
    for path in expired:
        del context.config_changes[path]


async def _read_config_changes(context: ControllerContext) -> set[str]:
    """Return the names of the topics in notifications that were not processed before."""
    names = await context.list_children(ConfigChangeNotification.root) or ()
    paths = [f"{ConfigChangeNotification.root}/{name}" for name in names]
    new = [path for path in paths if path not in context.config_changes]
    changed = set()
    for path, znode in zip(new, await context.store.get_many(new), strict=True):
        if znode is None:
            continue
        created = znode.stat.ctime if isinstance(znode, Znode) else int(time.time() * 1000)
        context.config_changes[path] = created
        notification = context.loader.decoded(path, znode, ConfigChangeNotification.decode)
        if notification is not None and notification.entity_type == "topics":
            changed.add(notification.entity_name)
    for path in context.config_changes.keys() - set(paths):
        del context.config_changes[path]
    return changed


async def _delete_notifications(context: ControllerContext, paths: Sequence[str]) -> None:
    failed = await context.wait_for_writes({path: context.writer.commit([Delete(path)]) for path in paths})
    for error in failed.values():
        if not (isinstance(error, WriteConflict) and isinstance(error.error, NoNode)):
            context.report(error)


_HANDLERS: Mapping[str, Callable[[ControllerContext], Awaitable[None]]] = {
    ActiveController.path(): process_controller_change,
    TopicRegistration.root: process_topic_change,
    DeletionMarker.root: process_topic_deletion,
    ReassignPartitions.path(): process_partition_reassignment,
    PreferredReplicaElection.path(): elect_requested_leaders,
    IsrChangeNotification.root: process_isr_change_notifications,
    ConfigChangeNotification.root: process_config_change_notifications,
    FeaturesZnode.path(): process_features_change,
}
