"""A poller for programs without asyncio.

    with BlockingPoller("broker-1:9092", interval=1.0) as poller:
        for poll in poller:
            ...

The poller runs in a thread with an event loop of its own. Polls wait there until they are read.
"""

from __future__ import annotations

import asyncio
from typing import Unpack

from kwire._util.light_typing import TYPE_CHECKING, Any, Generic, Literal, Self, TypeVar, overload
from kwire.client.loop_thread import LoopThread, LoopThreadClosed
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

M = TypeVar("M")
T = TypeVar("T")


class BlockingPoller(Generic[M]):
    """Polls the brokers of a cluster; an iterator of polls while in a `with` block.

    The iterator may be read in any thread and ends with the block. It has the arguments and the type parameter of
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
        self._thread: LoopThread | None = None
        self._has_left = False

    def __enter__(self) -> Self:
        thread = LoopThread("kwire-poller")
        try:
            thread.run(self._poller.__aenter__())
        except BaseException:
            thread.close()
            raise
        self._thread = thread
        return self

    def __exit__(
        self, type: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        assert self._thread is not None, "__exit__ follows __enter__"
        self._has_left = True
        self._thread.close(self._poller.close())  # completes even if interrupted, so that every poll is captured

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
        except LoopThreadClosed:
            if self._has_left:
                return None
            raise

    @property
    def statistics(self) -> Statistics:
        """Counters, which are updated while the poller runs."""
        return self._poller.statistics

    @property
    def broker_ids(self) -> tuple[int, ...]:
        """The ids of the polled brokers in ascending order, including brokers that do not respond."""

        async def ids() -> tuple[int, ...]:
            return self._poller.broker_ids

        return self._call(ids)

    def _call(self, function: Callable[[], Coroutine[Any, Any, T]]) -> T:
        if self._thread is None:
            raise RuntimeError("the poller is not running: use it in a `with` block")
        return self._thread.run(function())
