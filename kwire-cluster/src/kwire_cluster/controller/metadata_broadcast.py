"""Broadcast of cluster metadata to all brokers with UpdateMetadata.

- Changes are numbered and kept until every broker has acknowledged them. A new broker, or one that is too far behind,
  gets the full metadata.
- A message contains the state at the time of sending, so a slow broker gets fewer messages, not older ones.
- Every broker has its own task, so a slow or failed broker does not delay the others.
- Brokers at the same position share one message.
- Every message has its position (`UpdatePosition`). A broker that notices a gap rejects the message, and gets the full
  metadata.
- If a topic was deleted and created again between two messages, brokers get the new one; its topic id shows that.
"""

from __future__ import annotations

import asyncio
import logging
import uuid
from collections import deque
from dataclasses import replace
from struct import Struct
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from kwire.messages.kafka.error_codes import ErrorCode as KafkaErrorCode
from kwire.messages.kafka.update_metadata import (
    UpdateMetadataBroker,
    UpdateMetadataEndpoint,
    UpdateMetadataPartitionState,
    UpdateMetadataRequest,
    UpdateMetadataTopicState,
)
from kwire.messages.kip4.error_codes import ErrorCode
from kwire_cluster.zookeeper.brokers import SECURITY_PROTOCOLS

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping

    from kwire.messages.kafka.update_metadata import UpdateMetadataResponse
    from kwire_cluster.config.live_config import LiveConfig
    from kwire_cluster.controller.cluster_state import Broker, Cluster
    from kwire_cluster.controller.topic_state import Partition, Topic

    Send: TypeAlias = Callable[[int, UpdateMetadataRequest], Awaitable[UpdateMetadataResponse]]

_TAG = 10_010
_LAYOUT = Struct(">qqii")


class UpdatePosition(NamedTuple):
    """The position of an update, in an unknown tagged field of the request, which Kafka's brokers ignore.

    Attributes:
        before: the position that a broker must have for an incremental update.
        after: its position after the update.
        topics: the number of topics in the cluster.
        partitions: the number of their partitions.
    """

    before: int
    after: int
    topics: int
    partitions: int

    def to_tags(self) -> Mapping[int, bytes]:
        """Return the tagged fields of the request."""
        return {_TAG: _LAYOUT.pack(*self)}

    @classmethod
    def of(cls, request: UpdateMetadataRequest) -> UpdatePosition | None:
        """Return the position of a request, or None if it has none."""
        data = request.unknown_tags.get(_TAG, b"")
        return cls(*_LAYOUT.unpack(data)) if len(data) == _LAYOUT.size else None


LEADER_DURING_DELETION = -2
GAP = KafkaErrorCode.INVALID_UPDATE_VERSION
"""The error of a broker that has not received the update before this one."""
INCREMENTAL = 1
FULL = 2
NO_TOPIC_ID = uuid.UUID(int=0)
MAX_KEPT_UPDATES = 10_000
"""Brokers that are further behind get the full metadata."""

log = logging.getLogger("kwire_cluster.controller")


class TopicUpdate(NamedTuple):
    """A changed topic. `before` is the previous state, None for a new topic."""

    name: str
    before: Topic | None


class MetadataBroadcaster:
    """Sends cluster metadata to every live broker.

    Args:
        broker_id: the id of the controller.
        epoch: the controller epoch.
        send: sends a message to a broker; it may raise any exception if the broker is unavailable.
        settings: retry and timeout settings.
        on_stale_epoch: called when a broker knows a newer controller epoch.
    """

    def __init__(
        self, broker_id: int, epoch: int, send: Send, config: LiveConfig, on_stale_epoch: Callable[[], None]
    ) -> None:
        self._broker_id = broker_id
        self._epoch = epoch
        self._send = send
        self.config = config
        self._on_stale_epoch = on_stale_epoch
        self._cluster: Cluster | None = None
        self._updates: deque[TopicUpdate] = deque()
        self._first = 0
        """The number of the oldest kept update."""
        self._senders: dict[int, _BrokerSender] = {}
        self._cached: tuple[tuple[int, int], UpdateMetadataRequest] | None = None

    def broadcast_all(self, cluster: Cluster) -> None:
        """Send the full metadata to all brokers."""
        self._discard(len(self._updates))
        # Skip a number, so that every position is too old, even one that a message in flight will set.
        self._first += 1
        self.broadcast(cluster, ())

    def send_full(self, broker_id: int) -> None:
        """Send the full metadata to a broker, if it is alive."""
        sender = self._senders.get(broker_id)
        if sender is not None:
            sender.send_full()

    def broadcast(self, cluster: Cluster, updates: Iterable[TopicUpdate]) -> None:
        """Send changed topics and the live brokers."""
        self._cluster = cluster
        self._updates += updates
        self._cached = None
        for broker_id in self._senders.keys() - cluster.brokers.keys():
            self._senders.pop(broker_id).stop()
        for broker in cluster.brokers.values():
            sender = self._senders.get(broker.id)
            if sender is not None and sender.broker_epoch != broker.epoch:  # the broker has restarted
                sender.stop()
                sender = None
            if sender is None:
                sender = self._senders[broker.id] = _BrokerSender(self, broker)
            sender.wake.set()
        self.discard_acknowledged()

    async def stop(self) -> None:
        """Stop sending."""
        senders = list(self._senders.values())
        self._senders.clear()
        for sender in senders:
            sender.stop()
        await asyncio.gather(*(sender.task for sender in senders), return_exceptions=True)

    @property
    def pending_updates(self) -> dict[int, int]:
        """The number of updates that each broker has not acknowledged; a new broker counts all partitions."""
        everything = self._cluster.topics.partition_count + 1 if self._cluster else 1
        end = self._first + len(self._updates)
        return {
            broker_id: everything if sender.position is None else end - sender.position + sender.wake.is_set()
            for broker_id, sender in self._senders.items()
        }

    def discard_acknowledged(self) -> None:
        """Discard the updates that all brokers have acknowledged, and the oldest ones beyond the limit."""
        if len(self._updates) > MAX_KEPT_UPDATES:
            self._discard(len(self._updates) - MAX_KEPT_UPDATES)
        positions = [sender.position for sender in self._senders.values() if sender.position is not None]
        if len(positions) == len(self._senders) and positions:
            self._discard(min(positions) - self._first)

    def _discard(self, count: int) -> None:
        for _ in range(count):
            self._updates.popleft()
        self._first += max(count, 0)

    def message(self, position: int | None) -> tuple[UpdateMetadataRequest, int]:
        """Return the message for a broker at this position, and its position after the message."""
        cluster = self._cluster
        assert cluster is not None
        end = self._first + len(self._updates)
        key = (-1 if position is None or position < self._first else position, end)
        if self._cached is None or self._cached[0] != key:
            updates = None if key[0] == -1 else list(self._updates)[key[0] - self._first :]
            tags = UpdatePosition(key[0], end, len(cluster.topics), cluster.topics.partition_count).to_tags()
            request = update_metadata_request(cluster, self._broker_id, self._epoch, updates)
            self._cached = key, replace(request, unknown_tags=tags)
        return self._cached[1], end

    async def deliver(self, broker: Broker, message: UpdateMetadataRequest) -> bool:
        """Send a message and return whether the broker accepted it."""
        try:
            # asyncio.wait_for of Python 3.11 loses a cancellation that coincides with the response.
            async with asyncio.timeout(self.config.current.send_timeout_ms / 1000):
                response = await self._send(broker.id, replace(message, broker_epoch=broker.epoch))
        except Exception as error:  # noqa: BLE001  # `send` may raise anything; the caller retries
            log.info("cannot send metadata to broker %d: %r", broker.id, error)
            return False
        if response.error_code == ErrorCode.STALE_CONTROLLER_EPOCH:
            self._on_stale_epoch()
        elif response.error_code == GAP:
            log.warning("broker %d has missed an update, sending the full metadata", broker.id)
            self.send_full(broker.id)
        elif response.error_code != ErrorCode.NO_ERROR:
            log.error("broker %d rejected its metadata with error %d", broker.id, response.error_code)
        return response.error_code == ErrorCode.NO_ERROR


class _BrokerSender:
    """Sends metadata to one broker until it restarts or fails.

    `position` is the number of the next update to send, None if the broker needs the full metadata.
    """

    def __init__(self, broadcaster: MetadataBroadcaster, broker: Broker) -> None:
        self._broadcaster = broadcaster
        self._broker = broker
        self.broker_epoch = broker.epoch
        self.position: int | None = None
        self._is_full_requested = False
        """True if the full metadata was requested while a message was in flight."""
        self.wake = asyncio.Event()
        self.task = asyncio.get_running_loop().create_task(self._run(), name=f"metadata for broker {broker.id}")

    def stop(self) -> None:
        self.task.cancel()

    def send_full(self) -> None:
        self.position = None
        self._is_full_requested = True
        self.wake.set()

    async def _run(self) -> None:
        settings = self._broadcaster.config.current
        while True:
            await self.wake.wait()
            backoff = settings.retry_backoff_ms / 1000
            while True:
                self.wake.clear()
                self._is_full_requested = False
                message, position = self._broadcaster.message(self.position)
                if await self._broadcaster.deliver(self._broker, message):
                    break
                self.wake.set()
                await asyncio.sleep(backoff)
                backoff = min(2 * backoff, settings.retry_backoff_max_ms / 1000)
            self.position = None if self._is_full_requested else position
            self._broadcaster.discard_acknowledged()


def update_metadata_request(
    cluster: Cluster, controller_id: int, epoch: int, updates: Collection[TopicUpdate] | None
) -> UpdateMetadataRequest:
    """Return the message (version 8) for these updates, or with the full metadata for None."""
    if updates is None:
        topic_states = [_topic_state(topic, topic.partitions, cluster) for topic in cluster.topics]
    else:
        topic_states = [state for state in _updated_topics(cluster, updates) if state.partition_states]
    return UpdateMetadataRequest(
        controller_id=controller_id,
        type=FULL if updates is None else INCREMENTAL,
        controller_epoch=epoch,
        topic_states=tuple(topic_states),
        live_brokers=tuple(_live_broker(broker) for broker in cluster.brokers.values()),
    )


def _updated_topics(cluster: Cluster, updates: Iterable[TopicUpdate]) -> Iterable[UpdateMetadataTopicState]:
    first: dict[str, Topic | None] = {}
    last_existing: dict[str, Topic] = {}
    for name, before in updates:
        first.setdefault(name, before)
        if before is not None:
            last_existing[name] = before
    for name, before in first.items():
        topic = cluster.topics.get(name)
        if topic is None:
            if name in last_existing:
                yield _deleted_topic_state(last_existing[name])
        elif before is None or before.topic_id != topic.topic_id:
            yield _topic_state(topic, topic.partitions, cluster)
        else:
            yield _topic_state(topic, _changed_partitions(before, topic), cluster)


def _changed_partitions(before: Topic, topic: Topic) -> list[Partition]:
    before_by_id: Mapping[int, Partition] = {partition.id: partition for partition in before.partitions}
    return [partition for partition in topic.partitions if before_by_id.get(partition.id) != partition]


def _topic_state(topic: Topic, partitions: Iterable[Partition], cluster: Cluster) -> UpdateMetadataTopicState:
    live = cluster.brokers
    return UpdateMetadataTopicState(
        topic_name=topic.name,
        topic_id=topic.topic_id or NO_TOPIC_ID,
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


def _deleted_topic_state(topic: Topic) -> UpdateMetadataTopicState:
    return UpdateMetadataTopicState(
        topic_name=topic.name,
        topic_id=topic.topic_id or NO_TOPIC_ID,
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


def _live_broker(broker: Broker) -> UpdateMetadataBroker:
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
