"""The state of the active controller and the operations that change it.

- The state changes only after the corresponding write.
- `write_topics` makes every change of a topic: it writes, updates the state, and broadcasts the metadata.
- A znode that differs from what was last read makes the controller read the topic again.
"""

from __future__ import annotations

import logging
from dataclasses import replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from kwire_cluster.config.audit import AUDIT_SLACK, TOPICS, audit_write, trim_audit
from kwire_cluster.controller.cluster_state import Cluster
from kwire_cluster.controller.fenced_writer import ControllerMovedError, FencedWriter, WriteConflict
from kwire_cluster.controller.metadata_broadcast import MetadataBroadcaster, TopicUpdate
from kwire_cluster.controller.state_loader import StateLoader
from kwire_cluster.controller.topic_audit import topic_changes
from kwire_cluster.controller.topic_transitions import ElectionContext, elect_leaders
from kwire_cluster.controller.topic_writes import TopicWrites, plan_writes
from kwire_cluster.request_quotas import TimeSlice
from kwire_cluster.zookeeper.configs import notification_format
from kwire_cluster.zookeeper.errors import (
    BadVersion,
    NotAuthorized,
    SessionExpired,
    StoreClosed,
    StoreError,
    ZnodeError,
)
from kwire_cluster.zookeeper.topics import TopicRegistration

if TYPE_CHECKING:
    import random
    from collections.abc import Callable, Coroutine, Iterable, Mapping
    from uuid import UUID

    from kwire_cluster.config.live_config import LiveConfig
    from kwire_cluster.config.node_settings import NodeSettings
    from kwire_cluster.controller.cluster_state import Broker
    from kwire_cluster.controller.controller_election import ElectedEpoch
    from kwire_cluster.controller.events import EventQueue
    from kwire_cluster.controller.metadata_broadcast import Send
    from kwire_cluster.controller.topic_state import Topic
    from kwire_cluster.zookeeper.admin_requests import ReassignPartitions
    from kwire_cluster.zookeeper.features import VersionedFeatures
    from kwire_cluster.zookeeper.operations import Operation
    from kwire_cluster.zookeeper.store import Store, Watch

log = logging.getLogger("kwire_cluster.controller")


class ControllerContext:
    """The state of one controller epoch.

    Attributes:
        cluster: the cluster state.
        epoch: the controller epoch.
        epoch_zk_version: the version of `/controller_epoch`.
        known_topic_id: returns the id of a topic as this broker knew it before the election.
        known_features: returns the finalized features that this broker knows.
        rng: chooses where automatic replica assignments start.
        topics_to_reread: topics to read again even if the version of their registration is unchanged.
        unwatched_topics: topics that this controller created and does not watch yet.
        reassignment: `/admin/reassign_partitions` as last read or written and its version, None if it does not exist or
            is malformed.
        features: the finalized features, None if they cannot be read or written.
        begun_deletions: marked topics whose deletion an earlier controller has begun.
        obstacles: reasons why deletions of topics wait, by topic; empty for no reason.
        config_changes: paths of the config change notifications that were processed, with their creation times in
            milliseconds.
    """

    def __init__(
        self,
        store: Store,
        broker_id: int,
        elected: ElectedEpoch,
        queue: EventQueue,
        watch: Watch,
        send: Send,
        config: LiveConfig,
        known_topic_id: Callable[[str], UUID | None],
        known_features: Callable[[], VersionedFeatures],
        rng: random.Random,
    ) -> None:
        self.store = store
        self.broker_id = broker_id
        self.epoch = elected.epoch
        self.epoch_zk_version = elected.zk_version
        self.queue = queue
        self.watch = watch
        self.config = config
        self.known_topic_id = known_topic_id
        self.known_features = known_features
        self.rng = rng
        self.cluster = Cluster()
        self.loader = StateLoader(store, watch, self.report)
        self.writer = FencedWriter(store, elected.zk_version)
        self.broadcaster = MetadataBroadcaster(
            broker_id, elected.epoch, send, config, lambda: queue.enqueue_change("/controller")
        )
        self.topics_to_reread: set[str] = set()
        self.unwatched_topics: set[str] = set()
        self.reassignment: tuple[ReassignPartitions, int] | None = None
        self.features: VersionedFeatures | None = None
        self.config_changes: dict[str, int] = {}
        self.begun_deletions: set[str] = set()
        self.obstacles: dict[str, str] = {}
        self._reported: set[tuple[str, str]] = set()
        self._audit_entries = AUDIT_SLACK  # those of earlier controllers, which perhaps did not trim them

    @property
    def settings(self) -> NodeSettings:
        """The effective settings of this broker."""
        return self.config.current

    @property
    def election(self) -> ElectionContext:
        """The facts for leader election."""
        return ElectionContext(
            self.cluster.brokers.keys(),
            self.cluster.shutting_down,
            self.epoch,
            self.settings.unclean_leader_election,
        )

    def report(self, error: ZnodeError | StoreError | WriteConflict) -> None:
        """Log a malformed znode, or one that cannot be read or written, once."""
        if (error.path, str(error)) in self._reported:
            return
        self._reported.add((error.path, str(error)))
        if isinstance(error, ZnodeError):
            log.error("ignoring malformed znode: %s", error, extra={"path": error.path, "key": error.key})
        else:
            log.error("cannot use znode: %s", error, extra={"path": error.path})

    def retry(self, path: str, error: StoreError | WriteConflict) -> None:
        """Report an error, and process the change of this path again later."""
        self.report(error)
        self.queue.retry_change(path)

    async def read_brokers(self, topics: Iterable[Topic]) -> Mapping[int, Broker]:
        """Read the live brokers.

        If this session cannot list them, read the brokers that are known or have a replica, and try again later:
        without them, every partition would lose its leader. A broker that is neither is missed until it can be listed.
        """
        try:
            return await self.loader.brokers()
        except NotAuthorized as error:
            self.retry(error.path, error)
        replicas = {replica for topic in topics for partition in topic.partitions for replica in partition.replicas}
        broker_ids = {self.broker_id, *replicas, *self.cluster.known_brokers}
        return await self.loader.brokers_named(map(str, sorted(broker_ids)))

    async def list_children(self, path: str) -> list[str] | None:
        """Return the names of the children, or None, and try again later, if this session must not read them."""
        try:
            return await self.loader.children(path)
        except NotAuthorized as error:
            self.retry(path, error)
            return None

    def update_topics(self, topics: Iterable[Topic] = (), removed: Iterable[str] = ()) -> None:
        """Add, replace, and remove topics in the cluster state, and broadcast the changes to the brokers.

        Removed topics are no longer marked for deletion, nor malformed; topics that can be read are not malformed.
        """
        topics_before = self.cluster.topics
        topics, removed = [topic for topic in topics if topic != topics_before.get(topic.name)], list(removed)
        if not topics and not removed:
            return
        updates = [TopicUpdate(topic.name, topics_before.get(topic.name)) for topic in topics]
        updates += [TopicUpdate(name, topics_before.get(name)) for name in removed if name in topics_before]
        self.cluster = replace(
            self.cluster,
            topics=topics_before.updated(topics, removed),
            topics_to_delete=self.cluster.topics_to_delete.difference(removed),
            malformed_topics=self.cluster.malformed_topics.difference(removed, (topic.name for topic in topics)),
        )
        self.broadcaster.broadcast(self.cluster, updates)

    def update_cluster(self, **changes: Any) -> None:
        """Replace parts of the cluster state other than topics."""
        if "pending_reassignments" in changes:
            changes["pending_reassignments"] = MappingProxyType(dict(changes["pending_reassignments"]))
        if "brokers" in changes:
            changes["known_brokers"] = self.cluster.known_brokers.union(changes["brokers"])
        self.cluster = replace(self.cluster, **changes)

    def audit(self, author: str | None, before: Topic | None, after: Topic | None) -> list[Operation]:
        """Return the write of the audit entry about a change of a topic, for the transaction of the change.

        Without an author, the change only follows from another one, and has no entry, like a change of nothing.
        """
        topic = before or after
        changes = topic_changes(before, after) if author is not None else {}
        if author is None or topic is None or not changes:
            return []
        return [self.audit_entry(author, f"{TOPICS}{topic.name}", changes)]

    def audit_entry(self, author: str, entity: str, changes: Mapping[str, tuple[str | None, str | None]]) -> Operation:
        """Return the write of an audit entry. See `AuditEntry`."""
        self._audit_entries += 1
        return audit_write(author, self.broker_id, entity, changes)

    async def audit_all(
        self, author: str | None, topics: Iterable[Topic], *, is_undone: bool = False
    ) -> list[Operation]:
        """Return the writes of the audit entries about topics that are going to change, or will not any more."""
        writes = []
        time_slice = TimeSlice()
        for topic in topics:
            await time_slice.step()
            now = self.cluster.topics.get(topic.name)
            writes += self.audit(author, topic, now) if is_undone else self.audit(author, now, topic)
        return writes

    async def trim_audit(self) -> None:
        """Delete the oldest audit entries, if there may be too many.

        Raises:
            ControllerMovedError: the session has ended.
        """
        if self._audit_entries < AUDIT_SLACK:
            return
        self._audit_entries = 0
        try:
            await trim_audit(self.store)
        except (SessionExpired, StoreClosed) as error:
            raise ControllerMovedError(str(error)) from error
        except StoreError as error:
            self.report(error)

    async def write_topics(
        self, topics: Iterable[Topic], author: str | None = None
    ) -> dict[str, WriteConflict | StoreError]:
        """Write new states of existing topics.

        Args:
            topics: the topics.
            author: the author in the audit; None for changes without a request.

        Returns:
            The errors of the topics that could not be written, by name.

        Raises:
            ControllerMovedError: another controller was elected.
        """
        planned: dict[str, TopicWrites] = {}
        pending: dict[str, Coroutine[Any, Any, None]] = {}
        unwritten = []
        form = notification_format(self.settings.protocol_version.release)
        for topic in topics:
            before = self.cluster.topics.get(topic.name)
            if topic is before:
                continue
            audit = self.audit(author, before, topic)
            plan = plan_writes(before, topic, notification_form=form, audit=audit)
            if plan.transactions:
                planned[topic.name] = plan
                pending[topic.name] = self.writer.commit_all(plan.transactions)
            else:
                unwritten.append(plan.after)
        failed = await self.wait_for_writes(pending)
        for name, error in failed.items():
            self.reread_topic(name)
            if isinstance(error, WriteConflict) and isinstance(error.error, BadVersion):
                log.warning("topic %s was changed by another client, reading it again: %s", name, error)
            else:
                self.report(error)
        self.update_topics([*unwritten, *(plan.after for name, plan in planned.items() if name not in failed)])
        return failed

    async def restore_topic_ids(self, topics: Iterable[Topic], known: Mapping[str, UUID]) -> None:
        """Write the ids of topics that were rewritten by a tool of a release before 2.8, which drops them.

        Args:
            topics: topics as read, which are not part of the cluster state yet.
            known: their ids.
        """
        without = [topic for topic in topics if topic.topic_id is None and topic.name in known]
        if not without:
            return
        # Not broadcast: without its id, brokers would take it for another topic.
        self.cluster = replace(self.cluster, topics=self.cluster.topics.updated(without))
        log.warning("restoring the ids of topics that were rewritten without: %s", [topic.name for topic in without])
        await self.write_topics([replace(topic, topic_id=known[topic.name]) for topic in without])

    def reread_topic(self, name: str) -> None:
        """Schedule another read of a topic, after a growing pause if this happens again and again."""
        self.topics_to_reread.add(name)
        self.queue.retry_change(TopicRegistration.path(name))

    async def wait_for_writes(
        self, pending: Mapping[str, Coroutine[Any, Any, None]]
    ) -> dict[str, WriteConflict | StoreError]:
        """Wait for all writes and return the errors of the failed ones.

        Raises:
            ControllerMovedError: another controller was elected; all writes have ended.
        """
        failed: dict[str, WriteConflict | StoreError] = {}
        moved: ControllerMovedError | None = None
        try:
            for name, write in pending.items():
                try:
                    await write
                except ControllerMovedError as error:
                    moved = error
                except (WriteConflict, StoreError) as error:
                    failed[name] = error
        finally:
            for write in pending.values():
                write.close()  # those not awaited because this coroutine was cancelled
        if moved is not None:
            raise moved
        return failed

    async def elect_leaders(self, names: Iterable[str] | None = None) -> None:
        """Write the leaders and ISRs of these topics, by default of all topics, for the live brokers."""
        election = self.election
        topics = self.cluster.topics
        chosen = topics if names is None else (topic for name in names if (topic := topics.get(name)) is not None)
        await self.write_topics([elect_leaders(topic, election) for topic in chosen])
