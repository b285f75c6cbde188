"""Files of the user: configuration, cache, and state. Completion imports this module, so it imports next to nothing."""

from __future__ import annotations

import os

from kwire.storage.staging import state_folder

__all__ = ["cache_folder", "config_file", "state_folder"]


def config_file() -> str:
    """Return the path of the configuration file, which need not exist."""
    if path := os.environ.get("KWIRE_CONFIG"):
        return path
    root = os.environ.get("XDG_CONFIG_HOME") or os.path.join(os.path.expanduser("~"), ".config")
    return os.path.join(root, "kwire", "config.toml")


def cache_folder() -> str:
    """Return the folder of the names for completion, which need not exist."""
    root = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    return os.path.join(root, "kwire", "completion")
