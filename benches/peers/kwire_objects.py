"""The message classes of engine and reference, and their conversion to content."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from benches.content import (
    ApiVersion,
    ApiVersions,
    Broker,
    ConfigEntry,
    Content,
    FinalizedFeature,
    LagPartition,
    LagTopic,
    Metadata,
    Partition,
    ReplicaLag,
    SupportedFeature,
    Topic,
    TopicMetadata,
)
from kwire.messages import find

if TYPE_CHECKING:
    from kwire.declare import Message

DIALECTS = {"MetadataResponse": "kafka", "ApiVersionsResponse": "kafka", "TopicMetadataResponse_V1": "kip4"}


def message_class(name: str) -> type[Message]:
    """Return the class of a message."""
    return find(DIALECTS[name], name=name)


def content(message: Any) -> Content:
    """Convert a message to content."""
    match type(message).__name__:
        case "MetadataResponse":
            return metadata(message)
        case "TopicMetadataResponse_V1":
            return topic_metadata(message)
        case _:
            return api_versions(message)


def metadata(message: Any) -> Metadata:
    return Metadata(
        throttle_time_ms=message.throttle_time_ms,
        brokers=tuple(Broker(broker.node_id, broker.host, broker.port, broker.rack) for broker in message.brokers),
        cluster_id=message.cluster_id,
        controller_id=message.controller_id,
        topics=tuple(
            Topic(
                error_code=topic.error_code,
                name=topic.name,
                topic_id=topic.topic_id,
                is_internal=topic.is_internal,
                partitions=tuple(
                    Partition(
                        error_code=partition.error_code,
                        partition_index=partition.partition_index,
                        leader_id=partition.leader_id,
                        leader_epoch=partition.leader_epoch,
                        replica_nodes=partition.replica_nodes,
                        isr_nodes=partition.isr_nodes,
                        offline_replicas=partition.offline_replicas,
                    )
                    for partition in topic.partitions
                ),
                topic_authorized_operations=topic.topic_authorized_operations,
            )
            for topic in message.topics
        ),
        cluster_authorized_operations=message.cluster_authorized_operations,
    )


def topic_metadata(message: Any) -> TopicMetadata:
    return TopicMetadata(
        brokers=tuple(Broker(broker.node_id, broker.host, broker.port) for broker in message.brokers),
        topics=tuple(
            LagTopic(
                topic_error_code=topic.topic_error_code,
                topic_name=topic.topic_name,
                partitions=tuple(
                    LagPartition(
                        partition_error_code=partition.partition_error_code,
                        partition_id=partition.partition_id,
                        leader=partition.leader,
                        replicas_lag=tuple(
                            ReplicaLag(replica.replica_id, replica.lag) for replica in partition.replicas_lag
                        ),
                        isr=partition.isr,
                    )
                    for partition in topic.partitions
                ),
                config_entries=tuple(
                    ConfigEntry(entry.config_key, entry.config_value) for entry in topic.config_entries
                ),
            )
            for topic in message.topics
        ),
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
