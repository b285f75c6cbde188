"""Work does not grow with the square of the input, whatever its content."""

from __future__ import annotations

import pytest

from tests.for_rows import for_rows
from tests.hostile.growth import QUADRATIC, WORKS, measured

pytestmark = pytest.mark.programs

MAX_FACTOR = 3.0
"""Factor of instructions for twice the input: 2.24 at most was measured for linear work, and quadratic work has 4."""


@pytest.mark.timeout(1_800)  # Valgrind executes instructions a hundred times slower
@for_rows("work", [work for work in WORKS if work != QUADRATIC])
def test_work_is_linear_in_the_input(work: str) -> None:
    assert measured()[work] <= MAX_FACTOR


@pytest.mark.timeout(1_800)
def test_quadratic_work_is_detected() -> None:
    assert measured()[QUADRATIC] > 3.5
