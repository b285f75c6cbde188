"""The background thread of a writer, which syncs the open tail and rolls finished ones.

Only this thread closes descriptors, so none is closed while it is being synced. Errors are kept for the writer to
raise. A tail that cannot be rolled is kept and retried after the next one.
"""

from __future__ import annotations

import logging
import threading
from collections import deque
from typing import TYPE_CHECKING

from kwire.capture.errors import CaptureError, CaptureSyncError, SegmentRollError
from kwire.capture.folder import Segment
from kwire.capture.segment_roll import roll_segment

if TYPE_CHECKING:
    from pathlib import Path

    from kwire.capture.tail import TailWriter

log = logging.getLogger("kwire.capture")


class BackgroundFlusher:
    """Sync and roll the tails of one capture in a thread.

    Args:
        folder: the capture.
        sync_seconds: maximum seconds from an append to a sync; 0 if the writer syncs every append itself.
    """

    def __init__(self, folder: Path, sync_seconds: float) -> None:
        self._folder = folder
        self._sync_seconds = sync_seconds
        self._changed = threading.Condition()
        self._finished: deque[TailWriter] = deque()
        self._open: TailWriter | None = None
        self._failure: CaptureError | None = None
        self._stopping = False
        self._thread = threading.Thread(target=self._run, name="kwire-capture", daemon=True)
        self._thread.start()

    def watch(self, tail: TailWriter) -> None:
        """Sync this tail periodically from now on."""
        if self._open is tail:
            return
        with self._changed:
            self._open = tail
            self._changed.notify()

    def finish(self, tail: TailWriter) -> None:
        """Close and roll a tail that gets no more rows. Finishing a tail twice is allowed."""
        with self._changed:
            self._open = None
            self._finished.append(tail)
            self._changed.notify()

    def take_failure(self) -> CaptureError | None:
        """Return the last error that was not returned before."""
        with self._changed:
            failure, self._failure = self._failure, None
            return failure

    def stop(self) -> None:
        """Wait until every finished tail is rolled or has failed again."""
        with self._changed:
            self._stopping = True
            self._changed.notify()
        self._thread.join()

    def _run(self) -> None:
        unrolled: list[Segment] = []
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._finished or self._stopping, self._sync_interval())
                tail = self._finished.popleft() if self._finished else None
                watched, stopping = self._open, self._stopping
            if tail is not None:
                if tail.is_open:
                    self._sync(tail)
                    self._close(tail)
                    unrolled = self._roll([*unrolled, Segment(tail.path, tail.first_row)])
            elif stopping:
                return
            elif watched is not None and watched.unsynced:
                self._sync(watched)

    def _sync_interval(self) -> float | None:
        return self._sync_seconds if self._open is not None and self._sync_seconds > 0 else None

    def _sync(self, tail: TailWriter) -> None:
        try:
            tail.sync()
        except OSError as error:
            self._fail(CaptureSyncError(tail.path, str(error)), error)

    def _close(self, tail: TailWriter) -> None:
        try:
            tail.close()
        except OSError as error:
            self._fail(CaptureSyncError(tail.path, str(error)), error)

    def _roll(self, tails: list[Segment]) -> list[Segment]:
        """Roll the tails, and return the tails that failed."""
        failed = []
        for tail in tails:
            try:
                roll_segment(self._folder, tail)
            except Exception as error:  # noqa: BLE001  # reported to the writer, whatever it is
                self._fail(SegmentRollError(tail.path, str(error)), error)
                failed.append(tail)
        if not failed:
            self._forget_roll_failure()
        return failed

    def _forget_roll_failure(self) -> None:
        with self._changed:
            if isinstance(self._failure, SegmentRollError):
                self._failure = None

    def _fail(self, failure: CaptureError, cause: Exception) -> None:
        log.error("%s", failure)
        failure.__cause__ = cause
        with self._changed:
            self._failure = failure
