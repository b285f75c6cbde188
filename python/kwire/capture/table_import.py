"""Import of frames that another tool recorded, and the rows of a recording of either kind.

Missing values become null unless the frames or neighboring rows provide them. No row is dropped or compared: every row
with a frame becomes a full one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from kwire.capture.equivalence import decode_row
from kwire.capture.errors import UnreadableCapture
from kwire.capture.reader import replay
from kwire.capture.rows import SCHEMA, Row, RowKind, to_rows
from kwire.errors import KwireError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import datetime

    from kwire.storage.location import Location


def from_table(table: pa.Table) -> pa.Table:
    """Convert a table of frames to the columns of `SCHEMA`, in the same order of rows.

    The table needs `polled_at` and at least one of `frame` and `error`; rows with a frame need `api_key` and
    `api_version`. Other columns are optional:

    - `request_hex`, a string, fills nulls of `request`.
    - A null `kind` becomes 'full' in rows with a frame and 'error' in others.
    - A null `dialect` becomes 'kafka'.
    - A null `cluster_id` is taken from the frame, else from the last frame of the same broker and endpoint, else ''.

    Columns that `SCHEMA` does not have are dropped.

    Raises:
        UnreadableCapture: a required column is missing, or values do not fit their column.
    """
    try:
        return _convert(table)
    except (pa.ArrowException, ValueError, TypeError, KeyError) as error:
        raise error if isinstance(error, UnreadableCapture) else UnreadableCapture(None, str(error)) from error


def _convert(table: pa.Table) -> pa.Table:
    if not {"frame", "error"} & set(table.column_names):
        raise UnreadableCapture(None, "the table has neither a column frame nor a column error")
    columns = {field.name: _column(table, field) for field in SCHEMA}
    if "request_hex" in table.column_names:
        pairs = zip(columns["request"].to_pylist(), table.column("request_hex").to_pylist(), strict=True)
        requests = [bytes.fromhex(hex) if request is None and hex is not None else request for request, hex in pairs]
        columns["request"] = pa.array(requests, pa.binary())
    _check_required(columns)
    columns["dialect"] = columns["dialect"].fill_null("kafka")
    kind = pc.if_else(columns["frame"].is_valid(), RowKind.FULL.value, RowKind.ERROR.value)
    columns["kind"] = pc.coalesce(columns["kind"], kind)
    if columns["cluster_id"].null_count:
        columns["cluster_id"] = pa.array(_cluster_ids(columns), pa.string())
    return pa.table([columns[name] for name in SCHEMA.names], schema=SCHEMA)


def _check_required(columns: dict[str, Any]) -> None:
    if columns["polled_at"].null_count:
        raise UnreadableCapture(None, "polled_at is missing or has nulls")
    for name in ("api_key", "api_version"):
        if pc.any(pc.and_(columns["frame"].is_valid(), columns[name].is_null())).as_py():
            raise UnreadableCapture(None, f"a row with a frame has no {name}")


def _column(table: pa.Table, field: pa.Field) -> Any:
    if field.name not in table.column_names:
        return pa.nulls(table.num_rows, field.type)
    return table.column(field.name).cast(field.type)


def _cluster_ids(columns: dict[str, Any]) -> Iterator[str]:
    """Return the cluster id of each row: its own, the id in its frame, or the last one of the broker and endpoint."""
    rows = pa.table(columns, schema=SCHEMA).select(list(Row._fields))
    last: dict[tuple[int | None, str | None], str] = {}
    decoded: dict[object, tuple[bytes, str | None]] = {}
    for batch in rows.to_batches(max_chunksize=1024):
        for row in to_rows(batch):
            cluster_id = row.cluster_id or _cluster_id_in(row, decoded)
            broker = row.broker_id, row.endpoint
            if cluster_id:
                last[broker] = cluster_id
            yield cluster_id or last.get(broker, "")


def _cluster_id_in(row: Row, decoded: dict[object, tuple[bytes, str | None]]) -> str | None:
    """Return the cluster id in a frame. A frame equal to the last one of its request is not decoded again."""
    if row.frame is None:
        return None
    body = row.frame[4:]
    last_decoded = decoded.get(row.request_key)
    if last_decoded is None or last_decoded[0] != body:
        last_decoded = body, getattr(decode_row(row), "cluster_id", None)
        decoded[row.request_key] = last_decoded
    return last_decoded[1]


def read_rows(
    place: Location, *, since: datetime | None = None, until: datetime | None = None, speed: float | None = None
) -> Iterator[Row]:
    """Yield the polls of a capture folder, or of a Parquet file of frames (`from_table`).

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
    with place.open() as file:
        table = pq.read_table(file)
    for batch in from_table(table).sort_by("polled_at").to_batches():
        for row in to_rows(batch):
            if since is not None and row.polled_at < since:
                # An earlier response is still the state of its broker at `since`; an earlier error is not.
                if row.frame is not None:
                    yield row._replace(kind=RowKind.CARRIED)
            elif until is None or row.polled_at < until:
                yield row
