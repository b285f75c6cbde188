"""A limit on wrong tokens, by the address that they come from."""

from __future__ import annotations

import math
import time
from collections import OrderedDict
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["GuessLimit"]

ADDRESSES = 10_000
"""The number of addresses that are remembered; the one that failed least recently is forgotten first."""


class GuessLimit:
    """Allows `burst` wrong tokens at once from an address, and one more each `seconds`.

    Args:
        burst: the number of wrong tokens.
        seconds: the time after which one wrong token is forgotten.
        clock: returns seconds.
    """

    def __init__(self, burst: int = 10, seconds: float = 1.0, clock: Callable[[], float] = time.monotonic) -> None:
        self._burst = burst
        self._seconds = seconds
        self._clock = clock
        self._forgotten_at: OrderedDict[str, float] = OrderedDict()
        """When all wrong tokens of an address are forgotten."""

    def wait(self, address: str) -> int:
        """Return the seconds until the tokens of an address are checked again; 0 if they are checked now."""
        excess = self._forgotten_at.get(address, 0.0) - self._clock() - (self._burst - 1) * self._seconds
        return max(0, math.ceil(excess))

    def add(self, address: str) -> None:
        """Remember a wrong token of an address."""
        now = self._clock()
        self._forgotten_at[address] = max(now, self._forgotten_at.pop(address, now)) + self._seconds
        while len(self._forgotten_at) > ADDRESSES:
            self._forgotten_at.popitem(last=False)
