"""Start attempts one after the other and take the first that succeeds: a silent one does not cost the time of all.

This is the algorithm of RFC 8305 (Happy Eyeballs) for anything that can be silent: the addresses of a name, the brokers
of a cluster. The next attempt starts as soon as one has failed, or after a delay without a result, and no attempt that
may still succeed is given up for that: what is slow everywhere is not asked for over and over again.
"""

from __future__ import annotations

from functools import partial

from kwire._util.concurrency import create_task, wait_first
from kwire._util.light_typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable, Coroutine, Iterable
    from typing import Any

T = TypeVar("T")


async def first_success(
    attempts: Iterable[Callable[[], Coroutine[Any, Any, T]]],
    delay: float,
    *,
    is_final: Callable[[Exception], bool] = lambda _: False,
    discard: Callable[[T], None] = lambda _: None,
    is_progressing: Callable[[], bool] = lambda: False,
    on_silent: Callable[[int], None] = lambda _: None,
) -> T:
    """Return the result of the first attempt that succeeds, and cancel the others.

    Args:
        attempts: functions that start an attempt, the preferred one first.
        delay: seconds without a result after which the next attempt starts.
        is_final: returns whether an error ends the race, since other attempts would have it as well.
        discard: releases the result of another attempt that succeeded as well.
        is_progressing: returns whether a result is on its way, so that the next attempt waits for another delay.
        on_silent: called with the number of an attempt that is overdue when the next one starts.

    Raises:
        ValueError: there is no attempt.
        Exception: the final error, or the error of the first attempt if all of them failed.
    """
    waiting = list(attempts)
    if not waiting:
        raise ValueError("a race needs an attempt")
    if len(waiting) == 1:
        return await waiting[0]()
    waiting.reverse()
    running: dict[asyncio.Task[T], int] = {}
    errors: dict[int, Exception] = {}
    number = 0
    is_next_due = True
    try:
        while waiting or running:
            if waiting and is_next_due:
                running[create_task(waiting.pop()())] = number
                number += 1
            done, _ = await wait_first(running, delay if waiting else None)
            is_next_due = bool(done) or not is_progressing()
            if is_next_due and not done:
                for late in running.values():
                    on_silent(late)
            for task in done:
                place, error = running.pop(task), task.exception()
                if error is None:
                    return task.result()
                if not isinstance(error, Exception) or is_final(error):
                    raise error
                errors[place] = error
    finally:
        # Not waited for: whoever is cancelled meanwhile could not return the result, and nothing would release it.
        for loser in running:
            loser.add_done_callback(partial(_discard_result, discard))
            loser.cancel()
    raise errors[min(errors)]


def _discard_result(discard: Callable[[T], None], task: asyncio.Task[T]) -> None:
    """Release the result of an attempt that lost, if it has one. Its error does not matter."""
    if not task.cancelled() and task.exception() is None:
        discard(task.result())
