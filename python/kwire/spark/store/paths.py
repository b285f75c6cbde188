"""Path escaping."""

from __future__ import annotations

import re


def escape_glob(path: str) -> str:
    """Return `path` with Spark's wildcards escaped: Spark reads every path as a glob pattern."""
    return re.sub(r"([\\*?\[\]{}])", r"\\\1", path)
