"""Transitions of `ClusterState`."""

from __future__ import annotations

from uuid import UUID

import pytest

from kwire.messages.kafka.metadata import MetadataResponseBroker, MetadataResponsePartition
from kwire.testing.cluster_state import ClusterState, assign_replicas

BROKERS = tuple(MetadataResponseBroker(node_id=n, host="h", port=n) for n in (1, 2, 3))


def state() -> ClusterState:
    empty = ClusterState("c", 1, BROKERS)
    topics = (
        empty.new_topic(name, UUID(int=1), assign_replicas((1, 2, 3), 3, 2), internal=False) for name in ("a", "b")
    )
    return empty.with_topics(topics)


def test_replicas_are_assigned_round_robin() -> None:
    assert assign_replicas((1, 2, 3), 7, 2) == [(1, 2), (2, 3), (3, 1), (1, 3), (2, 1), (3, 2), (1, 2)]
    assert assign_replicas((1, 2, 3), 2, 2, first=3) == assign_replicas((1, 2, 3), 5, 2)[3:]
    assert assign_replicas((7,), 2, 1) == [(7,), (7,)]
    with pytest.raises(ValueError, match="replication factor 4 with 3 brokers"):
        assign_replicas((1, 2, 3), 1, 4)


def test_transition_shares_unchanged_topics() -> None:
    before = state()
    after = before.with_leader("a", 1, 3)
    assert before.partition("a", 1).leader_id == 2
    assert (after.partition("a", 1).leader_id, after.partition("a", 1).leader_epoch) == (3, 1)
    assert after.topics["b"] is before.topics["b"]
    assert after.topics["a"].partitions[0] is before.topics["a"].partitions[0]


def test_broker_leaves_and_returns() -> None:
    before = state()
    without = before.without_broker(1)
    assert (without.live_broker_ids, without.controller_id) == (frozenset({2, 3}), 2)
    first = without.partition("a", 0)
    assert (first.leader_id, first.leader_epoch, first.isr_nodes, first.offline_replicas) == (2, 1, (2,), (1,))
    returned = without.with_broker(BROKERS[0])
    first = returned.partition("a", 0)
    assert (first.leader_id, first.leader_epoch, set(first.isr_nodes), first.offline_replicas) == (2, 1, {1, 2}, ())
    assert returned.controller_id == 2


def test_last_replica_in_sync_leads_again_when_it_returns() -> None:
    without = state().with_isr("a", 0, (1,)).without_broker(1)
    first = without.partition("a", 0)
    assert (first.leader_id, first.error_code, first.isr_nodes) == (-1, 5, (1,))
    first = without.with_broker(BROKERS[0]).partition("a", 0)
    assert (first.leader_id, first.error_code, first.leader_epoch) == (1, 0, 2)


def test_all_brokers_leave() -> None:
    without = state().without_broker(1).without_broker(2).without_broker(3)
    assert (without.brokers, without.controller_id) == ((), -1)


def test_topic_on_unavailable_brokers_is_offline() -> None:
    assert state().without_broker(3).new_partition(0, (3,)) == MetadataResponsePartition(
        error_code=5,
        partition_index=0,
        leader_id=-1,
        leader_epoch=0,
        replica_nodes=(3,),
        isr_nodes=(),
        offline_replicas=(3,),
    )


def test_reassignment_keeps_the_leader_if_possible() -> None:
    kept = state().with_replicas("a", 0, (3, 1)).partition("a", 0)
    assert (kept.leader_id, kept.leader_epoch, kept.replica_nodes) == (1, 0, (3, 1))
    moved = state().with_replicas("a", 0, (3, 2)).partition("a", 0)
    assert (moved.leader_id, moved.leader_epoch) == (3, 1)


def test_configs_are_set_and_removed() -> None:
    changed = state().with_config(2, "a", "k", "v")
    assert changed.configs[2, "a"] == {"k": "v"}
    assert changed.with_config(2, "a", "k", None).configs[2, "a"] == {}
    assert (2, "a") not in changed.without_topics(["a"]).configs


def test_unknown_partition_raises_key_error() -> None:
    with pytest.raises(KeyError):
        state().with_leader("nosuch", 0, 1)
    with pytest.raises(KeyError):
        state().with_leader("a", 9, 1)
