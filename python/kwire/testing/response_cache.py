"""Encoded responses of a fake cluster, cached.

A topic is encoded once per version while it does not change, and the list of all topics once per state. Repeated
responses with thousands of topics are cheap for the server, so that benchmarks measure the client. All bytes come from
`kwire.encode`.
"""

from __future__ import annotations

from struct import pack
from typing import TYPE_CHECKING, Any

import kwire
from kwire.messages.kafka.describe_cluster import DescribeClusterBroker, DescribeClusterResponse
from kwire.messages.kafka.describe_configs import (
    DescribeConfigsResourceResult,
    DescribeConfigsResponse,
    DescribeConfigsResult,
)
from kwire.messages.kafka.metadata import MetadataResponse, MetadataResponsePartition, MetadataResponseTopic
from kwire.messages.kip4 import structures
from kwire.messages.kip4.cluster_metadata import ClusterMetadataResponse
from kwire.messages.kip4.topic_metadata_v1 import (
    PartitionMetadata,
    ReplicaLag,
    TopicMetadataResponse_V1,
)
from kwire.messages.kip4.topic_metadata_v1 import TopicMetadata as TopicMetadata_V1

if TYPE_CHECKING:
    from collections.abc import Iterable
    from uuid import UUID

    from kwire.declare import Message
    from kwire.messages.kafka.describe_cluster import DescribeClusterRequest
    from kwire.messages.kafka.describe_configs import DescribeConfigsRequest, DescribeConfigsResource
    from kwire.messages.kafka.metadata import MetadataRequest
    from kwire.messages.kip4.topic_metadata_v1 import TopicMetadataRequest_V1
    from kwire.testing.cluster_state import ClusterState

__all__ = ["ResponseCache"]

UNKNOWN_TOPIC = 3
INVALID_REQUEST = 42
UNKNOWN_TOPIC_ID = 100
TOPIC_IDS_SINCE = 12
"""The first version of Metadata in which brokers accept topic ids; requests have the field since version 10."""
TOPIC, BROKER = 2, 4
TOPIC_CONFIG, DYNAMIC_BROKER_CONFIG, DYNAMIC_DEFAULT_BROKER_CONFIG = 1, 2, 3
DEFAULT_CONFIG = 5
TOPIC_DEFAULTS = {"cleanup.policy": "delete", "min.insync.replicas": "1", "retention.ms": "604800000"}
"""Defaults of Kafka that monitoring asks for. A list of all configs has only dynamic ones."""

CACHED_STATES = 8
"""The number of cached topic lists; more than one, because brokers may report different states."""


class ResponseCache:
    """Encode response bodies, as pieces to write one after the other. Not thread-safe."""

    def __init__(self) -> None:
        self._topics: dict[tuple[str, int], dict[str, tuple[MetadataResponseTopic, object, bytes]]] = {}
        self._topic_lists: dict[tuple[int, str, int], tuple[ClusterState, bytes]] = {}

    def metadata(
        self, state: ClusterState, request: MetadataRequest, version: int, controller_id: int
    ) -> tuple[bytes, ...]:
        """Return the body of a Metadata response. All topics come from the cache; named ones are encoded each time."""
        if version < TOPIC_IDS_SINCE and any(
            topic.name is None or topic.topic_id.int for topic in request.topics or ()
        ):
            return (kwire.encode(_invalid_request(request), version=version),)
        everything = request.topics is None or (version == 0 and not request.topics)
        response = MetadataResponse(
            brokers=state.brokers,
            cluster_id=state.cluster_id,
            controller_id=controller_id,
            topics=() if everything else tuple(_requested_topics(state, request)),
        )
        body = kwire.encode(response, version=version)
        if not everything:
            return (body,)
        after = _bytes_after_topics(version)
        count = 1 if version >= 9 else 4
        end = len(body) - after
        return (
            body[: end - count] + _array_count(len(state.topics), compact=version >= 9),
            self._topic_list(state, "kafka", version),
            body[end:],
        )

    def topic_metadata(self, state: ClusterState, request: TopicMetadataRequest_V1) -> tuple[bytes, ...]:
        """Return the body of a TopicMetadata_V1 response."""
        topics: list[TopicMetadata_V1] = []
        for name in request.topic_names:
            topic = state.topics.get(name)
            topics.append(
                _to_kip4(topic, state)
                if topic is not None
                else TopicMetadata_V1(topic_error_code=UNKNOWN_TOPIC, topic_name=name, partitions=(), config_entries=())
            )
        body = kwire.encode(TopicMetadataResponse_V1(brokers=_kip4_brokers(state), topics=tuple(topics)), version=1)
        if request.topic_names:
            return (body,)
        return (body[:-4] + _array_count(len(state.topics), compact=False), self._topic_list(state, "kip4", 1))

    def _topic_list(self, state: ClusterState, dialect: str, version: int) -> bytes:
        """Return all topics of a state, encoded."""
        key = (id(state), dialect, version)
        cached = self._topic_lists.get(key)
        if cached is not None and cached[0] is state:
            return cached[1]
        while len(self._topic_lists) >= CACHED_STATES:
            del self._topic_lists[next(iter(self._topic_lists))]
        encoded = b"".join(self._encode_topics(state, dialect, version))
        self._topic_lists[key] = (state, encoded)
        return encoded

    def _encode_topics(self, state: ClusterState, dialect: str, version: int) -> Iterable[bytes]:
        cache = self._topics.setdefault((dialect, version), {})
        for removed in cache.keys() - state.topics.keys():
            del cache[removed]
        for name, topic in state.topics.items():
            configs = state.configs.get((TOPIC, name)) if dialect == "kip4" else None
            cached = cache.get(name)
            if cached is None or cached[0] is not topic or cached[1] is not configs:
                cached = cache[name] = (topic, configs, _topic_bytes(topic, state, dialect, version))
            yield cached[2]


def cluster_metadata(state: ClusterState, controller_id: int) -> ClusterMetadataResponse:
    """Return a ClusterMetadata response."""
    brokers = _kip4_brokers(state)
    controller = next((broker for broker in brokers if broker.node_id == controller_id), None)
    return ClusterMetadataResponse(error_code=0, brokers=brokers, controller=controller, cluster_id=state.cluster_id)


def describe_cluster(
    state: ClusterState, request: DescribeClusterRequest, controller_id: int
) -> DescribeClusterResponse:
    """Return a DescribeCluster response. Fenced brokers are not included."""
    del request
    return DescribeClusterResponse(
        throttle_time_ms=0,
        error_code=0,
        cluster_id=state.cluster_id,
        controller_id=controller_id,
        brokers=tuple(
            DescribeClusterBroker(broker_id=b.node_id, host=b.host, port=b.port, rack=b.rack) for b in state.brokers
        ),
    )


def describe_configs(state: ClusterState, request: DescribeConfigsRequest, node_id: int) -> DescribeConfigsResponse:
    """Return a DescribeConfigs response with the dynamic configs, and TOPIC_DEFAULTS that are asked for by name."""
    return DescribeConfigsResponse(
        throttle_time_ms=0, results=tuple(_resource(state, query, node_id) for query in request.resources)
    )


def _resource(state: ClusterState, query: DescribeConfigsResource, node_id: int) -> DescribeConfigsResult:
    kind, name = query.resource_type, query.resource_name
    error, text = 0, ""
    if kind == TOPIC and name not in state.topics:
        error, text = UNKNOWN_TOPIC, ""
    elif kind == BROKER and name not in {"", str(node_id)}:
        error, text = INVALID_REQUEST, f"Unexpected broker id, expected {node_id} or empty string, but received {name}"
    elif kind not in {TOPIC, BROKER}:
        error, text = INVALID_REQUEST, f"Unsupported resource type: {kind}"
    source = TOPIC_CONFIG if kind == TOPIC else DYNAMIC_BROKER_CONFIG if name else DYNAMIC_DEFAULT_BROKER_CONFIG
    keys = query.configuration_keys
    values = {} if error else {key: (value, source) for key, value in state.configs.get((kind, name), {}).items()}
    if keys is not None and kind == TOPIC and not error:
        values = {key: (value, DEFAULT_CONFIG) for key, value in TOPIC_DEFAULTS.items()} | values
    return DescribeConfigsResult(
        error_code=error,
        error_message=text,
        resource_type=kind,
        resource_name=name,
        configs=tuple(
            DescribeConfigsResourceResult(
                name=key, value=value, read_only=False, config_source=of_value, is_sensitive=False
            )
            for key, (value, of_value) in values.items()
            if keys is None or key in keys
        ),
    )


def _invalid_request(request: MetadataRequest) -> MetadataResponse:
    """Return the response to a rejected request: each topic with error 42, as Kafka does."""
    return MetadataResponse(
        brokers=(),
        topics=tuple(
            MetadataResponseTopic(
                error_code=INVALID_REQUEST, name=topic.name or "", topic_id=topic.topic_id, partitions=()
            )
            for topic in request.topics or ()
        ),
    )


def _requested_topics(state: ClusterState, request: MetadataRequest) -> list[MetadataResponseTopic]:
    by_id: dict[UUID, MetadataResponseTopic] | None = None
    matching = []
    for requested in request.topics or ():
        if requested.name is not None:
            matching.append(
                state.topics.get(requested.name)
                or MetadataResponseTopic(error_code=UNKNOWN_TOPIC, name=requested.name, partitions=())
            )
        else:
            by_id = by_id or {topic.topic_id: topic for topic in state.topics.values()}
            matching.append(
                by_id.get(requested.topic_id)
                or MetadataResponseTopic(
                    error_code=UNKNOWN_TOPIC_ID, name=None, topic_id=requested.topic_id, partitions=()
                )
            )
    return matching


def _topic_bytes(topic: MetadataResponseTopic, state: ClusterState, dialect: str, version: int) -> bytes:
    """Return one encoded topic: a response with the topic, minus the bytes of a response without it."""
    response: Message
    if dialect == "kip4":
        response = TopicMetadataResponse_V1(brokers=(), topics=(_to_kip4(topic, state),))
        return kwire.encode(response, version=1)[8:]
    with_topic = kwire.encode(MetadataResponse(brokers=(), topics=(topic,)), version=version)
    empty = kwire.encode(MetadataResponse(brokers=(), topics=()), version=version)
    after = _bytes_after_topics(version)
    return with_topic[len(empty) - after : len(with_topic) - after]


def _bytes_after_topics(version: int) -> int:
    """Return the number of bytes after the topics of a Metadata response."""
    operations = 4 if 8 <= version <= 10 else 0
    error_code = 2 if version >= 13 else 0
    tags = 1 if version >= 9 else 0
    return operations + error_code + tags


def _array_count(count: int, *, compact: bool) -> bytes:
    if not compact:
        return pack(">i", count)
    rest = count + 1
    groups = bytearray()
    while rest > 0x7F:
        groups.append(rest & 0x7F | 0x80)
        rest >>= 7
    groups.append(rest)
    return bytes(groups)


def _kip4_brokers(state: ClusterState) -> tuple[structures.Broker, ...]:
    return tuple(structures.Broker(node_id=b.node_id, host=b.host, port=b.port) for b in state.brokers)


def _to_kip4(topic: MetadataResponseTopic, state: ClusterState) -> TopicMetadata_V1:
    """Convert a topic to KIP-4."""
    configs: Any = state.configs.get((TOPIC, topic.name or ""), {})
    return TopicMetadata_V1(
        topic_error_code=topic.error_code,
        topic_name=topic.name or "",
        partitions=tuple(
            PartitionMetadata(
                partition_error_code=partition.error_code,
                partition_id=partition.partition_index,
                leader=partition.leader_id,
                replicas_lag=_lags(partition),
                isr=partition.isr_nodes,
            )
            for partition in topic.partitions
        ),
        config_entries=tuple(
            structures.ConfigEntry(config_key=key, config_value=value) for key, value in configs.items()
        ),
    )


def _lags(partition: MetadataResponsePartition) -> tuple[ReplicaLag, ...]:
    """Return the lag of each replica: 0 for a live one in the ISR, otherwise -1 for unknown, as nodes report it."""
    in_sync = set(partition.isr_nodes).difference(partition.offline_replicas)
    return tuple(
        ReplicaLag(replica_id=replica, lag=0 if replica in in_sync else -1) for replica in partition.replica_nodes
    )
