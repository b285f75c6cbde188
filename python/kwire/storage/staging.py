"""Folders for the state of programs on this machine, such as captures until they are uploaded."""

from __future__ import annotations

import os


def state_folder() -> str:
    """Return the folder for the state of programs of this user, which need not exist."""
    root = os.environ.get("XDG_STATE_HOME") or os.path.join(os.path.expanduser("~"), ".local", "state")
    return os.path.join(root, "kwire")


def staging_folder(uri: str) -> str:
    """Return the folder of a capture that is uploaded to a URI; it is the same after a restart."""
    import hashlib

    return os.path.join(state_folder(), "captures", hashlib.sha256(uri.encode()).hexdigest()[:16])
