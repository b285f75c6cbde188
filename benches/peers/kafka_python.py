"""kafka-python: pure Python, with codecs that it compiles from Kafka's schemas on first use.

A decoded message has its version, with which `encode(version=...)` fails, so `encode` is called without it.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from kafka.protocol.metadata import ApiVersionsResponse, MetadataResponse
from typing_extensions import override

from benches.content import (
    OPERATIONS_NOT_REQUESTED,
    VERSIONED_FIELDS,
    ApiVersion,
    ApiVersions,
    Broker,
    FinalizedFeature,
    Metadata,
    Partition,
    SupportedFeature,
    Topic,
)
from benches.peers.peer import Codec, Peer, Unable

if TYPE_CHECKING:
    from collections.abc import Callable


class KafkaPython(Peer):
    name = "kafka-python"
    distribution = "kafka-python"
    imports = "from kafka.protocol.metadata import MetadataResponse"

    @override
    def codec(self, message: str, version: int) -> Codec:
        content: Callable[[Any], Metadata | ApiVersions]
        match message:
            case "MetadataResponse":
                cls, content = MetadataResponse, partial(metadata, version)
            case "ApiVersionsResponse":
                cls, content = ApiVersionsResponse, api_versions
            case _:
                raise Unable(f"{message} is not in its schema")
        return Codec(decode=partial(cls.decode, version=version), encode=cls.encode, content=content)


def field(part: Any, name: str, version: int) -> Any:
    """Return a field that this version may lack. Reading it would return kafka-python's own default."""
    known = VERSIONED_FIELDS[name]
    return getattr(part, name) if version in known.versions else known.default


def operations(part: Any) -> int:
    """Convert a set of bits, in which None means that the operations were not requested."""
    bits = part.authorized_operations
    return OPERATIONS_NOT_REQUESTED if bits is None else sum(1 << bit for bit in bits)


def metadata(version: int, message: Any) -> Metadata:
    return Metadata(
        throttle_time_ms=field(message, "throttle_time_ms", version),
        brokers=tuple(Broker(broker.node_id, broker.host, broker.port, broker.rack) for broker in message.brokers),
        cluster_id=field(message, "cluster_id", version),
        controller_id=message.controller_id,
        topics=tuple(
            Topic(
                error_code=topic.error_code,
                name=topic.name,
                topic_id=field(topic, "topic_id", version),
                is_internal=topic.is_internal,
                partitions=tuple(
                    Partition(
                        error_code=partition.error_code,
                        partition_index=partition.partition_index,
                        leader_id=partition.leader_id,
                        leader_epoch=field(partition, "leader_epoch", version),
                        replica_nodes=tuple(partition.replica_nodes),
                        isr_nodes=tuple(partition.isr_nodes),
                        offline_replicas=tuple(field(partition, "offline_replicas", version)),
                    )
                    for partition in topic.partitions
                ),
                topic_authorized_operations=operations(topic),
            )
            for topic in message.topics
        ),
        cluster_authorized_operations=operations(message),
    )


def api_versions(message: Any) -> ApiVersions:
    return ApiVersions(
        error_code=message.error_code,
        api_keys=tuple(
            ApiVersion(api_key.api_key, api_key.min_version, api_key.max_version) for api_key in message.api_keys
        ),
        throttle_time_ms=message.throttle_time_ms,
        supported_features=tuple(
            SupportedFeature(supported_feature.name, supported_feature.min_version, supported_feature.max_version)
            for supported_feature in message.supported_features
        ),
        finalized_features_epoch=message.finalized_features_epoch,
        finalized_features=tuple(
            FinalizedFeature(
                finalized_feature.name, finalized_feature.max_version_level, finalized_feature.min_version_level
            )
            for finalized_feature in message.finalized_features
        ),
    )


PEER = KafkaPython()
