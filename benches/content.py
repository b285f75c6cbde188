"""The content of the benchmark messages as plain tuples, independent of any codec.

Before the timing, the result of every peer is converted to these tuples by `read` and compared with the generated
content. A field that a version lacks has Kafka's default.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias, get_args, get_origin, get_type_hints
from uuid import UUID

if TYPE_CHECKING:
    from collections.abc import Callable

NO_UUID = UUID(int=0)
OPERATIONS_NOT_REQUESTED = -(2**31)


class Broker(NamedTuple):
    node_id: int
    host: str
    port: int
    rack: str | None = None


class Partition(NamedTuple):
    error_code: int
    partition_index: int
    leader_id: int
    leader_epoch: int
    replica_nodes: tuple[int, ...]
    isr_nodes: tuple[int, ...]
    offline_replicas: tuple[int, ...] = ()


class Topic(NamedTuple):
    error_code: int
    name: str
    topic_id: UUID
    is_internal: bool
    partitions: tuple[Partition, ...]
    topic_authorized_operations: int = OPERATIONS_NOT_REQUESTED


class Metadata(NamedTuple):
    """MetadataResponse, versions 1 to 12."""

    throttle_time_ms: int
    brokers: tuple[Broker, ...]
    cluster_id: str | None
    controller_id: int
    topics: tuple[Topic, ...]
    cluster_authorized_operations: int = OPERATIONS_NOT_REQUESTED


class VersionedField(NamedTuple):
    """The versions that have a field, and its default in the others."""

    versions: range
    default: Any


VERSIONED_FIELDS = {
    "throttle_time_ms": VersionedField(range(3, 13), 0),
    "cluster_id": VersionedField(range(2, 13), None),
    "cluster_authorized_operations": VersionedField(range(8, 11), OPERATIONS_NOT_REQUESTED),
    "topic_id": VersionedField(range(10, 13), NO_UUID),
    "topic_authorized_operations": VersionedField(range(8, 13), OPERATIONS_NOT_REQUESTED),
    "leader_epoch": VersionedField(range(7, 13), -1),
    "offline_replicas": VersionedField(range(5, 13), ()),
}
"""The fields of MetadataResponse that some versions from 1 to 12 lack."""


class ReplicaLag(NamedTuple):
    replica_id: int
    lag: int


class LagPartition(NamedTuple):
    partition_error_code: int
    partition_id: int
    leader: int
    replicas_lag: tuple[ReplicaLag, ...]
    isr: tuple[int, ...]


class ConfigEntry(NamedTuple):
    config_key: str
    config_value: str


class LagTopic(NamedTuple):
    topic_error_code: int
    topic_name: str
    partitions: tuple[LagPartition, ...]
    config_entries: tuple[ConfigEntry, ...] = ()


class TopicMetadata(NamedTuple):
    """TopicMetadataResponse_V1 of KIP-4's draft; its brokers have no rack."""

    brokers: tuple[Broker, ...]
    topics: tuple[LagTopic, ...]


class ApiVersion(NamedTuple):
    api_key: int
    min_version: int
    max_version: int


class SupportedFeature(NamedTuple):
    name: str
    min_version: int
    max_version: int


class FinalizedFeature(NamedTuple):
    name: str
    max_version_level: int
    min_version_level: int


class ApiVersions(NamedTuple):
    """ApiVersionsResponse, version 3, as Apache Kafka ships it."""

    error_code: int
    api_keys: tuple[ApiVersion, ...]
    throttle_time_ms: int
    supported_features: tuple[SupportedFeature, ...]
    finalized_features_epoch: int
    finalized_features: tuple[FinalizedFeature, ...]


Content: TypeAlias = Metadata | TopicMetadata | ApiVersions

TYPES: dict[str, Any] = {
    "MetadataResponse": Metadata,
    "TopicMetadataResponse_V1": TopicMetadata,
    "ApiVersionsResponse": ApiVersions,
}
"""The content of each message."""


def carried(kind: Any, version: int) -> dict[str, Any]:
    """Return the fields of a type of the content that a version has, with their types."""
    return {
        name: hint
        for name, hint in get_type_hints(kind).items()
        if name not in VERSIONED_FIELDS or version in VERSIONED_FIELDS[name].versions
    }


def read(value: Any, hint: Any, version: int, field: Callable[[Any, str], Any] = getattr) -> Any:
    """Convert the objects of a peer to content.

    Args:
        hint: the type of the content.
        field: returns the field of an object; fields that the version lacks are not read.
    """
    if get_origin(hint) is tuple:
        return tuple(read(element, get_args(hint)[0], version, field) for element in value)
    if not hasattr(hint, "_fields"):
        return value
    present = carried(hint, version)
    values = {name: read(field(value, name), kind, version, field) for name, kind in present.items()}
    return hint(**{name: VERSIONED_FIELDS[name].default for name in hint._fields if name not in present}, **values)
