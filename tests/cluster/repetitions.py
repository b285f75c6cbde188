"""How often a fault is repeated: a few times in ``make test``, many times, and at other moments, in ``make soak``."""

from __future__ import annotations

import os
import random

SOAK = int(os.environ.get("KWIRE_SOAK", "0"))
"""Rounds of each fault; 0 in ``make test``."""


def rounds(few: int) -> range:
    return range(SOAK or few)


def moments(fault: str) -> random.Random:
    """Random moments: the same ones on every run of ``make test``."""
    return random.Random(None if SOAK else fault)
