"""Concurrency for the event loop that is running: asyncio or a `LightLoop`, which starts faster.

Coroutines that use this module instead of asyncio run in both. asyncio is imported with the first call outside of a
light loop. The types are those of asyncio; the objects of a light loop have the methods that are used here.
"""

from __future__ import annotations

from functools import cache

from kwire._util.light_loop import Semaphore, running_light_loop
from kwire._util.light_typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Awaitable, Callable, Coroutine, Iterable
    from contextlib import AbstractAsyncContextManager
    from socket import socket
    from ssl import SSLContext

    from kwire._util.stream_callbacks import StreamCallbacks

__all__ = [
    "bounded_gather",
    "create_task",
    "current_task",
    "gather",
    "lock",
    "running_loop",
    "semaphore",
    "sleep",
    "start_stream",
    "timeout_after",
    "timeout_at",
    "to_thread",
    "wait_first",
]

AT_ONCE = 100
"""Maximum number of calls at once. Above the brokers of almost every cluster, far below the 1,024 files that a process
may open by default."""

T = TypeVar("T")
Item = TypeVar("Item")
Result = TypeVar("Result")
AnyFuture = TypeVar("AnyFuture", bound="asyncio.Future[Any]")


def _functions() -> Any:
    """Return the light loop that runs in this thread, or else asyncio. What both have behaves alike."""
    light = running_light_loop()
    if light is not None:
        return light
    import asyncio

    return asyncio


def running_loop() -> asyncio.AbstractEventLoop:
    """Return the event loop that runs in this thread. Raises RuntimeError."""
    light: Any = running_light_loop()
    loop: asyncio.AbstractEventLoop = light or _functions().get_running_loop()
    return loop


def current_task() -> asyncio.Task[Any] | None:
    """Return the task that calls this function."""
    task: asyncio.Task[Any] | None = _functions().current_task()
    return task


def create_task(coroutine: Coroutine[Any, Any, T]) -> asyncio.Task[T]:
    """Run a coroutine beside the others."""
    return running_loop().create_task(coroutine)


def timeout_after(seconds: float | None) -> AbstractAsyncContextManager[object]:
    """Return a context manager that raises TimeoutError after some seconds; None for no limit."""
    limit: AbstractAsyncContextManager[object] = _functions().timeout(seconds)
    return limit


def timeout_at(at: float | None) -> AbstractAsyncContextManager[object]:
    """Return a context manager that raises TimeoutError at a time of the loop; None for no limit."""
    limit: AbstractAsyncContextManager[object] = _functions().timeout_at(at)
    return limit


def lock() -> AbstractAsyncContextManager[None]:
    """Return a lock."""
    return semaphore(1)


def semaphore(places: int) -> AbstractAsyncContextManager[None]:
    """Return a semaphore."""
    light = running_light_loop()
    if light is not None:
        return Semaphore(light, places)
    import asyncio

    return asyncio.Semaphore(places)


async def sleep(seconds: float) -> None:
    """Wait for some seconds; 0 lets the other tasks run."""
    await _functions().sleep(seconds)


async def wait_first(
    futures: Iterable[AnyFuture], seconds: float | None = None
) -> tuple[set[AnyFuture], set[AnyFuture]]:
    """Wait until one of the futures is done or the time is over. Return the futures that are done, and the others.

    Nothing is canceled.

    Args:
        seconds: the time; None for no limit.
    """
    waiting = _functions().wait(futures, timeout=seconds, return_when="FIRST_COMPLETED")
    parts: tuple[set[AnyFuture], set[AnyFuture]] = await waiting
    return parts


if TYPE_CHECKING:
    from asyncio import gather  # its overloads know the type of each result
else:

    def gather(*coroutines: Any, return_exceptions: bool = False) -> Any:
        """Return a future of the results of coroutines or tasks in their order. See `asyncio.gather`."""
        return _functions().gather(*coroutines, return_exceptions=return_exceptions)


async def bounded_gather(
    call: Callable[[Item], Awaitable[Result]], items: Iterable[Item], *, at_once: int = AT_ONCE
) -> list[Result]:
    """Call a function for each item, and return the results in the order of the items.

    The first error is raised, and calls that go on are canceled. The limit is for peers that decide how many brokers,
    leaders, or coordinators there are: each call can open a connection.

    Args:
        call: the function.
        items: its arguments.
        at_once: maximum number of calls at once.
    """
    places = semaphore(at_once)

    async def wait_and_call(item: Item) -> Result:
        async with places:
            return await call(item)

    tasks = [create_task(wait_and_call(item)) for item in items]
    try:
        return list(await gather(*tasks))
    except BaseException:
        for task in tasks:
            task.cancel()
        await gather(*tasks, return_exceptions=True)
        raise


async def to_thread(function: Callable[..., T], *arguments: Any) -> T:
    """Call a function in another thread, and return its result."""
    result: T = await _functions().to_thread(function, *arguments)
    return result


async def start_stream(
    sock: socket, callbacks: StreamCallbacks, tls: SSLContext | None, server_name: str | None
) -> None:
    """Pass what a connected socket receives to callbacks, and give them a transport, after the handshake of TLS.

    Args:
        tls: None for a stream without TLS; the light loop has no other.
        server_name: the name that the certificate of the peer must have.

    Raises:
        OSError: the handshake has failed.
    """
    light = running_light_loop()
    if light is not None:
        assert tls is None, "a connection with TLS runs in asyncio"
        light.start_stream(sock, callbacks)
        return
    protocol_class = _stream_protocol()
    await running_loop().create_connection(
        lambda: protocol_class(callbacks), sock=sock, ssl=tls, server_hostname=server_name
    )


@cache
def _stream_protocol() -> Callable[[StreamCallbacks], asyncio.BaseProtocol]:
    """Return the class that forwards the callbacks of asyncio. Its base class is not imported before."""
    import asyncio

    class StreamProtocol(asyncio.BufferedProtocol):
        def __init__(self, callbacks: StreamCallbacks) -> None:
            self._callbacks = callbacks
            # Called for each piece of a large response, so without another lookup.
            self._buffer = callbacks.buffer
            self._on_updated = callbacks.on_updated

        def connection_made(self, transport: asyncio.BaseTransport) -> None:
            self._callbacks.on_made(transport)

        def get_buffer(self, sizehint: int) -> memoryview:
            del sizehint  # always -1
            return self._buffer()

        def buffer_updated(self, nbytes: int) -> None:
            self._on_updated(nbytes)

        def pause_writing(self) -> None:
            self._callbacks.on_paused()

        def resume_writing(self) -> None:
            self._callbacks.on_resumed()

        def connection_lost(self, exc: Exception | None) -> None:
            self._callbacks.on_lost(exc)

    return StreamProtocol
