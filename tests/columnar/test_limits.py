"""The memory of a batch: how it is counted, and how it is limited."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

import kwire
from kwire.columnar import ColumnsTooLarge
from kwire.declare import Message, Struct, array, field, int8, int32, int64, maybe, string, uuid
from kwire.messages.kafka import MetadataResponse
from tests.for_rows import for_rows
from tests.proof.material import vectors

LONG = "x" * 1000


class Wide(Struct):
    first: uuid
    second: uuid
    third: uuid
    fourth: uuid


class Small(Struct):
    number: int8
    optional: maybe[Wide] = None
    text: string = field(since=1, default=LONG)


class Element(Struct):
    number: int8


class Outer(Struct):
    name: string
    elements: array[Element]


class Limited(Message, versions="0-1"):
    """Rows of a byte or two, below fields that are repeated for each row."""

    offset: int64
    smalls: array[Small] = field(until=0, default=())
    numbers: array[int8] = field(until=0, default=())
    integers: array[int32] = field(until=0, default=())
    contents: array[bytes] = field(until=0, default=())
    lists: array[array[int8]] = field(until=0, default=())
    outers: array[Outer] = field(until=0, default=())


COUNT = 20_000

AMPLIFIED: dict[str, tuple[str, dict[str, Any]]] = {
    "a repeated field": ("numbers", {"numbers": (0,) * COUNT}),
    "elements that are rows": ("integers", {"integers": (0,) * COUNT}),
    "absent structs": ("smalls", {"smalls": tuple(Small(number=0) for _ in range(COUNT))}),
    "absent structs in a list": ("", {"smalls": tuple(Small(number=0) for _ in range(COUNT))}),
    "empty values": ("contents", {"contents": (b"",) * COUNT}),
    "empty lists": ("lists", {"lists": ((),) * COUNT}),
    "a list of empty values": ("", {"contents": (b"",) * COUNT}),
    "a repeated struct": ("outers.elements", {"outers": (Outer(name=LONG, elements=(Element(number=0),) * COUNT),)}),
    "long values": ("contents", {"contents": (b"x" * 1000,) * 1000}),
}


def column_bytes(batch: Any) -> int:
    """Return the size of all columns as if they shared nothing."""
    return int(pa.record_batch(batch).nbytes)


def distinct_bytes(batch: Any) -> int:
    return int(pa.record_batch(batch).get_total_buffer_size())


@for_rows("case", AMPLIFIED)
def test_columns_are_limited_by_their_memory(case: str) -> None:
    rows, values = AMPLIFIED[case]
    body = kwire.encode(Limited(offset=0, **values), version=0)
    needed = column_bytes(kwire.columns(Limited, [body], version=0, rows=rows))

    assert kwire.columns(Limited, [body], version=0, rows=rows, max_bytes=needed + needed // 10).num_rows
    with pytest.raises(ColumnsTooLarge) as caught:
        kwire.columns(Limited, [body], version=0, rows=rows, max_bytes=needed - needed // 10)
    assert caught.value.max_bytes == needed - needed // 10
    assert str(caught.value) == (
        f"the columns need more than {needed - needed // 10} bytes: pass fewer frames or increase max_bytes"
    )


def test_many_frames_are_limited_together() -> None:
    frames = [kwire.encode(Limited(offset=1), version=1)] * COUNT
    needed = column_bytes(kwire.columns(Limited, frames, version=1, rows=""))

    with pytest.raises(ColumnsTooLarge):
        kwire.columns(Limited, frames, version=1, rows="", max_bytes=needed // 2)
    assert len(kwire.columns(Limited, frames[: COUNT // 4], version=1, rows="", max_bytes=needed // 2)) == COUNT // 4


def test_rows_of_invalid_frames_count() -> None:
    frames = [b""] * COUNT
    needed = column_bytes(kwire.columns(Limited, frames, version=0, rows="outers.elements"))

    with pytest.raises(ColumnsTooLarge):
        kwire.columns(Limited, frames, version=0, rows="outers.elements", max_bytes=needed // 2)


def test_rows_removed_with_an_invalid_frame_do_not_count() -> None:
    body = kwire.encode(Limited(offset=1, numbers=(0,) * COUNT), version=0)
    limit = 2 * column_bytes(kwire.columns(Limited, [body], version=0, rows="numbers"))
    damaged = [body + b"\0"] * 10

    batch = kwire.columns(Limited, [*damaged, body], version=0, rows="numbers", max_bytes=limit)

    assert len(batch) == 10 + COUNT


class Text(Struct):
    number: int8
    text: string = field(since=1, default="y" * 32_000)


class Texts(Message, versions="0-1"):
    texts: array[Text]


def test_defaults_are_limited_by_32_bit_offsets() -> None:
    count = (1 << 31) // 32_000 + 1
    body = count.to_bytes(4, "big") + bytes(count)

    with pytest.raises(ColumnsTooLarge) as caught:
        kwire.columns(Texts, [body], version=0, rows="texts", max_bytes=1 << 40)
    assert str(caught.value) == "a column needs more than 2147483647 bytes, which is Arrow's limit: pass fewer frames"
    with pytest.raises(ColumnsTooLarge, match="increase max_bytes"):
        kwire.columns(Texts, [body], version=0, rows="texts", max_bytes=1 << 30)


@for_rows(
    ("limit", "error"),
    [(0, ValueError), (-1, ValueError), (True, TypeError), (1.5, TypeError), ("1", TypeError), (None, TypeError)],
)
def test_invalid_limits_are_rejected(limit: Any, error: type[Exception]) -> None:
    with pytest.raises(error, match=r"max_bytes: expected a (positive )?number of bytes, found "):
        kwire.columns(Limited, [], version=0, rows="", max_bytes=limit)


def test_limit_can_exceed_the_address_space() -> None:
    assert kwire.columns(Limited, [], version=0, rows="", max_bytes=1 << 80).num_rows == 0


class Flags(Message, versions="0"):
    """Narrow columns that can all be null, so that their validity is a considerable part of them."""

    a: int8
    b: int8
    c: int8
    d: int8
    e: int8
    f: int8
    g: int8
    h: int8


def test_buffers_that_columns_share_count_once() -> None:
    count = 8000
    batch = kwire.columns(Flags, [*[bytes(8)] * count, b""], version=0, rows="")
    held = distinct_bytes(batch)

    # One validity bitmap serves the eight columns of the message.
    assert held <= batch.nbytes < held + 4 * count // 8


@for_rows("rows", ["", "brokers", "topics", "topics.partitions"])
def test_size_of_a_batch_is_the_sum_of_its_distinct_buffers(rows: str) -> None:
    bodies = [vector.body for vector in vectors()["MetadataResponse"] if vector.version == 9]
    batch = kwire.columns(MetadataResponse, bodies * 100, version=9, rows=rows)
    held = distinct_bytes(batch)

    assert held <= batch.nbytes <= 2 * held
