"""Offsets and groups of `FakeCluster`, as clients of different ages request them."""

from __future__ import annotations

from typing import Any

from kwire.messages.kafka.describe_groups import DescribeGroupsRequest
from kwire.messages.kafka.describe_log_dirs import DescribeLogDirsRequest
from kwire.messages.kafka.find_coordinator import FindCoordinatorRequest
from kwire.messages.kafka.list_groups import ListGroupsRequest
from kwire.messages.kafka.list_offsets import ListOffsetsPartition, ListOffsetsRequest, ListOffsetsTopic
from kwire.messages.kafka.offset_fetch import OffsetFetchRequest, OffsetFetchRequestTopic
from kwire.testing import FakeCluster
from tests.testing.test_fake_cluster import send


async def test_each_served_version() -> None:
    """Each client has versions of its own: sarama stops where Kafka 2.0 did."""
    topic = "orders"
    with FakeCluster(3, topics=[topic], partitions=2) as cluster:
        cluster.set_ends(topic, {0: 10})
        cluster.set_group("shop", {topic: {0: 4}}, members=1)
        leader = cluster.state.topics[topic].partitions[0].leader_id
        partition = ListOffsetsPartition(partition_index=0, timestamp=-1)
        ends = ListOffsetsRequest(replica_id=-1, topics=(ListOffsetsTopic(name=topic, partitions=(partition,)),))
        by_one, by_many = FindCoordinatorRequest(key="shop"), FindCoordinatorRequest(coordinator_keys=("shop",))
        found = [await send(cluster, by_one, version) for version in range(4)]
        [coordinator] = {response.node_id for response in found}
        [found_together] = (await send(cluster, by_many, 4)).coordinators
        assert found_together.node_id == coordinator
        of_group = OffsetFetchRequestTopic(name=topic, partition_indexes=(0, 1))
        fetched: Any = OffsetFetchRequest(group_id="shop", topics=(of_group,))
        for request, versions, broker_id, summary in (
            (ends, range(1, 8), leader, lambda response: response.topics[0].partitions[0].offset == 10),
            (fetched, range(1, 8), coordinator, lambda response: _committed(response.topics) == [4, -1]),
            (DescribeGroupsRequest(groups=("shop",)), range(6), coordinator, lambda r: len(r.groups[0].members) == 1),
            (ListGroupsRequest(), range(5), coordinator, lambda response: response.groups[0].group_id == "shop"),
            (DescribeLogDirsRequest(topics=None), range(1, 5), leader, lambda response: response.results[0].topics),
        ):
            for version in versions:
                assert summary(await send(cluster, request, version, broker_id)), (request, version)


def _committed(topics: Any) -> list[int]:
    return [partition.committed_offset for topic in topics for partition in topic.partitions]
