"""The columns of a capture and the `Row` that holds one poll."""

from __future__ import annotations

import re
from enum import StrEnum
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import pyarrow as pa

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from datetime import datetime


class RowKind(StrEnum):
    """Kinds of rows of a capture, as in the column `kind`."""

    FULL = "full"
    """A response, with its frame."""
    SAME = "same"
    """A response without its frame, equivalent to the last full or carried one of the same request in the segment."""
    ERROR = "error"
    """A poll without a response; `error` has the reason."""
    CARRIED = "carried"
    """Not a poll: the last full response of a request, repeated at the start of the next segment."""


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
        pa.field("poller_id", pa.string()),
        pa.field("clock_step_us", pa.int64()),
    ]
)
"""The Arrow schema of a capture (docs/capture.md). In imported tables any column may contain nulls."""

RequestKey: TypeAlias = tuple[str | None, int | None, str | None, int | None, int | None, str | None, bytes | None]

_ROW_KINDS = {kind.value: kind for kind in RowKind}


class Row(NamedTuple):
    """One poll of a broker: its response, or the error that occurred instead.

    Attributes:
        polled_at: the time at which the response was complete or the poll failed; timezone-aware.
        broker_id: the polled broker, -1 if unknown.
        endpoint: `host:port`.
        api_key: API key of the request.
        api_version: version of request and response.
        frame: payload of the response, starting at the correlation id.
        request: payload of the request, starting at the API key.
        error: the reason why the poll failed; None if it has a response.
        duration_us: microseconds from sending the request to `polled_at`.
        cluster_id: None to take it from the response or from the last response of that broker.
        dialect: `kafka` or `kip4`.
        controller_id: the controller that the response names.
        kind: None to let the writer decide.
        poller_id: the poller that made the poll; None if unknown.
        clock_step_us: microseconds by which the poller's clock was set since its poll before; None if it was not.
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
    kind: RowKind | None = None
    poller_id: str | None = None
    clock_step_us: int | None = None

    @property
    def request_key(self) -> RequestKey:
        """The identity of the request. Only responses with equal keys are compared with each other."""
        broker = self.cluster_id, self.broker_id, self.endpoint
        return request_key(*broker, self.api_key, self.api_version, self.poller_id, self.request)


def request_key(
    cluster_id: str | None,
    broker_id: int | None,
    endpoint: str | None,
    api_key: int | None,
    api_version: int | None,
    poller_id: str | None,
    request: bytes | None,
) -> RequestKey:
    """Return `Row.request_key` for the values of those columns."""
    if request is not None:
        request = request[:4] + request[8:]  # the correlation id differs in every request
    return cluster_id, broker_id, endpoint, api_key, api_version, poller_id, request


def check_poller_id(poller_id: str | None) -> None:
    """Raise ValueError for an id of a poller that has other characters than a name, or more than 64."""
    if poller_id is not None and not re.fullmatch(r"[A-Za-z0-9._-]{1,64}", poller_id):
        raise ValueError(f"poller_id is {poller_id!r}: expected 1 to 64 letters, digits, '.', '_', or '-'")


def is_capture(schema: pa.Schema) -> bool:
    """Return whether these are the columns of a capture."""
    return bool(schema.remove_metadata().equals(SCHEMA))


def to_batch(rows: Sequence[Row]) -> pa.RecordBatch:
    """Convert rows to a batch of `SCHEMA`."""
    columns = [[getattr(row, field.name) for row in rows] for field in SCHEMA]
    return pa.RecordBatch.from_arrays(
        [pa.array(column, field.type) for column, field in zip(columns, SCHEMA, strict=True)], schema=SCHEMA
    )


def to_rows(batch: pa.RecordBatch) -> Iterator[Row]:
    """Convert a batch to rows, in order."""
    columns = [batch.column(name).to_pylist() for name in Row._fields]
    kinds = Row._fields.index("kind")
    columns[kinds] = [_ROW_KINDS.get(kind, kind) for kind in columns[kinds]]
    return map(Row._make, zip(*columns, strict=True))
