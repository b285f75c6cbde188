"""Rows of a capture folder or of a Parquet file with frames, for `kwire replay`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq

from kwire.capture import RowKind, UnreadableCapture, from_table, replay
from kwire.capture.rows import to_rows
from kwire.errors import KwireError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import datetime
    from pathlib import Path

    from kwire.capture import Row


class UnreadableFrames(KwireError, ValueError):
    """A file is neither a capture nor a table of frames."""

    def __init__(self, path: Path, reason: str) -> None:
        super().__init__(path, reason)
        self.path = path
        self.reason = reason

    def __str__(self) -> str:
        return f"{self.path}: {self.reason}"


def read_rows(
    path: Path, *, since: datetime | None = None, until: datetime | None = None, speed: float | None = None
) -> Iterator[Row]:
    """Yield the polls of a capture folder, or of a Parquet file of frames (`kwire.capture.from_table`).

    Polls before `since` that the later ones are compared with have kind 'carried'.

    Raises:
        CaptureError: the capture cannot be read.
        UnreadableFrames: the file cannot be read.
    """
    try:
        if path.is_dir():
            yield from replay(path, since=since, until=until, speed=speed, carried=True)
        else:
            yield from _read_table(path, since, until)
    except UnreadableCapture as error:
        raise (error if error.path is not None else UnreadableFrames(path, error.reason)) from error
    except KwireError:
        raise
    except (pa.ArrowException, OSError, ValueError) as error:
        raise UnreadableFrames(path, " ".join(str(error).split())) from error  # Arrow's texts have several lines


def _read_table(path: Path, since: datetime | None, until: datetime | None) -> Iterator[Row]:
    for batch in from_table(pq.read_table(path)).sort_by("polled_at").to_batches():
        for row in to_rows(batch):
            if since is not None and row.polled_at < since:
                if row.frame is not None:
                    yield row._replace(kind=RowKind.CARRIED)
            elif until is None or row.polled_at < until:
                yield row
