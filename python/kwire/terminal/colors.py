"""Terminal colors. The output is complete without them."""

from __future__ import annotations

import os

from kwire._util.light_typing import TYPE_CHECKING, Literal, TextIO, TypeAlias

if TYPE_CHECKING:
    Choice: TypeAlias = Literal["auto", "always", "never"]

STYLES = {"plain": "", "title": "1", "quiet": "2", "type": "36", "value": "32", "note": "33", "error": "1;31"}
"""ANSI codes by role of a piece of text."""


class Paint:
    """Colors pieces of text if `on`; otherwise returns them unchanged."""

    def __init__(self, on: bool) -> None:
        self.on = on

    def __call__(self, style: str, text: str) -> str:
        return f"\x1b[{STYLES[style]}m{text}\x1b[0m" if self.on and STYLES[style] and text.strip() else text


def paint_for(stream: TextIO, choice: Choice = "auto") -> Paint:
    """Return the paint for a stream; `choice` overrides NO_COLOR (https://no-color.org), which overrides a terminal."""
    if choice != "auto":
        return Paint(choice == "always")
    return Paint(stream.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb")
