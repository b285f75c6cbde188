"""Problems of a plan or a cluster are reported before the first move."""

from __future__ import annotations

import pytest

from kwire.client.admin.group_values import TopicPartition
from kwire_admin.reassignment import (
    AssignmentFile,
    BrokerSnapshot,
    ClusterSnapshot,
    InvalidSnapshot,
    PartitionSnapshot,
)
from kwire_admin.reassignment.execution.health import (
    LatencyWatch,
    cluster_problems,
    invalid_targets,
    stale_parts,
    unexplained_partitions,
)
from kwire_admin.reassignment.plan import Move
from kwire_admin.reassignment.throttle import throttled_brokers, throttled_replicas

KEY = TopicPartition("orders", 0)


def cluster(*, isr: tuple[int, ...] = (1, 2), leader: int | None = 1, live: bool = True) -> ClusterSnapshot:
    """Return a cluster of three brokers; the last can be down."""
    return ClusterSnapshot(
        (BrokerSnapshot(1), BrokerSnapshot(2), BrokerSnapshot(3, is_live=live)),
        (PartitionSnapshot("orders", 0, (1, 2), 10, leader, isr),),
        "cluster-7",
    )


def test_healthy_cluster_has_no_problems() -> None:
    file = AssignmentFile({KEY: (1, 3)}, {KEY: (1, 2)}, "cluster-7")
    assert invalid_targets(file, cluster()) == stale_parts(file, cluster()) == cluster_problems(cluster(), 0) == []


def test_targets_that_cannot_be_reached_are_named() -> None:
    assert invalid_targets(AssignmentFile({KEY: (1, 9)}), cluster()) == ["broker 9 does not exist"]
    assert invalid_targets(AssignmentFile({KEY: (1, 3)}), cluster(live=False)) == ["broker 3 is down"]
    assert invalid_targets(AssignmentFile({KEY: (1, 2)}, {}, "other"), cluster()) == [
        "the plan is for cluster other, and this is cluster cluster-7"
    ]


def test_old_plan_is_recognized() -> None:
    missing = AssignmentFile({TopicPartition("deleted", 4): (1,)})
    assert stale_parts(missing, cluster()) == ["the plan moves partitions that do not exist any more: deleted-4"]
    changed = AssignmentFile({KEY: (1, 3)}, {KEY: (3, 2)})
    assert stale_parts(changed, cluster()) == ["replicas have changed since the plan was made: orders-0"]
    reordered = AssignmentFile({KEY: (1, 3)}, {KEY: (2, 1)})
    assert stale_parts(reordered, cluster()) == [], "a reassignment that was cancelled leaves another order"
    done = AssignmentFile({KEY: (1, 2)}, {KEY: (3, 2)})
    assert stale_parts(done, cluster()) == [], "a plan that was executed already is not old"


def test_unhealthy_cluster_is_explained() -> None:
    assert cluster_problems(cluster(live=False), 2) == [
        "2 partitions are being reassigned already",
        "broker 3 is down",
    ]
    assert cluster_problems(cluster(isr=(1,)), 0) == ["partitions are under-replicated: orders-0"]
    assert cluster_problems(cluster(isr=(), leader=None), 0) == ["partitions have no leader: orders-0"]


def test_replica_that_is_being_added_is_explained_by_its_move() -> None:
    moving = ClusterSnapshot(cluster().brokers, (PartitionSnapshot("orders", 0, (1, 2, 3), 10, 1, (1, 2)),))
    move = Move(KEY, (1, 2), (1, 3), 10, 1)
    assert unexplained_partitions(moving, [move]) == []
    assert unexplained_partitions(moving) == [KEY]
    assert unexplained_partitions(moving, known=[KEY]) == []
    behind = ClusterSnapshot(cluster().brokers, (PartitionSnapshot("orders", 0, (1, 2, 3), 10, 1, (1,)),))
    assert unexplained_partitions(behind, [move]) == [KEY], "replica 2 was in sync before"


def test_latency_counts_against_what_it_was() -> None:
    watch = LatencyWatch(factor=10, least=0.5)
    for _ in range(5):
        watch.add({1: 0.001, 2: 0.1}, moving=False)
    for _ in range(4):
        watch.add({1: 0.4, 2: 2.0}, moving=True)
    assert watch.slow_brokers() == {}, "a few slow requests are not enough"
    watch.add({1: 0.4, 2: 2.0}, moving=True)
    assert watch.slow_brokers() == {2: (2.0, 0.1)}
    for _ in range(3):
        watch.add({2: 0.1}, moving=True)
    assert watch.slow_brokers() == {}


def test_throttles_name_senders_and_receivers() -> None:
    moves = [
        Move(KEY, (1, 2), (1, 3), 10, 1),
        Move(TopicPartition("orders", 1), (2,), (3, 4), 10, 2),
        Move(TopicPartition("order-only", 0), (1, 2), (2, 1), 10, 1),
    ]
    found = throttled_replicas(moves)
    assert {topic: tuple(partitions) for topic, partitions in found.items()} == {
        "orders": ("0:1,0:2,1:2", "0:3,1:3,1:4")
    }
    assert throttled_brokers(moves) == [1, 2, 3, 4]
    leaders, followers = (f"{side}.replication.throttled.replicas" for side in ("leader", "follower"))
    assert found["orders"].combined({leaders: "*", followers: "7:1"}) == {
        leaders: "*",
        followers: "7:1,0:3,1:3,1:4",
    }


def test_snapshot_is_read_again() -> None:
    snapshot = cluster(live=False)
    assert ClusterSnapshot.from_json(snapshot.to_json()) == snapshot
    for text, message in (
        ("", "expected a snapshot as JSON"),
        ("{}", '"format": "kwire-cluster-snapshot"'),
        (snapshot.to_json().replace('"version": 1', '"version": 2'), "version 2 of snapshots is unknown"),
        (snapshot.to_json().replace('["orders"', "[7, 7"), "an entry of the wrong shape"),
    ):
        with pytest.raises(InvalidSnapshot, match=message):
            ClusterSnapshot.from_json(text)
