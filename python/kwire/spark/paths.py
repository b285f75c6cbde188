"""Path escaping and the spelling of capture folders."""

from __future__ import annotations

import re
from pathlib import Path
from urllib.parse import unquote


def escape_glob(path: str) -> str:
    """Return `path` with Spark's wildcards escaped: Spark reads every path as a glob pattern."""
    return re.sub(r"([\\*?\[\]{}])", r"\\\1", path)


def local_path(path: str) -> str:
    """Return a folder given as a path or as a `file:` URI as the file system spells it."""
    return unquote(path.removeprefix("file://")) if path.startswith("file:///") else path


def capture_path(folder: object) -> str:
    """Return the one spelling under which the log keeps a capture folder: local and absolute."""
    return str(Path(local_path(str(folder))).absolute())
