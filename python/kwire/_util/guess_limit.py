"""A limit on wrong passwords and tokens, by the address or the user that they come from."""

from __future__ import annotations

import asyncio
import math
import time
from collections import OrderedDict
from weakref import WeakValueDictionary

from kwire._util.light_typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["GuessLimit"]

NAMES = 10_000
"""Maximum number of names; above it, the name with the oldest failure is forgotten."""


class GuessLimit:
    """Allows `burst` wrong secrets at once under a name, such as an address, and one more each `seconds`.

    Args:
        burst: the number of wrong secrets.
        seconds: the time after which one wrong secret is forgotten.
        clock: returns seconds.
        turn_seconds: time between two results of checks under a name with too many wrong secrets; see `turn`.
    """

    def __init__(
        self,
        burst: int = 10,
        seconds: float = 1.0,
        clock: Callable[[], float] = time.monotonic,
        turn_seconds: float = 0.5,
    ) -> None:
        self._burst = burst
        self._seconds = seconds
        self._clock = clock
        self._turn_seconds = turn_seconds
        self._turns: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()
        self._forgotten_at: OrderedDict[str, float] = OrderedDict()
        """Time of the clock at which all wrong secrets of a name are forgotten."""

    def wait(self, name: str) -> int:
        """Return the seconds until the secrets of a name are checked again; 0 if they are checked now."""
        excess = self._forgotten_at.get(name, 0.0) - self._clock() - (self._burst - 1) * self._seconds
        return max(0, math.ceil(excess))

    def add(self, name: str) -> None:
        """Remember a wrong secret of a name."""
        now = self._clock()
        self._forgotten_at[name] = max(now, self._forgotten_at.pop(name, now)) + self._seconds
        while len(self._forgotten_at) > NAMES:
            self._forgotten_at.popitem(last=False)

    async def turn(self, name: str) -> None:
        """Wait until the result of a check may be revealed: not at all, unless a name has had too many wrong secrets.

        Then right and wrong secrets take turns. A right one is never refused, but a client that guesses learns
        one result each `turn_seconds`, on any number of connections, and learns nothing from not waiting.
        """
        if not self.wait(name):
            return
        lock = self._turns.setdefault(name, asyncio.Lock())
        async with lock:
            await asyncio.sleep(self._turn_seconds)
