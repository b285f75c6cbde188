"""Pages of the documentation site: examples run and print what the page shows."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

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
