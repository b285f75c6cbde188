"""Names of files and folders for texts that a peer chooses, such as the id of a cluster."""

from __future__ import annotations

from hashlib import sha256
from urllib.parse import quote

__all__ = ["file_name_of"]

MAX_NAME = 200
"""Characters of a text in a name; file systems permit 255 bytes."""


def file_name_of(text: str) -> str:
    """Return the name of a file or folder: different for different texts, never `..`, and never too long."""
    name = quote(text, safe="", errors="surrogatepass")
    if name.startswith("."):
        name = f"%2E{name[1:]}"
    return name if len(name) <= MAX_NAME else f"{name[:MAX_NAME]}-{sha256(name.encode()).hexdigest()[:16]}"
