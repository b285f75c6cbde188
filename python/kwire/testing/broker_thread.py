"""The thread in which the brokers of a fake cluster run, so that blocking and asyncio programs can use them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kwire.client.loop_thread import LoopThread

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Iterable
    from types import TracebackType
    from typing import Any, Self, TypeVar

    from kwire.testing.fake_broker import FakeBroker

    T = TypeVar("T")

__all__ = ["BrokerThread"]

CALL_TIMEOUT = 10.0
"""Seconds for the thread to execute a call, which takes milliseconds."""


class BrokerThread:
    """Fake brokers that run in a thread of their own, from `start` to `close`.

    Args:
        brokers: the brokers, which have ports already.
    """

    def __init__(self, brokers: Iterable[FakeBroker]) -> None:
        self._brokers = {broker.broker_id: broker for broker in brokers}
        self._thread: LoopThread | None = None
        self._closed = False

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, type: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def start(self) -> None:
        """Start all brokers; a `with` block does this.

        Raises:
            RuntimeError: the cluster is running or closed.
        """
        if self._closed:
            raise RuntimeError("the cluster is closed and has released its ports: create another one")
        if self._thread is not None:
            raise RuntimeError("the cluster is already running")
        self._thread = LoopThread("FakeCluster")
        for broker in self._brokers.values():
            self._run(broker.start())

    def close(self) -> None:
        """Stop all brokers and the thread and release the ports. A cluster that was never started has ports, too."""
        if self._closed:
            return
        self._closed = True
        thread, self._thread = self._thread, None
        if thread is not None:
            thread.close(self._stop_brokers())
        for broker in self._brokers.values():
            broker.release_port()

    async def _stop_brokers(self) -> None:
        for broker in self._brokers.values():
            await broker.stop()

    def _run(self, coroutine: Coroutine[Any, Any, T]) -> T:
        if self._thread is None:
            coroutine.close()
            raise RuntimeError("the cluster is not running: use it in a `with` block")
        return self._thread.run(coroutine, CALL_TIMEOUT)

    def _call(self, function: Callable[[], T]) -> T:
        async def call() -> T:
            return function()

        return self._run(call())
