"""The writer of a capture.

Rules of this file: an append writes, and raises when it could not; closing files and forcing them to disk is the
attendant's, so that appends go on meanwhile. Memory is bounded by one answer for each request that is asked, and by one
row group while a file is closed.
"""

from __future__ import annotations

import logging
import threading
from datetime import UTC, date
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Self

from kwire.capture.asked import Asked
from kwire.capture.attendant import Attendant
from kwire.capture.closing import close_tail, rows_in
from kwire.capture.errors import CaptureError, CaptureInUse, CloseFailed, WriteFailed
from kwire.capture.folder import WRITING, files, sync_directory, tail_path, tails
from kwire.capture.reading import read_file
from kwire.capture.rows import Row, batch_of, rows_of
from kwire.capture.tail import Recovered, Tail
from kwire.folder_lock import FolderInUse, FolderLock

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from datetime import datetime

    from kwire.declare import Message

log = logging.getLogger("kwire.capture")

ROLL_SECONDS = 600.0
ROLL_BYTES = 64 << 20
SYNC_SECONDS = 1.0


class Capture:
    """Appends to a capture; makes the folder if there is none. Threads may share it.

    ``roll_seconds``, ``roll_bytes``: a file is finished by the first append after so long or so much (carried rows do
    not count), or on the next day by UTC. ``sync_seconds``: how much may be lost when the machine loses power; 0 forces
    every append to disk. When only this process dies, nothing is lost that was appended.

    ``recovered``: what was found of tails that the writer before left open. Raises CaptureInUse, and CloseFailed when
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
            self.recovered: tuple[Recovered, ...] = tuple(_recover(self.folder))
            self._next_row, self._asked = _resumed(self.folder)
        except BaseException:
            self._lock.release()
            raise
        self._tail: Tail | None = None
        self._opened = 0.0
        self._date = date.min
        self._appending = threading.Lock()
        self._closed = False
        self._attendant = Attendant(self.folder, sync_seconds)

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
        WriteFailed when the row cannot be written; CloseFailed or SyncFailed, once, when what was appended earlier
        could not be made a parquet file or forced to disk; ValueError for a row with neither frame nor error, or both;
        NoFullFrame for one that is 'same', has no frame, and could be the same as nothing. Whatever is raised, this row
        is not in the capture.
        """
        return self._append([(row, message)])[0]

    def append_many(self, rows: Iterable[Row]) -> list[Row]:
        """Keep several rows by one write: all of them, or none when this raises."""
        return self._append([(row, None) for row in rows])

    def _append(self, rows: list[tuple[Row, Message | None]]) -> list[Row]:
        with self._appending:
            if self._closed:
                raise ValueError(f"the capture {self.folder} is closed")
            if (failure := self._attendant.failure()) is not None:
                raise failure
            if not rows:
                return []
            before = self._asked.remembered()
            try:
                tail = self._tail_for(rows[0][0].polled_at)
                kept = [self._asked.judge(row, message) for row, message in rows]
                tail.append(batch_of(kept), sync=self._sync_always)
            except OSError as error:
                self._asked.restore(before)
                path = self.folder if self._tail is None else self._tail.path
                raise WriteFailed(path, len(rows), str(error)) from error
            except BaseException:
                self._asked.restore(before)
                raise
            self._next_row += len(kept)
            return kept

    def _tail_for(self, polled_at: datetime) -> Tail:
        """The open tail, or a new one when there is none or it is time."""
        date = polled_at.astimezone(UTC).date()
        tail = self._tail
        if tail is None:
            return self._open_tail(date)
        old = monotonic() - self._opened >= self._roll_seconds
        own_size = tail.size - tail.carried_size
        if own_size and (old or own_size >= self._roll_bytes or date > self._date):
            self._tail = None
            self._attendant.finish(tail)
            return self._open_tail(date)
        return tail

    def _open_tail(self, date: date) -> Tail:
        tail = Tail(tail_path(self.folder, self._next_row), self._next_row)
        try:
            for row in self._asked.carried():
                tail.append(batch_of([row]), carried=True)
            sync_directory(self.folder)
        except BaseException:
            tail.close()
            tail.path.unlink()
            raise
        self._tail, self._opened, self._date = tail, monotonic(), date
        self._attendant.watch(tail)
        return tail

    def close(self) -> None:
        """Make parquet files of all that was appended, and let the next writer in. Raises CloseFailed or SyncFailed."""
        with self._appending:
            if self._closed:
                return
            self._closed = True
            if self._tail is not None:
                self._attendant.finish(self._tail)
                self._tail = None
            self._attendant.end()
            self._lock.release()
            if (failure := self._attendant.failure()) is not None:
                raise failure


def _recover(folder: Path) -> Iterator[Recovered]:
    """Close what the last writer left open, up to the first torn batch."""
    for unfinished in folder.glob(f"_*{WRITING}"):
        unfinished.unlink()
    closed = {file.first_row for file in files(folder) if file.closed}
    for tail in tails(folder):
        if tail.first_row in closed:  # the writer ended just before it could remove it
            tail.path.unlink()
            continue
        try:
            found = close_tail(folder, tail)
        except OSError as error:
            raise CloseFailed(tail.path, str(error)) from error
        log.info("%s: %d rows taken over", found.tail, found.rows)
        if found.torn_bytes:
            log.warning("%s: the last %d bytes were torn, and are cut off", found.tail, found.torn_bytes)
        yield found


def _resumed(folder: Path) -> tuple[int, Asked]:
    """The number of the next row, and what each request was last answered with."""
    asked = Asked()
    closed = files(folder)
    if not closed:
        return 0, asked
    last = closed[-1]
    asked.resume(row for batch in read_file(last) for row in rows_of(batch))
    return last.first_row + rows_in(last), asked
