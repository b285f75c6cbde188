"""Fields of brokers, topics, partitions, and configs, independent of the dialect.

Kafka and the drafts of KIP-4 name the same fields differently, and neither has all of them.
"""

from __future__ import annotations

from kwire._util.light_typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from uuid import UUID

__all__ = [
    "NO_EPOCH",
    "NO_LEADER",
    "RESOURCE_TYPES",
    "UNKNOWN_TOPIC",
    "BrokerFields",
    "ConfigFields",
    "PartitionFields",
    "TopicFields",
    "broker_fields",
    "config_fields",
    "partition_fields_of",
    "partitions_by_index",
    "topic_config_fields",
    "topic_error_code",
    "topic_fields",
    "topic_name",
]

NO_LEADER = -1
NO_EPOCH = -1
UNKNOWN_TOPIC = 3
RESOURCE_TYPES = {2: "topic", 4: "broker"}
"""Names of the resource types of DescribeConfigs."""

TOPIC_CONFIG, DEFAULT_CONFIG = 1, 5
"""Config sources of Kafka: set for this topic, and not set anywhere."""


class BrokerFields(NamedTuple):
    """A broker of a list of brokers. `rack` is None in KIP-4."""

    host: str
    port: int
    rack: str | None


class TopicFields(NamedTuple):
    """A topic without its partitions.

    `topic_id` is None in clusters and versions without topic ids. `replication_factor` is the length of the longest
    replica list.
    """

    topic_id: UUID | None
    is_internal: bool
    partitions: int
    replication_factor: int
    error_code: int


class PartitionFields(NamedTuple):
    """A partition. `leader_epoch` is -1 in KIP-4 and in versions without epochs; `isr` and `offline` are sets."""

    error_code: int
    leader: int
    leader_epoch: int
    replicas: tuple[int, ...]
    isr: tuple[int, ...]
    offline: tuple[int, ...]


class ConfigFields(NamedTuple):
    """A config. `source`: Kafka's config source, -1 if the version does not have it."""

    value: str | None
    source: int


def broker_fields(broker: Any) -> BrokerFields:
    """Return the fields of a broker of Metadata, TopicMetadata, or ClusterMetadata."""
    return BrokerFields(broker.host, broker.port, getattr(broker, "rack", None))


def topic_name(topic: Any) -> str | None:
    """Return the name; None for a topic that was requested by an id which the broker does not know."""
    name: str | None = topic.topic_name if hasattr(topic, "topic_name") else topic.name
    return name


def topic_error_code(topic: Any) -> int:
    """Return the error code of a topic."""
    error_code: int = topic.topic_error_code if hasattr(topic, "topic_name") else topic.error_code
    return error_code


def topic_fields(topic: Any) -> TopicFields:
    """Return the fields of a topic of Metadata or TopicMetadata."""
    partitions = topic.partitions
    if hasattr(topic, "topic_name"):
        factor = max([len(_kip4_replicas(partition)) for partition in partitions], default=0)
        return TopicFields(None, False, len(partitions), factor, topic.topic_error_code)
    factor = max([len(partition.replica_nodes) for partition in partitions], default=0)
    topic_id = topic.topic_id if topic.topic_id.int else None
    return TopicFields(topic_id, topic.is_internal, len(partitions), factor, topic.error_code)


def partitions_by_index(topic: Any) -> dict[int, Any]:
    """Return the partitions of a topic by their index."""
    if hasattr(topic, "topic_name"):
        return {partition.partition_id: partition for partition in topic.partitions}
    return {partition.partition_index: partition for partition in topic.partitions}


def partition_fields_of(topic: Any) -> Callable[[Any], PartitionFields]:
    """Return the function that returns the fields of a partition of this topic.

    The dialect is looked up once for each topic: a cluster may have 100,000 partitions.
    """
    return _kip4_partition_fields if hasattr(topic, "topic_name") else _kafka_partition_fields


_new = tuple.__new__
"""Creates a named tuple in about half the time of its constructor."""


def _kafka_partition_fields(partition: Any) -> PartitionFields:
    return _new(
        PartitionFields,
        (
            partition.error_code,
            partition.leader_id,
            partition.leader_epoch,
            partition.replica_nodes,
            partition.isr_nodes,
            partition.offline_replicas,
        ),
    )


def _kip4_partition_fields(partition: Any) -> PartitionFields:
    return PartitionFields(
        partition.partition_error_code, partition.leader, NO_EPOCH, _kip4_replicas(partition), partition.isr, ()
    )


def _kip4_replicas(partition: Any) -> tuple[int, ...]:
    lags = getattr(partition, "replicas_lag", None)
    return partition.replicas if lags is None else tuple([replica.replica_id for replica in lags])


def topic_config_fields(topic: Any) -> dict[str, ConfigFields] | None:
    """Return the configs that a response of KIP-4 has for a topic; None for other responses."""
    if not hasattr(topic, "config_entries"):
        return None
    return {entry.config_key: ConfigFields(entry.config_value, TOPIC_CONFIG) for entry in topic.config_entries}


def config_fields(resource: Any) -> Mapping[str, ConfigFields]:
    """Return the configs of a resource of DescribeConfigs.

    Version 0 reports only whether a config has its default, so that the source is 5 or -1.
    """
    return {
        config.name: ConfigFields(config.value, DEFAULT_CONFIG if config.is_default else config.config_source)
        for config in resource.configs
    }
