"""Folders of the user, which variables of the environment choose."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from kwire.terminal.environment import cache_folder, config_file, state_folder

if TYPE_CHECKING:
    from pathlib import Path

FOLDERS = {"XDG_CONFIG_HOME": ".config", "XDG_CACHE_HOME": ".cache", "XDG_STATE_HOME": ".local/state"}


@pytest.mark.parametrize("value", ["", "relative", "./relative", "~/elsewhere"])
def test_relative_folder_is_ignored(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, value: str) -> None:
    """Else the same command would have another configuration, journal, and history in each folder."""
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("KWIRE_CONFIG", raising=False)
    for variable in FOLDERS:
        monkeypatch.setenv(variable, value)

    found = (config_file(), cache_folder(), state_folder())

    expected = [f"{tmp_path / folder}/kwire" for folder in FOLDERS.values()]
    assert all(map(str.startswith, found, expected)), found


def test_absolute_folder_is_used(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))

    assert state_folder() == str(tmp_path / "kwire")
