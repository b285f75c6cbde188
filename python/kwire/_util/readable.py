"""Sizes, durations, and shares as text for people, and texts of strangers that are safe to show."""

from __future__ import annotations

__all__ = [
    "INVISIBLE",
    "UNSAFE",
    "bar",
    "cell_width",
    "counted",
    "duration_text",
    "printable",
    "printable_lines",
    "size_text",
    "time_text",
]

UNITS = ("B", "KiB", "MiB", "GiB", "TiB", "PiB")
WIDTH = 20
"""Characters of a bar."""

INVISIBLE = (
    r"\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f"
    r"\ufeff\uffa0\ufff0-\ufffb\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff"
)
"""Unicode's Default_Ignorable_Code_Point, ends of lines other than ASCII's, and annotations, for a set of a pattern.
They have no width or change the direction of text, so two names with and without them would look the same."""
UNSAFE = rf"[\x00-\x1f\x7f-\x9f\ud800-\udfff{INVISIBLE}]"
"""Pattern of control characters, halves of surrogate pairs, and INVISIBLE."""


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


def counted(count: int, noun: str) -> str:
    """Return a number with its noun in the singular or the plural, such as `1 partition` or `1,200 batches`."""
    if count == 1:
        return f"1 {noun}"
    if noun.endswith("y") and not noun.endswith(("ay", "ey", "oy", "uy")):  # entries and queries, keys and days
        return f"{count:,} {noun[:-1]}ies"
    return f"{count:,} {noun}{'es' if noun.endswith(('s', 'x', 'ch', 'sh')) else 's'}"


def bar(share: float) -> str:
    """Return a bar such as `[#####               ]  25%` for a share from 0 to 1."""
    share = min(max(share, 0.0), 1.0)
    return f"[{'#' * int(share * WIDTH):{WIDTH}}] {int(share * 100):3}%"


def printable(text: str) -> str:
    r"""Return text with escapes such as `\x1b` for characters that are invisible or could disturb a terminal.

    Any client that may join a group chooses its group id and client id, so no name from the network is shown as it is.
    """
    if text.isascii() and text.isprintable():
        return text
    import re  # few texts need it

    return re.sub(UNSAFE, lambda unsafe: unsafe[0].encode("unicode_escape").decode(), text)


def printable_lines(text: str) -> str:
    """Return text as `printable` does, with its ends of lines and tabs as they are."""
    if text.isascii() and text.isprintable():
        return text
    return "\n".join("\t".join(map(printable, line.split("\t"))) for line in text.split("\n"))


def cell_width(text: str) -> int:
    """Return the columns of a terminal that a text takes: 2 for wide characters, 0 for combining ones."""
    if text.isascii():
        return len(text)
    import unicodedata

    width = 0
    for character in text:
        # Accents and joiners have no width.
        if unicodedata.category(character) not in ("Mn", "Me", "Cf"):
            width += 2 if unicodedata.east_asian_width(character) in ("W", "F") else 1
    return width


CYCLE_MS = 146_097 * 86_400_000
"""Milliseconds of 400 years, after which the calendar repeats itself."""


def time_text(timestamp_ms: int, separator: str = " ", *, milliseconds: bool = True) -> str:
    """Return a time in UTC, such as `2026-11-22 08:00:00.000Z`.

    A year beyond 9999 is written as ISO 8601 has it, such as `+33715-06-20 10:40:00.000Z`. It is legal: a broker may
    give a token a lifetime of 30,000 years, and producers choose the timestamps of messages.
    """
    from datetime import UTC, datetime, timedelta

    cycles, rest = divmod(timestamp_ms, CYCLE_MS)
    time = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(milliseconds=rest)
    year = time.year + 400 * cycles
    years = f"+{year}" if year > 9999 else f"{year:0{5 if year < 0 else 4}}"
    fraction = f".{time.microsecond // 1000:03}" if milliseconds else ""
    return f"{years}-{time:%m-%d}{separator}{time:%H:%M:%S}{fraction}Z"
