"""A check of writers of files: none follows a symbolic link."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


def check_writer(write: Callable[[Path], object], folder: Path, written: str = "out.json") -> None:
    """Check a writer of `out.json`: it follows no link of a name that temporary files had.

    Args:
        write: writes the file of a path, or files beside it.
        folder: an empty folder.
        written: the file that it must have written, in the folder of the path.
    """
    victim = folder / "victim"
    victim.write_text("precious")
    shared = folder / "shared"
    (shared / "bin").mkdir(parents=True)
    for name in (".out.json.new", "out.json.partial", "out.new", f"out.json.{os.getpid()}", "bin/kafka-acls.partial"):
        (shared / name).symlink_to(victim)

    write(shared / "out.json")

    assert victim.read_text() == "precious"
    assert (shared / written).is_file()
    assert not (shared / written).is_symlink()
    assert len(list(shared.glob(".*.partial"))) == 0
