"""Encoded responses of a fake cluster.

A response with all topics is encoded once per state, version, and controller. Repeated responses with thousands of
topics are cheap for the server, so that benchmarks measure the client.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

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
    from collections.abc import Callable
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

CACHED = 8
"""Maximum number of cached bodies; more than one, because brokers may report different states and controllers."""


class ResponseCache:
    """Encode response bodies, and keep those for all topics. Not thread-safe."""

    def __init__(self) -> None:
        self._bodies: dict[tuple[int, int, int], tuple[ClusterState, bytes]] = {}

    def metadata(self, state: ClusterState, request: MetadataRequest, version: int, controller_id: int) -> bytes:
        """Return the body of a Metadata response."""
        requested = request.topics
        if version < TOPIC_IDS_SINCE and any(topic.name is None or topic.topic_id.int for topic in requested or ()):
            return kwire.encode(_invalid_request(request), version=version)

        def response() -> MetadataResponse:
            topics = state.topics.values() if is_complete else _requested_topics(state, request)
            return MetadataResponse(
                brokers=state.brokers, cluster_id=state.cluster_id, controller_id=controller_id, topics=tuple(topics)
            )

        is_complete = requested is None or (version == 0 and not requested)
        return self._encode(state, response, version, controller_id, is_complete=is_complete)

    def topic_metadata(self, state: ClusterState, request: TopicMetadataRequest_V1) -> bytes:
        """Return the body of a TopicMetadata_V1 response."""

        def response() -> TopicMetadataResponse_V1:
            topics = (_kip4_topic(state, name) for name in request.topic_names or state.topics)
            return TopicMetadataResponse_V1(brokers=_kip4_brokers(state), topics=tuple(topics))

        return self._encode(state, response, 1, state.controller_id, is_complete=not request.topic_names)

    def _encode(
        self,
        state: ClusterState,
        response: Callable[[], Message],
        version: int,
        controller_id: int,
        *,
        is_complete: bool,
    ) -> bytes:
        """Return an encoded response, from the cache if it is one with all topics."""
        key = (id(state), version, controller_id)
        cached = self._bodies.get(key)
        if is_complete and cached is not None and cached[0] is state:
            return cached[1]
        body = kwire.encode(response(), version=version)
        if is_complete:
            while len(self._bodies) >= CACHED:
                del self._bodies[next(iter(self._bodies))]
            self._bodies[key] = (state, body)
        return body


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


def _kip4_brokers(state: ClusterState) -> tuple[structures.Broker, ...]:
    return tuple(structures.Broker(node_id=b.node_id, host=b.host, port=b.port) for b in state.brokers)


def _kip4_topic(state: ClusterState, name: str) -> TopicMetadata_V1:
    """Return a topic as in KIP-4."""
    topic = state.topics.get(name)
    if topic is None:
        return TopicMetadata_V1(topic_error_code=UNKNOWN_TOPIC, topic_name=name, partitions=(), config_entries=())
    configs = state.configs.get((TOPIC, name), {})
    return TopicMetadata_V1(
        topic_error_code=topic.error_code,
        topic_name=name,
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
