"""Encode the content of workloads by hand with `struct`.

This module shares no code with kwire, so a mistake in a declaration, the engine, and the reference alike cannot go
unnoticed. It is meant to be compared with the protocol guide line by line, and not to be fast.
"""

from __future__ import annotations

from struct import pack
from typing import TYPE_CHECKING, assert_never

from benches.content import ApiVersions, Content, Metadata, Partition, Topic, TopicMetadata

if TYPE_CHECKING:
    from collections.abc import Sequence

NO_TAGS = b"\x00"


def body(content: Content, version: int) -> bytes:
    """Encode a message without its header."""
    match content:
        case Metadata():
            return metadata(content, flexible=version >= 9, version=version)
        case TopicMetadata():
            return topic_metadata(content)
        case ApiVersions():
            return api_versions(content)
        case _:
            assert_never(content)


def metadata(content: Metadata, *, flexible: bool, version: int) -> bytes:
    """Encode MetadataResponse, versions 1 to 12."""
    brokers = (
        pack(">i", broker.node_id)
        + string(broker.host, compact=flexible)
        + pack(">i", broker.port)
        + string(broker.rack, compact=flexible)
        + (NO_TAGS if flexible else b"")
        for broker in content.brokers
    )
    topics = (metadata_topic(topic, flexible=flexible, version=version) for topic in content.topics)
    return b"".join(
        (
            pack(">i", content.throttle_time_ms) if version >= 3 else b"",
            count(content.brokers, compact=flexible),
            *brokers,
            string(content.cluster_id, compact=flexible) if version >= 2 else b"",
            pack(">i", content.controller_id),
            count(content.topics, compact=flexible),
            *topics,
            pack(">i", content.cluster_authorized_operations) if 8 <= version <= 10 else b"",
            NO_TAGS if flexible else b"",
        )
    )


def metadata_topic(topic: Topic, *, flexible: bool, version: int) -> bytes:
    partitions = (metadata_partition(partition, flexible=flexible, version=version) for partition in topic.partitions)
    return b"".join(
        (
            pack(">h", topic.error_code),
            string(topic.name, compact=flexible),
            topic.topic_id.bytes if version >= 10 else b"",
            pack(">?", topic.is_internal),
            count(topic.partitions, compact=flexible),
            *partitions,
            pack(">i", topic.topic_authorized_operations) if version >= 8 else b"",
            NO_TAGS if flexible else b"",
        )
    )


def metadata_partition(partition: Partition, *, flexible: bool, version: int) -> bytes:
    return b"".join(
        (
            pack(">hii", partition.error_code, partition.partition_index, partition.leader_id),
            pack(">i", partition.leader_epoch) if version >= 7 else b"",
            int32s(partition.replica_nodes, compact=flexible),
            int32s(partition.isr_nodes, compact=flexible),
            int32s(partition.offline_replicas, compact=flexible) if version >= 5 else b"",
            NO_TAGS if flexible else b"",
        )
    )


def topic_metadata(content: TopicMetadata) -> bytes:
    """Encode TopicMetadataResponse_V1."""
    parts = [count(content.brokers)]
    parts += [pack(">i", broker.node_id) + string(broker.host) + pack(">i", broker.port) for broker in content.brokers]
    parts.append(count(content.topics))
    for topic in content.topics:
        parts += [pack(">h", topic.topic_error_code), string(topic.topic_name), count(topic.partitions)]
        for partition in topic.partitions:
            parts.append(pack(">hii", partition.partition_error_code, partition.partition_id, partition.leader))
            parts.append(count(partition.replicas_lag))
            parts += [pack(">ii", *replica) for replica in partition.replicas_lag]
            parts.append(int32s(partition.isr))
        parts.append(count(topic.config_entries))
        parts += [string(entry.config_key) + string(entry.config_value) for entry in topic.config_entries]
    return b"".join(parts)


def api_versions(content: ApiVersions) -> bytes:
    """Encode ApiVersionsResponse, version 3."""
    supported = b"".join(
        string(name, compact=True) + pack(">hh", lowest, highest) + NO_TAGS
        for name, lowest, highest in content.supported_features
    )
    finalized = b"".join(
        string(name, compact=True) + pack(">hh", highest, lowest) + NO_TAGS
        for name, highest, lowest in content.finalized_features
    )
    return b"".join(
        (
            pack(">h", content.error_code),
            count(content.api_keys, compact=True),
            *(pack(">hhh", *key) + NO_TAGS for key in content.api_keys),
            pack(">i", content.throttle_time_ms),
            unsigned_varint(3),
            tag(0, count(content.supported_features, compact=True) + supported),
            tag(1, pack(">q", content.finalized_features_epoch)),
            tag(2, count(content.finalized_features, compact=True) + finalized),
        )
    )


def string(value: str | None, *, compact: bool = False) -> bytes:
    if value is None:
        return unsigned_varint(0) if compact else pack(">h", -1)
    encoded = value.encode()
    return (unsigned_varint(len(encoded) + 1) if compact else pack(">h", len(encoded))) + encoded


def int32s(values: Sequence[int], *, compact: bool = False) -> bytes:
    return count(values, compact=compact) + pack(f">{len(values)}i", *values)


def count(values: Sequence[object], *, compact: bool = False) -> bytes:
    return unsigned_varint(len(values) + 1) if compact else pack(">i", len(values))


def tag(number: int, value: bytes) -> bytes:
    return unsigned_varint(number) + unsigned_varint(len(value)) + value


def unsigned_varint(value: int) -> bytes:
    groups: list[int] = []
    while value > 0x7F:
        groups.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes((*groups, value))
