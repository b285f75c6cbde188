"""Build Metadata responses for tests."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from kwire.messages.kafka.metadata import (
    MetadataResponse,
    MetadataResponseBroker,
    MetadataResponsePartition,
    MetadataResponseTopic,
)

ID, OTHER_ID = UUID(int=1), UUID(int=2)
BROKERS = tuple(MetadataResponseBroker(node_id=n, host=f"broker-{n}", port=9092) for n in (1, 2, 3))


def partition(index: int = 0, leader: int = 1, epoch: int = 5, **more: Any) -> MetadataResponsePartition:
    replicas = more.pop("replicas", (1, 2, 3))
    return MetadataResponsePartition(
        error_code=more.pop("error_code", 0),
        partition_index=index,
        leader_id=leader,
        leader_epoch=epoch,
        replica_nodes=replicas,
        isr_nodes=more.pop("isr", replicas),
        offline_replicas=more.pop("offline", ()),
    )


def topic(
    name: str | None = "orders", *partitions: MetadataResponsePartition, id: UUID = ID, error: int = 0
) -> MetadataResponseTopic:
    return MetadataResponseTopic(error_code=error, name=name, topic_id=id, partitions=partitions or (partition(),))


def metadata(
    *topics: MetadataResponseTopic, brokers: tuple[MetadataResponseBroker, ...] = BROKERS, controller: int = 1
) -> MetadataResponse:
    return MetadataResponse(brokers=brokers, cluster_id="c", controller_id=controller, topics=topics)
