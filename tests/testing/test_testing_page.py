"""The code of docs/testing.md is a test module that passes, and the page lists everything there is."""

from __future__ import annotations

import inspect
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from kwire.testing import FakeCluster, Misbehavior
from tests.docs.pages import DOCS, as_module
from tests.for_rows import for_rows

if TYPE_CHECKING:
    from pathlib import Path

PAGE = DOCS / "testing.md"
LIFECYCLE = {"start", "close"}


@pytest.mark.programs
def test_code_of_the_page_passes(tmp_path: Path) -> None:
    module = tmp_path / "test_page.py"
    module.write_text(as_module(PAGE), encoding="utf-8")

    run = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", f"--rootdir={tmp_path}", str(module)],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )

    assert run.returncode == 0, run.stdout + run.stderr
    assert f"{len(Misbehavior) + 5} passed" in run.stdout


@for_rows("name", [name for name, _ in inspect.getmembers(FakeCluster) if not name.startswith("_")])
def test_every_member_of_fake_cluster_is_named(name: str) -> None:
    text = PAGE.read_text(encoding="utf-8")
    assert name in LIFECYCLE or f"`{name}" in text or f"cluster.{name}" in text


@for_rows("misbehavior", Misbehavior)
def test_every_misbehavior_is_listed(misbehavior: Misbehavior) -> None:
    assert f'| `{misbehavior.name}` | `"{misbehavior.value}"` |' in PAGE.read_text(encoding="utf-8")
