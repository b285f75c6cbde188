"""The metadata cache of a node, with encoded responses to TopicMetadata.

- The content comes from the controller (UpdateMetadata). Only topic configs come from ZooKeeper (`set_configs`),
  because UpdateMetadata does not carry them.
- It is not complete until the first full update of a ZooKeeper session: what an earlier session left may lack topics
  that exist, and an empty cache lacks all of them. A request that needs it is refused until then.
- Brokers, topics, and configs that no response can carry are skipped and logged: one of them would make every response
  that contains it fail.
- The part of a response about one topic is encoded once after each change, when a request first needs it. The response
  about all topics joins these parts, and is kept until the next change.
"""

from __future__ import annotations

import asyncio
from struct import pack
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

from kwire.codec import encode
from kwire.messages.kip4.error_codes import ErrorCode
from kwire.messages.kip4.strings import is_encodable_config, is_encodable_string
from kwire.messages.kip4.structures import Broker, ConfigEntry
from kwire.messages.kip4.topic_metadata import PartitionMetadata, TopicMetadata, TopicMetadataResponse
from kwire.messages.kip4.topic_metadata_v1 import PartitionMetadata as PartitionMetadata_V1
from kwire.messages.kip4.topic_metadata_v1 import ReplicaLag, TopicMetadataResponse_V1
from kwire.messages.kip4.topic_metadata_v1 import TopicMetadata as TopicMetadata_V1
from kwire.protocol.endpoint import Endpoint
from kwire_cluster.controller.topic_names import MAX_NAME_LENGTH, is_possible_topic_name
from kwire_cluster.node.logs import logger
from kwire_cluster.request_quotas import in_slices
from kwire_cluster.zookeeper.brokers import MAX_HOST_LENGTH

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
    from uuid import UUID

    from kwire.messages.kafka.update_metadata import (
        UpdateMetadataEndpoint,
        UpdateMetadataPartitionState,
        UpdateMetadataRequest,
        UpdateMetadataTopicState,
    )
    from kwire_cluster.zookeeper.brokers import RegisteredEndpoint

LEADER_NOT_AVAILABLE = 5
"""Kafka's code for a partition without a leader; the drafts carry it without naming it."""

BEING_DELETED = -2
"""The leader in UpdateMetadata for a partition of a topic that is being deleted."""
FULL_UPDATE = 2
"""The type of an UpdateMetadata request that lists all topics."""

EMPTY_ARRAY = pack(">i", 0)
NO_ERRORS: Mapping[str, int] = MappingProxyType({})

log = logger(__name__)


class CachedTopic(NamedTuple):
    """A topic: its id, and the latest state of each partition."""

    topic_id: UUID
    partitions: dict[int, UpdateMetadataPartitionState]


class MetadataCache:
    """The cluster metadata that a node has received."""

    def __init__(self) -> None:
        self.controller_id = -1
        self.controller_epoch = 0
        self.brokers: dict[int, Broker] = {}
        self.broker_endpoints: dict[int, Endpoint] = {}
        """Endpoints at which nodes connect to each other, by broker id."""
        self.topics: dict[str, CachedTopic] = {}
        self.configs: dict[str, tuple[ConfigEntry, ...]] = {}
        self.position: int | None = None
        """The position among the updates of the controller (`UpdatePosition`), None if it is not known."""
        self.partition_count = 0
        self.changes = 0
        """The number of changes applied, for noticing a change."""
        self._completed = asyncio.Event()
        self._slices = asyncio.Lock()
        self._encoded = {
            version: EncodedResponses(self.topics, encode_topic)
            for version, encode_topic in enumerate((self._encode_v0, self._encode_v1))
        }

    # Updates

    def begin_session(self) -> None:
        """Require a full update before anything is answered, because a new ZooKeeper session has begun."""
        self._completed.clear()
        self.position = None
        self.changes += 1  # cached responses are discarded as well

    @property
    def is_complete(self) -> bool:
        """True once a full update has arrived in the current ZooKeeper session."""
        return self._completed.is_set()

    async def wait_complete(self) -> None:
        """Wait until `is_complete`."""
        await self._completed.wait()

    def is_stale(self, request: UpdateMetadataRequest) -> bool:
        """Return whether an update comes from an older controller, or from a second controller of the same epoch."""
        if request.controller_epoch == self.controller_epoch:
            return request.controller_id != self.controller_id
        return request.controller_epoch < self.controller_epoch

    def set_controller(self, controller_id: int, epoch: int) -> None:
        """Follow this controller, although its epoch is not higher than the known one."""
        self.controller_id = controller_id
        self.controller_epoch = epoch

    def new_topics(self, request: UpdateMetadataRequest) -> list[str]:
        """Return the topics of an update that are not in the cache, or have another id there."""
        return [
            topic.topic_name
            for topic in request.topic_states
            if is_possible_topic_name(topic.topic_name)
            and (topic.topic_name not in self.topics or self.topics[topic.topic_name].topic_id != topic.topic_id)
        ]

    def update(self, request: UpdateMetadataRequest) -> ErrorCode:
        """Apply an update, and return the error code of the response.

        A stale update changes nothing and returns STALE_CONTROLLER_EPOCH. Topics with invalid names and brokers without
        a usable address are skipped.
        """
        if self.is_stale(request):
            return ErrorCode.STALE_CONTROLLER_EPOCH
        self.controller_epoch = request.controller_epoch
        self.controller_id = request.controller_id
        self._update_brokers(request)
        listed = set()
        for topic in request.topic_states:
            if not is_possible_topic_name(topic.topic_name):
                log.warning("skipping a topic with an invalid name", topic=topic.topic_name[:MAX_NAME_LENGTH])
                continue
            listed.add(topic.topic_name)
            self._update_topic(topic, is_complete=request.type == FULL_UPDATE)
        if request.type == FULL_UPDATE:
            for name in self.topics.keys() - listed:
                self._remove_topic(name)
            self._completed.set()
        self.changes += 1
        return ErrorCode.NO_ERROR

    def topic_id(self, name: str) -> UUID | None:
        """Return the id of a topic, None if it is unknown or has none."""
        topic = self.topics.get(name)
        return topic.topic_id if topic is not None and topic.topic_id.int else None

    def mark_changed(self) -> None:
        """Count a change of something else that responses contain, so that they are encoded again."""
        self.changes += 1

    def set_configs(self, topic: str, configs: Mapping[str, str]) -> None:
        """Set the configs that a topic overrides. Configs that no response can carry are skipped."""
        entries = config_entries(topic, configs)
        if self.configs.get(topic, ()) == entries:
            return
        if entries:
            self.configs[topic] = entries
        else:
            self.configs.pop(topic, None)
        self._topic_changed(topic)
        self.changes += 1

    def _update_brokers(self, request: UpdateMetadataRequest) -> None:
        brokers, endpoints = {}, {}
        for broker in request.live_brokers:
            if not broker.endpoints or not is_usable_host(broker.endpoints[0].host):
                log.warning("skipping a broker without a usable address", broker_id=broker.id)
                continue
            endpoint = broker.endpoints[0]
            brokers[broker.id] = Broker(node_id=broker.id, host=endpoint.host, port=endpoint.port)
            endpoints[broker.id] = broker_endpoint(broker.endpoints)
        self.broker_endpoints = endpoints
        if brokers != self.brokers:
            self.brokers = brokers
            for encoded in self._encoded.values():
                encoded.brokers_changed()

    def _update_topic(self, topic: UpdateMetadataTopicState, *, is_complete: bool) -> None:
        states = {state.partition_index: state for state in topic.partition_states}
        if any(state.leader == BEING_DELETED for state in states.values()):
            self._remove_topic(topic.topic_name)
            return
        cached = self.topics.get(topic.topic_name)
        if cached is not None and cached.topic_id == topic.topic_id and not is_complete:
            states = cached.partitions | states
        self.partition_count += len(states) - (len(cached.partitions) if cached is not None else 0)
        # The mapping is replaced, not changed, so that readers on other threads see a consistent one.
        self.topics[topic.topic_name] = CachedTopic(topic.topic_id, states)
        self._topic_changed(topic.topic_name)

    def _remove_topic(self, topic: str) -> None:
        removed = self.topics.pop(topic, None)
        if removed is not None:
            self.partition_count -= len(removed.partitions)
            self.configs.pop(topic, None)
            self._topic_changed(topic)

    def _topic_changed(self, topic: str) -> None:
        for encoded in self._encoded.values():
            encoded.topic_changed(topic)

    # Responses

    def response_body(
        self,
        version: int,
        topics: Iterable[str],
        errors: Mapping[str, int] = NO_ERRORS,
        denied: Collection[str] = (),
    ) -> bytes:
        """Return the body of a TopicMetadata response.

        Args:
            version: 0 or 1.
            topics: the topics to describe; all if empty. Repetitions are ignored.
            errors: error codes to report for topics that are not in the cache, by name; the default is
                UNKNOWN_TOPIC_OR_PARTITION.
            denied: topics to answer with TOPIC_AUTHORIZATION_FAILED, whether they exist or not.
        """
        encoded = self._encoded[version]
        names = tuple(dict.fromkeys(topics))
        if not names:
            return encoded.all_topics(self.brokers)
        # Nothing is kept here: a client may send any number of unknown names.
        return encoded.join(self.brokers, [encoded.topic(name, errors, denied) for name in names])

    async def response_body_in_slices(
        self,
        version: int,
        topics: Iterable[str],
        errors: Mapping[str, int] = NO_ERRORS,
        denied: Collection[str] = (),
    ) -> bytes:
        """Return the same as `response_body` for many topics, without delaying other connections.

        Without topics, the body has none. Such responses are built one after another: many at a time would delay the
        others together.
        """
        encoded = self._encoded[version]
        names = tuple(dict.fromkeys(topics))
        async with self._slices:
            parts = [encoded.topic(name, errors, denied) async for name in in_slices(names)]
            return encoded.join(self.brokers, parts)

    def _encode_v0(self, name: str, error_code: int, cached: CachedTopic | None) -> bytes:
        partitions = tuple(
            PartitionMetadata(
                partition_error_code=LEADER_NOT_AVAILABLE if state.leader < 0 else 0,
                partition_id=partition,
                leader=state.leader,
                replicas=state.replicas,
                isr=state.isr,
            )
            for partition, state in sorted(cached.partitions.items() if cached else ())
        )
        topic = TopicMetadata(topic_error_code=error_code, topic_name=name, partitions=partitions)
        return encode(TopicMetadataResponse(brokers=(), topics=(topic,)), version=0)

    def _encode_v1(self, name: str, error_code: int, cached: CachedTopic | None) -> bytes:
        partitions = tuple(
            PartitionMetadata_V1(
                partition_error_code=LEADER_NOT_AVAILABLE if state.leader < 0 else 0,
                partition_id=partition,
                leader=state.leader,
                replicas_lag=lags(state),
                isr=state.isr,
            )
            for partition, state in sorted(cached.partitions.items() if cached else ())
        )
        topic = TopicMetadata_V1(
            topic_error_code=error_code,
            topic_name=name,
            partitions=partitions,
            config_entries=self.configs.get(name, ()) if cached else (),
        )
        return encode(TopicMetadataResponse_V1(brokers=(), topics=(topic,)), version=1)


def config_entries(topic: str, configs: Mapping[str, str]) -> tuple[ConfigEntry, ...]:
    """Return the configs of a topic. Configs that no response can carry are left out, and logged."""
    valid = {key: value for key, value in configs.items() if is_encodable_config(key, value)}
    for key in configs.keys() - valid:  # written to ZooKeeper by another program
        log.error(
            "skipping a config that no protocol string can hold",
            topic=topic,
            key=ascii(key[:100]),
            characters=len(configs[key]),
        )
    return tuple(ConfigEntry(config_key=key, config_value=value) for key, value in sorted(valid.items()))


def broker_endpoint(endpoints: Sequence[UpdateMetadataEndpoint | RegisteredEndpoint]) -> Endpoint:
    """Return the endpoint of a broker that other nodes connect to: the last one, as nodes register them."""
    return Endpoint(endpoints[-1].host, endpoints[-1].port)


def is_usable_host(name: str) -> bool:
    """Return whether `name` has a valid length for a host and fits in a string of the protocol."""
    return len(name) <= MAX_HOST_LENGTH and is_encodable_string(name)


def lags(state: UpdateMetadataPartitionState) -> tuple[ReplicaLag, ...]:
    """Return the lag of each replica: 0 in the ISR, otherwise -1 for unknown, because nodes have no data plane.

    The last member of an ISR stays in it when its broker fails. Its lag is unknown, too.
    """
    in_sync = set(state.isr).difference(state.offline_replicas)
    return tuple(ReplicaLag(replica_id=replica, lag=0 if replica in in_sync else -1) for replica in state.replicas)


class EncodedResponses:
    """Encoded parts of the responses of one version.

    Both versions have the layout `[Broker] [Topic]`, so a body can be joined from encoded parts.

    Args:
        topics: the cached topics.
        encode_topic: encodes a response about one topic, without brokers, given its name, its error code, and the topic
            unless it has an error. The part of the topic follows the lengths of the two arrays, 8 bytes.
    """

    def __init__(
        self, topics: Mapping[str, CachedTopic], encode_topic: Callable[[str, int, CachedTopic | None], bytes]
    ) -> None:
        self._cached = topics
        self._encode_topic = encode_topic
        self._topics: dict[str, bytes] = {}
        self._all_topics: bytes | None = None
        self._brokers: bytes | None = None

    def topic_changed(self, name: str) -> None:
        self._topics.pop(name, None)
        self._all_topics = None

    def brokers_changed(self) -> None:
        self._brokers = None
        self._all_topics = None

    def all_topics(self, brokers: Mapping[int, Broker]) -> bytes:
        """Return a body about all topics."""
        if self._all_topics is None:
            for name in self._cached.keys() - self._topics.keys():
                self._topics[name] = self.topic(name)
            self._all_topics = self.join(brokers, [self._topics[name] for name in self._cached])
        return self._all_topics

    def topic(self, name: str, errors: Mapping[str, int] = NO_ERRORS, denied: Collection[str] = ()) -> bytes:
        """Return the part about a topic. See `MetadataCache.response_body`."""
        if name in denied:
            return self._encode_topic(name, ErrorCode.TOPIC_AUTHORIZATION_FAILED, None)[8:]
        encoded = self._topics.get(name)
        if encoded is not None:
            return encoded
        cached = self._cached.get(name)
        code = ErrorCode.NO_ERROR if cached else errors.get(name, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
        return self._encode_topic(name, code, cached)[8:]

    def join(self, brokers: Mapping[int, Broker], topics: list[bytes]) -> bytes:
        """Return a body with these parts."""
        if self._brokers is None:
            response = TopicMetadataResponse(brokers=tuple(brokers.values()), topics=())
            self._brokers = encode(response, version=0)[: -len(EMPTY_ARRAY)]
        return b"".join([self._brokers, pack(">i", len(topics)), *topics])
