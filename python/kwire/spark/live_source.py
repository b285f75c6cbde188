"""A cluster as a data source: polled into a capture, which is then read like any other.

Rules of this file: a poll cannot be repeated, so it is on disk before anybody sees it, and offsets point into the
capture. A thread of this process polls; when the process dies nothing is lost that was polled.
"""

from __future__ import annotations

import asyncio
import threading
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from kwire.capture import Capture
from kwire.client import Poller
from kwire.errors import KwireError

if TYPE_CHECKING:
    from collections.abc import Iterator


class NoBrokerAnswered(KwireError, ConnectionError):
    """All that was captured is silence. ``bootstrap``; ``last``: why the last poll has no answer, None without any."""

    def __init__(self, bootstrap: str, last: KwireError | None) -> None:
        super().__init__(bootstrap, last)
        self.bootstrap = bootstrap
        self.last = last

    def __str__(self) -> str:
        return f"no broker answered: {self.last or f'{self.bootstrap} was not asked in time'}"


class Polling:
    """Polls a cluster into a folder, in a thread, from now until ``stop``. Raises CaptureInUse."""

    def __init__(self, bootstrap: str, folder: str, interval: float) -> None:
        self._capture = Capture(folder)
        self._bootstrap = bootstrap
        self._interval = interval
        self._loop = asyncio.new_event_loop()
        self._task: asyncio.Task[None] | None = None
        self._failure: BaseException | None = None
        self._answered = False
        self._silence: KwireError | None = None
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, name="kwire-polling", daemon=True)
        self._thread.start()

    def check(self) -> None:
        """Raise what ended the polling, if anything did."""
        if self._failure is not None:
            raise self._failure

    def check_answered(self) -> None:
        """Raises NoBrokerAnswered when no poll had an answer so far."""
        if not self._answered:
            raise NoBrokerAnswered(self._bootstrap, self._silence)

    def wait(self, seconds: float) -> None:
        """Poll on for so long. Raises what ended the polling."""
        self._ended.wait(seconds)
        self.check()

    def stop(self) -> None:
        """Poll no more, and close the capture; again does nothing. Raises what had ended the polling before."""
        if self._thread.is_alive():
            with suppress(RuntimeError):  # it ended by itself just now
                self._loop.call_soon_threadsafe(self._cancel)
        self._thread.join()
        self._capture.close()
        self.check()

    def _cancel(self) -> None:
        if self._task is not None:
            self._task.cancel()

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        self._task = self._loop.create_task(self._poll())
        try:
            self._loop.run_until_complete(self._task)
        except asyncio.CancelledError:
            pass  # stopped
        except Exception as error:  # noqa: BLE001  raised to whoever asks
            self._failure = error
        finally:
            self._loop.close()
            self._ended.set()

    async def _poll(self) -> None:
        async with Poller(self._bootstrap, interval=self._interval, capture=self._capture) as poller:
            async for poll in poller:
                if poll.error is None:
                    self._answered = True
                else:
                    self._silence = poll.error


@contextmanager
def capturing(bootstrap: str, folder: str, interval: float) -> Iterator[Polling]:
    """Poll while the block runs."""
    polling = Polling(bootstrap, folder, interval)
    try:
        yield polling
    finally:
        polling.stop()


_under_way: dict[str, Polling] = {}


def keep_polling(bootstrap: str, folder: str, interval: float) -> None:
    """Begin to poll into that folder unless this process does already; until the process ends. Raises CaptureInUse,
    and what ended the polling.
    """
    if folder not in _under_way:
        _under_way[folder] = Polling(bootstrap, folder, interval)
    _under_way[folder].check()
