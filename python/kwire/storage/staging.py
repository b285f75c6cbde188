"""Folders for the state of programs on this machine, such as captures until they are uploaded."""

from __future__ import annotations

import os


def base_folder(variable: str, *default: str) -> str:
    """Return the folder of a variable of the XDG Base Directory Specification, which ignores relative paths.

    Args:
        default: the folder below the user's home if the variable is not set.
    """
    folder = os.environ.get(variable, "")
    return folder if os.path.isabs(folder) else os.path.join(os.path.expanduser("~"), *default)


def state_folder() -> str:
    """Return the folder for the state of programs of this user, which need not exist."""
    return os.path.join(base_folder("XDG_STATE_HOME", ".local", "state"), "kwire")


def staging_folder(uri: str) -> str:
    """Return the folder of a capture that is uploaded to a URI; it is the same after a restart."""
    import hashlib

    return os.path.join(state_folder(), "captures", hashlib.sha256(uri.encode()).hexdigest()[:16])
