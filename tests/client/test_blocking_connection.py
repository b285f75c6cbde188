"""`BlockingConnection`: `Connection` without asyncio."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest

from kwire.client import BlockingConnection, ConnectionFault
from kwire.client.loop_thread import LoopThreadClosed
from kwire.messages.kafka import DescribeClusterRequest, FetchRequest, MetadataRequest
from kwire.protocol import ConnectFailed, NoCommonVersion
from kwire.testing import FakeCluster, Misbehavior


def test_threads_share_a_connection() -> None:
    with (
        FakeCluster(brokers=1, topics=["orders"]) as cluster,
        BlockingConnection(cluster.bootstrap) as connection,
        ThreadPoolExecutor(4) as threads,
    ):
        responses = list(threads.map(connection.send, [MetadataRequest(topics=None)] * 20))
        assert [topic.name for topic in responses[0].topics] == ["orders"]
        assert responses == responses[:1] * 20
        assert (
            connection.send(
                DescribeClusterRequest(include_cluster_authorized_operations=False), version=0
            ).controller_id
            == 1
        )
        assert str(connection.endpoint) == cluster.bootstrap
        assert connection.negotiated.dialect == "kafka"


def test_errors_are_those_of_the_asynchronous_connection() -> None:
    with FakeCluster(brokers=1) as cluster, BlockingConnection(cluster.bootstrap) as connection:
        with pytest.raises(NoCommonVersion):
            connection.send(FetchRequest(topics=(), max_wait_ms=0, min_bytes=0))
        cluster.misbehave(1, Misbehavior.GARBAGE)
        with pytest.raises(ConnectionFault):
            connection.send(MetadataRequest(topics=None))
        assert connection.fault is not None


def test_closed_connection_sends_nothing() -> None:
    with FakeCluster(brokers=1) as cluster:
        connection = BlockingConnection(cluster.bootstrap)
        connection.close()
        connection.close()
        with pytest.raises(LoopThreadClosed):
            connection.send(MetadataRequest(topics=None))
    with pytest.raises(ConnectFailed):
        BlockingConnection(cluster.bootstrap)
