"""``ControllerContext``: what a controller holds while it is in office, and the steps that change it.

Rules of this file: the state changes only after the write that makes it so; every change of topics goes through
``write_topics``, which writes, takes over and announces. Whatever finds a node other than it was read marks the topic
doubtful, and the queue has it read again.
"""

from __future__ import annotations

import logging
from dataclasses import replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from kwire.cluster.controller.fenced_writer import Conflict, Deposed, FencedWriter
from kwire.cluster.controller.metadata_broadcast import Change, MetadataBroadcaster
from kwire.cluster.controller.state import Cluster
from kwire.cluster.controller.state_loader import Loader
from kwire.cluster.controller.topic_steps import Circumstances, settle_topic
from kwire.cluster.controller.topic_writes import TopicWrites, writes
from kwire.cluster.zookeeper.errors import StoreError
from kwire.cluster.zookeeper.topics import TopicRegistration

if TYPE_CHECKING:
    from collections.abc import Coroutine, Iterable, Mapping, Sequence

    from kwire.cluster.controller.election import Term
    from kwire.cluster.controller.events import EventQueue
    from kwire.cluster.controller.metadata_broadcast import Send
    from kwire.cluster.controller.settings import ControllerSettings
    from kwire.cluster.controller.state import Topic
    from kwire.cluster.zookeeper.admin_requests import Reassignment
    from kwire.cluster.zookeeper.errors import ZnodeError
    from kwire.cluster.zookeeper.operations import Operation
    from kwire.cluster.zookeeper.store import Store, Watch

__all__ = ["ControllerContext"]

log = logging.getLogger("kwire.cluster.controller")


class ControllerContext:
    """One term. ``cluster`` is the state; all else here is what it takes to change it."""

    def __init__(
        self,
        store: Store,
        broker_id: int,
        term: Term,
        queue: EventQueue,
        watch: Watch,
        send: Send,
        settings: ControllerSettings,
    ) -> None:
        self.store = store
        self.broker_id = broker_id
        self.term = term
        self.queue = queue
        self.watch = watch
        self.settings = settings
        self.cluster = Cluster()
        self.loader = Loader(store, watch, self._report)
        self.writer = FencedWriter(store, term.epoch_version)
        self.announcer = MetadataBroadcaster(broker_id, term.epoch, send, settings, lambda: queue.look("/controller"))
        self.doubtful: set[str] = set()
        """Topics to be read again, whatever the version of their registration."""
        self.unwatched: set[str] = set()
        """Topics that were made here, and that no watch sees yet."""
        self.reassignment: tuple[Reassignment, int] | None = None
        """The node that asks for one, as it was last read or written, with its version; None when it cannot be read."""
        self.known_notes: dict[str, int] = {}
        """Notes of changed settings that were seen, with the time at which they were made, in milliseconds."""
        self._reported: set[tuple[str, str]] = set()

    @property
    def now(self) -> Circumstances:
        """What steps depend on."""
        return Circumstances(
            self.cluster.brokers.keys(),
            self.cluster.leaving,
            self.term.epoch,
            self.settings.unclean_leader_election,
        )

    def _report(self, error: ZnodeError) -> None:
        if (error.path, str(error)) not in self._reported:
            self._reported.add((error.path, str(error)))
            log.error("bad znode, left alone: %s", error, extra={"path": error.path, "key": error.key})

    def report(self, error: ZnodeError) -> None:
        """A node that nobody can read: said once."""
        self._report(error)

    # Topics

    def take_over(self, topics: Iterable[Topic] = (), gone: Iterable[str] = ()) -> None:
        """Make these topics part of the state, and tell the brokers what changed."""
        topics, gone = list(topics), list(gone)
        if not topics and not gone:
            return
        known = self.cluster.topics
        changes = [Change(topic.name, known.get(topic.name)) for topic in topics]
        changes += [Change(name, known.get(name)) for name in gone if name in known]
        self.cluster = replace(
            self.cluster,
            topics=known.replaced(topics, gone),
            marked=self.cluster.marked.difference(gone),
            unreadable=self.cluster.unreadable.difference(gone, (topic.name for topic in topics)),
        )
        self.announcer.changed(self.cluster, changes)

    async def write_topics(self, wanted: Iterable[Topic]) -> dict[str, Conflict | StoreError]:
        """Write topics that exist as they should be; the result is what could not be written, by name.

        Errors: Deposed.
        """
        planned: dict[str, TopicWrites] = {}
        pending: dict[str, Coroutine[Any, Any, None]] = {}
        same = []
        for topic in wanted:
            before = self.cluster.topics.get(topic.name)
            if topic is before:
                continue
            plan = writes(before, topic)
            if plan.transactions:
                planned[topic.name] = plan
                pending[topic.name] = self.begin(plan.transactions)
            else:
                same.append(plan.after)
        failed = await self.ends(pending)
        for name, error in failed.items():
            self.doubt(name)
            log.warning("topic %s could not be written and is read again: %s", name, error)
        self.take_over([*same, *(plan.after for name, plan in planned.items() if name not in failed)])
        return failed

    def doubt(self, name: str) -> None:
        """Have a topic read again."""
        self.doubtful.add(name)
        self.queue.look(TopicRegistration.path(name))

    def begin(self, transactions: Sequence[Sequence[Operation]]) -> Coroutine[Any, Any, None]:
        """Begin the first transaction now; the others follow one another."""
        first = self.writer.commit(transactions[0])
        return self._rest(first, transactions[1:]) if len(transactions) > 1 else first

    async def _rest(self, first: Coroutine[Any, Any, None], others: Sequence[Sequence[Operation]]) -> None:
        await first
        await self.writer.commit_all(others)

    async def ends(self, pending: Mapping[str, Coroutine[Any, Any, None]]) -> dict[str, Conflict | StoreError]:
        """Wait for all of them; the result is what was refused. Errors: Deposed, once all have ended."""
        failed: dict[str, Conflict | StoreError] = {}
        deposed: Deposed | None = None
        try:
            for name, one in pending.items():
                try:
                    await one
                except Deposed as error:
                    deposed = error
                except (Conflict, StoreError) as error:
                    failed[name] = error
        finally:
            for one in pending.values():
                one.close()  # of those that were not waited for, because this was cancelled
        if deposed is not None:
            raise deposed
        return failed

    async def settle(self, names: Iterable[str] | None = None) -> None:
        """Write leaders and ISRs as they should be, of these topics or of all."""
        now = self.now
        topics = self.cluster.topics
        chosen = topics if names is None else (topic for name in names if (topic := topics.get(name)) is not None)
        wanted = [settle_topic(topic, now) for topic in chosen]
        await self.write_topics(wanted)

    def with_cluster(self, **changes: Any) -> None:
        """Replace parts of the state that are not topics."""
        if "pending" in changes:
            changes["pending"] = MappingProxyType(dict(changes["pending"]))
        self.cluster = replace(self.cluster, **changes)
