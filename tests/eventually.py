"""Wait for a condition that another task, thread, or process makes true."""

from __future__ import annotations

import inspect
import time
from typing import TYPE_CHECKING, TypeVar

from kwire._util.concurrency import sleep

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

T = TypeVar("T")

PAUSE = 0.01
"""Seconds between two checks."""
PATIENCE = 60.0
"""Seconds to wait for what usually takes one: on a busy machine, each process can stand still for seconds."""


async def eventually(check: Callable[[], T | Awaitable[T]], what: str = "", within: float = PATIENCE) -> T:
    """Return the first true result of `check`, which may be a coroutine function.

    Args:
        check: the condition; it is called at least once.
        what: the condition in words, for the error.
        within: seconds to wait.

    Raises:
        AssertionError: the condition did not become true in time.
    """
    deadline = time.monotonic() + within
    while True:
        found = check()
        result: T = await found if inspect.isawaitable(found) else found
        if result:
            return result
        assert time.monotonic() < deadline, f"not within {within:g} s: {what or check}"
        await sleep(PAUSE)


def eventually_sync(check: Callable[[], T], what: str = "", within: float = PATIENCE, pause: float = PAUSE) -> T:
    """Return the first true result of `check`, for tests without an event loop. See `eventually`."""
    deadline = time.monotonic() + within
    while not (result := check()):
        assert time.monotonic() < deadline, f"not within {within:g} s: {what or check}"
        time.sleep(pause)
    return result
