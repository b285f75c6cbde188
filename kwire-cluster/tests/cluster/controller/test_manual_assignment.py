"""Tests of replica assignments that a client specifies."""

from __future__ import annotations

from uuid import UUID

import pytest

from kwire_cluster.controller.errors import CommandError
from kwire_cluster.controller.manual_assignment import (
    by_partition,
    check_added,
    check_created,
    check_known,
    check_targets,
    parse,
)
from kwire_cluster.controller.topic_state import Partition, Topic
from tests.cluster.controller.clusters import assignment
from tests.for_rows import for_rows


def test_parse_assignment_of_kafka_topics() -> None:
    assert parse("1:2,2:1") == {0: (1, 2), 1: (2, 1)}
    assert parse(" 1 : 2 ,3") == {0: (1, 2), 1: (3,)}


@for_rows("text", ["", ",", "1,", "a", "1:", ":1", "-1", "1:b", "1;2", "2147483648", "1_0", "\u0661"])
def test_parse_rejects_malformed_text(text: str) -> None:
    with pytest.raises(CommandError) as rejected:
        parse(text)
    assert rejected.value.code == 1005


def test_new_topic_needs_no_live_brokers() -> None:
    check_created({0: (7, 8), 1: (8, 9)})


@for_rows(
    "assigned",
    [{1: (1,)}, {0: (1,), 2: (1,)}, {0: (1, 1)}, {0: ()}, {0: (1, 2), 1: (1,)}, {0: (-1,)}, {-1: (1,), 0: (1,)}],
    ids=["no 0", "a gap", "twice", "empty", "uneven", "negative broker", "negative partition"],
)
def test_invalid_assignment_of_a_new_topic_is_rejected(assigned: dict[int, tuple[int, ...]]) -> None:
    with pytest.raises(CommandError) as rejected:
        check_created(assigned)
    assert rejected.value.code == 1005


def test_partition_listed_twice_is_rejected() -> None:
    with pytest.raises(CommandError, match="partition 1: is listed more than once"):
        by_partition((*assignment((1,), (2,)), *assignment((3,), first=1)))


@for_rows(
    "assigned",
    [{3: (1, 2)}, {2: (1, 2), 4: (2, 1)}, {2: (1,)}, {2: (1, 9)}, {2: ()}, {2: (1, 1)}],
    ids=["leaves one out", "gap", "other factor", "dead", "empty", "twice"],
)
def test_invalid_assignment_of_added_partitions_is_rejected(assigned: dict[int, tuple[int, ...]]) -> None:
    with pytest.raises(CommandError) as rejected:
        check_added(assigned, 2, 2, {1, 2, 3})
    assert rejected.value.code == 1005


def test_valid_assignments_are_accepted() -> None:
    check_added({2: (1, 2), 3: (3, 1)}, 2, 2, {1, 2, 3})
    check_targets({0: (1, 2, 3), 5: (2,)}, {1, 2, 3})


def test_new_topic_may_be_on_a_broker_that_is_down_but_not_on_one_that_never_existed() -> None:
    elsewhere = Topic("a", UUID(int=1), (Partition(0, (7, 8)),))
    check_known({0: (1, 7)}, {1, 2}, [elsewhere])
    with pytest.raises(CommandError, match=r"partition 1: brokers \[77\] are neither alive nor known"):
        check_known({0: (1, 2), 1: (2, 77)}, {1, 2}, [elsewhere])
