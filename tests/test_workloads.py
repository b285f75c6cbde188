"""Tests of the workloads: their properties, and that every peer decodes the same content.

kio and kafka-python decode the bytes to the same content and encode them again, so this also compares kwire with two
independent codecs.
"""

from __future__ import annotations

import pytest

from benches.content import Metadata, TopicMetadata
from benches.peers.peer import PEERS, Unable, load
from benches.workloads import REPLICATION_FACTOR, Workload, kafka_like

# kafka-python reads its schemas with functions that CPython 3.11 deprecates.
pytestmark = pytest.mark.filterwarnings("ignore:(read|open)_text is deprecated:DeprecationWarning")

WORKLOADS = [
    *(Workload("a", version) for version in (1, 3, 5, 7, 8, 9, 10, 12)),
    Workload("a", 12, replicas="random", epochs="old", first_broker=1001),
    Workload("ka", 1),
    Workload("ka", 1, lags="mixed"),
    Workload("v", 3),
]


@pytest.mark.parametrize("workload", WORKLOADS, ids=str)
@pytest.mark.parametrize("module", PEERS)
def test_peers_decode_and_encode_the_workloads(module: str, workload: Workload) -> None:
    peer = load(module)
    if not has(module, workload):
        return
    codec = peer.codec(workload.message, workload.version)
    payload = peer.payload(workload)

    decoded = codec.decode(payload)

    assert codec.content(decoded) == workload.content()
    assert codec.encode(decoded) == payload
    if codec.validate is not None:
        codec.validate(payload)


@pytest.mark.parametrize("module", PEERS)
def test_peers_have_some_of_the_workloads(module: str) -> None:
    assert any(has(module, workload) for workload in WORKLOADS)


@pytest.mark.parametrize("module", ["kwire", "msgspec", "reference"])
def test_peers_without_a_schema_of_their_own_have_all_workloads(module: str) -> None:
    assert all(has(module, workload) for workload in WORKLOADS)


def has(module: str, workload: Workload) -> bool:
    """Return whether a peer has the message in this version, which only its module knows."""
    try:
        load(module).codec(workload.message, workload.version)
    except Unable:
        return False
    return True


def test_bytes_depend_on_the_seed_only() -> None:
    assert Workload("a", 12, seed=7).body() == Workload("a", 12, seed=7).body()
    assert Workload("a", 12, seed=7).body() != Workload("a", 12, seed=8).body()


def test_sizes_match_the_documentation() -> None:
    assert len(Workload("v", 3).body()) == 690
    assert 4_390_000 < len(Workload("b", 1).body()) < 4_500_000


def test_names_have_the_documented_lengths() -> None:
    content = Workload("a", 12).content()
    assert isinstance(content, Metadata)

    assert {len(broker.host) for broker in content.brokers} == {35}
    assert {len(topic.name) for topic in content.topics} <= set(range(25, 36))
    assert len({topic.name for topic in content.topics}) == 100


def test_kafka_like_replica_lists_repeat_and_random_ones_do_not() -> None:
    assert distinct_replica_lists(Workload("b", 1)) < 900
    assert distinct_replica_lists(Workload("b", 1, replicas="random")) > 20_000


def test_kafka_like_assignment_equals_the_example_of_kafka() -> None:
    class Zero:
        """A random generator that chooses the first broker and no shift."""

        def randrange(self, _: int) -> int:
            return 0

    placed = kafka_like(Zero(), [10, 11, 12, 13, 14], 10, 3)  # type: ignore[arg-type]  # the only method that is called

    # The example in the comment on AdminUtils.assignReplicasToBrokers, which has brokers 0 to 4.
    assert placed == [
        (10, 11, 12), (11, 12, 13), (12, 13, 14), (13, 14, 10), (14, 10, 11),
        (10, 12, 13), (11, 13, 14), (12, 14, 10), (13, 10, 11), (14, 11, 12),
    ]  # fmt: skip


def test_mixed_lags_affect_a_third_of_all_replicas_and_no_leader() -> None:
    content = Workload("ka", 1, lags="mixed").content()
    assert isinstance(content, TopicMetadata)
    partitions = [partition for topic in content.topics for partition in topic.partitions]
    lags = [replica.lag for partition in partitions for replica in partition.replicas_lag]

    assert len(lags) == len(partitions) * REPLICATION_FACTOR
    assert 0.34 < sum(lag > 0 for lag in lags) / len(lags) < 0.40
    assert all(partition.replicas_lag[0] == (partition.leader, 0) for partition in partitions)


def test_unknown_versions_are_rejected() -> None:
    with pytest.raises(ValueError, match="a has versions 1 to 12, not 13"):
        Workload("a", 13)


def distinct_replica_lists(workload: Workload) -> int:
    content = workload.content()
    assert isinstance(content, Metadata)
    return len({partition.replica_nodes for topic in content.topics for partition in topic.partitions})
