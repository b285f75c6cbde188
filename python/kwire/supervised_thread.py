"""Functions that run on a daemon thread, and are ended after a time limit or when the caller is canceled.

Python cannot end a thread from outside in every case. A function is first asked to end (`cancel`), then `Ended` is
raised in its thread, which reaches Python code but no call of the operating system in progress. A thread that ignores
both is abandoned: it does not keep the process from exiting.
"""

from __future__ import annotations

import asyncio
import contextvars
import ctypes
import threading
from concurrent.futures import Future
from contextlib import suppress
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["Ended", "TimeLimitExceeded", "run_on_thread"]

T = TypeVar("T")

GRACE = 1.0
"""Seconds that a function has to end after it was asked to, and again after `Ended` was raised."""


class Ended(BaseException):
    """Raised in the thread of a function that must end."""


class TimeLimitExceeded(Exception):
    """A function did not finish within its time limit.

    Attributes:
        seconds: the time limit.
        still_running: whether its thread could not be ended.
    """

    def __init__(self, seconds: float, *, still_running: bool) -> None:
        super().__init__(seconds, still_running)
        self.seconds = seconds
        self.still_running = still_running

    def __str__(self) -> str:
        outcome = "could not be ended" if self.still_running else "was ended"
        return f"it did not finish within {self.seconds:g} s and {outcome}"


async def run_on_thread(
    function: Callable[[], T],
    *,
    name: str,
    time_limit: float | None = None,
    cancel: Callable[[], None] | None = None,
    on_end: Callable[[], None] | None = None,
) -> T:
    """Run a function on a thread of its own, and return its result.

    Args:
        name: the name of the thread.
        time_limit: seconds that it may take; None for no limit.
        cancel: asks the function to end. It is called in the thread of the caller.
        on_end: called in the function's thread when it has ended, however late.

    Raises:
        TimeLimitExceeded: it did not finish in time. Other exceptions are those of the function.
    """
    loop = asyncio.get_running_loop()
    has_ended: asyncio.Future[None] = loop.create_future()
    outcome: Future[T] = Future()

    def report_end() -> None:
        if not has_ended.done():
            has_ended.set_result(None)

    def work() -> None:
        with _ExceptionsInto(outcome):
            outcome.set_result(function())
        if on_end is not None:
            on_end()
        with suppress(RuntimeError):  # the event loop may be closed
            loop.call_soon_threadsafe(report_end)

    context = contextvars.copy_context()
    thread = threading.Thread(target=context.run, args=(work,), name=name, daemon=True)
    thread.start()
    try:
        done, _ = await asyncio.wait((has_ended,), timeout=time_limit)
    except asyncio.CancelledError:
        await _end(thread, has_ended, cancel)
        raise
    if not done:
        await _end(thread, has_ended, cancel)
        assert time_limit is not None
        raise TimeLimitExceeded(time_limit, still_running=not has_ended.done())
    return outcome.result()


class _ExceptionsInto:
    """Moves the exception of a block into a future. None escapes the thread, not even SystemExit."""

    def __init__(self, outcome: Future[Any]) -> None:
        self._outcome = outcome

    def __enter__(self) -> None: ...

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: object) -> bool:
        del kind, trace
        if error is not None:
            self._outcome.set_exception(error)
        return True


async def _end(thread: threading.Thread, has_ended: asyncio.Future[None], cancel: Callable[[], None] | None) -> None:
    """End the function: ask first, then raise in its thread. Its result is ignored."""
    if cancel is not None:
        cancel()
        await asyncio.wait((has_ended,), timeout=GRACE)
    if not has_ended.done() and thread.ident is not None:
        ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread.ident), ctypes.py_object(Ended))
        await asyncio.wait((has_ended,), timeout=GRACE)
