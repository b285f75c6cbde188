"""Captures: folders that keep what brokers answered, one row a frame. Needs pyarrow (``pip install 'kwire[capture]'``).

``Capture`` writes a folder, ``read`` gives its rows as Arrow batches and ``replay`` as ``Row`` objects with every frame
in place; ``from_table`` makes rows out of frames that somebody else recorded. docs/capture.md describes the format: the
closed files are plain parquet, for which nobody needs kwire.
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
)
from kwire.capture.folder import Segment, segments
from kwire.capture.reader import read, read_file
from kwire.capture.replay_rows import replay
from kwire.capture.rows import SCHEMA, Row
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
    "Segment",
    "SegmentRollError",
    "UnreadableCapture",
    "from_table",
    "read",
    "read_file",
    "replay",
    "segments",
]
