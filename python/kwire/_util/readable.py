"""Sizes, durations, and shares as text for people, and texts of strangers that are safe to show."""

from __future__ import annotations

import re

__all__ = ["bar", "duration_text", "printable", "printable_lines", "size_text"]

UNITS = ("B", "KiB", "MiB", "GiB", "TiB", "PiB")
WIDTH = 20
"""Characters of a bar."""

# Control characters of ASCII and Latin-1, marks that change the direction of text, and other ends of lines.
_UNSAFE = re.compile("[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")


def size_text(size: float) -> str:
    """Return a number of bytes in the largest unit that it fills, such as `1.5 GiB`."""
    unit = 0
    while abs(size) >= 1024 and unit < len(UNITS) - 1:
        size /= 1024
        unit += 1
    return f"{size:.0f} B" if unit == 0 else f"{size:.1f} {UNITS[unit]}"


def duration_text(seconds: float) -> str:
    """Return a duration such as `45 s`, `3 min`, or `2.5 h`."""
    if seconds < 100:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 6000 else f"{seconds / 3600:.1f} h"


def bar(share: float) -> str:
    """Return a bar such as `[#####               ]  25%` for a share from 0 to 1."""
    share = min(max(share, 0.0), 1.0)
    return f"[{'#' * int(share * WIDTH):{WIDTH}}] {int(share * 100):3}%"


def printable(text: str) -> str:
    r"""Return text with escapes such as `\x1b` for characters that could command a terminal or forge a line.

    Any client that may join a group chooses its group id and client id, so no name from the network is shown as it is.
    """
    if text.isprintable():
        return text
    return _UNSAFE.sub(lambda unsafe: unsafe[0].encode("unicode_escape").decode(), text)


def printable_lines(text: str) -> str:
    """Return text as `printable` does, with its ends of lines and tabs as they are."""
    if text.isprintable():
        return text
    return "\n".join("\t".join(map(printable, line.split("\t"))) for line in text.split("\n"))
