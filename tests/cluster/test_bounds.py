"""One client that sends the worst legal requests cannot stop a cluster of real processes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import kwire
from kwire.client.admin import BlockingAdminClient, NewTopic
from kwire.messages.kip4.create_topic_v2 import CreateTopicRequest_V2, CreateTopicResponse_V2, TopicCreation
from kwire.testing.local_cluster import LocalCluster
from tests.cluster.consistency import send, wait_consistent
from tests.cluster.faults import controller_id

if TYPE_CHECKING:
    from kwire.testing.local_cluster import NodeAddress


def create(node: NodeAddress, *sizes: int) -> list[int]:
    """Create topics with these numbers of partitions, and return the error codes."""
    topics = tuple(
        TopicCreation(topic_name=f"t{number}-{size}", partitions=size, replication_factor=3)
        for number, size in enumerate(sizes)
    )
    body = send(node, CreateTopicRequest_V2(topics=topics), version=2, timeout=60)
    return [one.error_code for one in kwire.decode(CreateTopicResponse_V2, body, version=2).topics]


def test_requests_of_many_partitions_do_not_stop_zookeeper() -> None:
    """Five requests of 50,000 partitions each ended a ZooKeeper with 512 MB of heap."""
    with LocalCluster(nodes=3) as cluster, BlockingAdminClient(cluster.bootstrap) as admin:
        controller = cluster.node(controller_id(admin))
        pid = cluster.zookeeper.pid
        assert [create(controller, 50_000) for _ in range(5)] == [[1002]] * 5
        assert create(controller, *[50_000] * 100) == [1002] * 100
        admin.create_topics({"small": NewTopic(partitions=3, replication_factor=3)}).raise_first()
        admin.wait_until_created({"small": 3})
        assert cluster.zookeeper.pid == pid
        wait_consistent(cluster)
