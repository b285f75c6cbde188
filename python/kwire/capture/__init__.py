"""Captures: folders that record the responses of brokers, one row per poll.

`Capture` writes a folder, `read` returns its rows as Arrow batches, and `replay` returns them as `Row` objects that all
have their frame. `from_table` converts frames that another tool recorded. The format is described in docs/capture.md;
closed segments are plain parquet files that any tool can read.

Requires pyarrow: `pip install 'kwire[capture]'`.
"""

from __future__ import annotations

from kwire.capture.errors import (
    CaptureError,
    CaptureInUse,
    CaptureSyncError,
    CaptureWriteError,
    NoFullFrame,
    NotACapture,
    SegmentRollError,
    UnreadableCapture,
    UploadConflict,
)
from kwire.capture.folder import Segment, segments
from kwire.capture.reader import read, read_segment, replay
from kwire.capture.rows import SCHEMA, Row, RowKind
from kwire.capture.table_import import from_table
from kwire.capture.tail import RecoveredTail
from kwire.capture.writer import Capture

__all__ = [
    "SCHEMA",
    "Capture",
    "CaptureError",
    "CaptureInUse",
    "CaptureSyncError",
    "CaptureWriteError",
    "NoFullFrame",
    "NotACapture",
    "RecoveredTail",
    "Row",
    "RowKind",
    "Segment",
    "SegmentRollError",
    "UnreadableCapture",
    "UploadConflict",
    "from_table",
    "read",
    "read_segment",
    "replay",
    "segments",
]
