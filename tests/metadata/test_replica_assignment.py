"""Tests of automatic replica assignment, against Kafka's examples and a second implementation of the rules."""

from __future__ import annotations

import random
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kwire.metadata.replica_assignment import (
    ImpossibleAssignment,
    alternate_racks,
    assign_added_replicas,
    assign_replicas,
)

RACKS = {0: "rack1", 1: "rack3", 2: "rack3", 3: "rack2", 4: "rack2", 5: "rack1"}


def test_brokers_alternate_between_racks() -> None:
    assert alternate_racks(RACKS) == [0, 3, 1, 5, 4, 2]


def test_example_of_kafka_with_racks() -> None:
    assert assign_replicas(RACKS, 7, 3, random.Random(1), start_index=0) == [
        (0, 3, 1),
        (3, 1, 5),
        (1, 5, 4),
        (5, 4, 2),
        (4, 2, 0),
        (2, 0, 3),
        (0, 4, 2),
    ]


def test_example_of_kafka_without_racks() -> None:
    """Ten partitions with three replicas on five brokers, starting at broker 0 (`AdminUtils`)."""
    assigned = assign_replicas(dict.fromkeys(range(5)), 10, 3, random.Random(1), start_index=0)
    assert assigned[:5] == [(0, 1, 2), (1, 2, 3), (2, 3, 4), (3, 4, 0), (4, 0, 1)]
    assert assigned[5:] == [(0, 2, 3), (1, 3, 4), (2, 4, 0), (3, 0, 1), (4, 1, 2)]


def expected_assignment(
    brokers: list[int], racks: dict[int, str] | None, partitions: int, factor: int, start: int, shift: int, first: int
) -> list[tuple[int, ...]]:
    """Apply Kafka's rules literally."""
    count = len(brokers)
    result = []
    for pid in range(first, first + partitions):
        if pid > 0 and pid % count == 0:
            shift += 1
        index = (pid + start) % count
        replicas = [brokers[index]]
        if racks is None:
            replicas += [brokers[(index + 1 + (shift + j) % (count - 1)) % count] for j in range(factor - 1)]
        else:
            rack_count = len(set(racks.values()))
            k = 0
            while len(replicas) < factor:
                candidate = brokers[(index + 1 + (shift * rack_count + k) % (count - 1)) % count]
                k += 1
                used_racks = {racks[broker] for broker in replicas}
                rack_again = racks[candidate] in used_racks and len(used_racks) < rack_count
                broker_again = candidate in replicas and len(replicas) < count
                if not rack_again and not broker_again:
                    replicas.append(candidate)
        result.append(tuple(replicas))
    return result


@st.composite
def clusters(draw: st.DrawFn) -> dict[int, str | None]:
    brokers = draw(st.sets(st.integers(0, 1000), min_size=1, max_size=9))
    kind = draw(st.sampled_from(["all", "none", "some"]))
    names = st.sampled_from(["a", "b", "c", "d"])
    chosen = {"all": names, "none": st.none(), "some": st.none() | names}[kind]
    return {broker: draw(chosen) for broker in sorted(brokers)}


@given(clusters(), st.integers(1, 40), st.data(), st.integers(0, 30))
def test_assignment_follows_the_rules(
    racks: dict[int, str | None], partitions: int, data: st.DataObject, first: int
) -> None:
    factor = data.draw(st.integers(1, len(racks)))
    start = data.draw(st.integers(0, len(racks) - 1))
    known = {broker: rack for broker, rack in racks.items() if rack is not None}
    aware = len(known) == len(racks)
    brokers = alternate_racks(known) if aware else sorted(racks)
    expected = expected_assignment(brokers, known if aware else None, partitions, factor, start, start, first)
    got = assign_replicas(racks, partitions, factor, random.Random(0), start_index=start, first_partition=first)
    assert got == expected


@given(clusters(), st.integers(1, 60), st.data(), st.randoms(use_true_random=False))
def test_replicas_are_distinct_and_spread_over_racks_and_leaders_are_even(
    racks: dict[int, str | None], partitions: int, data: st.DataObject, rng: random.Random
) -> None:
    factor = data.draw(st.integers(1, len(racks)))
    assigned = assign_replicas(racks, partitions, factor, rng)
    assert len(assigned) == partitions
    leaders = Counter(replicas[0] for replicas in assigned)
    assert max(leaders.values()) - (min(leaders.values()) if len(leaders) == len(racks) else 0) <= 1
    for replicas in assigned:
        assert len(set(replicas)) == factor
        assert set(replicas) <= racks.keys()
        if None not in racks.values():
            assert len({racks[broker] for broker in replicas}) == min(factor, len(set(racks.values())))


@given(st.integers(2, 8), st.integers(1, 20), st.integers(1, 20), st.data())
def test_added_partitions_continue_the_pattern(brokers: int, existing: int, added: int, data: st.DataObject) -> None:
    """The result equals an assignment of all partitions that starts, with its shift, at the leader of partition 0."""
    factor = data.draw(st.integers(1, brokers))
    start = data.draw(st.integers(0, brokers - 1))
    racks: dict[int, str | None] = dict.fromkeys(range(10, 10 + brokers))
    fixed = assign_replicas(racks, existing, factor, random.Random(0), start_index=start)
    more = assign_added_replicas(racks, fixed[0], existing, added, factor, random.Random(0))
    expected = assign_replicas(racks, added, factor, random.Random(0), start_index=start, first_partition=existing)
    assert more == expected


@pytest.mark.parametrize(
    ("partitions", "factor", "code"), [(0, 1, 1002), (-1, 1, 1002), (1, 0, 1004), (1, 4, 1004), (1, -1, 1004)]
)
def test_impossible_assignment_is_rejected(partitions: int, factor: int, code: int) -> None:
    with pytest.raises(ImpossibleAssignment) as rejected:
        assign_replicas({1: None, 2: None, 3: None}, partitions, factor, random.Random(0))
    assert rejected.value.code == code


def test_one_broker_can_hold_one_replica_each() -> None:
    assert assign_replicas({7: "a"}, 3, 1, random.Random(0)) == [(7,)] * 3
