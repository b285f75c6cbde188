"""The package in sub-interpreters: the reference codec there, the engine in the main interpreter, whoever is first."""

from __future__ import annotations

import pytest

from tests.soundness.children import outcome


@pytest.mark.parametrize(
    "order",
    [
        "first_in_a_sub_interpreter",
        "first_in_the_main_interpreter",
        "several_in_turn",
        "several_at_once",
        "one_with_a_lock_of_its_own",
    ],
)
def test_package_works_in_every_interpreter(order: str) -> None:
    assert outcome("tests.soundness.sub_interpreters", order) == "passed"
