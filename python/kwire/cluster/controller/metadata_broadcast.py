"""Telling every broker what the cluster looks like: UpdateMetadata, only what changed, to each at its own pace.

Rules of this file: changes are numbered and kept until every broker has taken them; a broker that is new, or too far
behind, gets everything. What is sent is the state at the time of sending, so that a slow broker gets fewer messages,
not older ones. One broker's slowness or death delays no other. Messages for brokers that are equally far are made once.
A topic that was deleted and made anew between two messages is told as the new one, whose topic id says so.
"""

from __future__ import annotations

import asyncio
import logging
import uuid
from collections import deque
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from kwire.cluster.zookeeper.brokers import SECURITY_PROTOCOLS
from kwire.messages.kafka.update_metadata import (
    UpdateMetadataBroker,
    UpdateMetadataEndpoint,
    UpdateMetadataPartitionState,
    UpdateMetadataRequest,
    UpdateMetadataTopicState,
)
from kwire.messages.kip4.error_codes import ErrorCode

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping

    from kwire.cluster.controller.settings import ControllerSettings
    from kwire.cluster.controller.state import Broker, Cluster, Partition, Topic
    from kwire.messages.kafka.update_metadata import UpdateMetadataResponse

    Send: TypeAlias = Callable[[int, UpdateMetadataRequest], Awaitable[UpdateMetadataResponse]]

__all__ = ["Change", "MetadataBroadcaster", "Send", "update_metadata"]

LEADER_DURING_DELETION = -2
INCREMENTAL = 1
FULL = 2
NO_ID = uuid.UUID(int=0)
KEPT_CHANGES = 10_000
"""A broker that is further behind gets everything."""

log = logging.getLogger("kwire.cluster.controller")


class Change(NamedTuple):
    """A topic of which something changed. ``topic``: as it was told last, None for a new one."""

    name: str
    topic: Topic | None


class MetadataBroadcaster:
    """``send(broker_id, message)`` raises whatever it likes when a broker cannot be reached.

    ``stale``: called when a broker says that a later controller has spoken.
    """

    def __init__(
        self, broker_id: int, epoch: int, send: Send, settings: ControllerSettings, stale: Callable[[], None]
    ) -> None:
        self._broker_id = broker_id
        self._epoch = epoch
        self._send = send
        self._settings = settings
        self._stale = stale
        self._cluster: Cluster | None = None
        self._changes: deque[Change] = deque()
        self._first = 0
        """The number of the oldest change that is kept."""
        self._listeners: dict[int, _Listener] = {}
        self._made: tuple[tuple[int, int], UpdateMetadataRequest] | None = None

    def everything(self, cluster: Cluster) -> None:
        """Tell all brokers everything, also those to whom a message is on its way: it may hold less."""
        self._made = None
        self._forget(len(self._changes))
        self._first += 1  # so that every position is too old, also one that is noted only when the broker has answered
        self.changed(cluster, ())

    def changed(self, cluster: Cluster, changes: Iterable[Change]) -> None:
        """Tell what changed of topics, and who is alive."""
        self._cluster = cluster
        self._changes += changes
        self._made = None
        for broker_id in self._listeners.keys() - cluster.brokers.keys():
            self._listeners.pop(broker_id).stop()
        for broker in cluster.brokers.values():
            listener = self._listeners.get(broker.id)
            if listener is not None and listener.broker_epoch != broker.epoch:  # it came back as another one
                listener.stop()
                listener = None
            if listener is None:
                listener = self._listeners[broker.id] = _Listener(self, broker)
            listener.wake.set()
        self._trim()

    async def stop(self) -> None:
        """Say no more."""
        listeners = list(self._listeners.values())
        self._listeners.clear()
        for listener in listeners:
            listener.stop()
        await asyncio.gather(*(listener.task for listener in listeners), return_exceptions=True)

    @property
    def behind(self) -> dict[int, int]:
        """How many changes each broker has yet to take; one that has taken nothing yet counts all partitions."""
        everything = self._cluster.topics.partition_count + 1 if self._cluster else 1
        end = self._first + len(self._changes)
        return {
            broker_id: everything if listener.position is None else end - listener.position + listener.wake.is_set()
            for broker_id, listener in self._listeners.items()
        }

    def _trim(self) -> None:
        if len(self._changes) > KEPT_CHANGES:
            self._forget(len(self._changes) - KEPT_CHANGES)
        positions = [listener.position for listener in self._listeners.values() if listener.position is not None]
        if len(positions) == len(self._listeners) and positions:
            self._forget(min(positions) - self._first)

    def _forget(self, count: int) -> None:
        for _ in range(count):
            self._changes.popleft()
        self._first += max(count, 0)

    def message(self, position: int | None) -> tuple[UpdateMetadataRequest, int]:
        """What a broker that has taken the changes before ``position`` must be told, and its new position."""
        cluster = self._cluster
        assert cluster is not None
        end = self._first + len(self._changes)
        key = (-1 if position is None or position < self._first else position, end)
        if self._made is None or self._made[0] != key:
            changes = None if key[0] == -1 else list(self._changes)[key[0] - self._first :]
            self._made = key, update_metadata(cluster, self._broker_id, self._epoch, changes)
        return self._made[1], end

    async def deliver(self, broker: Broker, message: UpdateMetadataRequest) -> bool:
        """Whether the broker took it."""
        try:
            # Not wait_for, which in Python 3.11 forgets that it was cancelled when the answer comes at that moment.
            async with asyncio.timeout(self._settings.send_timeout):
                answer = await self._send(broker.id, replace(message, broker_epoch=broker.epoch))
        except Exception as error:  # noqa: BLE001 - whatever goes wrong with one broker is no reason to stop telling it
            log.info("broker %d did not take its metadata: %s", broker.id, repr(error))
            return False
        if answer.error_code == ErrorCode.STALE_CONTROLLER_EPOCH:
            self._stale()
        elif answer.error_code != ErrorCode.NO_ERROR:
            log.error("broker %d refused its metadata: error %d", broker.id, answer.error_code)
        return answer.error_code == ErrorCode.NO_ERROR

    def taken(self) -> None:
        """A broker has taken what it was sent."""
        self._trim()

    @property
    def settings(self) -> ControllerSettings:
        """Times to wait."""
        return self._settings


class _Listener:
    """One life of one broker. ``position``: the number of the next change that it must be told; None: everything."""

    def __init__(self, announcer: MetadataBroadcaster, broker: Broker) -> None:
        self._announcer = announcer
        self._broker = broker
        self.broker_epoch = broker.epoch
        self.position: int | None = None
        self.wake = asyncio.Event()
        self.task = asyncio.get_running_loop().create_task(self._run(), name=f"metadata for broker {broker.id}")

    def stop(self) -> None:
        self.task.cancel()

    async def _run(self) -> None:
        settings = self._announcer.settings
        while True:
            await self.wake.wait()
            backoff = settings.retry_backoff
            while True:
                self.wake.clear()
                message, position = self._announcer.message(self.position)
                if await self._announcer.deliver(self._broker, message):
                    break
                self.wake.set()
                await asyncio.sleep(backoff)
                backoff = min(2 * backoff, settings.retry_backoff_max)
            self.position = position
            self._announcer.taken()


def update_metadata(
    cluster: Cluster, controller_id: int, epoch: int, changes: Collection[Change] | None
) -> UpdateMetadataRequest:
    """The message of version 8 for these changes; about everything for None."""
    if changes is None:
        topic_states = [_told(topic, topic.partitions, cluster) for topic in cluster.topics]
    else:
        topic_states = [told for told in _changed(cluster, changes) if told.partition_states]
    return UpdateMetadataRequest(
        controller_id=controller_id,
        type=FULL if changes is None else INCREMENTAL,
        controller_epoch=epoch,
        topic_states=tuple(topic_states),
        live_brokers=tuple(_live(broker) for broker in cluster.brokers.values()),
    )


def _changed(cluster: Cluster, changes: Iterable[Change]) -> Iterable[UpdateMetadataTopicState]:
    first: dict[str, Topic | None] = {}
    lived: dict[str, Topic] = {}
    for name, before in changes:
        first.setdefault(name, before)
        if before is not None:
            lived[name] = before
    for name, before in first.items():
        topic = cluster.topics.get(name)
        if topic is None:
            if name in lived:
                yield _deleted(lived[name])
        elif before is None or before.topic_id != topic.topic_id:
            yield _told(topic, topic.partitions, cluster)
        else:
            yield _told(topic, _differing(before, topic), cluster)


def _differing(before: Topic, topic: Topic) -> list[Partition]:
    known: Mapping[int, Partition] = {partition.id: partition for partition in before.partitions}
    return [partition for partition in topic.partitions if known.get(partition.id) != partition]


def _told(topic: Topic, partitions: Iterable[Partition], cluster: Cluster) -> UpdateMetadataTopicState:
    live = cluster.brokers
    return UpdateMetadataTopicState(
        topic_name=topic.name,
        topic_id=topic.topic_id or NO_ID,
        partition_states=tuple(
            UpdateMetadataPartitionState(
                partition_index=partition.id,
                controller_epoch=partition.state.controller_epoch if partition.state else 0,
                leader=partition.leader,
                leader_epoch=partition.leader_epoch,
                isr=partition.isr,
                zk_version=max(partition.version, -1),
                replicas=partition.replicas,
                offline_replicas=tuple(broker for broker in partition.replicas if broker not in live),
            )
            for partition in partitions
        ),
    )


def _deleted(topic: Topic) -> UpdateMetadataTopicState:
    return UpdateMetadataTopicState(
        topic_name=topic.name,
        topic_id=topic.topic_id or NO_ID,
        partition_states=tuple(
            UpdateMetadataPartitionState(
                partition_index=partition.id,
                controller_epoch=0,
                leader=LEADER_DURING_DELETION,
                leader_epoch=-2,
                isr=(),
                zk_version=-1,
                replicas=partition.replicas,
            )
            for partition in topic.partitions
        ),
    )


def _live(broker: Broker) -> UpdateMetadataBroker:
    return UpdateMetadataBroker(
        id=broker.id,
        endpoints=tuple(
            UpdateMetadataEndpoint(
                port=endpoint.port,
                host=endpoint.host,
                listener=endpoint.listener,
                security_protocol=SECURITY_PROTOCOLS.index(endpoint.security_protocol),
            )
            for endpoint in broker.registration.endpoints
        ),
        rack=broker.registration.rack,
    )
