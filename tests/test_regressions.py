"""What fuzzing found between engine and reference: a test a file of ``fuzz/regressions/messages``, its story told."""

from __future__ import annotations

from fuzz.agreement import check_regression
from tests.installing import ROOT

FOLDER = ROOT / "fuzz" / "regressions" / "messages"


def replay(name: str) -> None:
    check_regression((FOLDER / name).read_bytes())


def test_every_file_has_a_test_of_its_name() -> None:
    assert {f"test_{file.name}" for file in FOLDER.glob("*")} <= set(globals())
