"""The admin client on real Kafka: the same operations as on kwire's own clusters, with Kafka's errors."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from kwire.client.admin import AdminClient, AdminError, NewTopic, NotSupported, TopicChange, TopicDescription

if TYPE_CHECKING:
    from tests.real_kafka import KafkaCluster

pytestmark = pytest.mark.change


async def test_topic_is_created_altered_described_and_deleted(cluster: KafkaCluster) -> None:
    async with await AdminClient.open(cluster.bootstrap) as admin:
        assert admin.dialect == "kafka"
        new = {"life": NewTopic(partitions=2, replication_factor=1, configs={"retention.ms": "1000"})}
        invalid = {"no name": NewTopic(partitions=1, replication_factor=1)}
        checked = await admin.create_topics(new | invalid, validate_only=True)
        assert checked["life"] is None
        assert "life" not in await admin.list_topics()

        outcomes = await admin.create_topics(new | invalid)
        assert outcomes["life"] is None
        error = outcomes.errors["no name"]
        assert (error.code, error.name, error.item) == (17, "INVALID_TOPIC_EXCEPTION", "no name")
        assert error.text.startswith("Topic name is invalid: 'no name' contains")
        await admin.wait_until_created({"life": 2})

        (await admin.alter_topics({"life": TopicChange(partitions=4, set_configs={"retention.ms": "7"})})).raise_first()
        await admin.wait_until_created({"life": 4})
        await admin.wait_until_configured({"life": {"retention.ms": "7", "segment.ms": None}})
        described = await admin.describe_topics(["life", "nosuch"], configs=True)
        topic = described["life"]
        assert isinstance(topic, TopicDescription)
        assert topic.configs == {"retention.ms": "7"}
        assert topic.topic_id is not None
        assert [partition.partition for partition in topic.partitions] == [0, 1, 2, 3]
        assert [
            (partition.leader, partition.leader_epoch, partition.offline_replicas) for partition in topic.partitions
        ] == [(1, 0, ())] * 4
        assert isinstance(described["nosuch"], AdminError)
        assert described["nosuch"].name == "UNKNOWN_TOPIC_OR_PARTITION"

        deleted = await admin.delete_topics(["life", "nosuch"])
        assert deleted["life"] is None
        assert deleted.errors["nosuch"].code == 3
        await admin.wait_until_deleted(["life"])


async def test_incomplete_change_reports_what_was_changed(cluster: KafkaCluster) -> None:
    async with await AdminClient.open(cluster.bootstrap) as admin:
        (await admin.create_topics({"half": NewTopic(partitions=2, replication_factor=1)})).raise_first()
        await admin.wait_until_created({"half": 2})
        outcomes = await admin.alter_topics({"half": TopicChange(partitions=1, set_configs={"retention.ms": "8"})})
        assert outcomes.errors["half"].name == "INVALID_PARTITIONS"
        assert outcomes.errors["half"].text.endswith("(configs changed already)")
        await admin.wait_until_configured({"half": {"retention.ms": "8"}})
        refused = await admin.alter_topics({"half": TopicChange(replication_factor=2)})
        assert "a replication factor is from 1 to 1" in refused.errors["half"].text
        (await admin.delete_topics(["half"])).raise_first()


async def test_name_is_free_once_a_deletion_is_waited_for(cluster: KafkaCluster) -> None:
    new = NewTopic(partitions=3, replication_factor=1)
    async with await AdminClient.open(cluster.bootstrap) as admin:
        for _ in range(3):
            for name in ("free.1", "free_1"):  # these names collide
                (await admin.create_topics({name: new}, validate_only=True)).raise_first()
                (await admin.create_topics({name: new})).raise_first()
                await admin.wait_until_created([name])
                (await admin.delete_topics([name])).raise_first()
                await admin.wait_until_deleted([name])


async def test_partitions_are_reassigned_and_their_leaders_elected(cluster: KafkaCluster) -> None:
    async with await AdminClient.open(cluster.bootstrap) as admin:
        (await admin.create_topics({"moved": NewTopic(assignment={0: [1], 1: [1]})})).raise_first()
        await admin.wait_until_created({"moved": 2})
        outcomes = await admin.reassign_partitions({"moved": {0: [1]}, "nosuch": {0: [1]}})
        assert outcomes["moved-0"] is None
        assert outcomes.errors["nosuch-0"].code == 3
        await admin.wait_until_reassigned({"moved": {0: [1]}})
        [status] = await admin.list_reassignments({"moved": {0: [1], 1: [2]}})
        assert dict(status.partitions) == {0: "completed", 1: "failed"}
        assert await admin.list_reassignments() == []
        cancelled = await admin.cancel_reassignments({"moved": [0]})
        assert cancelled.errors["moved-0"].name == "NO_REASSIGNMENT_IN_PROGRESS"
        assert dict(await admin.elect_leaders({"moved": []})) == {"moved-0": None, "moved-1": None}
        (await admin.elect_leaders()).raise_first()
        await admin.wait_until_preferred({"moved": []})
        (await admin.delete_topics(["moved"])).raise_first()


async def test_cluster_is_described(cluster: KafkaCluster) -> None:
    async with await AdminClient.open(cluster.bootstrap) as admin:
        described = await admin.describe_cluster()
        assert [broker.id for broker in described.brokers] == [1]
        assert described.controller == described.brokers[0]
        assert described.cluster_id
        with pytest.raises(NotSupported, match="running status on a broker is not supported by this cluster: Apache"):
            await admin.run_tool("status")
