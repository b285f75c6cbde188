"""One client that sends the worst legal requests cannot stop a cluster of real processes."""

from __future__ import annotations

import socket
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import kwire
from kwire import frame
from kwire.client.admin import BlockingAdminClient, NewTopic
from kwire.messages.kip4.cluster_metadata import ClusterMetadataRequest, ClusterMetadataResponse
from kwire.messages.kip4.create_topic_v2 import CreateTopicRequest_V2, CreateTopicResponse_V2, TopicCreation
from kwire.messages.kip4.topic_metadata_v1 import TopicMetadataRequest_V1
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
    body = send(node, CreateTopicRequest_V2(topics=topics), version=2)
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


CLIENTS = 500
LARGEST_MEGABYTES = 256

UNFINISHED = (4_000_000).to_bytes(4, "big") + bytes(3_000_000)
UNREAD = frame.encode_request(
    TopicMetadataRequest_V1(topic_names=tuple(f"unknown-topic-{number}" for number in range(10_000))),
    version=1,
    correlation_id=1,
    client_id="greedy",
)


@pytest.mark.parametrize("sent", [UNFINISHED, UNREAD], ids=["unfinished frames", "unread responses"])
def test_clients_cannot_exhaust_the_memory_of_a_node(sent: bytes) -> None:
    """20 unfinished frames of 50 MB took 1 GB."""
    with LocalCluster(nodes=1) as cluster, ExitStack() as stack:
        node = cluster.node(1)
        clients = [stack.enter_context(socket.create_connection((node.host, node.port))) for _ in range(CLIENTS)]
        for client in clients:
            client.setblocking(False)
        for _ in range(30):
            for client in clients:
                with suppress(OSError):  # the node has closed the connection, or does not read
                    client.send(sent)
            body = send(node, ClusterMetadataRequest(), version=0)
            assert len(kwire.decode(ClusterMetadataResponse, body, version=0).brokers) == 1
        status = Path(f"/proc/{node.pid}/status").read_text(encoding="utf-8")
        [peak] = [int(line.split()[1]) for line in status.splitlines() if line.startswith("VmHWM")]
        assert peak / 1024 < LARGEST_MEGABYTES
