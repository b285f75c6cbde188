"""Long work in an event loop, divided into slices so that other tasks and connections are not delayed.

Between two slices, the work waits until its connection is due (`kwire.cluster.loop_shares`). A loop without other
requests does not wait.
"""

from __future__ import annotations

from time import perf_counter
from typing import TYPE_CHECKING, TypeVar

from kwire.cluster.loop_shares import ConnectionShare, LoopShares

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterable

T = TypeVar("T")

__all__ = ["SLICE_SECONDS", "TimeSlice", "in_slices"]

SLICE_SECONDS = 0.005
"""Work between two turns of other tasks."""


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
        if used < SLICE_SECONDS:
            return
        share = ConnectionShare.current.get(None)
        if share is None:
            share = LoopShares.of_loop().own
            share.begin_step()
            share.used += used  # nothing else measures it
        await share.wait_due()
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
