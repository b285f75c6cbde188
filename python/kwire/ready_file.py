"""Files of JSON that say where something runs, for others to wait for and to read.

Rules of this file: nobody ever reads half of one, nor that of an earlier run. That it can be written is known before
anything is started.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["prepare", "write_atomically"]


def prepare(file: Path) -> None:
    """Remove that of an earlier run. Raises OSError when it could not be written."""
    file.unlink(missing_ok=True)
    partial = _partial(file)
    partial.touch()
    partial.unlink()


def write_atomically(file: Path, content: object) -> None:
    """Write it so that it is there with all of its content, or not at all."""
    partial = _partial(file)
    partial.write_text(json.dumps(content) + "\n", encoding="utf-8")
    partial.replace(file)


def _partial(file: Path) -> Path:
    return file.with_name(f"{file.name}.partial")
