"""`topic_listings` says of random topics what their descriptions say."""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING

import pytest

from kwire.client.admin import AdminClient, AdminError, TopicListing
from kwire.messages.kafka.error_codes import ErrorCode
from kwire.messages.kafka.metadata import (
    MetadataResponse,
    MetadataResponseBroker,
    MetadataResponsePartition,
    MetadataResponseTopic,
)
from kwire.testing import FakeCluster
from tests.client.admin.scripted_broker import ScriptedBroker, scripted_broker

if TYPE_CHECKING:
    from kwire.declare import Message
    from kwire.protocol.negotiated_versions import Dialect


@pytest.mark.parametrize("dialect", ["kafka", "kip4"])
async def test_listing_is_part_of_the_description(dialect: Dialect) -> None:
    random = Random(dialect)
    with FakeCluster(3, dialect=dialect) as cluster:
        for number in range(20):
            size = random.randrange(1, 4)
            cluster.create_topic(
                f"topic-{number}", assignment=[random.sample((1, 2, 3), size) for _ in range(random.randrange(1, 6))]
            )
        async with await AdminClient.open(cluster.bootstrap) as admin:
            described = await admin.describe_topics()
            listings = await admin.topic_listings()
    assert listings == {
        name: topic if isinstance(topic, AdminError) else topic.listing for name, topic in described.items()
    }
    assert len(listings) == 20


def partition(index: int, *replicas: int) -> MetadataResponsePartition:
    return MetadataResponsePartition(
        error_code=0, partition_index=index, leader_id=1, replica_nodes=replicas, isr_nodes=replicas
    )


async def test_partitions_in_any_order_refused_topics_and_topics_without_partitions_are_listed() -> None:
    brokers: list[ScriptedBroker] = []

    def respond(request: Message) -> Message:
        del request
        me = MetadataResponseBroker(node_id=1, host="127.0.0.1", port=brokers[0].port)
        refused = int(ErrorCode.TOPIC_AUTHORIZATION_FAILED)
        topics = (
            MetadataResponseTopic(error_code=0, name="a", partitions=(partition(1, 1), partition(0, 1, 2))),
            MetadataResponseTopic(error_code=refused, name="b", partitions=()),
            MetadataResponseTopic(error_code=0, name="__c", is_internal=True, partitions=()),
        )
        return MetadataResponse(brokers=(me,), cluster_id="scripted", controller_id=1, topics=topics)

    async with scripted_broker("kafka", respond) as broker:
        brokers.append(broker)
        async with await AdminClient.open(f"127.0.0.1:{broker.port}") as admin:
            listings = await admin.topic_listings()
    refusal = listings.pop("b")
    assert isinstance(refusal, AdminError)
    assert refusal.code == ErrorCode.TOPIC_AUTHORIZATION_FAILED
    assert listings == {"a": TopicListing("a", 2, 2, False), "__c": TopicListing("__c", 0, None, True)}
