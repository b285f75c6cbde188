"""What the benchmark messages say, as plain tuples that belong to no codec.

Every peer's result is turned into these before anything is timed, and must be equal to what the generator made. A
field that a version does not carry holds Kafka's default for it, so `at` gives the content as a reader of that
version sees it.
"""

from __future__ import annotations

from typing import Any, NamedTuple, TypeAlias
from uuid import UUID

NO_UUID = UUID(int=0)
OPERATIONS_NOT_ASKED_FOR = -(2**31)


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
    topic_authorized_operations: int = OPERATIONS_NOT_ASKED_FOR


class Metadata(NamedTuple):
    """MetadataResponse, versions 1 to 12."""

    throttle_time_ms: int
    brokers: tuple[Broker, ...]
    cluster_id: str | None
    controller_id: int
    topics: tuple[Topic, ...]
    cluster_authorized_operations: int = OPERATIONS_NOT_ASKED_FOR

    def at(self, version: int) -> Metadata:
        """What is left of it in a version."""
        topics = tuple(
            topic._replace(
                **absent(topic, version),
                partitions=tuple(each._replace(**absent(each, version)) for each in topic.partitions),
            )
            for topic in self.topics
        )
        return self._replace(**absent(self, version), topics=topics)


class Carried(NamedTuple):
    """In which versions a field is on the wire, and what it counts as in the others."""

    versions: range
    otherwise: Any


CARRIED = {
    "throttle_time_ms": Carried(range(3, 13), 0),
    "cluster_id": Carried(range(2, 13), None),
    "cluster_authorized_operations": Carried(range(8, 11), OPERATIONS_NOT_ASKED_FOR),
    "topic_id": Carried(range(10, 13), NO_UUID),
    "topic_authorized_operations": Carried(range(8, 13), OPERATIONS_NOT_ASKED_FOR),
    "leader_epoch": Carried(range(7, 13), -1),
    "offline_replicas": Carried(range(5, 13), ()),
}
"""The fields of MetadataResponse that not every version from 1 to 12 has."""


def absent(part: Metadata | Topic | Partition, version: int) -> dict[str, Any]:
    """The fields of a part that a version lacks, with what they count as there."""
    return {
        name: field.otherwise
        for name, field in CARRIED.items()
        if name in part._fields and version not in field.versions
    }


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
