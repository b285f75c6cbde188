"""kio: Kafka's messages as one frozen dataclass for each version, decoded in Rust and encoded in Python.

Its readers and writers are created once, as its documentation recommends. `TopicMetadataResponse_V1` was never
released, so only kwire supports it.
"""

from __future__ import annotations

from functools import partial
from importlib import import_module
from io import BytesIO
from typing import TYPE_CHECKING, Any

from kio.serial import entity_reader, entity_writer
from typing_extensions import override

from benches.content import (
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


class Kio(Peer):
    name = "kio"
    distribution = "kio"
    imports = "from kio.schema.metadata.v12 import MetadataResponse"

    @override
    def codec(self, message: str, version: int) -> Codec:
        content: Callable[[Any], Metadata | ApiVersions]
        match message:
            case "MetadataResponse":
                package, content = "metadata", metadata
            case "ApiVersionsResponse":
                package, content = "api_versions", api_versions
            case _:
                raise Unable(f"{message} is not in its schema")
        cls = getattr(import_module(f"kio.schema.{package}.v{version}"), message)
        return Codec(
            decode=partial(decode, entity_reader(cls)),
            encode=partial(encode, entity_writer(cls)),
            content=content,
        )


def decode(read: Callable[[bytes, int], tuple[Any, int]], data: bytes) -> Any:
    """Decode a message. The readers of kio also return the number of bytes read."""
    return read(data, 0)[0]


def encode(write: Callable[[BytesIO, Any], None], message: Any) -> bytes:
    buffer = BytesIO()
    write(buffer, message)
    return buffer.getvalue()


def field(part: Any, name: str) -> Any:
    """Return a field that the class of this version may lack."""
    return getattr(part, name, VERSIONED_FIELDS[name].default)


def metadata(message: Any) -> Metadata:
    throttle = getattr(message, "throttle_time", None)
    return Metadata(
        throttle_time_ms=0 if throttle is None else round(throttle.total_seconds() * 1000),
        brokers=tuple(Broker(broker.node_id, broker.host, broker.port, broker.rack) for broker in message.brokers),
        cluster_id=field(message, "cluster_id"),
        controller_id=message.controller_id,
        topics=tuple(
            Topic(
                error_code=int(topic.error_code),
                name=topic.name,
                topic_id=field(topic, "topic_id"),
                is_internal=topic.is_internal,
                partitions=tuple(
                    Partition(
                        error_code=int(partition.error_code),
                        partition_index=partition.partition_index,
                        leader_id=partition.leader_id,
                        leader_epoch=field(partition, "leader_epoch"),
                        replica_nodes=partition.replica_nodes,
                        isr_nodes=partition.isr_nodes,
                        offline_replicas=field(partition, "offline_replicas"),
                    )
                    for partition in topic.partitions
                ),
                topic_authorized_operations=field(topic, "topic_authorized_operations"),
            )
            for topic in message.topics
        ),
        cluster_authorized_operations=field(message, "cluster_authorized_operations"),
    )


def api_versions(message: Any) -> ApiVersions:
    return ApiVersions(
        error_code=int(message.error_code),
        api_keys=tuple(
            ApiVersion(api_key.api_key, api_key.min_version, api_key.max_version) for api_key in message.api_keys
        ),
        throttle_time_ms=round(message.throttle_time.total_seconds() * 1000),
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


PEER = Kio()
