"""Polling a cluster into a capture while Spark reads it.

A poll cannot be repeated, so it is written to the capture before Spark sees it, and offsets refer to the capture. A
thread of this process polls; if the process ends, no completed poll is lost.
"""

from __future__ import annotations

import asyncio
import threading
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from kwire.capture import Capture
from kwire.client import ConnectionConfig, Poller
from kwire.errors import KwireError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from kwire.client import PolledRequest


class NoBrokerResponded(KwireError, ConnectionError):
    """All polls failed; `last` is the error of the last one, None if no poll was complete."""

    def __init__(self, bootstrap: str, last: KwireError | None) -> None:
        super().__init__(bootstrap, last)
        self.bootstrap = bootstrap
        self.last = last

    def __str__(self) -> str:
        return f"no broker responded: {self.last or f'{self.bootstrap} was not polled in time'}"


class BackgroundPolling:
    """Polls a cluster into a folder in a thread, until `stop`.

    Args:
        config: TLS and SASL; None for plaintext.
        requests: what is polled besides metadata.

    Raises:
        CaptureInUse: another process writes the capture.
    """

    def __init__(
        self,
        bootstrap: str,
        folder: str,
        interval: float,
        config: ConnectionConfig | None = None,
        requests: Sequence[PolledRequest] = (),
    ) -> None:
        self._config = config
        self._requests = requests
        self._capture = Capture(folder)
        self._bootstrap = bootstrap
        self._interval = interval
        self._loop = asyncio.new_event_loop()
        self._task: asyncio.Task[None] | None = None
        self._failure: BaseException | None = None
        self._responded = False
        self._last_error: KwireError | None = None
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, name="kwire-polling", daemon=True)
        self._thread.start()

    def check(self) -> None:
        """Raise the error that ended the polling, if any."""
        if self._failure is not None:
            raise self._failure

    def check_responded(self) -> None:
        """Check that a poll succeeded.

        Raises:
            NoBrokerResponded: every poll failed.
        """
        if not self._responded:
            raise NoBrokerResponded(self._bootstrap, self._last_error)

    def wait(self, seconds: float) -> None:
        """Wait while the thread polls, and raise the error that ends the polling, if any."""
        self._ended.wait(seconds)
        self.check()

    def stop(self) -> None:
        """Stop polling, close the capture, and raise the error that ended the polling before, if any.

        It may be called again.
        """
        if self._thread.is_alive():
            with suppress(RuntimeError):  # the loop has just ended
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
        except Exception as error:  # noqa: BLE001  # raised by `check`
            self._failure = error
        finally:
            self._loop.close()
            self._ended.set()

    async def _poll(self) -> None:
        async with Poller(
            self._bootstrap,
            interval=self._interval,
            requests=self._requests,
            capture=self._capture,
            config=self._config,
        ) as poller:
            async for poll in poller:
                if poll.error is None:
                    self._responded = True
                else:
                    self._last_error = poll.error


@contextmanager
def capturing(
    bootstrap: str,
    folder: str,
    interval: float,
    config: ConnectionConfig | None = None,
    requests: Sequence[PolledRequest] = (),
) -> Iterator[BackgroundPolling]:
    """Poll a cluster into a folder while the block runs."""
    polling = BackgroundPolling(bootstrap, folder, interval, config, requests)
    try:
        yield polling
    finally:
        polling.stop()


_by_folder: dict[str, BackgroundPolling] = {}


def keep_polling(bootstrap: str, folder: str, interval: float, command_config: str | None = None) -> None:
    """Poll a cluster into a folder until the process ends, starting on the first call.

    Args:
        command_config: the path of a `client.properties`, which is read on the first call; None for plaintext.

    Raises:
        CaptureInUse: another process writes the capture.
        SecurityConfigError: `command_config` is invalid.
    """
    if folder not in _by_folder:
        config = None if command_config is None else ConnectionConfig.load(command_config)
        _by_folder[folder] = BackgroundPolling(bootstrap, folder, interval, config)
    _by_folder[folder].check()
