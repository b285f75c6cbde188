"""Answers of a fake cluster, with their bytes kept ready.

Rules of this file: bytes come from ``kwire.encode`` and nowhere else. A topic is encoded once a version for as long as
it does not change, and a whole answer once a state: that 5,000 topics stand in an answer costs a server nothing when
they are asked for again, so that what a benchmark measures is the client.
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
from kwire.messages.kafka.metadata import MetadataResponse, MetadataResponseTopic
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
"""The version of Metadata from which on topics may be asked for by id, though requests have had room since 10."""
TOPIC, BROKER = 2, 4
SET_ON_TOPIC, SET_ON_BROKER, SET_ON_ALL_BROKERS = 1, 2, 3

WHOLE_ANSWERS = 8
"""How many states' lists of topics are kept, so that brokers with views of their own do not drive each other out."""


class ResponseCache:
    """Bodies of answers, as pieces that are to be written one after the other. Not for two threads at once."""

    def __init__(self) -> None:
        self._topics: dict[tuple[str, int], dict[str, tuple[MetadataResponseTopic, object, bytes]]] = {}
        self._wholes: dict[tuple[int, str, int], tuple[ClusterState, bytes]] = {}

    def metadata(
        self, state: ClusterState, request: MetadataRequest, version: int, controller_id: int
    ) -> tuple[bytes, ...]:
        """All topics from ready bytes; named ones are encoded for the occasion."""
        if version < TOPIC_IDS_SINCE and any(each.name is None or each.topic_id.int for each in request.topics or ()):
            return (kwire.encode(_refused(request), version=version),)
        everything = request.topics is None or (version == 0 and not request.topics)
        answer = MetadataResponse(
            brokers=state.brokers,
            cluster_id=state.cluster_id,
            controller_id=controller_id,
            topics=() if everything else tuple(_asked_for(state, request)),
        )
        body = kwire.encode(answer, version=version)
        if not everything:
            return (body,)
        behind = _behind_topics(version)
        count = 1 if version >= 9 else 4
        end = len(body) - behind
        return (
            body[: end - count] + _array_count(len(state.topics), compact=version >= 9),
            self._whole(state, "kafka", version),
            body[end:],
        )

    def topic_metadata(self, state: ClusterState, request: TopicMetadataRequest_V1) -> tuple[bytes, ...]:
        """Version 1 of KIP-4's draft."""
        topics: list[TopicMetadata_V1] = []
        for name in request.topic_names:
            topic = state.topics.get(name)
            topics.append(
                _as_kip4(topic, state)
                if topic is not None
                else TopicMetadata_V1(topic_error_code=UNKNOWN_TOPIC, topic_name=name, partitions=(), config_entries=())
            )
        body = kwire.encode(TopicMetadataResponse_V1(brokers=_kip4_brokers(state), topics=tuple(topics)), version=1)
        if request.topic_names:
            return (body,)
        return (body[:-4] + _array_count(len(state.topics), compact=False), self._whole(state, "kip4", 1))

    def _whole(self, state: ClusterState, dialect: str, version: int) -> bytes:
        """All topics, one after the other."""
        key = (id(state), dialect, version)
        kept = self._wholes.get(key)
        if kept is not None and kept[0] is state:
            return kept[1]
        while len(self._wholes) >= WHOLE_ANSWERS:
            del self._wholes[next(iter(self._wholes))]
        whole = b"".join(self._each(state, dialect, version))
        self._wholes[key] = (state, whole)
        return whole

    def _each(self, state: ClusterState, dialect: str, version: int) -> Iterable[bytes]:
        ready = self._topics.setdefault((dialect, version), {})
        for gone in ready.keys() - state.topics.keys():
            del ready[gone]
        for name, topic in state.topics.items():
            configs = state.configs.get((TOPIC, name)) if dialect == "kip4" else None
            kept = ready.get(name)
            if kept is None or kept[0] is not topic or kept[1] is not configs:
                kept = ready[name] = (topic, configs, _topic_bytes(topic, state, dialect, version))
            yield kept[2]


def cluster_metadata(state: ClusterState, controller_id: int) -> ClusterMetadataResponse:
    """Of KIP-4's draft."""
    brokers = _kip4_brokers(state)
    controller = next((broker for broker in brokers if broker.node_id == controller_id), None)
    return ClusterMetadataResponse(error_code=0, brokers=brokers, controller=controller)


def describe_cluster(
    state: ClusterState, request: DescribeClusterRequest, controller_id: int
) -> DescribeClusterResponse:
    """The live brokers; fenced ones are not kept."""
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
    """What is set on purpose; defaults are not told, since a fake cluster has none."""
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
    source = SET_ON_TOPIC if kind == TOPIC else SET_ON_BROKER if name else SET_ON_ALL_BROKERS
    wanted = query.configuration_keys
    return DescribeConfigsResult(
        error_code=error,
        error_message=text,
        resource_type=kind,
        resource_name=name,
        configs=tuple(
            DescribeConfigsResourceResult(
                name=key, value=value, read_only=False, config_source=source, is_sensitive=False
            )
            for key, value in ({} if error else state.configs.get((kind, name), {})).items()
            if wanted is None or key in wanted
        ),
    )


def _refused(request: MetadataRequest) -> MetadataResponse:
    """Every topic with the error and nothing else, as Kafka refuses a request whole."""
    return MetadataResponse(
        brokers=(),
        topics=tuple(
            MetadataResponseTopic(
                error_code=INVALID_REQUEST, name=each.name or "", topic_id=each.topic_id, partitions=()
            )
            for each in request.topics or ()
        ),
    )


def _asked_for(state: ClusterState, request: MetadataRequest) -> list[MetadataResponseTopic]:
    by_id: dict[UUID, MetadataResponseTopic] | None = None
    found = []
    for asked in request.topics or ():
        if asked.name is not None:
            found.append(
                state.topics.get(asked.name)
                or MetadataResponseTopic(error_code=UNKNOWN_TOPIC, name=asked.name, partitions=())
            )
        else:
            by_id = by_id or {topic.topic_id: topic for topic in state.topics.values()}
            found.append(
                by_id.get(asked.topic_id)
                or MetadataResponseTopic(error_code=UNKNOWN_TOPIC_ID, name=None, topic_id=asked.topic_id, partitions=())
            )
    return found


def _topic_bytes(topic: MetadataResponseTopic, state: ClusterState, dialect: str, version: int) -> bytes:
    """One topic as it stands in an answer: what the answer with it has more than what stands around it."""
    answer: Message
    if dialect == "kip4":
        answer = TopicMetadataResponse_V1(brokers=(), topics=(_as_kip4(topic, state),))
        return kwire.encode(answer, version=1)[8:]
    alone = kwire.encode(MetadataResponse(brokers=(), topics=(topic,)), version=version)
    empty = kwire.encode(MetadataResponse(brokers=(), topics=()), version=version)
    behind = _behind_topics(version)
    return alone[len(empty) - behind : len(alone) - behind]


def _behind_topics(version: int) -> int:
    """How many bytes an answer of Metadata has behind its topics."""
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


def _as_kip4(topic: MetadataResponseTopic, state: ClusterState) -> TopicMetadata_V1:
    """The same in KIP-4's words; replicas in sync lag by nothing, of the others it is not known."""
    settings: Any = state.configs.get((TOPIC, topic.name or ""), {})
    return TopicMetadata_V1(
        topic_error_code=topic.error_code,
        topic_name=topic.name or "",
        partitions=tuple(
            PartitionMetadata(
                partition_error_code=each.error_code,
                partition_id=each.partition_index,
                leader=each.leader_id,
                replicas_lag=tuple(
                    ReplicaLag(replica_id=replica, lag=0 if replica in each.isr_nodes else -1)
                    for replica in each.replica_nodes
                ),
                isr=each.isr_nodes,
            )
            for each in topic.partitions
        ),
        config_entries=tuple(
            structures.ConfigEntry(config_key=key, config_value=value) for key, value in settings.items()
        ),
    )
