"""An event loop in a thread: every caller gets a result or an error, whatever happens to the loop."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import textwrap
import threading
from concurrent.futures import ThreadPoolExecutor, wait

import pytest

from kwire.client.loop_thread import LoopThread, LoopThreadClosed

LIMIT = 60.0
"""Seconds after which a test fails instead of waiting forever, chosen for a busy machine."""


never_awaited_is_an_error = pytest.mark.filterwarnings(
    "error::RuntimeWarning", "error::pytest.PytestUnraisableExceptionWarning"
)
"""Python warns that a coroutine was never awaited when it is collected."""


class Job:
    """A coroutine that runs until it is canceled.

    Attributes:
        begun: set once it runs.
        canceled: set once it has been canceled.
    """

    def __init__(self) -> None:
        self.begun = threading.Event()
        self.canceled = threading.Event()

    async def __call__(self) -> None:
        self.begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            self.canceled.set()


async def value(result: int) -> int:
    return result


async def fail() -> None:
    raise ValueError("of the coroutine")


def test_result_and_error_are_those_of_the_coroutine() -> None:
    thread = LoopThread("test")
    assert thread.run(value(3)) == 3
    with pytest.raises(ValueError, match="of the coroutine"):
        thread.run(fail())
    called = threading.Event()
    thread.call(called.set)
    assert called.wait(LIMIT)
    thread.close()


def test_timeout_cancels_the_coroutine() -> None:
    thread, job = LoopThread("test"), Job()
    with pytest.raises(TimeoutError):
        thread.run(job(), 0.01)
    assert job.canceled.wait(LIMIT) or not job.begun.is_set()
    thread.close()


def test_close_ends_calls_in_other_threads_after_the_last_coroutine() -> None:
    thread, job = LoopThread("test"), Job()
    order = []

    async def last() -> None:
        order.append(("last", job.canceled.is_set()))

    with ThreadPoolExecutor(1) as callers:
        call = callers.submit(thread.run, job())
        assert job.begun.wait(LIMIT)
        thread.close(last())
        with pytest.raises(LoopThreadClosed, match="closed during the call"):
            call.result(LIMIT)
    assert order == [("last", False)]  # the job still ran
    assert job.canceled.is_set()


def test_close_raises_the_error_of_the_last_coroutine_and_ends_the_thread() -> None:
    thread = LoopThread("ended-with-an-error")
    with pytest.raises(ValueError, match="of the coroutine"):
        thread.close(fail())
    assert "ended-with-an-error" not in {thread.name for thread in threading.enumerate()}


@never_awaited_is_an_error
def test_closed_loop_refuses_everything_but_another_close() -> None:
    thread = LoopThread("test")
    thread.close()
    assert thread.is_closed
    thread.close(value(1))
    for use in (lambda: thread.run(value(1)), lambda: thread.start(value(1)), lambda: thread.call(print)):
        with pytest.raises(LoopThreadClosed):
            use()


def test_close_without_waiting_returns_while_the_last_coroutine_runs() -> None:
    thread, may_end = LoopThread("test"), threading.Event()
    thread.close(asyncio.to_thread(may_end.wait), wait=False)
    with pytest.raises(LoopThreadClosed):
        thread.run(value(1))
    may_end.set()
    thread.close()  # waits


@pytest.mark.parametrize("error", [SystemExit, KeyboardInterrupt])
def test_death_of_the_loop_ends_all_calls(error: type[BaseException]) -> None:
    thread, job = LoopThread("test"), Job()

    async def die() -> None:
        raise error

    with ThreadPoolExecutor(2) as callers:
        waiting = callers.submit(thread.run, job())
        assert job.begun.wait(LIMIT)
        dying = thread.start(die())
        with pytest.raises(LoopThreadClosed):
            waiting.result(LIMIT)
        wait([dying], LIMIT)
        assert dying.done()
    with pytest.raises(LoopThreadClosed):
        thread.run(value(1))
    thread.close(value(1))


@never_awaited_is_an_error
def test_calls_race_with_the_death_of_the_loop() -> None:
    """No call waits forever, and no coroutine is lost, whenever the loop dies between its acceptance and its start."""

    def call(thread: LoopThread) -> int | None:
        try:
            return thread.run(value(1))
        except LoopThreadClosed:
            return None

    with ThreadPoolExecutor(4) as callers:
        for _ in range(50):
            thread = LoopThread("test")
            calls = [callers.submit(call, thread) for _ in range(8)]
            thread.call(sys.exit)
            calls += [callers.submit(call, thread) for _ in range(8)]
            assert {call.result(LIMIT) for call in calls} <= {1, None}
            thread.close()


@never_awaited_is_an_error
def test_thread_of_the_loop_cannot_wait_for_itself() -> None:
    thread = LoopThread("test")

    async def wait_for_itself() -> None:
        with pytest.raises(RuntimeError, match="this thread runs the event loop"):
            thread.run(value(1))
        with pytest.raises(RuntimeError, match="this thread runs the event loop"):
            thread.close(value(1))

    thread.run(wait_for_itself())
    assert thread.run(value(2)) == 2
    thread.close()


def test_forked_process_does_not_wait_for_the_thread_of_its_parent() -> None:
    program = """
    import os
    from kwire.client.loop_thread import LoopThread

    async def value():
        return 1

    thread = LoopThread("parent")
    child = os.fork()
    if child == 0:
        for use in (lambda: thread.run(value()), lambda: thread.call(print)):
            try:
                use()
            except RuntimeError as error:
                assert "parent of this process" in str(error)
        thread.close(value())
        os._exit(7)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
    assert thread.run(value()) == 1
    thread.close()
    """
    assert run_program(program, "-W", "error::RuntimeWarning") == (0, "")


def test_interpreter_exits_while_the_loop_runs() -> None:
    program = """
    import asyncio
    from kwire.client.loop_thread import LoopThread

    async def work(begun):
        begun.set()
        while True:
            await asyncio.sleep(0)

    async def wait(begun):
        await begun.wait()

    thread, begun = LoopThread("left open"), asyncio.Event()
    thread.start(work(begun))
    thread.run(wait(begun))
    """
    assert run_program(program) == (0, "")


def test_interrupt_cancels_a_call_but_not_the_last_coroutine() -> None:
    assert threading.current_thread() is threading.main_thread(), "signals are handled there"
    signal.signal(signal.SIGINT, signal.default_int_handler)  # the handler of Polars does not wake locks
    thread, job = LoopThread("test"), Job()

    def interrupt(begun: threading.Event) -> None:
        begun.wait(LIMIT)
        os.kill(os.getpid(), signal.SIGINT)

    with ThreadPoolExecutor(1) as interrupter:
        interrupter.submit(interrupt, job.begun)
        with pytest.raises(KeyboardInterrupt):
            thread.run(job())
    assert job.canceled.wait(LIMIT)

    begun, completed = threading.Event(), threading.Event()
    interrupted = asyncio.Event()
    loops = []

    async def last() -> None:
        loops.append(asyncio.get_running_loop())
        begun.set()
        await interrupted.wait()
        completed.set()

    def interrupt_close() -> None:
        interrupt(begun)
        loops[0].call_soon_threadsafe(interrupted.set)  # `call` refuses: the loop is being closed

    with ThreadPoolExecutor(1) as interrupter:
        interrupter.submit(interrupt_close)
        with pytest.raises(KeyboardInterrupt):
            thread.close(last())
    assert completed.is_set()


def run_program(program: str, *options: str) -> tuple[int, str]:
    """Run a Python program, and return its exit code and what it wrote to stderr."""
    command = [sys.executable, *options, "-c", textwrap.dedent(program)]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT, check=False)
    return ended.returncode, ended.stderr
