"""Ready files: whoever waits for one sees nothing before the server is ready."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from kwire._util import ready_file

if TYPE_CHECKING:
    from pathlib import Path


def test_name_is_not_used_before_the_server_is_ready(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "ready.json"
    file.write_text("of an earlier run")
    seen: list[bool] = []
    unlink, replace = os.unlink, os.replace

    def unlink_and_look(path: str) -> None:
        unlink(path)
        seen.append(file.exists())

    def replace_and_look(source: str, target: str) -> None:
        replace(source, target)
        seen.append(file.exists())

    monkeypatch.setattr(os, "unlink", unlink_and_look)
    monkeypatch.setattr(os, "replace", replace_and_look)

    ready_file.prepare(file)

    assert seen
    assert not any(seen)
    assert list(tmp_path.iterdir()) == []


def test_folder_that_does_not_exist_is_named_before_the_start(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError) as missing:
        ready_file.prepare(tmp_path / "nosuch" / "ready.json")
    assert missing.value.filename == str(tmp_path / "nosuch" / "ready.json")
