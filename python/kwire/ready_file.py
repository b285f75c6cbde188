"""Ready files: JSON files that a server writes once it is ready, for example with its addresses.

Readers never see a partial file or that of an earlier run.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["prepare", "write_atomically"]


def prepare(file: Path) -> None:
    """Remove the file of an earlier run and check that it can be written, before anything is started.

    Raises:
        OSError: the file cannot be written.
    """
    file.unlink(missing_ok=True)
    partial = _partial(file)
    partial.touch()
    partial.unlink()


def write_atomically(file: Path, content: object) -> None:
    """Write the file atomically."""
    partial = _partial(file)
    partial.write_text(json.dumps(content) + "\n", encoding="utf-8")
    partial.replace(file)


def _partial(file: Path) -> Path:
    return file.with_name(f"{file.name}.partial")
