"""Sizes, durations, shares, and ids as text for people."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from uuid import UUID

__all__ = ["bar", "duration_text", "size_text", "topic_id_text"]

UNITS = ("B", "KiB", "MiB", "GiB", "TiB", "PiB")
WIDTH = 20


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


def bar(share: float, width: int = WIDTH) -> str:
    """Return a bar such as `[#####               ]  25%` for a share from 0 to 1."""
    share = min(max(share, 0.0), 1.0)
    return f"[{'#' * int(share * width):{width}}] {int(share * 100):3}%"


def topic_id_text(value: UUID) -> str:
    """Return a topic id as Kafka prints it: URL-safe base64 without padding."""
    from base64 import urlsafe_b64encode

    return urlsafe_b64encode(value.bytes).decode("ascii").rstrip("=")
