"""Colour, for a terminal alone, and never the only carrier of a meaning."""

from __future__ import annotations

import os
from typing import Literal, TextIO, TypeAlias

Choice: TypeAlias = Literal["auto", "always", "never"]

STYLES = {"plain": "", "title": "1", "quiet": "2", "type": "36", "value": "32", "note": "33", "fault": "1;31"}
"""What a piece of text is, and how a terminal is told to show it."""


class Paint:
    """Paints pieces of text, or leaves them as they are."""

    def __init__(self, on: bool) -> None:
        self.on = on

    def __call__(self, style: str, text: str) -> str:
        return f"\x1b[{STYLES[style]}m{text}\x1b[0m" if self.on and STYLES[style] and text.strip() else text


def paint_for(stream: TextIO, choice: Choice = "auto") -> Paint:
    """Colour for what is written to ``stream``; https://no-color.org wins over a terminal, and ``choice`` over both."""
    if choice != "auto":
        return Paint(choice == "always")
    return Paint(stream.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb")
