"""Repetitions of a fault: a few in `make test`, and many at random times in `make soak`."""

from __future__ import annotations

import os
import random

SOAK = int(os.environ.get("KWIRE_SOAK", "0"))
"""Repetitions of each fault in `make soak`; 0 in `make test`."""


def rounds(few: int) -> range:
    """Return the repetitions, `few` in `make test`."""
    return range(SOAK or few)


def random_times(fault: str) -> random.Random:
    """Return a source of random times, which is the same in every run of `make test`."""
    return random.Random(None if SOAK else fault)
