"""Lines about the progress of a tool, at an interval."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    from kwire_zookeeper_tools.tool_run import ToolRun

__all__ = ["reporting"]


@asynccontextmanager
async def reporting(run: ToolRun, interval_ms: int | None, line: Callable[[], str]) -> AsyncIterator[None]:
    """Print a line at an interval while the context lasts.

    Args:
        interval_ms: the interval in milliseconds; None to print nothing.
        line: returns the line.
    """
    if interval_ms is None:
        yield
        return

    async def report() -> None:
        while True:
            await asyncio.sleep(interval_ms / 1000)
            run.print(line())

    task = asyncio.create_task(report())
    try:
        yield
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task
