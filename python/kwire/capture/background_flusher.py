"""The thread behind a writer: forces tails to disk now and then, and makes parquet files of those that are finished.

Rules of this file: only this thread closes descriptors, so none is closed while it is forced to disk. What fails is
kept for the writer to raise; a tail that could not be closed stays, and is tried again after the next one.
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

    from kwire.capture.tail import Tail

log = logging.getLogger("kwire.capture")


class BackgroundFlusher:
    """``sync_seconds``: how long what is appended may wait for the disk; 0 when the writer sees to it by itself."""

    def __init__(self, folder: Path, sync_seconds: float) -> None:
        self._folder = folder
        self._sync_seconds = sync_seconds
        self._changed = threading.Condition()
        self._finished: deque[Tail] = deque()
        self._open: Tail | None = None
        self._failure: CaptureError | None = None
        self._ending = False
        self._thread = threading.Thread(target=self._run, name="kwire-capture", daemon=True)
        self._thread.start()

    def watch(self, tail: Tail) -> None:
        """Force that tail to disk now and then, from now on."""
        if self._open is tail:
            return
        with self._changed:
            self._open = tail
            self._changed.notify()

    def finish(self, tail: Tail) -> None:
        """Close that tail, to which no more will be appended. It may be said twice."""
        with self._changed:
            self._open = None
            self._finished.append(tail)
            self._changed.notify()

    def failure(self) -> CaptureError | None:
        """What went wrong since this was asked last."""
        with self._changed:
            failure, self._failure = self._failure, None
            return failure

    def end(self) -> None:
        """Wait until all that was finished is closed, or has failed once more."""
        with self._changed:
            self._ending = True
            self._changed.notify()
        self._thread.join()

    def _run(self) -> None:
        late: list[Segment] = []
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._finished or self._ending, self._pause())
                tail = self._finished.popleft() if self._finished else None
                watched, ending = self._open, self._ending
            if tail is not None:
                if tail.is_open:
                    self._sync(tail)
                    tail.close()
                    late = self._close([*late, Segment(tail.path, tail.first_row)])
            elif ending:
                return
            elif watched is not None and watched.unsynced:
                self._sync(watched)

    def _pause(self) -> float | None:
        return self._sync_seconds if self._open is not None and self._sync_seconds > 0 else None

    def _sync(self, tail: Tail) -> None:
        try:
            tail.sync()
        except OSError as error:
            self._fail(CaptureSyncError(tail.path, str(error)), error)

    def _close(self, tails: list[Segment]) -> list[Segment]:
        """Those of them that could not be closed."""
        late = []
        for tail in tails:
            try:
                roll_segment(self._folder, tail)
            except Exception as error:  # noqa: BLE001  whatever it is, the writer has to hear of it
                self._fail(SegmentRollError(tail.path, str(error)), error)
                late.append(tail)
        if not late:
            self._healed()
        return late

    def _healed(self) -> None:
        """All is closed that could not be before: nobody has to know any more."""
        with self._changed:
            if isinstance(self._failure, SegmentRollError):
                self._failure = None

    def _fail(self, failure: CaptureError, cause: Exception) -> None:
        log.error("%s", failure)
        failure.__cause__ = cause
        with self._changed:
            self._failure = failure
