"""Writes the scripts into a folder."""

from __future__ import annotations

import os
import sys
from shlex import quote
from typing import TYPE_CHECKING

from kwire._util.atomic_file import replace_file
from kwire_admin.compat.registry import scripts_of

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["install"]

MARK = "# Written by `kafka compat install`."
TEMPLATE = """\
{start}
{mark}
import sys

from kwire_admin.compat.__main__ import main

sys.exit(main(["{name}", *sys.argv[1:]], {release!r}))
"""


MAX_INTERPRETER = 127
"""Bytes of the first line of a script that every Linux reads (BINPRM_BUF_SIZE before 5.1)."""


def install(folder: Path, release: str | None = None) -> list[Path]:
    """Write the scripts with and without `.sh`, and return the files. Scripts of an earlier run are replaced.

    Args:
        folder: the folder, which is created if necessary.
        release: see `run_script`; only the scripts that it had are written.

    Raises:
        FileExistsError: a file with the name of a script is another program, such as Kafka's own.
        OSError: the folder cannot be written.
    """
    folder.mkdir(parents=True, exist_ok=True)
    files = [folder / f"{name}{suffix}" for name in scripts_of(release) for suffix in ("", ".sh")]
    for file in files:
        if os.path.lexists(file) and MARK not in _start(file):
            raise FileExistsError(f"{file} exists already, and is not one of kwire's scripts: choose another folder")
    for file in files:
        name = file.name.removesuffix(".sh")
        text = TEMPLATE.format(start=_start_lines(sys.executable), mark=MARK, name=name, release=release)
        replace_file(file, text, mode=0o755)
    return files


def _start_lines(python: str) -> str:
    """Return the first lines of a script, for its interpreter.

    The system splits the first line at blanks and cuts it. Where that does harm, the shell starts the interpreter: the
    two lines are a command for the shell, and a string for Python.
    """
    if len(os.fsencode(python)) + 2 <= MAX_INTERPRETER and not any(map(str.isspace, python)):
        return f"#!{python}"
    return f"#!/bin/sh\n'''exec' {quote(python)} \"$0\" \"$@\"\n' '''"


def _start(file: Path) -> str:
    with file.open("rb") as stream:
        return stream.read(1000).decode("utf-8", "replace")
