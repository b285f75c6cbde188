"""Names of places as Spark takes them.

Rules of this file: a folder's name means itself, whatever letters it has. Spark takes the paths that it is to read for
patterns, and gives names of files as URIs.
"""

from __future__ import annotations

import re
from urllib.parse import unquote


def literal(path: str) -> str:
    """A path to read, none of whose letters is a wildcard."""
    return re.sub(r"([\\*?\[\]{}])", r"\\\1", path)


def path_of(uri: str) -> str:
    """The path that a name from ``DataFrame.inputFiles`` means."""
    return unquote(uri)
