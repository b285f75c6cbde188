"""Ready files: JSON files that a server writes once it is ready, for example with its addresses.

Readers never see a partial file, or the file of an earlier run. A file with the key `pid` belongs to that process as
long as it runs.
"""

from __future__ import annotations

import json
import os
from contextlib import suppress
from pathlib import Path

from kwire._util.atomic_file import open_new, replace_file
from kwire._util.child_process import is_running
from kwire._util.light_typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["prepare", "remove", "write_atomically"]


def prepare(file: Path) -> None:
    """Remove the file of an earlier run and check that it can be written, before anything is started.

    Raises:
        FileExistsError: the file belongs to another process that runs.
        OSError: the file cannot be written.
    """
    owner = _owner(file)
    if owner is not None and owner != os.getpid():
        raise FileExistsError(f"{file} belongs to the running process {owner}: stop it first, or use another file")
    file.unlink(missing_ok=True)
    probe = file.with_name(f".{os.urandom(8).hex()}.partial")  # whoever waits for the file must not see an empty one
    try:
        open_new(probe).close()
    except OSError as error:
        error.filename = os.fspath(file)
        raise
    finally:
        with suppress(OSError):
            probe.unlink()


def write_atomically(file: Path, content: object) -> None:
    """Write the file atomically."""
    replace_file(file, json.dumps(content) + "\n")


def remove(file: Path) -> None:
    """Remove the file unless it belongs to another process that runs."""
    if _owner(file) in {None, os.getpid()}:
        file.unlink(missing_ok=True)


def _owner(file: Path) -> int | None:
    """Return the running process that the file belongs to."""
    try:
        content: Mapping[str, object] = json.loads(file.read_text(encoding="utf-8"))
        pid = content.get("pid")
    except (OSError, ValueError, AttributeError):
        return None
    if not isinstance(pid, int) or not is_running(pid):
        return None
    with suppress(OSError):  # the id may have been reused; without /proc this is not known
        if os.fsencode(file.name) not in Path(f"/proc/{pid}/cmdline").read_bytes():
            return None
    return pid
