"""The end of a shell."""

from __future__ import annotations


class Leave(Exception):
    """A statement ends the shell."""
