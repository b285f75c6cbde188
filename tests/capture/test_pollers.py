"""The poller of rows."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from kwire.capture import Capture, read_segment, segments
from kwire.capture.rows import to_rows
from tests.capture.sample_rows import error_row, metadata, response_row

if TYPE_CHECKING:
    from pathlib import Path


def test_capture_has_random_poller_that_is_kept_when_it_is_continued(tmp_path: Path) -> None:
    with Capture(tmp_path / "one") as capture:
        first = capture.poller_id
        capture.append(error_row(1)._replace(poller_id=first))
    with Capture(tmp_path / "one") as capture:
        assert capture.poller_id == first
    with Capture(tmp_path / "two") as capture:
        assert capture.poller_id != first
    with Capture(tmp_path / "one", poller_id="dc-2") as capture:
        assert capture.poller_id == "dc-2"


@pytest.mark.parametrize("poller_id", ["", "a b", "/etc/passwd", "user:secret@host", "a" * 65, "a\n"])
def test_invalid_poller_id_is_rejected(poller_id: str, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="expected 1 to 64 letters"):
        Capture(tmp_path / "out", poller_id=poller_id)

    assert not (tmp_path / "out").exists()


def test_equal_responses_of_two_pollers_are_both_full(tmp_path: Path) -> None:
    with Capture(tmp_path) as capture:
        stored = [
            capture.append(response_row(second, metadata(1))._replace(poller_id=poller, clock_step_us=step))
            for second, poller, step in ((1, "a", None), (2, "b", -7), (3, "a", 5), (4, "b", None))
        ]

    assert [row.kind for row in stored] == ["full", "full", "same", "same"]
    rows = [row for segment in segments(tmp_path) for batch in read_segment(segment) for row in to_rows(batch)]
    assert [(row.poller_id, row.clock_step_us) for row in rows] == [("a", None), ("b", -7), ("a", 5), ("b", None)]


def test_step_is_not_repeated_by_carried_row(tmp_path: Path) -> None:
    with Capture(tmp_path, roll_bytes=1) as capture:
        for second in (1, 2):
            capture.append(response_row(second, metadata(second))._replace(clock_step_us=5))

    rows = [row for batch in read_segment(segments(tmp_path)[1]) for row in to_rows(batch)]
    assert [(row.kind, row.clock_step_us) for row in rows] == [("carried", None), ("full", 5)]
