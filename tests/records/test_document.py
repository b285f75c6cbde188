"""Examples of the document about record batches."""

from __future__ import annotations

from pathlib import Path

from tests.docs.pages import run_interactive


def test_examples_print_the_documented_output() -> None:
    run_interactive(Path(__file__).parents[2] / "docs" / "records.md")
