"""Functions on threads of their own are ended after a time limit or a cancellation, unless they block for ever."""

from __future__ import annotations

import asyncio
import threading
import time

import pytest

from kwire.supervised_thread import TimeLimitExceeded, run_on_thread


async def test_result_and_exceptions_reach_the_caller() -> None:
    assert await run_on_thread(lambda: 7, name="it") == 7
    with pytest.raises(ZeroDivisionError):
        await run_on_thread(lambda: 1 // 0, name="it")


async def test_loop_that_never_ends_is_ended() -> None:
    ended = threading.Event()

    def spin() -> None:
        while True:
            time.sleep(0.001)

    with pytest.raises(TimeLimitExceeded, match=r"did not finish within 0\.05 s and was ended"):
        await run_on_thread(spin, name="spin", time_limit=0.05, on_end=ended.set)
    assert ended.is_set()


async def test_blocked_function_is_abandoned() -> None:
    release, ended = threading.Event(), threading.Event()
    try:
        with pytest.raises(TimeLimitExceeded, match="could not be ended"):
            await run_on_thread(release.wait, name="blocked", time_limit=0.05, on_end=ended.set)
        assert not ended.is_set()
    finally:
        release.set()
    assert await asyncio.to_thread(ended.wait, 20)


async def test_cancellation_ends_the_function() -> None:
    started, ended = threading.Event(), threading.Event()

    def spin() -> None:
        started.set()
        while True:
            time.sleep(0.001)

    task = asyncio.create_task(run_on_thread(spin, name="spin", on_end=ended.set))
    assert await asyncio.to_thread(started.wait, 20)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert ended.is_set()
