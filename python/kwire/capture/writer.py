"""The writer of a capture.

States of a segment:

| state | file | event | next |
|---|---|---|---|
| open | tail, the last of `_open` | the first append after its age, its size, or its day | finished |
| finished | complete tail, handed to the `BackgroundFlusher` | it is rolled (`segment_roll`) | closed |
| closed | Parquet file, which never changes | retention or upload deletes it | - |
| left open | tail of a writer that died | the next writer rolls it up to the first torn batch (`_recover`) | closed |

An append sets a savepoint, writes, and drops the savepoint: from then on its rows are in the capture. An append that is
interrupted leaves its savepoint, and `_clean_up`, in this append or the next one, returns to it.

- An append either stores its rows or raises and leaves file, memory, and row number unchanged, whatever interrupts it.
- Syncing and rolling are done by the `BackgroundFlusher`, so that appends continue meanwhile.
- Memory is bounded by one response per polled request, and one row group while a segment is rolled.
"""

from __future__ import annotations

import logging
import threading
from contextlib import suppress
from datetime import UTC, date
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, NamedTuple, Self
from uuid import uuid4

from kwire._util.folder_lock import FolderInUse, FolderLock
from kwire.capture.background_flusher import BackgroundFlusher
from kwire.capture.errors import CaptureError, CaptureInUse, CaptureWriteError, SegmentRollError
from kwire.capture.folder import PARTIAL_SUFFIX, check_writable, segments, sync_directory, tail_path, tails
from kwire.capture.last_responses import LastResponses, ResponseSnapshot, check_row
from kwire.capture.reader import read_segment
from kwire.capture.rows import Row, check_poller_id, to_batch, to_rows
from kwire.capture.segment_roll import closed_row_count, roll_segment
from kwire.capture.tail import RecoveredTail, TailWriter

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from datetime import datetime

    from kwire.declare import Message

log = logging.getLogger("kwire.capture")

ROLL_SECONDS = 600.0
"""Default age of a segment in seconds. Chosen: readers of closed segments are at most ten minutes behind."""

ROLL_BYTES = 64 << 20
"""Default size of a tail in bytes. Chosen: a restart reads the last segment."""

SYNC_SECONDS = 1.0
"""Default maximum of seconds from an append to its sync."""


class _OpenSegment(NamedTuple):
    """A tail, the monotonic time at which it was created, and the date of its first row."""

    tail: TailWriter
    created_at: float
    date: date


class _Savepoint(NamedTuple):
    """The state that a failed append returns to: open tails, and the size of the last one."""

    next_row: int
    responses: ResponseSnapshot
    open_tails: int
    tail_size: int


class Capture:
    """Append polls to a capture.

    Threads may share one writer. A row survives the death of the process once `append` has returned, and a power
    failure after at most `sync_seconds`.

    Args:
        folder: the capture; created if it does not exist.
        roll_seconds: the first append after this time starts a new segment, as does the first of a new day (UTC).
        roll_bytes: the first append after this many bytes, without carried rows, starts a new segment.
        sync_seconds: maximum seconds from an append to its sync to disk; 0 syncs every append.
        poller_id: the id of the poller that writes; by default, the id in the last row of the folder, or a random one.

    Attributes:
        folder: the capture.
        poller_id: the id of the poller that writes. `Poller` records it in every row; other callers of `append` decide.
        recovered: tails that the previous writer left open.

    Raises:
        CaptureInUse: another process is writing the capture.
        NotACapture: the folder contains something else.
        SegmentRollError: a tail of the previous writer cannot be rolled.
        ValueError: `poller_id` has other characters than letters, digits, `.`, `_`, and `-`, or more than 64.
    """

    def __init__(
        self,
        folder: Path | str,
        *,
        roll_seconds: float = ROLL_SECONDS,
        roll_bytes: int = ROLL_BYTES,
        sync_seconds: float = SYNC_SECONDS,
        poller_id: str | None = None,
    ) -> None:
        check_poller_id(poller_id)
        self.folder = Path(folder)
        self._roll_seconds = roll_seconds
        self._roll_bytes = roll_bytes
        self._sync_always = sync_seconds <= 0
        self.folder.mkdir(parents=True, exist_ok=True)
        check_writable(self.folder)
        try:
            self._lock = FolderLock(self.folder)
        except FolderInUse as error:
            raise CaptureInUse(self.folder, error.process_id) from error
        try:
            self.recovered: tuple[RecoveredTail, ...] = tuple(_recover(self.folder))
            next_row, self._responses, last_poller = _load_state(self.folder)
            self._next_row = max(next_row, self._lock.saved_number)
            self._lock.save_number(self._next_row)
        except BaseException:
            self._lock.release()
            raise
        self.poller_id = poller_id or last_poller or uuid4().hex[:12]
        self._open: list[_OpenSegment] = []
        self._savepoint: _Savepoint | None = None
        self._append_lock = threading.Lock()
        self._closed = False
        self._flusher = BackgroundFlusher(self.folder, sync_seconds)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, _: object, error: BaseException | None, __: object) -> None:
        try:
            self.close()
        except CaptureError as failure:
            if error is None:
                raise
            error.add_note(str(failure))  # the error of the `with` block has priority

    @property
    def next_row(self) -> int:
        """The number of the next row: all rows ever appended to this folder, without carried ones."""
        return self._next_row

    def append(self, row: Row, message: Message | None = None) -> Row:
        """Store one poll and return the row as it is stored.

        When this raises, the row is not in the capture. An exception raised by a signal handler undoes the append that
        it interrupts; if it arrives just before `append` returns, the row may be stored, and `next_row` has increased.

        Args:
            row: the poll.
            message: its decoded response, if the caller has it; otherwise a changed response is decoded here.

        Raises:
            CaptureWriteError: the row cannot be written.
            SegmentRollError: an earlier tail could not be rolled; raised once.
            CaptureSyncError: earlier rows could not be synced; raised once.
            NoFullFrame: the row has kind 'same', but no full response precedes it.
            ValueError: the row has both a frame and an error, or neither.
        """
        return self._append([(row, message)])[0]

    def append_many(self, rows: Iterable[Row]) -> list[Row]:
        """Store several polls atomically and return the rows as they are stored.

        The rows are written at once unless the clock went back among them.

        Raises:
            CaptureError: as `append`.
            ValueError: as `append`.
        """
        return self._append([(row, None) for row in rows])

    def _append(self, rows: list[tuple[Row, Message | None]]) -> list[Row]:
        with self._append_lock:
            if self._closed:
                raise ValueError(f"the capture {self.folder} is closed")
            try:
                self._clean_up()
            except OSError as error:  # such as a handle that went stale
                raise CaptureWriteError(self._open[-1].tail.path, len(rows), str(error)) from error
            if (failure := self._flusher.take_failure()) is not None:
                raise failure
            if not rows:
                return []
            size = self._open[-1].tail.size if self._open else 0
            self._savepoint = _Savepoint(self._next_row, self._responses.snapshot(), len(self._open), size)
            try:
                stored = self._store(rows)
                self._savepoint = None  # from here on the rows are in the capture
            except OSError as error:
                path = self._open[-1].tail.path if self._open else self.folder
                with suppress(OSError):  # the next append undoes the rest, or says why it cannot
                    self._clean_up()
                raise CaptureWriteError(path, len(rows), str(error)) from error
            except BaseException:  # including exceptions raised by signal handlers
                self._clean_up()
                raise
            self._clean_up()
            return stored

    def _store(self, rows: list[tuple[Row, Message | None]]) -> list[Row]:
        for row, _ in rows:
            check_row(row)
        stored: list[Row] = []
        written = 0
        self._roll_if_due(rows[0][0].polled_at)
        for row, message in rows:
            classified = self._responses.classify(row, message)
            if classified is None:
                self._write(stored[written:])
                written = len(stored)
                self._start_segment(row.polled_at)
                classified = self._responses.classify(row, message)
                assert classified is not None  # a new segment accepts every row
            stored.append(classified)
        self._write(stored[written:])
        return stored

    def _write(self, rows: list[Row]) -> None:
        if rows:
            self._open[-1].tail.append(to_batch(rows), sync=self._sync_always)
            self._next_row += len(rows)

    def _roll_if_due(self, polled_at: datetime) -> None:
        if self._open:
            tail, created_at, date = self._open[-1]
            old = monotonic() - created_at >= self._roll_seconds
            own_size = tail.size - tail.carried_size
            due = old or own_size >= self._roll_bytes or _utc_date(polled_at) > date
            if not (own_size and due):
                return
        self._start_segment(polled_at)

    def _start_segment(self, polled_at: datetime) -> None:
        tail = TailWriter(tail_path(self.folder, self._next_row), self._next_row)
        # Registered before the file exists, so that a failed append discards it.
        self._open.append(_OpenSegment(tail, monotonic(), _utc_date(polled_at)))
        tail.create()
        for row in self._responses.carry_over(polled_at):
            tail.append(to_batch([row]), carried=True)
        sync_directory(self.folder)

    def _clean_up(self) -> None:
        """Undo an append that did not complete, and hand finished tails to the flusher.

        If this is interrupted itself, the next append does the rest.
        """
        if (savepoint := self._savepoint) is not None:
            self._next_row = savepoint.next_row
            self._responses.restore(savepoint.responses)
            while len(self._open) > savepoint.open_tails:
                self._open[-1].tail.discard()
                self._open.pop()
            if self._open:
                self._open[-1].tail.truncate(savepoint.tail_size)
            self._savepoint = None
        while len(self._open) > 1:
            self._flusher.finish(self._open[0].tail)
            del self._open[0]
        if self._open:
            self._flusher.watch(self._open[-1].tail)

    def close(self) -> None:
        """Roll the open tail and release the folder. Closing twice is allowed.

        Raises:
            SegmentRollError: a tail cannot be rolled; the next writer retries.
            CaptureSyncError: rows cannot be synced.
        """
        with self._append_lock:
            if self._closed:
                return
            with suppress(OSError):  # readers ignore a part of a batch that cannot be cut off
                self._clean_up()
            self._closed = True
            for open_segment in self._open:
                self._flusher.finish(open_segment.tail)
            self._flusher.stop()
            try:
                self._lock.save_number(self._next_row)
            finally:
                self._lock.release()
            if (failure := self._flusher.take_failure()) is not None:
                raise failure


def _utc_date(polled_at: datetime) -> date:
    return polled_at.astimezone(UTC).date()


def _recover(folder: Path) -> Iterator[RecoveredTail]:
    """Roll the tails that the previous writer left open, up to the first torn batch."""
    for partial in folder.glob(f"_*{PARTIAL_SUFFIX}"):
        partial.unlink()
    closed = {segment.first_row for segment in segments(folder) if segment.is_closed}
    for tail in tails(folder):
        if tail.first_row in closed:  # the writer died between renaming the segment and removing the tail
            tail.path.unlink()
            continue
        try:
            recovered = roll_segment(folder, tail)
        except OSError as error:
            raise SegmentRollError(tail.path, str(error)) from error
        log.info("%s: recovered %d rows", recovered.tail, recovered.rows)
        if recovered.torn_bytes:
            log.warning("%s: discarded %d torn bytes at the end", recovered.tail, recovered.torn_bytes)
        yield recovered


def _load_state(folder: Path) -> tuple[int, LastResponses, str | None]:
    """Return the number of the next row, the last response to each request, and the last poller."""
    responses = LastResponses()
    closed = segments(folder)
    if not closed:
        return 0, responses, None
    last = closed[-1]
    rows = [row for batch in read_segment(last) for row in to_rows(batch)]
    responses.load(rows)
    poller_id = next((row.poller_id for row in reversed(rows) if row.poller_id is not None), None)
    return last.first_row + closed_row_count(last), responses, poller_id
