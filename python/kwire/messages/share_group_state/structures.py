"""The struct that snapshots and updates share."""

from __future__ import annotations

from kwire.declare import Struct, int8, int16, int64


class StateBatch(Struct):
    """Records with equal delivery state and count."""

    first_offset: int64
    """The lowest offset of the range."""
    last_offset: int64
    """The highest offset of the range, inclusive."""
    delivery_state: int8
    """0 available; 2 acknowledged; 4 archived."""
    delivery_count: int16
    """The number of attempts so far."""
