"""Tests of versions 0 and 1 of the topic messages, which concern one topic."""

from __future__ import annotations

from typing import Any

import pytest

from kwire.messages.kip4.alter_topic import AlterTopicRequest
from kwire.messages.kip4.create_topic import CreateTopicRequest
from kwire.messages.kip4.create_topic_v2 import TopicCreation
from kwire.messages.kip4.delete_topic import DeleteTopicRequest
from kwire.messages.kip4.describe_topic import DescribeTopicRequest
from kwire_cluster.zookeeper.configs import ConfigChangeNotification, EntityConfig
from tests.cluster.controller.admin_requests import alter, alteration, create, entry, send
from tests.cluster.controller.clusters import cluster_of, creation


@pytest.mark.parametrize("version", [0, 1])
async def test_messages_about_one_topic(version: int) -> None:
    """Every failure has error 21 and a description."""
    async with cluster_of(1, 2, 3) as cluster:
        configs: Any = (
            {"configs": ["retention.ms=5"]} if version == 0 else {"config_entries": [entry("retention.ms", "5")]}
        )
        created = CreateTopicRequest(topic_name="t", replica_assignment="1:2,2:3", **configs)
        response = await send(cluster, created, version)
        assert (response.error_code, response.error_description) == (0, None)
        for again in (
            created,
            CreateTopicRequest(topic_name="u"),
            CreateTopicRequest(topic_name="u", partitions=1),
            CreateTopicRequest(topic_name="u", partitions=-1, replicas=1),
            CreateTopicRequest(topic_name="u", replica_assignment="1:1"),
            CreateTopicRequest(topic_name="u", replica_assignment=""),
            CreateTopicRequest(topic_name="a b", partitions=1, replicas=1),
        ):
            response = await send(cluster, again, version, "consumer")
            assert response.error_code == 21
            assert response.error_description
        described = await send(cluster, DescribeTopicRequest(topic_name="t"), version)
        details = described.topic_description.topic_config_details
        assert (described.error_code, details.partitions, details.replication_factor) == (0, 2, 2)
        assert (details.configs, details.config_entries) == (
            (("retention.ms=5",), ()) if version == 0 else ((), (entry("retention.ms", "5"),))
        )
        first = described.topic_description.topic_partition_details[0]
        assert (first.partition_id, first.leader, first.replicas, first.isr) == (0, 1, (1, 2), (1, 2))
        assert (await send(cluster, DescribeTopicRequest(topic_name="u"), version)).error_code == 21
        added: Any = (
            {"added_configs": ["flush.ms=1"]} if version == 0 else {"added_config_entries": [entry("flush.ms", "1")]}
        )
        for altered, code in (
            (AlterTopicRequest(topic_name="t", partitions=3, replica_assignment="1:2,2:3,3:1", **added), 0),
            (AlterTopicRequest(topic_name="t", partitions=2, replica_assignment="1:2,2:3,3:1"), 21),
            (AlterTopicRequest(topic_name="t", partitions=2), 21),
            (AlterTopicRequest(topic_name="t"), 21),
            (AlterTopicRequest(topic_name="t", replica_assignment="x"), 21),
            (AlterTopicRequest(topic_name="u", partitions=2), 21),
            (AlterTopicRequest(topic_name="t", deleted_configs=("flush.ms",)), 0),
        ):
            assert (await send(cluster, altered, version)).error_code == code
        if version == 0:
            bad = CreateTopicRequest(topic_name="u", partitions=1, replicas=1, configs=("retention.ms",))
            assert (await send(cluster, bad, 0)).error_code == 21
        assert (await send(cluster, DeleteTopicRequest(topic_name="t"), version)).error_code == 0
        assert (await send(cluster, DeleteTopicRequest(topic_name="u"), version)).error_code == 21
        await cluster.wait_idle()
        assert cluster.topics() == []


@pytest.mark.parametrize("version", [0, 1])
async def test_assignment_text_must_list_all_partitions(version: int) -> None:
    async with cluster_of(1, 2, 3) as cluster:
        assert await create(cluster, creation("t", (1, 2), (2, 3), (3, 1))) == {"t": 0}
        for text in ("2:1", "2:1,3:2"):
            alteration_request = AlterTopicRequest(
                topic_name="t", replica_assignment=text, deleted_configs=("retention.ms",)
            )
            response = await send(cluster, alteration_request, version)
            assert response.error_code == 21
            assert "of the topic's 3 partitions: list every partition" in response.error_description
        await cluster.wait_idle()
        assert dict(cluster.registration("t").partitions) == {0: (1, 2), 1: (2, 3), 2: (3, 1)}
        whole = AlterTopicRequest(topic_name="t", replica_assignment="2:1,2:3,3:1,1:2")
        assert (await send(cluster, whole, version)).error_code == 0
        await cluster.wait_idle()
        assert dict(cluster.registration("t").partitions) == {0: (2, 1), 1: (2, 3), 2: (3, 1), 3: (1, 2)}


@pytest.mark.parametrize("version", [0, 1])
async def test_config_too_long_for_a_string_is_rejected_and_left_out_of_descriptions(
    version: int,
) -> None:
    async with cluster_of(1, 2, 3) as cluster:
        throttled = entry("follower.replication.throttled.replicas", ",".join(["0:1"] * 8190))
        codes = await create(cluster, creation("t", (1,), retention_ms="5"), creation("u", (1,)))
        assert codes == {"t": 0, "u": 0}
        too_long = TopicCreation(topic_name="v", partitions=1, replication_factor=1, config_entries=(throttled,))
        assert await create(cluster, too_long) == {"v": 1006}
        assert await alter(cluster, alteration("t", added_config_entries=(throttled,))) == {"t": 1006}
        written = {"retention.ms": "7", throttled.config_key: throttled.config_value, "comment": "x" * 40_000}
        cluster.write(EntityConfig.path("topics", "t"), EntityConfig(written).encode())
        cluster.tool.create(
            ConfigChangeNotification.path(), ConfigChangeNotification("topics/t").encode(), sequential=True
        )
        await cluster.wait_idle()
        described = await send(cluster, DescribeTopicRequest(topic_name="t"), version)
        details = described.topic_description.topic_config_details
        assert (details.configs or details.config_entries) == (
            ("retention.ms=7",) if version == 0 else (entry("retention.ms", "7"),)
        )
