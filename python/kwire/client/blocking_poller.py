"""A poller for programs without asyncio.

    with BlockingPoller("broker-1:9092", interval=1.0) as poller:
        for poll in poller:
            ...

The poller runs in a thread with an event loop of its own. Polls wait there until they are read.
"""

from __future__ import annotations

import asyncio
import threading
from typing import TYPE_CHECKING, Any, Generic, Literal, Self, TypeVar, Unpack, overload

from kwire.client.poller import Poller

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Iterable, Iterator
    from types import TracebackType

    from kwire.client.poll import Poll, Statistics
    from kwire.client.polled_requests import PolledRequest, RequestFactory
    from kwire.client.poller_options import PollerKeywords
    from kwire.declare import Request
    from kwire.messages.kafka.metadata import MetadataResponse
    from kwire.messages.kip4.topic_metadata_v1 import TopicMetadataResponse_V1
    from kwire.protocol.negotiated_versions import Dialect

__all__ = ["BlockingPoller"]

M = TypeVar("M")
T = TypeVar("T")


class _NotRunning(RuntimeError):
    """The event loop has not started, or has stopped."""


class BlockingPoller(Generic[M]):
    """Polls the brokers of a cluster; an iterator of polls while in a `with` block.

    The iterator may be read in any thread and ends with the block. The arguments and the type parameter are those of
    `Poller`.
    """

    @overload
    def __init__(
        self: BlockingPoller[MetadataResponse],
        bootstrap: str | Iterable[str],
        *,
        dialect: Literal["kafka"],
        **options: Unpack[PollerKeywords],
    ) -> None: ...

    @overload
    def __init__(
        self: BlockingPoller[TopicMetadataResponse_V1],
        bootstrap: str | Iterable[str],
        *,
        dialect: Literal["kip4"],
        **options: Unpack[PollerKeywords],
    ) -> None: ...

    @overload
    def __init__(
        self: BlockingPoller[MetadataResponse | TopicMetadataResponse_V1],
        bootstrap: str | Iterable[str],
        **options: Unpack[PollerKeywords],
    ) -> None: ...

    @overload
    def __init__(
        self: BlockingPoller[Any],
        bootstrap: str | Iterable[str],
        *,
        dialect: Dialect | None = None,
        requests: Iterable[PolledRequest | tuple[Request[Any] | RequestFactory, float]] = (),
        **options: Unpack[PollerKeywords],
    ) -> None: ...

    def __init__(self, bootstrap: str | Iterable[str], **options: Any) -> None:
        self._poller: Poller[M] = Poller(bootstrap, **options)
        self._loop: asyncio.AbstractEventLoop | None = None
        self._lock = threading.Lock()
        self._left = False

    def __enter__(self) -> Self:
        loop = asyncio.new_event_loop()
        thread = threading.Thread(target=loop.run_forever, name="kwire-poller", daemon=True)
        thread.start()
        try:
            asyncio.run_coroutine_threadsafe(self._poller.__aenter__(), loop).result()
        except Exception:
            loop.call_soon_threadsafe(loop.stop)
            thread.join()
            loop.close()
            raise
        self._loop, self._thread = loop, thread
        return self

    def __exit__(
        self, type: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        loop = self._loop
        assert loop is not None, "__exit__ follows __enter__"
        with self._lock:  # earlier calls complete; later ones find no loop
            self._loop, self._left = None, True
            ended = asyncio.run_coroutine_threadsafe(self._end(), loop)
        try:
            ended.result()
        finally:
            self._thread.join()  # also if interrupted, so that every poll is captured
            loop.run_until_complete(loop.shutdown_default_executor())
            loop.close()

    async def _end(self) -> None:
        """Close the poller, and stop the loop after the remaining tasks."""
        loop = asyncio.get_running_loop()
        try:
            await self._poller.close()
        finally:
            await asyncio.gather(*asyncio.all_tasks() - {asyncio.current_task()}, return_exceptions=True)
            loop.call_soon(loop.stop)

    def __iter__(self) -> Iterator[Poll[M]]:
        return self

    def __next__(self) -> Poll[M]:
        """Wait for the next poll and return it. Raises errors of the capture."""
        poll = self.read(None)
        if poll is None:
            raise StopIteration
        return poll

    def read(self, timeout: float | None) -> Poll[M] | None:
        """Wait for the next poll and return it.

        Args:
            timeout: seconds to wait; None waits without a limit.

        Returns:
            The poll; None after the timeout, or if the block has ended.
        """

        async def next_poll() -> Poll[M] | None:
            limit = asyncio.timeout(timeout)
            try:
                async with limit:
                    return await anext(self._poller)
            except StopAsyncIteration:
                return None
            except TimeoutError:
                if limit.expired():
                    return None
                raise  # an error of a request factory

        try:
            return self._call(next_poll)
        except _NotRunning:
            if self._left:
                return None
            raise

    @property
    def statistics(self) -> Statistics:
        """Counters, which are updated while the poller runs."""
        return self._poller.statistics

    @property
    def broker_ids(self) -> tuple[int, ...]:
        """The ids of the polled brokers in ascending order, with those that do not respond."""

        async def ids() -> tuple[int, ...]:
            return self._poller.broker_ids

        return self._call(ids)

    def _call(self, function: Callable[[], Coroutine[Any, Any, T]]) -> T:
        with self._lock:
            if self._loop is None:
                raise _NotRunning("the poller is not running: use it in a `with` block")
            future = asyncio.run_coroutine_threadsafe(function(), self._loop)
        try:
            return future.result()
        except BaseException:
            future.cancel()  # an interrupted reader must not remove a poll from the queue
            raise
