"""Long work in an event loop, divided into slices so that other tasks and connections are not delayed."""

from __future__ import annotations

import asyncio
from time import perf_counter
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterable

T = TypeVar("T")

__all__ = ["SLICE_SECONDS", "TimeSlice", "in_slices"]

SLICE_SECONDS = 0.005
"""Work between two turns of other tasks."""


class TimeSlice:
    """The time since other tasks had their turn."""

    def __init__(self) -> None:
        self._started = perf_counter()

    async def step(self) -> None:
        """Let other tasks run if the slice is used up. Call it after every small piece of work."""
        if perf_counter() - self._started >= SLICE_SECONDS:
            await asyncio.sleep(0)
            self._started = perf_counter()


async def in_slices(items: Iterable[T]) -> AsyncIterator[T]:
    """Iterate, and let other tasks run whenever the slice is used up."""
    time_slice = TimeSlice()
    for item in items:
        yield item
        await time_slice.step()
