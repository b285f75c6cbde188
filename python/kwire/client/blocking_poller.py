"""``BlockingPoller``: a ``Poller`` for programs without asyncio.

    with BlockingPoller("broker-1:9092", interval=1.0) as poller:
        for poll in poller:
            ...

Rules of this file: the poller lives in a thread with an event loop of its own, and nothing of it is touched from
elsewhere but through that loop. Polls wait there until they are read, as they do in a ``Poller``.
"""

from __future__ import annotations

import asyncio
import threading
from typing import TYPE_CHECKING, Any, Self, TypeVar

from kwire.client.poller import Poller

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Iterable, Iterator
    from types import TracebackType

    from kwire.client.poll import Poll, Statistics

__all__ = ["BlockingPoller"]

T = TypeVar("T")


class _NotRunning(RuntimeError):
    """There is no loop to ask: not yet, or not any more."""


class BlockingPoller:
    """While in a ``with`` block, an iterator of polls, which ends with the block, in whatever thread it is read.

    ``bootstrap`` and ``options``: as ``Poller`` has them.
    """

    def __init__(self, bootstrap: str | Iterable[str], **options: Any) -> None:
        self._poller = Poller(bootstrap, **options)
        self._loop: asyncio.AbstractEventLoop | None = None
        self._asking = threading.Lock()
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
        assert loop is not None, "who leaves has entered"
        with self._asking:  # what was asked before is answered; nothing is asked of a loop that ends
            self._loop, self._left = None, True
            ended = asyncio.run_coroutine_threadsafe(self._end(), loop)
        try:
            ended.result()
        finally:
            self._thread.join()  # also when interrupted: what was polled is captured
            loop.run_until_complete(loop.shutdown_default_executor())
            loop.close()

    async def _end(self) -> None:
        """Close the poller, and stop the loop after what is still under way there."""
        loop = asyncio.get_running_loop()
        try:
            await self._poller.close()
        finally:
            await asyncio.gather(*asyncio.all_tasks() - {asyncio.current_task()}, return_exceptions=True)
            loop.call_soon(loop.stop)

    def __iter__(self) -> Iterator[Poll]:
        return self

    def __next__(self) -> Poll:
        """The next poll; waits for it. Raises what the capture raised."""
        poll = self.read(None)
        if poll is None:
            raise StopIteration
        return poll

    def read(self, timeout: float | None) -> Poll | None:
        """The next poll, or None when there is none within so many seconds (None: ever), or the block was left."""

        async def within() -> Poll | None:
            try:
                async with asyncio.timeout(timeout):
                    return await anext(self._poller)
            except (TimeoutError, StopAsyncIteration):
                return None

        try:
            return self._call(within)
        except _NotRunning:
            if self._left:
                return None
            raise

    @property
    def statistics(self) -> Statistics:
        """Counters; they go on counting."""
        return self._poller.statistics

    @property
    def broker_ids(self) -> tuple[int, ...]:
        """Who is asked, ascending, silent ones too."""

        async def ids() -> tuple[int, ...]:
            return self._poller.broker_ids

        return self._call(ids)

    def _call(self, function: Callable[[], Coroutine[Any, Any, T]]) -> T:
        with self._asking:
            if self._loop is None:
                raise _NotRunning("the poller is not running: use it in a `with` block")
            future = asyncio.run_coroutine_threadsafe(function(), self._loop)
        try:
            return future.result()
        except BaseException:
            future.cancel()  # whoever is interrupted while waiting does not take a poll with him
            raise
