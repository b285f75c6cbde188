"""Pages of the documentation site: examples run and are typed."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from tests.docs.pages import DOCS, README, ROOT, as_module, blocks, interactive, run_interactive

if TYPE_CHECKING:
    from pathlib import Path

PAGES = sorted(DOCS.rglob("*.md"))
WITH_INTERACTIVE = [page for page in PAGES if interactive(page)]
WITH_PYTHON = [page for page in (README, *PAGES) if blocks(page, "python")]


@pytest.mark.parametrize("page", WITH_INTERACTIVE, ids=lambda page: str(page.relative_to(DOCS)))
def test_interactive_examples_print_what_the_page_shows(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "tests").symlink_to(ROOT / "tests")  # some pages read recordings
    monkeypatch.chdir(tmp_path)
    run_interactive(page)


def test_examples_pass_mypy_strict(tmp_path: Path) -> None:
    """All code of a page is one module, as a reader would paste it."""
    for page in WITH_PYTHON:
        name = str(page.relative_to(ROOT).with_suffix("")).replace("/", "_").replace("-", "_").lower()
        (tmp_path / f"{name}.py").write_text(as_module(page), encoding="utf-8")

    run = subprocess.run(
        [
            sys.executable, "-m", "mypy", "--config-file=", "--strict", "--disable-error-code=import-untyped",
            "--no-error-summary", "--cache-dir", str(ROOT / ".mypy_cache"), *sorted(map(str, tmp_path.glob("*.py"))),
        ],
        cwd=ROOT / "python", capture_output=True, text=True, check=False,
    )  # fmt: skip

    assert run.stdout + run.stderr == ""
