"""The writer of a capture.

Rules of this file: an append writes, or raises and leaves file, memory and number of rows as they were, whatever ended
it; closing files and forcing them to disk is the attendant's, so that appends go on meanwhile. Memory is bounded by one
answer for each request that is asked, and by one row group while a file is closed.
"""

from __future__ import annotations

import logging
import threading
from datetime import UTC, date
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, NamedTuple, Self

from kwire.capture.background_flusher import BackgroundFlusher
from kwire.capture.errors import CaptureError, CaptureInUse, CaptureWriteError, SegmentRollError
from kwire.capture.folder import WRITING, segments, sync_directory, tail_path, tails
from kwire.capture.last_responses import LastResponses, Remembered, refuse_unclear
from kwire.capture.reader import read_file
from kwire.capture.rows import Row, to_batch, to_rows
from kwire.capture.segment_roll import closed_row_count, roll_segment
from kwire.capture.tail import RecoveredTail, Tail
from kwire.folder_lock import FolderInUse, FolderLock

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from datetime import datetime

    from kwire.declare import Message

log = logging.getLogger("kwire.capture")

ROLL_SECONDS = 600.0
ROLL_BYTES = 64 << 20
SYNC_SECONDS = 1.0


class _Open(NamedTuple):
    """A tail, the moment at which it was begun, and the date of its first row."""

    tail: Tail
    opened: float
    date: date


class _Before(NamedTuple):
    """What an append goes back to when it does not end well. ``tails``: how many were open; ``size``: of the last."""

    next_row: int
    asked: Remembered
    tails: int
    size: int


class Capture:
    """Appends to a capture; makes the folder if there is none. Threads may share it.

    ``roll_seconds``, ``roll_bytes``: a file is finished by the first append after so long or so much (carried rows do
    not count), or on the next day by UTC. ``sync_seconds``: how much may be lost when the machine loses power; 0 forces
    every append to disk. When only this process dies, nothing is lost that was appended.

    ``recovered``: what was found of tails that the writer before left open. Raises CaptureInUse, and SegmentRollError when
    one of those cannot be closed now either.
    """

    def __init__(
        self,
        folder: Path | str,
        *,
        roll_seconds: float = ROLL_SECONDS,
        roll_bytes: int = ROLL_BYTES,
        sync_seconds: float = SYNC_SECONDS,
    ) -> None:
        self.folder = Path(folder)
        self._roll_seconds = roll_seconds
        self._roll_bytes = roll_bytes
        self._sync_always = sync_seconds <= 0
        self.folder.mkdir(parents=True, exist_ok=True)
        try:
            self._lock = FolderLock(self.folder)
        except FolderInUse as error:
            raise CaptureInUse(self.folder, error.process_id) from error
        try:
            self.recovered: tuple[RecoveredTail, ...] = tuple(_recover(self.folder))
            next_row, self._asked = _resumed(self.folder)
            self._next_row = max(next_row, self._lock.saved_number)
            self._lock.save_number(self._next_row)
        except BaseException:
            self._lock.release()
            raise
        self._open: list[_Open] = []
        self._before: _Before | None = None
        self._appending = threading.Lock()
        self._closed = False
        self._attendant = BackgroundFlusher(self.folder, sync_seconds)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, _: object, error: BaseException | None, __: object) -> None:
        try:
            self.close()
        except CaptureError as failure:
            if error is None:
                raise
            error.add_note(str(failure))  # what went wrong first is what counts

    @property
    def next_row(self) -> int:
        """The number of the row that is appended next: all rows of this folder so far, carried ones apart."""
        return self._next_row

    def append(self, row: Row, message: Message | None = None) -> Row:
        """Keep one answer, or one silence; returns the row as it was kept.

        ``message``: the decoded answer when the caller has it; otherwise it is decoded here, should it be new. Raises
        CaptureWriteError when the row cannot be written; SegmentRollError or CaptureSyncError, once, when what was appended earlier
        could not be made a parquet file or forced to disk; ValueError for a row with neither frame nor error, or both;
        NoFullFrame for one that is 'same', has no frame, and could be the same as nothing. Whatever it raises, this row
        is not in the capture. What a handler of signals raises undoes the row too, but may also come in the instant
        after it was kept: ``next_row`` tells.
        """
        return self._append([(row, message)])[0]

    def append_many(self, rows: Iterable[Row]) -> list[Row]:
        """Keep several rows, by one write unless clocks went back: all of them, or none when this raises."""
        return self._append([(row, None) for row in rows])

    def _append(self, rows: list[tuple[Row, Message | None]]) -> list[Row]:
        with self._appending:
            if self._closed:
                raise ValueError(f"the capture {self.folder} is closed")
            self._settle()
            if (failure := self._attendant.failure()) is not None:
                raise failure
            if not rows:
                return []
            size = self._open[-1].tail.size if self._open else 0
            self._before = _Before(self._next_row, self._asked.remembered(), len(self._open), size)
            try:
                kept = self._keep(rows)
                self._before = None  # from here on the rows are in the capture
            except OSError as error:
                path = self._open[-1].tail.path if self._open else self.folder
                self._settle()
                raise CaptureWriteError(path, len(rows), str(error)) from error
            except BaseException:  # also what a handler of signals raises
                self._settle()
                raise
            self._settle()
            return kept

    def _keep(self, rows: list[tuple[Row, Message | None]]) -> list[Row]:
        for row, _ in rows:
            refuse_unclear(row)
        kept: list[Row] = []
        written = 0
        self._roll_when_due(rows[0][0].polled_at)
        for row, message in rows:
            judged = self._asked.judge(row, message)
            if judged is None:
                self._write(kept[written:])
                written = len(kept)
                self._begin_tail(row.polled_at)
                judged = self._asked.judge(row, message)
                assert judged is not None  # a new file takes every row
            kept.append(judged)
        self._write(kept[written:])
        return kept

    def _write(self, kept: list[Row]) -> None:
        if kept:
            self._open[-1].tail.append(to_batch(kept), sync=self._sync_always)
            self._next_row += len(kept)

    def _roll_when_due(self, polled_at: datetime) -> None:
        if self._open:
            tail, opened, date = self._open[-1]
            old = monotonic() - opened >= self._roll_seconds
            own_size = tail.size - tail.carried_size
            due = old or own_size >= self._roll_bytes or _date(polled_at) > date
            if not (own_size and due):
                return
        self._begin_tail(polled_at)

    def _begin_tail(self, polled_at: datetime) -> None:
        tail = Tail(tail_path(self.folder, self._next_row), self._next_row)
        self._open.append(_Open(tail, monotonic(), _date(polled_at)))  # before there is a file, for it may have to go
        tail.begin()
        for row in self._asked.carried(polled_at):
            tail.append(to_batch([row]), carried=True)
        sync_directory(self.folder)

    def _settle(self) -> None:
        """Undo the append that did not come to its end, if there is one, and give the attendant what is now its own.

        Can itself be interrupted: the next append does the rest.
        """
        if (before := self._before) is not None:
            self._next_row = before.next_row
            self._asked.restore(before.asked)
            while len(self._open) > before.tails:
                self._open[-1].tail.discard()
                self._open.pop()
            if self._open:
                self._open[-1].tail.cut(before.size)
            self._before = None
        while len(self._open) > 1:
            self._attendant.finish(self._open[0].tail)
            del self._open[0]
        if self._open:
            self._attendant.watch(self._open[-1].tail)

    def close(self) -> None:
        """Make parquet files of all that was appended, and let the next writer in. Raises SegmentRollError or CaptureSyncError."""
        with self._appending:
            if self._closed:
                return
            self._settle()
            self._closed = True
            for each in self._open:
                self._attendant.finish(each.tail)
            self._attendant.end()
            try:
                self._lock.save_number(self._next_row)
            finally:
                self._lock.release()
            if (failure := self._attendant.failure()) is not None:
                raise failure


def _date(polled_at: datetime) -> date:
    return polled_at.astimezone(UTC).date()


def _recover(folder: Path) -> Iterator[RecoveredTail]:
    """Close what the last writer left open, up to the first torn batch."""
    for unfinished in folder.glob(f"_*{WRITING}"):
        unfinished.unlink()
    closed = {file.first_row for file in segments(folder) if file.is_closed}
    for tail in tails(folder):
        if tail.first_row in closed:  # the writer ended just before it could remove it
            tail.path.unlink()
            continue
        try:
            found = roll_segment(folder, tail)
        except OSError as error:
            raise SegmentRollError(tail.path, str(error)) from error
        log.info("%s: %d rows taken over", found.tail, found.rows)
        if found.torn_bytes:
            log.warning("%s: the last %d bytes were torn, and are cut off", found.tail, found.torn_bytes)
        yield found


def _resumed(folder: Path) -> tuple[int, LastResponses]:
    """The number of the next row, and what each request was last answered with."""
    asked = LastResponses()
    closed = segments(folder)
    if not closed:
        return 0, asked
    last = closed[-1]
    asked.resume(row for batch in read_file(last) for row in to_rows(batch))
    return last.first_row + closed_row_count(last), asked
