"""confluent-kafka as an independent client: creates, deletes, and lists topics."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import confluent_kafka.admin

from kwire.client import Endpoint
from tests.eventually import eventually_sync

if TYPE_CHECKING:
    from kwire.messages.kafka.metadata import MetadataResponse
    from tests.real_kafka import KafkaCluster

confluent: Any = confluent_kafka.admin  # its stubs lack some classes

SECONDS = 60


class Listing(NamedTuple):
    """Metadata in a form that does not depend on the client."""

    cluster_id: str | None
    brokers: dict[int, Endpoint]
    partitions: dict[tuple[str, int], tuple[int, tuple[int, ...], tuple[int, ...]]]
    """Leader, replicas, ISR by topic and partition."""


class Administrator:
    """An administrator of one cluster."""

    def __init__(self, cluster: KafkaCluster) -> None:
        self._client: Any = confluent.AdminClient({"bootstrap.servers": cluster.bootstrap})

    def create(self, topic: str, partitions: int, replicas: int = 1, **configs: str) -> None:
        """Create a topic and wait until it is listed, which may be later than the response.

        Underscores in the names of `configs` stand for dots.
        """
        config = {name.replace("_", "."): value for name, value in configs.items()}
        created = self._client.create_topics([confluent.NewTopic(topic, partitions, replicas, config=config)])
        created[topic].result(SECONDS)
        eventually_sync(lambda: sum(name == topic for name, _ in self.list().partitions) == partitions)

    def delete(self, topic: str) -> None:
        """Delete a topic and wait until it is no longer listed."""
        self._client.delete_topics([topic])[topic].result(SECONDS)
        eventually_sync(lambda: all(name != topic for name, _ in self.list().partitions))

    def topic_configs(self, topic: str) -> dict[str, str | None]:
        """Return the configs of a topic, including inherited ones."""
        resource = confluent.ConfigResource(confluent.ResourceType.TOPIC, topic)
        entries = self._client.describe_configs([resource])[resource].result(SECONDS)
        return {name: entry.value for name, entry in entries.items()}

    def list(self) -> Listing:
        """Return the metadata of the cluster."""
        listed = self._client.list_topics(timeout=SECONDS)
        return Listing(
            listed.cluster_id,
            {id: Endpoint(broker.host, broker.port) for id, broker in listed.brokers.items()},
            {
                (name, index): (partition.leader, tuple(partition.replicas), tuple(partition.isrs))
                for name, topic in listed.topics.items()
                for index, partition in topic.partitions.items()
            },
        )


def listing_of(message: MetadataResponse) -> Listing:
    """Convert a Metadata response of kwire."""
    return Listing(
        message.cluster_id,
        {broker.node_id: Endpoint(broker.host, broker.port) for broker in message.brokers},
        {
            (topic.name or "", partition.partition_index): (
                partition.leader_id,
                partition.replica_nodes,
                partition.isr_nodes,
            )
            for topic in message.topics
            for partition in topic.partitions
        },
    )
