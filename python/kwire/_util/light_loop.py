"""An event loop that starts in a millisecond, with the part of asyncio that a client of brokers needs.

`import asyncio` costs more than a whole command that lists topics: it imports ssl, subprocesses, and logging.
Coroutines that use `kwire._util.concurrency` instead of asyncio run in both loops, with the same cancellation, order,
and timeouts.

    result = LightLoop().run(main())

| has | does not have |
|---|---|
| tasks, futures, timers, timeouts, locks, threads | context variables, debug mode, executors, subprocesses |
| TCP streams with buffers of the receiver | TLS, servers, datagrams |

A loop runs one coroutine, and then it is closed. Its objects belong to the thread that runs it.
"""

from __future__ import annotations

from _thread import _local
from collections import deque
from contextlib import suppress
from errno import EINPROGRESS, EWOULDBLOCK
from heapq import heappop, heappush
from time import monotonic

from kwire._util.light_futures import CancelledError, Future, Gathering, Task
from kwire._util.light_sockets import EVENT_READ, EVENT_WRITE, Selector, sockets
from kwire._util.light_stream import Transport
from kwire._util.light_typing import TYPE_CHECKING, Any, Protocol, Self, TypeVar, cast

if TYPE_CHECKING:
    import signal
    from collections.abc import Awaitable, Callable, Coroutine, Generator, Iterable
    from socket import socket
    from types import TracebackType

    from kwire._util.stream_callbacks import StreamCallbacks
else:
    import _signal as signal  # without the enumerations of its numbers

__all__ = ["LightLoop", "Semaphore", "TimeLimit", "running_light_loop"]

T = TypeVar("T")
AnyFuture = TypeVar("AnyFuture", bound="Waitable")


class Waitable(Protocol):
    """A future of either event loop."""

    def done(self) -> bool:
        """Return whether there is a result or an error."""

    def add_done_callback(self, callback: Callable[[Any], object], /) -> object:
        """Call a function with the future soon after it is done."""

    def remove_done_callback(self, callback: Callable[[Any], object], /) -> object:
        """Do not call a function."""


class _Running(_local):
    """The loop that runs in a thread."""

    loop: LightLoop | None = None


_running = _Running()


def running_light_loop() -> LightLoop | None:
    """Return the loop that runs in this thread; None if there is none."""
    return _running.loop


class Handle:
    """A call in the future."""

    __slots__ = ("arguments", "at", "function", "is_canceled", "number")

    def __init__(self, at: float, number: int, function: Callable[..., object], arguments: tuple[Any, ...]) -> None:
        self.at = at
        self.number = number
        self.function = function
        self.arguments = arguments
        self.is_canceled = False

    def cancel(self) -> None:
        """Do not make the call."""
        self.is_canceled = True
        self.function = _nothing  # releases what the function refers to
        self.arguments = ()

    def __lt__(self, other: Handle) -> bool:
        return (self.at, self.number) < (other.at, other.number)


def _nothing() -> None:
    """Do nothing in place of a canceled call."""


class TimeLimit:
    """A block that raises TimeoutError if it has not ended at a time of the loop."""

    def __init__(self, loop: LightLoop, at: float | None) -> None:
        self._loop = loop
        self._at = at
        self._task: Task[Any] | None = None
        self._timer: Handle | None = None
        self._cancellations = 0
        self._is_expired = False

    async def __aenter__(self) -> Self:
        task = self._task = self._loop.running_task
        assert task is not None
        self._cancellations = task.cancelling()
        if self._at is not None and self._at <= monotonic():  # before any task that the block creates
            self._timer = self._loop.call_soon(self._expire)
        elif self._at is not None:
            self._timer = self._loop.call_at(self._at, self._expire)
        return self

    async def __aexit__(
        self, type: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        assert self._task is not None
        if self._timer is not None:
            self._timer.cancel()
        # With another cancellation of the task beside this one, it is not a timeout.
        if self._is_expired and self._task.uncancel() <= self._cancellations and type is CancelledError:
            raise TimeoutError from error

    def _expire(self) -> None:
        assert self._task is not None
        self._is_expired = True
        self._task.cancel()


class Semaphore:
    """A number of places; `async with` waits for one. With one place it is a lock."""

    def __init__(self, loop: LightLoop, places: int = 1) -> None:
        self._loop = loop
        self._free = places
        self._waiting: deque[Future[None]] = deque()

    async def __aenter__(self) -> None:
        while self._free == 0:
            waiter: Future[None] = Future(self._loop)
            self._waiting.append(waiter)
            try:
                await waiter
            except CancelledError:
                if waiter.done() and not waiter.cancelled():  # it was its turn, which another one can take
                    self._wake()
                raise
        self._free -= 1

    async def __aexit__(
        self, type: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._free += 1
        self._wake()

    def _wake(self) -> None:
        while self._waiting:
            waiter = self._waiting.popleft()
            if not waiter.done():
                waiter.set_result(None)
                return


class LightLoop:
    """An event loop in the thread that calls `run`.

    Attributes:
        tasks: the tasks that have not ended.
        running_task: the task that runs at the moment.
    """

    time = staticmethod(monotonic)

    def __init__(self) -> None:
        self.tasks: set[Task[Any]] = set()
        self.running_task: Task[Any] | None = None
        self._selector = Selector()
        self._ready: deque[Handle] = deque()
        self._timers: list[Handle] = []
        self._number = 0
        self._is_selecting = False

    def run(self, main: Coroutine[Any, Any, T]) -> T:
        """Run a coroutine until it is complete, cancel what it has started, and return its result.

        Ctrl-C cancels the coroutine, and raises KeyboardInterrupt once it has ended.
        """
        if _running.loop is not None:
            main.close()
            raise RuntimeError("an event loop runs in this thread already")
        _running.loop = self
        task = Task(self, main)
        ended: list[object] = []
        task.add_done_callback(ended.append)  # in the next round, as in asyncio: other tasks may end in it as well
        is_interrupted = False
        restore = self._handle_interrupts(task)
        try:
            while not ended:
                try:
                    self._run_once()
                except KeyboardInterrupt:  # while the loop waited, see _handle_interrupts
                    if task.done() or is_interrupted:
                        raise
                    task.cancel()
                is_interrupted = is_interrupted or task.cancelling() > 0
            if is_interrupted and task.cancelled():
                raise KeyboardInterrupt
            return task.result()
        finally:
            try:
                self._end_tasks()
            finally:
                restore()
                _running.loop = None
                self._selector.close()

    def _end_tasks(self) -> None:
        """Cancel the tasks that are left, and close what is still open."""
        for task in list(self.tasks):
            task.cancel()
        while self.tasks or self._ready:
            self._run_once()

    def _handle_interrupts(self, main: Task[Any]) -> Callable[[], None]:
        """Let Ctrl-C cancel a task, and return a function that ends this.

        The second Ctrl-C, and one while the loop waits, raise KeyboardInterrupt. Elsewhere, it would interrupt a task
        between two steps that belong together. The signal also writes to a socket that the loop watches: one that comes
        in the moment before the loop waits does not end a wait by itself.
        """

        def interrupt(number: int, frame: object) -> None:
            del number, frame
            if self._is_selecting or main.cancelling():
                raise KeyboardInterrupt
            main.cancel()

        if signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
            return _nothing
        try:
            signal.signal(signal.SIGINT, interrupt)
        except ValueError:  # not the main thread, which gets the signals
            return _nothing

        reader, writer = sockets.socketpair()
        reader.setblocking(False)
        writer.setblocking(False)

        def drain(_: int) -> None:
            with suppress(BlockingIOError):  # two rounds may have noticed one signal
                reader.recv(64)

        self.watch(reader, EVENT_READ, drain)
        before = signal.set_wakeup_fd(writer.fileno(), warn_on_full_buffer=False)

        def restore() -> None:
            signal.set_wakeup_fd(before)
            self.watch(reader, 0, _ignore)
            reader.close()
            writer.close()
            if signal.getsignal(signal.SIGINT) is interrupt:
                signal.signal(signal.SIGINT, signal.default_int_handler)

        return restore

    def _run_once(self) -> None:
        """Wait for the next event, and make the calls that are due."""
        ready, timers = self._ready, self._timers
        while timers and timers[0].is_canceled:
            heappop(timers)
        try:
            self._is_selecting = True  # first: Ctrl-C adds a call before it, and raises after it
            seconds = 0.0 if ready else max(timers[0].at - monotonic(), 0.0) if timers else None
            events = self._selector.select(seconds)
        finally:
            self._is_selecting = False
        for function, mask in events:
            self.call_soon(function, mask)
        now = monotonic()
        while timers and timers[0].at <= now:
            ready.append(heappop(timers))
        for _ in range(len(ready)):  # not the calls that these ones add
            handle = ready.popleft()
            handle.function(*handle.arguments)

    # Calls

    def call_soon(self, function: Callable[..., object], *arguments: object) -> Handle:
        """Make a call in the next round."""
        handle = Handle(0.0, 0, function, arguments)
        self._ready.append(handle)
        return handle

    def call_at(self, at: float, function: Callable[..., object], *arguments: object) -> Handle:
        """Make a call at a time of `time`."""
        self._number += 1
        handle = Handle(at, self._number, function, arguments)
        heappush(self._timers, handle)
        return handle

    def call_later(self, seconds: float, function: Callable[..., object], *arguments: object) -> Handle:
        """Make a call after some seconds."""
        return self.call_at(monotonic() + seconds, function, *arguments)

    def create_future(self) -> Future[Any]:
        """Return a new future."""
        return Future(self)

    def create_task(self, coroutine: Awaitable[T]) -> Future[T]:
        """Run a coroutine beside the others. A future is returned as it is."""
        if isinstance(coroutine, Future):
            return coroutine
        return Task(self, cast("Coroutine[Any, Any, T]", coroutine))

    def current_task(self) -> Task[Any] | None:
        """Return the task that runs at the moment."""
        return self.running_task

    # Waiting

    def timeout(self, seconds: float | None) -> TimeLimit:
        """Return a block that raises TimeoutError after some seconds; None for no limit."""
        return TimeLimit(self, None if seconds is None else monotonic() + seconds)

    def timeout_at(self, at: float | None) -> TimeLimit:
        """Return a block that raises TimeoutError at a time of `time`; None for no limit."""
        return TimeLimit(self, at)

    async def sleep(self, seconds: float) -> None:
        """Wait for some seconds; 0 lets the other tasks run."""
        if seconds <= 0:
            await _NextRound()
            return
        future = self.create_future()
        timer = self.call_later(seconds, _set_none, future)
        try:
            await future
        finally:
            timer.cancel()

    async def wait(
        self, futures: Iterable[AnyFuture], *, timeout: float | None, return_when: str
    ) -> tuple[set[AnyFuture], set[AnyFuture]]:
        """Wait until one of the futures is done, and return the futures that are done and the others."""
        del return_when  # FIRST_COMPLETED: there is no other
        futures = set(futures)
        if not any(future.done() for future in futures):
            waiter = self.create_future()

            def wake(_: object) -> None:
                _set_none(waiter)

            timer = None if timeout is None else self.call_later(timeout, _set_none, waiter)
            for future in futures:
                future.add_done_callback(wake)
            try:
                await waiter
            finally:
                if timer is not None:
                    timer.cancel()
                for future in futures:
                    future.remove_done_callback(wake)
        done = {future for future in futures if future.done()}
        return done, futures - done

    def gather(self, *coroutines: Awaitable[Any], return_exceptions: bool = False) -> Future[list[Any]]:
        """Return a future of all results. The first error is its error, unless errors are returned."""
        children = [self.create_task(coroutine) for coroutine in coroutines]
        return Gathering(self, children, return_exceptions=return_exceptions)

    async def to_thread(self, function: Callable[..., T], *arguments: Any) -> T:
        """Call a function in a thread of its own, which does not keep the process from ending."""
        from threading import Thread

        results: list[T] = []
        errors: list[BaseException] = []
        reader, writer = sockets.socketpair()

        def call() -> None:
            try:
                results.append(function(*arguments))
            except BaseException as error:  # noqa: BLE001  # raised where the result is awaited
                errors.append(error)
            finally:
                writer.close()  # which wakes the loop

        try:
            Thread(target=call, daemon=True).start()
            await self._wait_for(reader, EVENT_READ)
        finally:
            reader.close()
        if errors:
            raise errors[0]
        return results[0]

    # Sockets

    def watch(self, sock: socket, events: int, callback: Callable[[int], object]) -> None:
        """Call a function whenever a socket is ready; for no events, do not call it any more."""
        self._selector.watch(sock, events, callback)

    async def _wait_for(self, sock: socket, events: int) -> None:
        """Wait until a socket is ready."""
        future = self.create_future()
        self.watch(sock, events, lambda _: _set_none(future))
        try:
            await future
        finally:
            self.watch(sock, 0, _ignore)

    def start_stream(self, sock: socket, callbacks: StreamCallbacks) -> None:
        """Pass what a connected socket receives to callbacks, and give them a transport."""
        Transport(self, sock, callbacks)

    async def getaddrinfo(self, host: str, port: int, **options: Any) -> list[Any]:
        """See `socket.getaddrinfo`, which can wait for a server."""
        return await self.to_thread(lambda: sockets.getaddrinfo(host, port, **options))

    async def sock_connect(self, sock: socket, address: Any) -> None:
        """Connect a socket that does not block. Raises OSError."""
        code = sock.connect_ex(address)
        if code in (EINPROGRESS, EWOULDBLOCK):
            await self._wait_for(sock, EVENT_WRITE)
            code = sock.getsockopt(sockets.SOL_SOCKET, sockets.SO_ERROR)
        if code:
            raise OSError(code, f"Connect call failed {address}")


class _NextRound:
    """Lets a task wait for the next round of its loop."""

    def __await__(self) -> Generator[None, None, None]:
        yield


def _ignore(events: int) -> None:
    """Ignore that a socket is ready."""


def _set_none(future: Future[None]) -> None:
    """Wake the task that waits for a future, if it still does."""
    if not future.done():
        future.set_result(None)
