"""Twice the input costs at most 2.2 times the time, whatever the bytes."""

from __future__ import annotations

import pytest

from tests.hostile.growth import MOST, WORKS, growth, measured


@pytest.mark.parametrize("work", WORKS)
def test_twice_the_input(work: str) -> None:
    assert measured()[work] <= MOST


def test_what_would_be_noticed() -> None:
    assert growth(lambda size: lambda: sum(range((size >> 10) ** 2))) > 3
