"""Segments are read in the order that their writer gave them: names are checked against the content."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

import pyarrow.parquet as pq
import pytest

from kwire.capture import Capture, UnreadableCapture, replay
from kwire.capture.folder import closed_path, segments
from tests.capture.sample_rows import at, metadata, response_row

if TYPE_CHECKING:
    from pathlib import Path

    from kwire.capture.folder import Segment

ROWS = 10


def recorded(folder: Path, *starts: int, rows: int = ROWS) -> list[Segment]:
    """Write a capture with a segment of some rows from each time in seconds on."""
    for start in starts:
        with Capture(folder) as capture:
            capture.append_many([response_row(start + second, metadata(1 + second % 3)) for second in range(rows)])
    return list(segments(folder))


def exchange(first: Path, second: Path) -> None:
    content = first.read_bytes()
    first.write_bytes(second.read_bytes())
    second.write_bytes(content)


def without_footer(path: Path) -> None:
    """Write a segment as a program that does not keep the name in its footer."""
    rows = pq.read_table(path, partitioning=None)
    pq.write_table(rows.replace_schema_metadata(None), path)


@pytest.mark.parametrize("has_footer", [True, False])
def test_exchanged_names_are_refused(tmp_path: Path, has_footer: bool) -> None:
    listed = recorded(tmp_path, 0, 100, 200)
    exchange(listed[0].path, listed[1].path)
    if not has_footer:
        for segment in listed:
            without_footer(segment.path)

    with pytest.raises(UnreadableCapture, match="the file was renamed"):
        list(replay(tmp_path))


def test_exchanged_numbers_are_refused(tmp_path: Path) -> None:
    first, second = recorded(tmp_path, 0, 100)
    for segment, number in ((first, second.first_row), (second, first.first_row)):
        assert segment.first_time is not None
        assert segment.last_time is not None
        segment.path.rename(closed_path(tmp_path, number, (segment.first_time, segment.last_time)))

    with pytest.raises(UnreadableCapture, match=r"the file was renamed from part-.*-000000000010\."):
        list(replay(tmp_path))


def test_segment_copied_to_another_folder_counts_once(tmp_path: Path) -> None:
    first, _ = recorded(tmp_path, 0, 100)
    (tmp_path / "date=2027-01-01").mkdir()
    shutil.copy(first.path, tmp_path / "date=2027-01-01")

    assert [each.polled_at for each in replay(tmp_path)] == [at(start + n) for start in (0, 100) for n in range(ROWS)]


@pytest.mark.parametrize(
    ("rows", "reason"), [(ROWS, "begins with row 10, as part-"), (5, "begins with row 5, but the")]
)
def test_segment_of_another_capture_is_refused(tmp_path: Path, rows: int, reason: str) -> None:
    recorded(tmp_path / "capture", 0, 100)
    *_, other = recorded(tmp_path / "other", 500, 600, rows=rows)
    assert other.first_time is not None
    folder = tmp_path / "capture" / f"date={other.first_time:%Y-%m-%d}"
    shutil.copy(other.path, folder)

    with pytest.raises(UnreadableCapture, match=f"{reason}.*is of another capture"):
        list(replay(tmp_path / "capture"))
