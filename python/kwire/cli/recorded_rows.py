"""Rows of a capture folder or of a Parquet file with frames, for `kwire replay`."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.parquet as pq

from kwire._util.light_typing import TYPE_CHECKING
from kwire.capture import RowKind, UnreadableCapture, from_table, replay
from kwire.capture.rows import to_rows
from kwire.errors import KwireError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import datetime

    from kwire.capture import Row
    from kwire.storage.location import Location


def read_rows(
    place: Location, *, since: datetime | None = None, until: datetime | None = None, speed: float | None = None
) -> Iterator[Row]:
    """Yield the polls of a capture folder, or of a Parquet file of frames (`kwire.capture.from_table`).

    Polls before `since` that the later ones are compared with have kind 'carried'.

    Raises:
        CaptureError: the capture or the file cannot be read.
    """
    try:
        if place.kind() == "file":
            yield from _read_table(place, since, until)
        else:
            yield from replay(place.native, since=since, until=until, speed=speed, carried=True)
    except UnreadableCapture as error:
        raise (error if error.path is not None else UnreadableCapture(place.given, error.reason)) from error
    except KwireError:
        raise
    except (pa.ArrowException, OSError, ValueError) as error:
        raise UnreadableCapture(
            place.given, " ".join(str(error).split())
        ) from error  # Arrow's texts have several lines


def _read_table(place: Location, since: datetime | None, until: datetime | None) -> Iterator[Row]:
    for batch in from_table(_read_parquet(place)).sort_by("polled_at").to_batches():
        for row in to_rows(batch):
            if since is not None and row.polled_at < since:
                # An earlier response is still the state of its broker at `since`; an earlier error is not.
                if row.frame is not None:
                    yield row._replace(kind=RowKind.CARRIED)
            elif until is None or row.polled_at < until:
                yield row


def _read_parquet(place: Location) -> pa.Table:
    with place.open() as file:
        return pq.read_table(file)
