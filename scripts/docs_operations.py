"""Signatures of the operations of `AdminClient` in the documentation: as methods, without the client itself.

An operation is a function that takes the client as its first parameter. mkdocs.yml names this file, so mkdocstrings
loads it.
"""

from __future__ import annotations

from typing import Any

from griffe import Extension, Function


class Operations(Extension):
    """Removes the parameter `admin` from operations."""

    def on_function(self, *, func: Function, **_: Any) -> None:
        """Change one function after its parameters are read."""
        first = next(iter(func.parameters), None)
        if first is not None and first.name == "admin" and str(first.annotation) == "AdminSession":
            del func.parameters["admin"]
