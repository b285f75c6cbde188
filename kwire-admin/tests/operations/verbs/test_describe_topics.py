"""`kafka topics describe --only`, and what `kafka topics list` adds to a table."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kwire.client.admin import AdminClient, TopicDescription
from kwire.testing import FakeCluster
from kwire_admin.operations.declaration import Failure
from kwire_admin.operations.partitions import MIN_ISR, PartitionTrouble, min_isr
from kwire_admin.operations.run import Run
from kwire_admin.operations.verbs.topics import describe, list_

if TYPE_CHECKING:
    from collections.abc import Sequence


async def partitions_in(cluster: FakeCluster, *states: PartitionTrouble, names: Sequence[str] = ()) -> set[str]:
    """Return the partitions that the verb shows, such as `orders-0`."""
    async with await AdminClient.open(cluster.bootstrap) as admin:
        rows = await describe(Run(admin), names=[*names], only=[*states])
    assert not any(isinstance(row, Failure) for row in rows)
    return {f"{topic.name}-{partition.partition}" for topic in rows for partition in topic.partitions}


async def test_only_chooses_partitions_by_their_state() -> None:
    with FakeCluster(3, topics=["default", "safe", "strict"], partitions=2) as cluster:
        cluster.set_config(MIN_ISR, "2", topic="safe")
        cluster.set_config(MIN_ISR, "4", topic="strict")
        cluster.shrink_isr("default", 0, 2, 3)
        cluster.shrink_isr("safe", 0, 2, 3)
        cluster.shrink_isr("safe", 1, 1)
        under, at = PartitionTrouble.UNDER_MIN_ISR, PartitionTrouble.AT_MIN_ISR
        assert await partitions_in(cluster, under) == {"safe-0", "strict-0", "strict-1"}, "more than all replicas"
        assert await partitions_in(cluster, at) == {"default-0", "safe-1"}
        assert await partitions_in(cluster, at, under, names=["safe"]) == {"safe-0", "safe-1"}
        assert await partitions_in(cluster, PartitionTrouble.UNDER_REPLICATED) == {"default-0", "safe-0", "safe-1"}
        assert await partitions_in(cluster, PartitionTrouble.OFFLINE) == set()


def test_topic_without_a_reported_config_needs_one_replica_in_sync() -> None:
    assert min_isr("orders", {}) == 1


async def test_list_has_ids_and_configs_on_request() -> None:
    with FakeCluster(1, topics=["audit", "orders"]) as cluster:
        cluster.set_config("retention.ms", "1000", topic="orders")
        async with await AdminClient.open(cluster.bootstrap) as admin:
            plain = await list_(Run(admin))
            detailed = await list_(Run(admin), details=True)
            topic = (await admin.describe_topics())["orders"]
    assert isinstance(topic, TopicDescription)
    assert [row.configs for row in plain] == [None, None]
    assert [row.configs for row in detailed] == [{}, {"retention.ms": "1000"}]
    assert plain[1].topic_id is None
    assert detailed[1].topic_id == topic.topic_id is not None
