"""The light event loop, beside asyncio: both run the same coroutines to the same end."""

from __future__ import annotations

import asyncio
import os
import random
import signal
import socket
import subprocess
import sys
import threading
from typing import TYPE_CHECKING, Any

import pytest

from kwire._util.concurrency import (
    bounded_gather,
    create_task,
    current_task,
    gather,
    lock,
    running_loop,
    semaphore,
    sleep,
    start_stream,
    timeout_after,
    timeout_at,
    to_thread,
    wait_first,
)
from kwire._util.light_futures import CancelledError
from kwire._util.light_loop import LightLoop, running_light_loop
from kwire._util.stream_callbacks import StreamCallbacks

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

CANCELLED = (CancelledError, asyncio.CancelledError)


@pytest.fixture(params=["asyncio", "light"])
def run(request: pytest.FixtureRequest) -> Callable[[Coroutine[Any, Any, Any]], Any]:
    """Runs a coroutine in one of the loops."""
    return asyncio.run if request.param == "asyncio" else LightLoop().run


def described(run: Callable[[], Any]) -> object:
    """Return a result, or the class and text of an error."""
    try:
        return run()
    except (ValueError, TimeoutError, RuntimeError) as error:
        return type(error), str(error)
    except CANCELLED:
        return "canceled"


# Random trees of tasks


class Log(list[str]):
    """Lines that coroutines log, in order, and a lock of their loop."""

    guard: Any


class Step:
    """A coroutine of random steps. Its delays are zero or an hour, whatever the speed of the machine."""

    def __init__(self, rng: random.Random, depth: int) -> None:
        self.kind = rng.choice(["sleep", "fail", "gather", "quiet gather", "limit", "race", "lock", "cancel", "shield"])
        if depth == 0:
            self.kind = rng.choice(["sleep", "fail", "nothing", "yield"])
        self.place = rng.randrange(1_000_000)
        self.children = [Step(rng, depth - 1) for _ in range(rng.randint(1, 3))] if depth else []

    async def run(self, log: Log) -> int:
        try:
            return await self._run(log)
        except CANCELLED:
            log.append(f"{self.place} canceled")
            raise
        except TimeoutError:
            log.append(f"{self.place} timed out")
            return -1

    def _begin(self, log: Log) -> list[Coroutine[Any, Any, int]]:
        return [child.run(log) for child in self.children]

    async def _run(self, log: Log) -> int:
        log.append(f"{self.place} {self.kind}")
        match self.kind:
            case "sleep":
                await sleep(3600)
            case "yield":
                await sleep(0)
            case "fail":
                raise ValueError(self.place)
            case "gather":
                return sum(await gather(*self._begin(log)))
            case "quiet gather":
                outcomes = await gather(*self._begin(log), return_exceptions=True)
                log.append(f"{self.place} {[type(item).__name__ for item in outcomes]}")
            case "limit":
                async with timeout_after(0):
                    return sum(await bounded_gather(lambda child: child.run(log), self.children, at_once=2))
            case "race":
                tasks = [create_task(child) for child in self._begin(log)]
                done, pending = await wait_first(tasks, 0)
                log.append(f"{self.place} {len(done)} {len(pending)}")
                for task in pending:
                    task.cancel()
                await gather(*tasks, return_exceptions=True)
            case "lock":
                async with log.guard, timeout_after(0):
                    for _ in self.children:
                        await sleep(0)
            case "cancel":
                tasks = [create_task(child) for child in self._begin(log)]
                await sleep(0)
                for task in tasks:
                    task.cancel()
                outcomes = await gather(*tasks, return_exceptions=True)
                log.append(f"{self.place} {len(outcomes)}")
            case "shield":
                tasks = [create_task(child) for child in self._begin(log)]
                try:
                    await sleep(0)
                finally:
                    for task in tasks:
                        task.cancel()
                    await gather(*tasks, return_exceptions=True)
        return self.place


def outcome(
    seed: int, run: Callable[[Coroutine[Any, Any, Any]], Any], seconds: float = 0.02
) -> tuple[object, list[str]]:
    """Return what a random coroutine returns or raises, and what it has logged, in order.

    Args:
        seconds: the time after which a coroutine that waits for an hour ends.
    """
    log = Log()

    async def main() -> int:
        log.guard = lock()
        async with timeout_after(seconds):
            return await Step(random.Random(seed), 3).run(log)

    return described(lambda: run(main())), log


def outcomes(seed: int, seconds: float) -> tuple[tuple[object, list[str]], tuple[object, list[str]]]:
    return outcome(seed, asyncio.run, seconds), outcome(seed, LightLoop().run, seconds)


def test_random_coroutines_end_as_in_asyncio() -> None:
    kinds: set[str] = set()
    for seed in range(150):
        (expected, log), (result, light_log) = outcomes(seed, 0.02)
        if (result, sorted(light_log)) != (expected, sorted(log)):  # a busy machine may have ended what does not wait
            (expected, log), (result, light_log) = outcomes(seed, 2.0)
        assert (result, sorted(light_log)) == (expected, sorted(log)), seed
        kinds.update(line.split(" ", 1)[1] for line in log)
    assert {
        "canceled",
        "timed out",
        "fail",
        "race",
        "limit",
        "lock",
    } <= kinds  # the comparison has seen each kind of end


# Parts


def test_timeout_of_an_outer_block_is_not_one_of_an_inner_block(run: Callable[..., Any]) -> None:
    async def main() -> str:
        try:
            async with timeout_after(0):
                try:
                    async with timeout_after(3600):
                        await sleep(3600)
                except TimeoutError:
                    return "inner"
        except TimeoutError:
            return "outer"
        return "none"

    assert run(main()) == "outer"


def test_timeout_in_the_past_ends_a_block_that_waits(run: Callable[..., Any]) -> None:
    async def main() -> None:
        async with timeout_at(running_loop().time() - 1):
            await sleep(3600)

    with pytest.raises(TimeoutError):
        run(main())


def test_canceled_waiter_passes_its_turn_on(run: Callable[..., Any]) -> None:
    async def main() -> list[int]:
        guard, entered = lock(), []

        async def enter(number: int) -> None:
            async with guard:
                entered.append(number)
                await sleep(0)

        async with guard:
            tasks = [create_task(enter(number)) for number in range(4)]
            await sleep(0)
            tasks[1].cancel()
        tasks[0].cancel()  # at this moment it is its turn
        await gather(*tasks, return_exceptions=True)
        return entered

    assert run(main()) == [2, 3]


def test_semaphore_lets_only_some_tasks_in(run: Callable[..., Any]) -> None:
    async def main() -> int:
        places, inside, most = semaphore(3), 0, 0

        async def enter() -> None:
            nonlocal inside, most
            async with places:
                inside += 1
                most = max(most, inside)
                await sleep(0)
                inside -= 1

        await gather(*(enter() for _ in range(20)))
        return most

    assert run(main()) == 3


def test_tasks_that_are_left_are_canceled_at_the_end(run: Callable[..., Any]) -> None:
    ended: list[object] = []

    async def forever() -> None:
        try:
            await sleep(3600)
        finally:
            await sleep(0)
            ended.append(current_task() is not None)

    async def main() -> None:
        create_task(forever())
        await sleep(0)

    run(main())
    assert ended == [True]


def test_thread_returns_its_result_or_error(run: Callable[..., Any]) -> None:
    async def main() -> tuple[int, object]:
        result = await to_thread(lambda number: (number, threading.current_thread()), 3)
        assert result[1] is not threading.current_thread()
        return result[0], (await gather(to_thread(int, "x"), return_exceptions=True))[0]

    number, error = run(main())
    assert number == 3
    assert isinstance(error, ValueError)


def test_large_write_pauses_until_the_peer_reads(run: Callable[..., Any]) -> None:
    async def main() -> tuple[list[str], int, object]:
        ours, theirs = socket.socketpair()
        ours.setblocking(False)
        events: list[str] = []
        ended = running_loop().create_future()
        memory = bytearray(4096)
        received = bytearray()
        transports: list[Any] = []
        callbacks = StreamCallbacks(
            on_made=transports.append,
            buffer=lambda: memoryview(memory),
            on_updated=lambda count: received.extend(memory[:count]),
            on_paused=lambda: events.append("paused"),
            on_resumed=lambda: events.append("resumed"),
            on_lost=ended.set_result,
        )
        await start_stream(ours, callbacks, None, None)
        transports[0].write(b"x" * 3_000_000)
        transports[0].write(b"y")

        def read_and_answer() -> int:
            with theirs:
                data = b""
                while not data.endswith(b"y"):
                    data += theirs.recv(1 << 20)
                theirs.sendall(b"answer")
                return len(data)

        count = await to_thread(read_and_answer)
        error = await ended
        return [*events, received.decode()], count, error

    assert run(main()) == (["paused", "resumed", "answer"], 3_000_001, None)


def test_loop_ends_and_does_not_run_in_itself() -> None:
    async def inner() -> None:
        """Do nothing."""

    async def main() -> None:
        LightLoop().run(inner())

    with pytest.raises(RuntimeError, match="runs in this thread already"):
        LightLoop().run(main())
    assert running_light_loop() is None


def test_future_of_asyncio_is_an_error() -> None:
    async def main() -> None:
        other = asyncio.new_event_loop()
        try:
            await other.create_future()
        finally:
            other.close()

    with pytest.raises(RuntimeError, match="belongs to another event loop"):
        LightLoop().run(main())


INTERRUPTED = """
import sys
from kwire._util.concurrency import sleep
from kwire._util.light_loop import LightLoop

async def main():
    print("waiting", flush=True)
    try:
        await sleep(3600)
    finally:
        await sleep(0)
        print("cleaned up", flush=True)

try:
    LightLoop().run(main())
except KeyboardInterrupt:
    print("interrupted", "asyncio" in sys.modules)
"""


def test_interrupt_cancels_the_coroutine_and_lets_it_clean_up() -> None:
    with subprocess.Popen([sys.executable, "-c", INTERRUPTED], stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == "waiting\n"
            os.kill(process.pid, signal.SIGINT)
            assert process.communicate(timeout=60)[0] == "cleaned up\ninterrupted False\n"
        finally:
            process.kill()


SIGNAL_BEFORE_THE_WAIT = """
import signal
from kwire._util import light_loop

real, calls = light_loop.monotonic, []

def monotonic():
    calls.append(1)
    if len(calls) == NUMBER:
        signal.raise_signal(signal.SIGINT)
    return real()

light_loop.monotonic = monotonic
"""
"""Interrupts the process at one of the moments in which the loop reads the clock, before and after a wait."""


@pytest.mark.parametrize("number", [2, 3])
def test_interrupt_in_the_moment_before_the_loop_waits_is_not_lost(number: int) -> None:
    program = SIGNAL_BEFORE_THE_WAIT.replace("NUMBER", str(number)) + INTERRUPTED

    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=True)
    assert run.stdout == "waiting\ncleaned up\ninterrupted False\n"
