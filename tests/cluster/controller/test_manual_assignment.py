"""Assignments that somebody wrote."""

from __future__ import annotations

import pytest

from kwire.cluster.controller.errors import AdminError
from kwire.cluster.controller.manual_assignment import by_partition, check_added, check_created, check_targets, parse
from tests.cluster.controller.clusters import assignment


def test_the_text_of_the_topic_tool() -> None:
    assert parse("1:2,2:1") == {0: (1, 2), 1: (2, 1)}
    assert parse(" 1 : 2 ,3") == {0: (1, 2), 1: (3,)}


@pytest.mark.parametrize("text", ["", ",", "1,", "a", "1:", ":1", "-1", "1:b", "1;2", "2147483648", "1_0", "\u0661"])
def test_text_that_is_none_is_refused(text: str) -> None:
    with pytest.raises(AdminError) as refused:
        parse(text)
    assert refused.value.code == 1005


def test_a_new_topic_needs_no_live_brokers() -> None:
    check_created({0: (7, 8), 1: (8, 9)})


@pytest.mark.parametrize(
    "assigned",
    [{1: (1,)}, {0: (1,), 2: (1,)}, {0: (1, 1)}, {0: ()}, {0: (1, 2), 1: (1,)}, {0: (-1,)}, {-1: (1,), 0: (1,)}],
    ids=["no 0", "a gap", "twice", "empty", "uneven", "negative broker", "negative partition"],
)
def test_a_new_topic_with_a_bad_assignment_is_refused(assigned: dict[int, tuple[int, ...]]) -> None:
    with pytest.raises(AdminError) as refused:
        check_created(assigned)
    assert refused.value.code == 1005


def test_a_partition_listed_twice_is_refused() -> None:
    with pytest.raises(AdminError, match="partition 1: is listed more than once"):
        by_partition((*assignment((1,), (2,)), *assignment((3,), first=1)))


@pytest.mark.parametrize(
    "assigned",
    [{3: (1, 2)}, {2: (1, 2), 4: (2, 1)}, {2: (1,)}, {2: (1, 9)}, {2: ()}, {2: (1, 1)}],
    ids=["leaves one out", "gap", "other factor", "dead", "empty", "twice"],
)
def test_added_partitions_that_do_not_fit_are_refused(assigned: dict[int, tuple[int, ...]]) -> None:
    with pytest.raises(AdminError) as refused:
        check_added(assigned, 2, 2, {1, 2, 3})
    assert refused.value.code == 1005


def test_what_fits_is_accepted() -> None:
    check_added({2: (1, 2), 3: (3, 1)}, 2, 2, {1, 2, 3})
    check_targets({0: (1, 2, 3), 5: (2,)}, {1, 2, 3})
