"""Texts of arguments."""

from __future__ import annotations

import pytest

from kwire_admin.operations.parameters import InvalidArgument, parse_assignment, parse_configs


def test_configs_are_keys_and_values() -> None:
    assert parse_configs(["a=1", "b=x=y", "c="]) == {"a": "1", "b": "x=y", "c": ""}
    assert parse_configs(["a['x=y','z']=1=2", "b=[c]=d"]) == {"a['x=y','z']": "1=2", "b": "[c]=d"}


@pytest.mark.parametrize(
    ("texts", "message"),
    [
        (["a"], "'a' is not a config: write KEY=VALUE"),
        (["=1"], "write KEY=VALUE"),
        (["a=1", "a=2"], "a is given twice"),
    ],
    ids=["without =", "without key", "twice"],
)
def test_invalid_config_is_rejected(texts: list[str], message: str) -> None:
    with pytest.raises(InvalidArgument, match=message):
        parse_configs(texts)


def test_assignment_lists_partitions_and_their_replicas() -> None:
    assert parse_assignment("1:2,2:3,7") == {0: (1, 2), 1: (2, 3), 2: (7,)}
    assert parse_assignment(None) == {}


@pytest.mark.parametrize("text", ["", "1:,2", "a", "1;2"])
def test_invalid_assignment_is_rejected(text: str) -> None:
    with pytest.raises(InvalidArgument, match="write broker ids with ':' between the replicas"):
        parse_assignment(text)
