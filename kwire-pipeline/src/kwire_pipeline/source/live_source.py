"""Polling a cluster into a capture while Spark reads it.

A capture in an object store or HDFS is written on this machine, and its parts are uploaded as they close.

A poll cannot be repeated, so it is written to the capture before Spark sees it, and offsets refer to the capture. A
thread of this process polls; if the process ends, no completed poll is lost.
"""

from __future__ import annotations

import math
import time
from concurrent.futures import wait
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any, NamedTuple, Self

from kwire.capture import Capture
from kwire.capture.upload import PeriodicUpload
from kwire.capture.writer import ROLL_SECONDS
from kwire.client import Poller
from kwire.client.loop_thread import LoopThread
from kwire.client.polled_inputs import polled_requests
from kwire.client.security.client_properties import ClientProperties
from kwire.errors import KwireError
from kwire.storage.location import Location
from kwire.storage.staging import staging_folder

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from kwire.client import ConnectionConfig, PolledRequest

PART_SECONDS = 60.0
"""Maximum age in seconds of the open part of a capture that is uploaded: readers see a poll after at most this time."""

UPLOAD_SECONDS = 0.5
"""Seconds between two searches for closed parts. Chosen, not measured."""


class PolledCluster(NamedTuple):
    """A cluster to poll, as options of the data source describe it.

    Attributes:
        bootstrap: addresses of brokers.
        interval: seconds between polls.
        command_config: the path of a `client.properties`; None for plaintext.
        inputs: seconds between polls of the further inputs by the names of `kwire.client.polled_inputs.INPUTS`.
    """

    bootstrap: str
    interval: float
    command_config: str | None
    inputs: Mapping[str, float]

    def polling(self, folder: str) -> BackgroundPolling:
        """Start to poll the cluster into a folder.

        Raises:
            CaptureInUse: another process writes the capture.
            SecurityConfigError: `command_config` is invalid.
        """
        config = None if self.command_config is None else ClientProperties.load(self.command_config).connection
        return BackgroundPolling(self.bootstrap, folder, self.interval, config, polled_requests(self.inputs))


class NoBrokerResponded(KwireError, ConnectionError):
    """All polls failed; `last` is the error of the last one, None if no poll was complete."""

    def __init__(self, bootstrap: str, last: KwireError | None) -> None:
        super().__init__(bootstrap, last)
        self.bootstrap = bootstrap
        self.last = last

    def __str__(self) -> str:
        return f"no broker responded: {self.last or f'{self.bootstrap} was not polled in time'}"


class BackgroundPolling:
    """Polls a cluster into a folder in a thread, until `stop` or the end of a `with` block.

    Args:
        folder: an absolute path, or a URI, as `capture_location` returns it.
        config: TLS and SASL; None for plaintext.
        requests: requests that are polled besides metadata.
        part_seconds: seconds after which a part is closed and uploaded, if the folder is a URI.

    Attributes:
        folder: the folder of the capture on this machine.

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
        part_seconds: float = PART_SECONDS,
    ) -> None:
        self._config = config
        self._requests = requests
        self._ending = ExitStack()
        self._upload: PeriodicUpload | None = None
        self.folder = folder
        if not Location.parse(folder, any_name=True).is_path:
            self.folder = staging_folder(folder)
            uploading = PeriodicUpload(self.folder, folder, every=UPLOAD_SECONDS, is_staging=True)
            self._upload = self._ending.enter_context(uploading)
        with self._ending.pop_all() as opened:
            roll_seconds = ROLL_SECONDS if self._upload is None else part_seconds
            self._capture = opened.enter_context(Capture(self.folder, roll_seconds=roll_seconds))
            self._ending = opened.pop_all()
        self._bootstrap = bootstrap
        self._interval = interval
        self._responded = False
        self._last_error: KwireError | None = None
        self._poller: Poller[Any] | None = None
        self._thread = LoopThread("kwire-polling")
        self._polling = self._thread.start(self._poll())

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def check(self) -> None:
        """Raise the error that ended the polling or the uploads, if any."""
        if self._polling.done() and not self._polling.cancelled():
            self._polling.result()
        if self._upload is not None:
            self._upload.check()

    def check_responded(self) -> None:
        """Check that a poll succeeded.

        Raises:
            NoBrokerResponded: every poll failed.
        """
        if not self._responded:
            raise NoBrokerResponded(self._bootstrap, self._last_error)

    def wait_until_readable(self, seconds: float | None) -> bool:
        """Wait until the first part is uploaded, if the folder is a URI, or for some seconds; return whether it is."""
        deadline = math.inf if seconds is None else time.monotonic() + seconds
        while self._upload is not None and not self._upload.has_uploaded:
            if time.monotonic() >= deadline:
                return False
            self.wait(UPLOAD_SECONDS)
        return True

    def wait(self, seconds: float) -> None:
        """Wait while the thread polls, and raise the error that ends the polling, if any."""
        wait([self._polling], seconds)
        self.check()

    def stop(self) -> None:
        """Stop polling, close the capture, upload the rest, and raise the error that ended the polling before, if any.

        It may be called again.
        """
        self._thread.close(self._close())
        self._ending.close()
        self.check()

    async def _poll(self) -> None:
        async with Poller(
            self._bootstrap,
            interval=self._interval,
            requests=self._requests,
            capture=self._capture,
            config=self._config,
        ) as poller:
            self._poller = poller
            async for poll in poller:
                if poll.error is None:
                    self._responded = True
                else:
                    self._last_error = poll.error

    async def _close(self) -> None:
        """Close the connections, and wait until the polls are in the capture."""
        if self._poller is not None:
            await self._poller.close()


_by_folder: dict[str, BackgroundPolling] = {}


def keep_polling(cluster: PolledCluster, folder: str) -> None:
    """Poll a cluster into a folder until the process ends, starting on the first call.

    Args:
        cluster: its `client.properties` is read on the first call.
        folder: as of `BackgroundPolling`.

    Raises:
        CaptureInUse: another process writes the capture.
        SecurityConfigError: `command_config` is invalid.
    """
    if folder not in _by_folder:
        _by_folder[folder] = cluster.polling(folder)
    _by_folder[folder].wait_until_readable(None)
    _by_folder[folder].check()
