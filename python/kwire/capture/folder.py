"""How a capture lies on disk: names of files, and what there is.

    OUT/
      date=2026-11-21/part-20261121T014732.955674Z-20261121T015732.560911Z-000000000000.parquet    closed
      date=2026-11-21/part-20261121T015732.961120Z-20261121T020733.055801Z-000000003712.parquet
      _tail-000000007430.arrows                                                                    open
      _lock

Rules of this file: a part is named by the earliest and the latest of its polls and by its number, a tail by its number.
The number of a file is that of its first row, counted over all rows (carried ones apart) that were
ever appended to this folder. A tail becomes the part of the same number; while both are there, the part counts and
the tail is about to go. What begins with an underscore is nobody's business but kwire's: Spark, Hive and pyarrow pass
over such names.
"""

from __future__ import annotations

import os
import re
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

from kwire.capture.errors import NotACapture

_PART = re.compile(r"part-(\d{8}T\d{6}\.\d{6})Z-(\d{8}T\d{6}\.\d{6})Z-(\d+)\.parquet")
_TAIL = re.compile(r"_tail-(\d+)\.arrows")
_TIME = "%Y%m%dT%H%M%S.%f"
WRITING = ".writing"
"""Ends the name of a file that is not complete and will be renamed."""


class Segment(NamedTuple):
    """``first_row``: the number of its first row that is not carried. ``first_time``, ``last_time``: when the earliest
    and the latest of its rows were polled, carried ones apart; None for a tail, whose name does not say.
    """

    path: Path
    first_row: int
    first_time: datetime | None = None
    last_time: datetime | None = None

    @property
    def is_closed(self) -> bool:
        """Whether this is a parquet file, which will not change any more."""
        return self.first_time is not None


def segments(folder: Path | str) -> tuple[Segment, ...]:
    """The files of a capture in order of their rows. Raises NotACapture when there is no such folder."""
    folder = Path(folder)
    tails = {file.first_row: file for file in _tails(folder)}
    parts = {file.first_row: file for file in _parts(folder)}  # after the tails: what is closed meanwhile is seen twice
    both = tails | parts
    return tuple(both[number] for number in sorted(both))


def tails(folder: Path) -> list[Segment]:
    """The tails, closed since or not, in order."""
    return sorted(_tails(folder), key=lambda file: file.first_row)


def _tails(folder: Path) -> list[Segment]:
    if not folder.is_dir():
        raise NotACapture(folder, "there is no such folder")
    found = ((path, _TAIL.fullmatch(path.name)) for path in folder.iterdir())
    return [Segment(path, int(match[1])) for path, match in found if match]


def _parts(folder: Path) -> list[Segment]:
    found = ((path, _PART.fullmatch(path.name)) for path in folder.glob("date=*/part-*.parquet"))
    return [Segment(path, int(match[3]), _time(match[1]), _time(match[2])) for path, match in found if match]


def _time(text: str) -> datetime:
    return datetime.strptime(text, _TIME).replace(tzinfo=UTC)


def tail_path(folder: Path, first_row: int) -> Path:
    """Of the tail that begins with that row."""
    return folder / f"_tail-{first_row:012}.arrows"


def segment_path(folder: Path, first_row: int, times: tuple[datetime, datetime]) -> Path:
    """Of the closed file that begins with that row, and whose polls are of those times."""
    first, last = (time.astimezone(UTC) for time in times)
    name = f"part-{_text(first)}Z-{_text(last)}Z-{first_row:012}.parquet"
    return folder / f"date={first.date().isoformat()}" / name


def _text(time: datetime) -> str:
    return f"{time.year:04}{time:%m%dT%H%M%S.%f}"  # %Y alone gives the year 1 one digit, on some systems


def sync_directory(folder: Path) -> None:
    """Make new and renamed entries of a directory survive a loss of power, where the system can do that."""
    if sys.platform == "win32":
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
