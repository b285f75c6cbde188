"""Values that are read again after their files were replaced."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from kwire._util.watched_files import WatchedFiles

if TYPE_CHECKING:
    from pathlib import Path

    import pytest


def test_a_value_follows_its_files(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    first, second = tmp_path / "a", tmp_path / "b"
    for file in (first, second):
        file.write_text("1")
    reads = []

    def read() -> str:
        reads.append(1)
        texts = first.read_text(), second.read_text()
        if texts[0] != texts[1]:
            raise ValueError("they do not belong together")
        return texts[0]

    value = WatchedFiles("1", [first, second], read, (ValueError, OSError))
    assert value.get() == "1"
    assert not reads, "unchanged files are not read"
    first.write_text("22")
    assert value.get() == value.get() == "1", "half replaced"
    assert len(reads) == 1
    assert "they do not belong together" in caplog.text
    second.write_text("22")
    assert value.get() == "22"
    first.unlink()
    assert value.get() == "22", "a missing file has no value"
    second.replace(tmp_path / "c")
    first.write_text("333")
    second.write_text("333")
    assert value.get() == "333"


def test_a_replaced_link_is_a_replaced_file(tmp_path: Path) -> None:
    """Kubernetes replaces the link to the folder of all files."""
    for name in ("1", "2"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "tls.crt").write_text(name)
        os.utime(tmp_path / name / "tls.crt", (1, 1))
    link = tmp_path / "current"
    link.symlink_to("1")
    file = link / "tls.crt"
    value = WatchedFiles("1", [file], file.read_text, ())
    (tmp_path / "new").symlink_to("2")
    (tmp_path / "new").replace(link)
    assert value.get() == "2"
