"""A store on a mount that lacks an operation."""

from __future__ import annotations

import errno
import os
from typing import TYPE_CHECKING

import pytest

from kwire._util.mount import UnsupportedMount
from kwire_pipeline.store.commits import PipelineStore

if TYPE_CHECKING:
    from pathlib import Path


def link_fails(source: Path, target: Path) -> None:
    raise OSError(errno.EPERM, os.strerror(errno.EPERM), source, None, target)


def test_store_is_not_created_without_links(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "link", link_fails)

    with pytest.raises(UnsupportedMount, match=r"out: its file system has no link \(Operation not permitted\)"):
        PipelineStore(str(tmp_path / "out"))
