"""A capture as the answers that were seen, each with its frame.

Rules of this file: frames are not copied: an answer that was the same as one before gives that one's very bytes.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from kwire.capture.errors import NoFullFrame
from kwire.capture.reader import read
from kwire.capture.rows import to_rows

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import datetime
    from pathlib import Path

    from kwire.capture.rows import RequestKey, Row


def replay(
    folder: Path | str,
    *,
    since: datetime | None = None,
    until: datetime | None = None,
    speed: float | None = None,
    carried: bool = False,
) -> Iterator[Row]:
    """Every poll in the order of ``read``; a 'same' row has the frame (the same object) that it was the same as.

    That frame has the correlation id, the controller and the order of elements of the answer that it came with; the
    column ``controller_id`` is the poll's own. ``speed``: 1.0 gives rows out as far apart as they were polled, 10.0 ten
    times as fast, None as fast as it goes. ``carried``: also give what was in force before, as rows of that kind.

    Raises NotACapture, NoFullFrame, and ValueError for a speed that is none.
    """
    if speed is not None and not speed > 0:
        raise ValueError(f"speed is {speed!r}: it must be above 0")
    frames: dict[RequestKey, bytes] = {}
    begun = time.monotonic()
    first: datetime | None = None
    for batch in read(folder, since=since, until=until):
        for row in to_rows(batch):
            if row.frame is not None:
                frames[row.request_key] = row.frame
            if row.kind == "carried":
                if carried:
                    yield row
                continue
            if speed is not None:
                first = first or row.polled_at
                due = begun + (row.polled_at - first).total_seconds() / speed
                time.sleep(max(due - time.monotonic(), 0))
            yield _with_frame(row, frames) if row.kind == "same" else row


def _with_frame(row: Row, frames: dict[RequestKey, bytes]) -> Row:
    frame = frames.get(row.request_key)
    if frame is None:
        raise NoFullFrame(row.polled_at, row.endpoint)
    return row._replace(frame=frame)
