"""Repetitions of a fault: a few in `make test`, and many at random times in `make soak`."""

from __future__ import annotations

import os
import random
import sys

SOAK = int(os.environ.get("KWIRE_SOAK", "0"))
"""Repetitions of each fault in `make soak`; 0 in `make test`."""


def rounds(few: int) -> range:
    """Return the repetitions, `few` in `make test`."""
    return range(SOAK or few)


SEED = os.environ.get("KWIRE_SEED") or (f"{random.SystemRandom().getrandbits(64):x}" if SOAK else "")
"""The seed of random times, another one in each run of `make soak`. Failed tests show it, and KWIRE_SEED repeats it."""


def random_times(fault: str) -> random.Random:
    """Return a source of random times, which is the same in every run of `make test`."""
    if SEED:
        sys.stderr.write(f"KWIRE_SEED={SEED}\n")
    return random.Random(f"{SEED} {fault}" if SEED else fault)
