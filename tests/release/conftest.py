"""The archives that the tests of this folder install."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.installing import run

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(scope="session")
def dist(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build what `make wheel` builds, into a temporary folder."""
    folder = tmp_path_factory.mktemp("dist")
    run("make", "wheel", f"DIST={folder}")
    return folder
