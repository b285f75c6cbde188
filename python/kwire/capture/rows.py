"""The columns of a capture, and one row of it.

Rules of this file: ``SCHEMA`` is the format (docs/capture.md); ``Row`` has its columns as fields, in the same order but
for what a caller need not say, which comes last.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias

import pyarrow as pa

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from datetime import datetime

Kind: TypeAlias = Literal["full", "same", "error", "carried"]
"""``full``: the frame is here. ``same``: it equals the last full (or carried) one of the same request in the same file,
correlation id and controller id aside. ``error``: there was no answer. ``carried``: no poll; the last full frame of a
request, written again at the head of the next file."""

SCHEMA = pa.schema(
    [
        pa.field("cluster_id", pa.string()),
        pa.field("polled_at", pa.timestamp("us", tz="UTC")),
        pa.field("broker_id", pa.int32()),
        pa.field("endpoint", pa.string()),
        pa.field("dialect", pa.string()),
        pa.field("controller_id", pa.int32()),
        pa.field("api_key", pa.int16()),
        pa.field("api_version", pa.int16()),
        pa.field("kind", pa.string()),
        pa.field("duration_us", pa.int64()),
        pa.field("frame", pa.binary()),
        pa.field("request", pa.binary()),
        pa.field("error", pa.string()),
    ]
)
"""One row a frame. Every column may be null in rows that somebody else recorded."""

RequestKey: TypeAlias = tuple[str | None, int | None, str | None, int | None, int | None, bytes | None]


class Row(NamedTuple):
    """One answer of a broker, or its absence.

    ``polled_at``: when the answer was complete, or missed; aware. ``broker_id``: whom was asked, -1 when unknown;
    ``endpoint``: ``host:port``. ``frame``: the payload of the answer, from the correlation id; ``request``: that of the
    request, from its API key. ``error``: why there is no answer. ``duration_us``: from sending to ``polled_at``.
    ``cluster_id``: None lets the writer take it from the answer, or from the last one of that broker.
    ``controller_id``: as the answer says. ``kind``: None lets the writer decide.
    """

    polled_at: datetime
    broker_id: int
    endpoint: str
    api_key: int
    api_version: int
    frame: bytes | None = None
    request: bytes | None = None
    error: str | None = None
    duration_us: int | None = None
    cluster_id: str | None = None
    dialect: str = "kafka"
    controller_id: int | None = None
    kind: Kind | None = None

    @property
    def request_key(self) -> RequestKey:
        """What 'same' is about: rows with one key are answers of one broker to one question."""
        return request_key(self.cluster_id, self.broker_id, self.endpoint, self.api_key, self.api_version, self.request)


def request_key(
    cluster_id: str | None,
    broker_id: int | None,
    endpoint: str | None,
    api_key: int | None,
    api_version: int | None,
    request: bytes | None,
) -> RequestKey:
    """``Row.request_key`` of columns."""
    if request is not None:
        request = request[:4] + request[8:]  # key and version; then the correlation id, which is always another
    return cluster_id, broker_id, endpoint, api_key, api_version, request


def to_batch(rows: Sequence[Row]) -> pa.RecordBatch:
    """Rows as one batch of ``SCHEMA``."""
    columns = [[getattr(row, field.name) for row in rows] for field in SCHEMA]
    return pa.RecordBatch.from_arrays(
        [pa.array(column, field.type) for column, field in zip(columns, SCHEMA, strict=True)], schema=SCHEMA
    )


def to_rows(batch: pa.RecordBatch) -> Iterator[Row]:
    """A batch as rows, in order."""
    columns = [batch.column(name).to_pylist() for name in Row._fields]
    return map(Row._make, zip(*columns, strict=True))
