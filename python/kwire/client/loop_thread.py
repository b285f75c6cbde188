"""An event loop in a thread, for programs and classes without asyncio, and clients that run in one.

    thread = LoopThread("kwire-admin")
    client = thread.run(AdminClient.open("127.0.0.1:9092"))
    thread.close(client.close())

No caller waits forever. Each coroutine ends in one of these ways:

| event | the caller of `run` gets |
|---|---|
| the coroutine returns or raises | its result or its error |
| Ctrl-C, or the timeout | KeyboardInterrupt or TimeoutError; the coroutine is canceled |
| `close` in another thread | LoopThreadClosed; the coroutine is canceled |
| a coroutine raises SystemExit or KeyboardInterrupt, which ends the loop | LoopThreadClosed; all are canceled |
| the call is in the thread of the loop, or in a process that was forked | RuntimeError |
| the interpreter exits | nothing: the thread is a daemon and ends with the process |
"""

from __future__ import annotations

import asyncio
import os
import threading
from concurrent.futures import CancelledError
from contextlib import suppress
from functools import wraps
from typing import Concatenate, ParamSpec

from kwire._util.light_typing import TYPE_CHECKING, Any, Generic, Protocol, Self, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine
    from concurrent.futures import Future
    from types import TracebackType


class Closable(Protocol):
    """A client on asyncio."""

    async def close(self) -> None:
        """Release what the client has."""


C = TypeVar("C", bound=Closable)
S = TypeVar("S")
P = ParamSpec("P")
R = TypeVar("R")


class LoopThreadClosed(RuntimeError):
    """The event loop has ended, or ended while a coroutine ran in it."""


class LoopThread:
    """An event loop in a daemon thread, which starts at once.

    Args:
        name: the name of the thread.
    """

    def __init__(self, name: str) -> None:
        self._process = os.getpid()
        self._lock = threading.Lock()
        self._is_closed = False
        """True once no coroutine is accepted any more; written with the lock."""
        self._end = asyncio.Event()
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._serve, name=name, daemon=True)
        try:
            self._thread.start()
        except BaseException:  # the system has no more threads
            self._loop.close()
            raise

    @property
    def is_closed(self) -> bool:
        """True once the loop accepts no more coroutines."""
        return self._is_closed

    def start(self, work: Coroutine[Any, Any, R]) -> Future[R]:
        """Run a coroutine in the loop and return its future, which can cancel it.

        Raises:
            LoopThreadClosed: the loop has ended.
            RuntimeError: this process was forked after the loop began.
        """
        try:
            self._check_process()  # before the lock: another thread might have had it at the fork
            with self._lock:
                return self._submit(work)
        except BaseException:
            work.close()  # otherwise, Python warns that it was never awaited
            raise

    def run(self, work: Coroutine[Any, Any, R], timeout: float | None = None) -> R:
        """Run a coroutine in the loop, wait for it, and return its result. Ctrl-C and the timeout cancel it.

        Args:
            work: the coroutine.
            timeout: seconds to wait; None waits without a limit.

        Raises:
            TimeoutError: the coroutine has not ended in time.
            LoopThreadClosed: the loop has ended, or ends before the coroutine.
            RuntimeError: this is the thread of the loop, or a process that was forked.
        """
        try:
            self._check_thread()
        except RuntimeError:
            work.close()
            raise
        future = self.start(work)
        try:
            return future.result(timeout)
        except CancelledError:
            if self._is_closed:
                raise LoopThreadClosed("the event loop was closed during the call") from None
            raise
        except BaseException:
            future.cancel()  # after an error of the coroutine, this does nothing
            raise

    def call(self, function: Callable[..., object], *arguments: object) -> None:
        """Call a function in the loop soon, without waiting for it.

        Raises:
            LoopThreadClosed: the loop has ended.
            RuntimeError: this process was forked after the loop began.
        """
        self._check_process()
        with self._lock:
            if self._is_closed:
                raise LoopThreadClosed("the event loop is closed")
            self._loop.call_soon_threadsafe(function, *arguments)

    def close(self, last: Coroutine[Any, Any, object] | None = None, *, wait: bool = True) -> None:
        """Run a last coroutine, cancel all others, and end the thread. A second call does nothing.

        Ctrl-C does not interrupt the last coroutine: KeyboardInterrupt is raised once the thread has ended. In a
        process that was forked, nothing happens: the loop and its connections belong to the other process.

        Args:
            last: releases what the coroutines share, such as connections. Its error is raised.
            wait: wait until the thread has ended.

        Raises:
            RuntimeError: this is the thread of the loop.
        """
        last = _nothing() if last is None else last
        if os.getpid() != self._process:
            last.close()
            return
        try:
            self._check_thread()
        except RuntimeError:
            last.close()
            raise
        with self._lock:
            ended = None if self._is_closed else self._submit(self._finish(last))
            self._is_closed = True
        if ended is None:
            last.close()
        if not wait:
            return
        try:
            if ended is not None:
                with suppress(CancelledError):  # the loop has died meanwhile
                    ended.result()
        finally:
            self._thread.join()

    def _submit(self, work: Coroutine[Any, Any, R]) -> Future[R]:
        if self._is_closed:
            raise LoopThreadClosed("the event loop is closed")
        return asyncio.run_coroutine_threadsafe(work, self._loop)

    async def _finish(self, last: Coroutine[Any, Any, object]) -> None:
        try:
            await last
        finally:
            self._end.set()

    def _serve(self) -> None:
        """Run the loop in the thread until `close`, or until a coroutine raises SystemExit or KeyboardInterrupt."""
        with suppress(SystemExit, KeyboardInterrupt), asyncio.Runner(loop_factory=lambda: self._loop) as runner:
            try:
                runner.run(self._wait_for_end())
            finally:
                with self._lock:
                    self._is_closed = True
                # A coroutine that was accepted just before becomes a task in this step. Leaving the block cancels all
                # tasks, waits for them, and closes the loop, so that every future has a result.
                runner.run(asyncio.sleep(0))

    async def _wait_for_end(self) -> None:
        await self._end.wait()

    def _check_process(self) -> None:
        if os.getpid() != self._process:
            raise RuntimeError("the event loop runs in the parent of this process: open another client after a fork")

    def _check_thread(self) -> None:
        if threading.current_thread() is self._thread:
            raise RuntimeError("this thread runs the event loop: waiting here would block it forever")


async def _nothing() -> None:
    """Do nothing before the loop ends."""


class BlockingClient(Generic[C]):
    """A client on asyncio in a thread of its own, from its creation to `close`.

    Args:
        name: the name of the thread.
        opening: creates the client.
    """

    def __init__(self, name: str, opening: Coroutine[Any, Any, C]) -> None:
        try:
            self.thread = LoopThread(name)
        except BaseException:
            opening.close()
            raise
        try:
            self.client = self.thread.run(opening)
        except BaseException:
            self.thread.close()
            raise

    def close(self) -> None:
        """Close the client and end the thread. A second call does nothing.

        An operation that runs in another thread raises LoopThreadClosed, and a command may have been executed.
        """
        self.thread.close(self.client.close())

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, type: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()


def blocking(
    operation: Callable[Concatenate[S, P], Coroutine[Any, Any, R]],
) -> Callable[Concatenate[BlockingClient[Any], P], R]:
    """Return a method of a `BlockingClient` that runs an operation of its client and waits for it."""

    @wraps(operation)
    def run(blocking_client: BlockingClient[Any], /, *arguments: P.args, **options: P.kwargs) -> R:
        return blocking_client.thread.run(operation(blocking_client.client, *arguments, **options))

    return run
