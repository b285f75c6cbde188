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


class BlockingPoller:
    """While in a ``with`` block, an iterator of polls. ``bootstrap`` and ``options``: as ``Poller`` has them."""

    def __init__(self, bootstrap: str | Iterable[str], **options: Any) -> None:
        self._poller = Poller(bootstrap, **options)
        self._loop: asyncio.AbstractEventLoop | None = None

    def __enter__(self) -> Self:
        self._loop = loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=loop.run_forever, name="kwire-poller", daemon=True)
        self._thread.start()
        self._call(self._poller.__aenter__)
        return self

    def __exit__(
        self, type: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        loop = self._loop
        assert loop is not None, "who leaves has entered"
        try:
            self._call(self._poller.close)
        finally:
            self._loop = None
            loop.call_soon_threadsafe(loop.stop)
            self._thread.join()
            loop.run_until_complete(loop.shutdown_default_executor())
            loop.close()

    def __iter__(self) -> Iterator[Poll]:
        return self

    def __next__(self) -> Poll:
        """The next poll; waits for it. Raises what the capture raised."""
        return self._call(self._poller.__anext__)

    def read(self, timeout: float) -> Poll | None:
        """The next poll, or None when there is none within so many seconds."""

        async def within() -> Poll | None:
            try:
                async with asyncio.timeout(timeout):
                    return await anext(self._poller)
            except TimeoutError:
                return None

        return self._call(within)

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
        if self._loop is None:
            raise RuntimeError("the poller is not running: use it in a `with` block")
        future = asyncio.run_coroutine_threadsafe(function(), self._loop)
        try:
            return future.result()
        except BaseException:
            future.cancel()  # whoever is interrupted while waiting does not take a poll with him
            raise
