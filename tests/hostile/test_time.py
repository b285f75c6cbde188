"""Twice the input takes at most 2.2 times as long, whatever its content."""

from __future__ import annotations

import pytest

from tests.hostile.growth import MOST, WORKS, growth, measured


@pytest.mark.parametrize("work", WORKS)
def test_time_is_linear_in_the_input(work: str) -> None:
    assert measured()[work] <= MOST


def test_quadratic_time_is_detected() -> None:
    assert growth(lambda size: lambda: sum(range((size >> 10) ** 2))) > 3
