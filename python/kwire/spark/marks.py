"""By what a capture is known again: a folder is not its name.

Rules of this file: a mark is the number of a file and the time of its first row. Neither changes when the file is
closed, and older files may go. A folder without that file, or with another row in it, holds another capture.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from kwire.capture.reader import read_segment

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from kwire.capture.folder import Segment

SPEAKER = ["cluster_id", "broker_id", "endpoint"]


def mark_of(found: Sequence[Segment]) -> str:
    """The mark of the last of these files that has a row of its own; empty when none has."""
    for file in reversed(found):
        for batch in own_rows(file):
            if batch.num_rows:
                return f"{file.first_row} {batch.column('polled_at').cast(pa.int64())[0].as_py()}"
    return ""


def holds(found: Sequence[Segment], mark: str) -> bool:
    """Whether these are files of the capture in which the mark was left."""
    number = mark.partition(" ")[0]
    for file in found:
        if str(file.first_row) == number:
            try:
                return mark_of([file]) == mark
            except (OSError, pa.ArrowException):  # who reads its rows will say so
                return True
    return False


def own_rows(file: Segment) -> Iterator[pa.RecordBatch]:
    """The rows of a file that are not carried, without their frames."""
    for batch in _without_frames(file):
        yield batch.filter(pc.not_equal(batch.column("kind"), "carried"))


def _without_frames(file: Segment) -> Iterator[pa.RecordBatch]:
    columns = ["kind", "polled_at", *SPEAKER]
    if not file.is_closed:
        for batch in read_segment(file):
            yield batch.select(columns)
        return
    with pq.ParquetFile(file.path) as parquet:
        yield from parquet.iter_batches(columns=columns)
