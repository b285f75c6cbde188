"""Names of places as Spark takes them.

Rules of this file: a folder's name means itself, whatever letters it has; Spark takes paths to read for patterns.
"""

from __future__ import annotations

import re


def literal(path: str) -> str:
    """A path to read, none of whose letters is a wildcard."""
    return re.sub(r"([\\*?\[\]{}])", r"\\\1", path)
