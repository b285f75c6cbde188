"""Differences between engine and reference found by fuzzing, one test for each file of `fuzz/regressions/messages`."""

from __future__ import annotations

from fuzz.agreement import check_regression
from tests.installing import ROOT

FOLDER = ROOT / "fuzz" / "regressions" / "messages"


def replay(name: str) -> None:
    check_regression((FOLDER / name).read_bytes())


def test_every_file_has_a_test() -> None:
    assert {f"test_{file.name}" for file in FOLDER.glob("*")} <= set(globals())
