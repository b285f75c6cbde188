"""Test a program that talks to Kafka without a broker: `FakeCluster` serves real sockets from the test's process.

    pip install kwire pytest
    pytest fake_cluster_in_a_test.py

Any Kafka client can connect to the fake cluster, not only kwire. The program under test lists the partitions that would
become unavailable if a given broker went down.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from kwire.client import BlockingPoller
from kwire.messages.kafka import MetadataResponse
from kwire.testing import FakeCluster

if TYPE_CHECKING:
    from collections.abc import Iterator


def critical_partitions(bootstrap: str, broker_id: int) -> list[str]:
    """Return the partitions that have no other in-sync replica than `broker_id`."""
    with BlockingPoller(bootstrap, brokers="one") as poller:
        metadata = next(poll.message for poll in poller if poll.message is not None)
    assert isinstance(metadata, MetadataResponse)
    return sorted(
        f"{topic.name}-{partition.partition_index}"
        for topic in metadata.topics
        for partition in topic.partitions
        if set(partition.isr_nodes) == {broker_id}
    )


@pytest.fixture
def cluster() -> Iterator[FakeCluster]:
    with FakeCluster(brokers=3, topics=["orders", "payments"], partitions=2) as cluster:
        yield cluster


def test_no_partition_is_critical_while_all_replicas_are_in_sync(cluster: FakeCluster) -> None:
    assert critical_partitions(cluster.bootstrap, 1) == []


def test_a_partition_with_one_in_sync_replica_is_critical(cluster: FakeCluster) -> None:
    cluster.shrink_isr("orders", 1, 1, 3)

    assert critical_partitions(cluster.bootstrap, 2) == ["orders-1"]


def test_stopped_brokers_leave_the_isr(cluster: FakeCluster) -> None:
    cluster.stop_broker(1)
    cluster.stop_broker(2)

    assert len(critical_partitions(cluster.bootstrap, 3)) == 4
