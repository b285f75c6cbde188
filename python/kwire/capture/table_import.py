"""Frames that somebody else recorded, made rows of a capture.

Rules of this file: what is missing is null, but for what the bytes or the neighbours tell. No row is dropped, nothing
is judged: every row with a frame becomes a full one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from kwire.capture.equivalence import decode_row
from kwire.capture.errors import UnreadableCapture
from kwire.capture.rows import SCHEMA, Row, to_rows

if TYPE_CHECKING:
    from collections.abc import Iterator


def from_table(table: pa.Table) -> pa.Table:
    """The table with the columns of ``SCHEMA``, in the same order of rows; further columns are left out.

    Columns that are missing are null. ``request_hex``, a string, is taken for ``request``. Where ``kind`` is null, a
    row with a frame is 'full' and another one 'error'; a null ``dialect`` is 'kafka'. A null ``cluster_id`` is the
    frame's own, or that of the last frame from this broker and endpoint that told, or ''.

    Raises UnreadableCapture for a table without a column that is needed, or with one whose values do not fit.
    """
    try:
        return _rows(table)
    except (pa.ArrowException, ValueError, TypeError, KeyError) as error:
        raise error if isinstance(error, UnreadableCapture) else UnreadableCapture(None, str(error)) from error


def _rows(table: pa.Table) -> pa.Table:
    if not {"frame", "error"} & set(table.column_names):
        raise UnreadableCapture(None, "there is neither a column frame nor a column error")
    columns = {field.name: _column(table, field) for field in SCHEMA}
    if "request_hex" in table.column_names:
        said = zip(columns["request"].to_pylist(), table.column("request_hex").to_pylist(), strict=True)
        requests = [bytes.fromhex(hex) if request is None and hex is not None else request for request, hex in said]
        columns["request"] = pa.array(requests, pa.binary())
    _refuse_unclear(columns)
    columns["dialect"] = columns["dialect"].fill_null("kafka")
    kind = pc.if_else(columns["frame"].is_valid(), "full", "error")
    columns["kind"] = pc.coalesce(columns["kind"], kind)
    if columns["cluster_id"].null_count:
        columns["cluster_id"] = pa.array(_cluster_ids(columns), pa.string())
    return pa.table([columns[name] for name in SCHEMA.names], schema=SCHEMA)


def _refuse_unclear(columns: dict[str, Any]) -> None:
    if columns["polled_at"].null_count:
        raise UnreadableCapture(None, "a row says not when it was polled (polled_at)")
    for name in ("api_key", "api_version"):
        if pc.any(pc.and_(columns["frame"].is_valid(), columns[name].is_null())).as_py():
            raise UnreadableCapture(None, f"a row with a frame does not say what was asked ({name})")


def _column(table: pa.Table, field: pa.Field) -> Any:
    if field.name not in table.column_names:
        return pa.nulls(table.num_rows, field.type)
    return table.column(field.name).cast(field.type)


def _cluster_ids(columns: dict[str, Any]) -> Iterator[str]:
    """Of each row, told or carried."""
    rows = pa.table(columns, schema=SCHEMA).select(list(Row._fields))
    last: dict[tuple[int | None, str | None], str] = {}
    said: dict[object, tuple[bytes, str | None]] = {}
    for batch in rows.to_batches(max_chunksize=1024):
        for row in to_rows(batch):
            cluster_id = row.cluster_id or _told_by(row, said)
            asked = row.broker_id, row.endpoint
            if cluster_id:
                last[asked] = cluster_id
            yield cluster_id or last.get(asked, "")


def _told_by(row: Row, said: dict[object, tuple[bytes, str | None]]) -> str | None:
    """The cluster of a frame. The same bytes are not decoded again."""
    if row.frame is None:
        return None
    body = row.frame[4:]
    known = said.get(row.request_key)
    if known is None or known[0] != body:
        known = body, getattr(decode_row(row), "cluster_id", None)
        said[row.request_key] = known
    return known[1]
