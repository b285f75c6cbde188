"""Writes the scripts into a folder."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

from kwire.compat.registry import SCRIPTS

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["install"]

MARK = "# Written by `kafka compat install`."
TEMPLATE = """\
#!{python}
{mark}
import sys

from kwire.compat.__main__ import main

sys.exit(main(["{name}", *sys.argv[1:]], {release!r}))
"""


def install(folder: Path, release: str | None = None) -> list[Path]:
    """Write every script with and without `.sh`, and return the files. Scripts of an earlier run are replaced.

    Args:
        folder: the folder, which is created if necessary.
        release: see `run_script`.

    Raises:
        FileExistsError: a file with the name of a script is another program, such as Kafka's own.
        OSError: the folder cannot be written.
    """
    folder.mkdir(parents=True, exist_ok=True)
    files = [folder / f"{name}{suffix}" for name in SCRIPTS for suffix in ("", ".sh")]
    for file in files:
        if os.path.lexists(file) and MARK not in _start(file):
            raise FileExistsError(f"{file} exists already, and is not one of kwire's scripts: choose another folder")
    for file in files:
        name = file.name.removesuffix(".sh")
        partial = file.with_name(f"{file.name}.partial")
        partial.write_text(
            TEMPLATE.format(python=sys.executable, mark=MARK, name=name, release=release), encoding="utf-8"
        )
        partial.chmod(0o755)
        partial.replace(file)
    return files


def _start(file: Path) -> str:
    with file.open("rb") as stream:
        return stream.read(1000).decode("utf-8", "replace")
