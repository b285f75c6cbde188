"""Rows of a capture that no segment has: segments were deleted, or a copy lacks them.

Rows are numbered, so they are known. A reader returns one row of kind 'missing' for them, or fails. The first segment
after them opens with the responses that were current, so what follows can be decoded.
"""

from __future__ import annotations

import logging
from enum import StrEnum
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from kwire.capture.rows import SCHEMA
from kwire.errors import KwireError

if TYPE_CHECKING:
    from collections.abc import Iterator

log = logging.getLogger(__name__)

MISSING = "missing"
"""The kind of a row that stands for missing ones."""


class MissingRowsPolicy(StrEnum):
    """Policy of a reader for missing rows."""

    REPORT = "report"
    """Return a row of kind 'missing', and log a warning."""
    FAIL = "fail"
    """Raise `MissingRows`."""


class MissingRows(KwireError, RuntimeError):
    """Rows of a capture, from `first` to before `stop`, that no segment has."""

    def __init__(self, folder: str, first: int, stop: int) -> None:
        super().__init__(folder, first, stop)
        self.folder = folder
        self.first = first
        self.stop = stop

    def __str__(self) -> str:
        return f"rows {self.first:,} to {self.stop - 1:,} of {self.folder}: no segment has them"


def report(missing: MissingRows, policy: MissingRowsPolicy, at: pa.Scalar) -> pa.RecordBatch:
    """Return the row that stands for missing ones, with the time of the first row after them.

    Raises:
        MissingRows: the policy is to fail.
    """
    if policy is MissingRowsPolicy.FAIL:
        raise missing
    log.warning("%s", missing)
    values = {"polled_at": at.as_py(), "broker_id": -1, "endpoint": "", "kind": MISSING, "error": str(missing)}
    columns = [pa.array([values.get(field.name)], field.type) for field in SCHEMA]
    return pa.RecordBatch.from_arrays(columns, schema=SCHEMA)


def recovered(carried: pa.RecordBatch, lost_from: int, lost_to: int) -> Iterator[pa.RecordBatch]:
    """Return the responses of a time range, in microseconds, that a segment carries over from lost rows.

    They are returned as full responses, which they are.
    """
    at = carried.column("polled_at").cast(pa.int64())
    rows = carried.filter(pc.and_(pc.greater_equal(at, lost_from), pc.less_equal(at, lost_to)))
    if rows.num_rows:
        kinds = pa.array(["full"] * rows.num_rows, SCHEMA.field("kind").type)
        yield rows.set_column(SCHEMA.get_field_index("kind"), SCHEMA.field("kind"), kinds)
