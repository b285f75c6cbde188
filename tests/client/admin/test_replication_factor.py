"""Replicas after a change of the replication factor."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kwire.client.admin import BrokerAddress, PartitionDescription
from kwire.client.admin.topic_alteration import with_replication_factor


def brokers(*racks: str | None) -> list[BrokerAddress]:
    return [BrokerAddress(id, "h", 9092, rack) for id, rack in enumerate(racks, 1)]


def partition(index: int, replicas: tuple[int, ...], isr: tuple[int, ...] | None = None) -> PartitionDescription:
    return PartitionDescription(index, replicas[0], replicas, replicas if isr is None else isr)


def test_new_replicas_go_to_brokers_with_the_fewest() -> None:
    partitions = [partition(0, (1,)), partition(1, (1,)), partition(2, (2,))]
    assert with_replication_factor(partitions, brokers(None, None, None), 2) == {0: (1, 3), 1: (1, 2), 2: (2, 3)}


def test_new_replica_goes_to_another_rack() -> None:
    assert with_replication_factor([partition(0, (1,))], brokers("a", "a", "b"), 2) == {0: (1, 3)}


def test_replica_out_of_sync_is_removed_first() -> None:
    assert with_replication_factor([partition(0, (1, 2, 3), (1, 3))], brokers(None, None, None), 2) == {0: (1, 3)}


def test_replica_that_shares_a_rack_is_removed_before_others() -> None:
    assert with_replication_factor([partition(0, (1, 2, 3))], brokers("a", "a", "b"), 2) == {0: (1, 3)}


@pytest.mark.parametrize("factor", [0, -1, 4])
def test_factor_out_of_range_is_rejected(factor: int) -> None:
    with pytest.raises(ValueError, match=f"a replication factor is from 1 to 3.*not {factor}"):
        with_replication_factor([partition(0, (1,))], brokers(None, None, None), factor)


@given(st.data())
def test_preferred_leaders_stay_and_replicas_are_distinct(data: st.DataObject) -> None:
    live = brokers(*data.draw(st.lists(st.sampled_from(["a", "b", None]), min_size=1, max_size=6)))
    ids = [*(broker.id for broker in live), 98, 99]
    replicas = st.lists(st.sampled_from(ids), min_size=1, max_size=6, unique=True).map(tuple)
    partitions = [partition(index, ids) for index, ids in enumerate(data.draw(st.lists(replicas, max_size=8)))]
    factor = data.draw(st.integers(1, len(live)))
    changed = with_replication_factor(partitions, live, factor)
    for described in partitions:
        result = changed.get(described.partition, described.replicas)
        assert len(result) == factor == len(set(result))
        assert result[0] == described.replicas[0]
