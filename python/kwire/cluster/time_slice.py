"""Long work in an event loop, divided into slices so that other tasks and connections are not delayed.

All long work of a loop together gets at most half of the time while other requests arrive, however many clients or
connections have sent it. A loop without other requests does not wait.
"""

from __future__ import annotations

import asyncio
from time import perf_counter
from typing import TYPE_CHECKING, ClassVar, TypeVar
from weakref import WeakKeyDictionary

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterable

T = TypeVar("T")

__all__ = ["SLICE_SECONDS", "SharedTime", "TimeSlice", "in_slices"]

SLICE_SECONDS = 0.005
"""Work between two turns of other tasks."""
LEAST_REFUSAL, LONGEST_REFUSAL = 0.002, 1.0
"""Seconds: the time that a refused request takes at least, with its connection and its line in the log, and the longest
delay before its connection is closed."""


class SharedTime:
    """The time of one event loop, which long work and other requests share.

    Attributes:
        arrivals: counts what arrives on connections.
    """

    __slots__ = ("_next_refusal", "_next_slice", "arrivals")

    _of_loops: ClassVar[WeakKeyDictionary[asyncio.AbstractEventLoop, SharedTime]] = WeakKeyDictionary()

    def __init__(self) -> None:
        self.arrivals = 0
        self._next_slice = 0.0
        self._next_refusal = 0.0

    @classmethod
    def of_loop(cls) -> SharedTime:
        """Return the time of the running loop."""
        loop = asyncio.get_running_loop()
        found = cls._of_loops.get(loop)
        if found is None:
            found = cls._of_loops[loop] = cls()
        return found

    async def pause(self, used: float) -> None:
        """Let other tasks run after a slice, and wait if requests arrive meanwhile.

        The slices of all long work then follow each other at twice their length.

        Args:
            used: the length of the slice in seconds.
        """
        arrivals = self.arrivals
        await asyncio.sleep(0)
        if self.arrivals == arrivals:
            return
        self._next_slice = max(self._next_slice, perf_counter()) + 2 * used
        await asyncio.sleep(self._next_slice - perf_counter())

    def refusal_delay(self, used: float) -> float:
        """Return after how many seconds to close the connection of an invalid request.

        Refusals then follow each other at twice the time that they took, so that a client that reconnects and sends the
        next one leaves half of the time to others. The delay is at most a second.

        Args:
            used: the seconds that reading the request took.
        """
        now = perf_counter()
        self._next_refusal = min(max(self._next_refusal, now) + 2 * max(used, LEAST_REFUSAL), now + LONGEST_REFUSAL)
        return self._next_refusal - now


class TimeSlice:
    """The time since other tasks had their turn.

    Args:
        started: when the work began, in seconds of `perf_counter`; now by default.
    """

    def __init__(self, started: float | None = None) -> None:
        self._started = perf_counter() if started is None else started

    async def step(self) -> None:
        """Let other tasks run if the slice is used up. Call it after every small piece of work."""
        used = perf_counter() - self._started
        if used >= SLICE_SECONDS:
            await SharedTime.of_loop().pause(used)
            self._started = perf_counter()

    def suspend(self) -> None:
        """Stop the clock while the work waits for something else."""
        self._started -= perf_counter()

    def resume(self) -> None:
        """Continue after `suspend`."""
        self._started += perf_counter()


async def in_slices(items: Iterable[T]) -> AsyncIterator[T]:
    """Iterate, and let other tasks run whenever the slice is used up."""
    time_slice = TimeSlice()
    for item in items:
        yield item
        await time_slice.step()
