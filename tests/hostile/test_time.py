"""Time does not grow with the square of the input, whatever its content."""

from __future__ import annotations

from tests.for_rows import for_rows
from tests.hostile.growth import WORKS, growth, measured

MAX_FACTOR = 3.0
"""Factor of time for twice the input, the mean of three doublings. Linear work has 2, and up to 2.6 was measured where
inputs outgrow a cache; quadratic work has 4. A busy machine would have to slow all of 40 rounds down by 50 %."""


@for_rows("work", WORKS)
def test_time_is_linear_in_the_input(work: str) -> None:
    assert measured()[work] <= MAX_FACTOR


def test_quadratic_time_is_detected() -> None:
    assert growth(lambda size: lambda: sum(range((size >> 10) ** 2))) > 3
