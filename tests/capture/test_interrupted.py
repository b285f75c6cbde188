"""Appends interrupted at any line by an exception that a signal handler raises."""

from __future__ import annotations

import sys
from contextlib import contextmanager
from itertools import count
from linecache import getline
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import kwire.capture
from kwire.capture import Capture, Row, read, replay, segments
from kwire.capture.rows import RowKind
from tests.capture.sample_rows import decoded, metadata, response_row

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import FrameType

PACKAGE = str(Path(kwire.capture.__file__).parent)


class Interruption(BaseException):
    """The exception that the signal handler raises."""


@contextmanager
def interrupted_at(line: int) -> Iterator[None]:
    """Raise `Interruption` after that many lines of the package."""
    left = line

    def trace(frame: FrameType, event: str, _: object) -> object:
        nonlocal left
        if not frame.f_code.co_filename.startswith(PACKAGE):
            return None
        source = getline(frame.f_code.co_filename, frame.f_lineno).lstrip()
        left -= event == "line" and not source.startswith(("with ", "try:"))  # Python handles no signals there
        if left == 0:
            left = -1
            raise Interruption
        return trace

    before = sys.gettrace()
    sys.settrace(trace)  # type: ignore[arg-type]  # a local trace function may be the global one
    try:
        yield
    finally:
        sys.settrace(before)


@pytest.mark.parametrize("roll_bytes", [1 << 30, 1], ids=["open tail", "new tail"])
def test_interrupted_append_is_undone_or_complete(tmp_path: Path, roll_bytes: int) -> None:
    stored: list[Row] = []
    undone = 0
    with Capture(tmp_path, roll_bytes=roll_bytes) as capture:
        for line in count(1):
            row, after = response_row(2 * line, metadata(line % 3 + 1)), response_row(2 * line + 1, metadata(9))
            finished = False
            try:
                with interrupted_at(line):
                    capture.append(row)
                    finished = True
            except Interruption:
                undone += capture.next_row == len(stored)
            if capture.next_row > len(stored):
                stored.append(row)
            capture.append(after)
            stored.append(after)
            assert capture.next_row == len(stored)
            if finished:
                break
        live = list(replay(tmp_path))

    assert undone > 50
    assert [(row.polled_at, decoded(row)) for row in live] == [(row.polled_at, decoded(row)) for row in stored]
    assert [(row.polled_at, decoded(row)) for row in replay(tmp_path)] == [
        (row.polled_at, decoded(row)) for row in stored
    ]
    assert all(segment.is_closed for segment in segments(tmp_path))


def test_interrupted_append_to_two_segments_is_undone_in_both(tmp_path: Path) -> None:
    with Capture(tmp_path) as capture:
        capture.append(response_row(0, metadata(1)))
        for line in count(1):
            rows = [response_row(10, metadata(1)), response_row(8, metadata(2))]
            finished = False
            before = capture.next_row
            try:
                with interrupted_at(line):
                    capture.append_many(rows)
                    finished = True
            except Interruption:
                pass
            assert capture.next_row - before in (0, 2)
            assert row_count(tmp_path) == capture.next_row
            if finished:
                break
            capture.append(response_row(0, metadata(1)))
        assert len(list(replay(tmp_path))) == capture.next_row


def row_count(folder: Path) -> int:
    """Return the number of rows that were appended, without the cost of their Python objects."""
    return sum(kind != RowKind.CARRIED for batch in read(folder) for kind in batch.column("kind").to_pylist())
