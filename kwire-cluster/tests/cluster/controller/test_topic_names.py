"""Tests of topic names."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kwire_cluster.controller.errors import CommandError
from kwire_cluster.controller.topic_names import check_name

GOOD = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-"


@pytest.mark.parametrize("name", ["a", "...", "__consumer_offsets", "-", "a" * 249, "A.b_c-9"])
def test_valid_name_is_accepted(name: str) -> None:
    check_name(name)


@pytest.mark.parametrize("name", ["", ".", "..", "a" * 250, "a b", "a/b", "\u00e4", "a\n", "\u0661", "a\0"])
def test_invalid_name_is_rejected(name: str) -> None:
    with pytest.raises(CommandError) as rejected:
        check_name(name)
    assert rejected.value.code == 1010


@given(st.text(st.sampled_from(GOOD) | st.characters(), max_size=300))
def test_names_consist_of_allowed_characters(name: str) -> None:
    allowed = 1 <= len(name) <= 249 and set(name) <= set(GOOD) and name not in {".", ".."}
    try:
        check_name(name)
    except CommandError:
        assert not allowed
    else:
        assert allowed
