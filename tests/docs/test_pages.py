"""Pages of the documentation site: examples run and print what the page shows."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from scripts import option_tables
from tests.docs.pages import DOCS, ROOT, interactive, run_interactive

if TYPE_CHECKING:
    from pathlib import Path

PAGES = sorted(DOCS.rglob("*.md"))
WITH_INTERACTIVE = [page for page in PAGES if interactive(page)]


@pytest.mark.parametrize("page", WITH_INTERACTIVE, ids=lambda page: str(page.relative_to(DOCS)))
def test_interactive_examples_print_what_the_page_shows(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "tests").symlink_to(ROOT / "tests")  # some pages read recordings
    monkeypatch.chdir(tmp_path)
    run_interactive(page)


def test_tables_of_options_are_current() -> None:
    """Run `python -m scripts.option_tables` if this fails."""
    tables = [page for page in PAGES if option_tables.TABLE.search(page.read_text(encoding="utf-8"))]
    assert {page.name for page in tables} >= {"cli.md", "pipeline.md"}
    assert [page for page in tables if (text := page.read_text(encoding="utf-8")) != option_tables.current(text)] == []


def test_no_page_needs_another_host() -> None:
    """The theme loads a script from another host to draw Mermaid, and the number of stars for `repo_url`."""
    assert not [page for page in PAGES if "```mermaid" in page.read_text(encoding="utf-8")]
    assert "\nrepo_url:" not in (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    diagrams = DOCS / "diagrams"
    assert {path.stem for path in diagrams.glob("*.svg")} == {path.stem for path in diagrams.glob("*.mmd")} != set()


def test_actions_are_pinned_by_the_hash_of_a_commit() -> None:
    """A tag can be moved to other code."""
    uses = [
        line.strip()
        for workflow in (ROOT / ".github" / "workflows").glob("*.yml")
        for line in workflow.read_text(encoding="utf-8").splitlines()
        if "uses: " in line and "uses: ./" not in line
    ]
    assert len(uses) > 10
    assert [line for line in uses if not re.search(r"@[0-9a-f]{40} # v\d+\.\d+\.\d+$", line)] == []
