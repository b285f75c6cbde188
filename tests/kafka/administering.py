"""confluent-kafka, an independent client: makes and deletes topics, and says what it sees."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, NamedTuple

import confluent_kafka.admin

from kwire.client import Endpoint

if TYPE_CHECKING:
    from collections.abc import Callable

    from kwire.messages.kafka.metadata import MetadataResponse
    from kwire.testing.kafka import Cluster

confluent: Any = confluent_kafka.admin  # which exports more than its types say

SECONDS = 20


class Told(NamedTuple):
    """What metadata says, in the words of no client."""

    cluster_id: str | None
    brokers: dict[int, Endpoint]
    partitions: dict[tuple[str, int], tuple[int, tuple[int, ...], tuple[int, ...]]]
    """Leader, replicas, ISR by topic and partition."""


class Administrator:
    """For one cluster."""

    def __init__(self, cluster: Cluster) -> None:
        self._client: Any = confluent.AdminClient({"bootstrap.servers": cluster.bootstrap})

    def create(self, topic: str, partitions: int, replicas: int = 1) -> None:
        """Make a topic, and wait until it is listed: a broker may answer before it knows."""
        made = self._client.create_topics([confluent.NewTopic(topic, partitions, replicas)])
        made[topic].result(SECONDS)
        self._wait_until(lambda: sum(name == topic for name, _ in self.list().partitions) == partitions)

    def delete(self, topic: str) -> None:
        """Delete a topic, and wait until it is no longer listed."""
        self._client.delete_topics([topic])[topic].result(SECONDS)
        self._wait_until(lambda: all(name != topic for name, _ in self.list().partitions))

    def _wait_until(self, listed: Callable[[], bool]) -> None:
        end = time.monotonic() + SECONDS
        while not listed():
            assert time.monotonic() < end
            time.sleep(0.02)

    def topic_configs(self, topic: str) -> dict[str, str | None]:
        """Its settings, with those that it inherits."""
        resource = confluent.ConfigResource(confluent.ResourceType.TOPIC, topic)
        entries = self._client.describe_configs([resource])[resource].result(SECONDS)
        return {name: entry.value for name, entry in entries.items()}

    def list(self) -> Told:
        """What the cluster looks like to confluent-kafka."""
        listed = self._client.list_topics(timeout=SECONDS)
        return Told(
            listed.cluster_id,
            {id: Endpoint(broker.host, broker.port) for id, broker in listed.brokers.items()},
            {
                (name, index): (partition.leader, tuple(partition.replicas), tuple(partition.isrs))
                for name, topic in listed.topics.items()
                for index, partition in topic.partitions.items()
            },
        )


def told_by(message: MetadataResponse) -> Told:
    """The same of an answer to kwire."""
    return Told(
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
