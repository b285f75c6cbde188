"""Arrays of structs that the engine encodes together, with elements that differ from their neighbors.

The engine encodes consecutive structs field by field if their arrays have the same lengths. Any element can end such a
run, and any value can require the general encoder.
"""

from __future__ import annotations

from enum import IntEnum
from random import Random
from typing import Any

import kwire
from kwire import reference
from kwire.declare import (
    Message,
    Struct,
    UnknownTags,
    array,
    field,
    int8,
    int16,
    int32,
    int64,
    uint16,
    uint32,
)
from kwire.declare.introspect import fields
from tests.for_rows import for_rows
from tests.proof.forged import UNSET, Stranger, put
from tests.proof.outcomes import outcome


class Row(Struct):
    """Has each kind of field that is encoded together with those of other structs."""

    flag: bool = False
    tiny: int8 = 0
    short: int16 = 0
    number: int32 = 0
    long: int64 = 0
    code: uint16 = 0
    size: uint32 = 0
    replicas: array[int32] = ()
    isr: array[int32] = ()
    since_two: int32 = field(since=2, default=-1)
    only_two: int16 = field(since=2, default=5, ignorable=True)


class Rows(Message, versions="0-2", flexible="1+"):
    rows: array[Row] = ()
    after: int32 = 0


class Number(IntEnum):
    SEVEN = 7


class Numbers(tuple[int, ...]):
    __slots__ = ()


class OwnRow(Row):
    """A subclass, which is accepted where `Row` is declared."""


ROWS = 6
VERSIONS = [0, 1, 2]

INTEGERS: tuple[Any, ...] = (
    *(0, -5, -6, 256, 257, -128, -129, 127, 128, 0x7FFF, 0x8000, -0x8000, -0x8001, 0xFFFF, 0x1_0000),
    *(2**30 - 1, 2**30, 2**31 - 1, 2**31, -(2**31), -(2**31) - 1, 2**32 - 1, 2**32),
    *(2**60 - 1, 2**60, 1 - 2**60, -(2**60), 2**63 - 1, 2**63, -(2**63), -(2**63) - 1, 2**90),
    *(True, 1.0, "1", None, UNSET, Number.SEVEN),
)
ARRAYS: tuple[Any, ...] = (
    *((), (1,), (1, 2), (1, 2, 3), (3, 2, 1), (1, 2, 3, 4), tuple(range(100)), tuple(range(101)), tuple(range(200))),
    *((1, 2, 2**31), (1, None, 3), (1, 2, True), (1, 2, Number.SEVEN), (-1, 300, 70_000)),
    *([1, 2, 3], Numbers((1, 2, 3)), None, UNSET),
)
BOOLEANS: tuple[Any, ...] = (True, False, 1, None, UNSET)
TAGS: tuple[Any, ...] = (
    *(UnknownTags(), UnknownTags(b"\x00\x00"), UnknownTags(b"\x01\x01a\x05\x00"), UnknownTags(b"\x01\x02a")),
    *(UnknownTags(b"\x09\x00\x08\x00"), None, UNSET),
)
VALUES = {
    "flag": BOOLEANS,
    "replicas": ARRAYS,
    "isr": ARRAYS,
    "unknown_tags": TAGS,
    **dict.fromkeys(("tiny", "short", "number", "long", "code", "size", "since_two", "only_two"), INTEGERS),
}


def row(index: int) -> Row:
    replicas = (index + 1, index + 2, 1_000 + index)
    return Row(
        flag=index % 2 == 0,
        tiny=index % 100 - 50,
        short=300 + index,
        number=100_000 + index,
        long=index - (1 << 40),
        code=40_000 + index,
        size=(1 << 31) + index,
        replicas=replicas,
        isr=replicas,
    )


def rows(count: int = ROWS) -> Rows:
    return Rows(rows=tuple([row(index) for index in range(count)]), after=9)


def assert_codecs_agree(message: Rows, version: int) -> None:
    assert outcome(kwire.encode, message, version=version) == outcome(reference.encode, message, version=version)


@for_rows("version", VERSIONS)
@for_rows("count", [0, 1, 2, 3, 1000])
def test_rows_have_the_bytes_of_single_rows(count: int, version: int) -> None:
    message = rows(count)
    body = kwire.encode(message, version=version)
    assert body == reference.encode(message, version=version)
    assert kwire.decode(Rows, body, version=version) == message
    one = len(kwire.encode(rows(1), version=version)) - len(kwire.encode(rows(0), version=version))
    assert len(body) - one * count in range(6, 12)


@for_rows("version", VERSIONS)
@for_rows("name", VALUES)
def test_one_row_has_an_unusual_value(name: str, version: int) -> None:
    for position in (0, 1, 3, ROWS - 1):
        for value in VALUES[name]:
            message = rows()
            put(message.rows[position], name, value)
            assert_codecs_agree(message, version)


@for_rows("version", VERSIONS)
@for_rows("name", VALUES)
def test_all_rows_have_an_unusual_value(name: str, version: int) -> None:
    for value in VALUES[name]:
        message = rows()
        for row in message.rows:
            put(row, name, value)
        assert_codecs_agree(message, version)


@for_rows("version", VERSIONS)
@for_rows("position", [0, 2, ROWS - 1])
def test_one_element_is_not_a_plain_row(position: int, version: int) -> None:
    changes = {f.name: getattr(row(position), f.name) for f in fields(Row)}
    for element in (OwnRow(**changes), Stranger(), None, 5, Row()):
        message = rows()
        elements: list[Any] = list(message.rows)
        elements[position] = element
        put(message, "rows", tuple(elements))
        assert_codecs_agree(message, version)


@for_rows("version", VERSIONS)
def test_lengths_change_from_row_to_row(version: int) -> None:
    for period in range(1, 6):
        message = rows(24)
        for index, row in enumerate(message.rows):
            put(row, "isr", tuple(range(index // period % 3)))
            put(row, "replicas", tuple(range(index % 4)))
        assert_codecs_agree(message, version)


@for_rows("version", VERSIONS)
def test_isr_equals_the_replicas_of_another_row(version: int) -> None:
    message = rows()
    for row, other in zip(message.rows, reversed(message.rows), strict=True):
        put(row, "isr", other.replicas)
    assert_codecs_agree(message, version)
    for row in message.rows:
        put(row, "isr", (*row.replicas,))
    assert_codecs_agree(message, version)


@for_rows("version", VERSIONS)
def test_first_error_in_wire_order_is_reported(version: int) -> None:
    message = rows()
    put(message.rows[4], "tiny", 1000)
    put(message.rows[2], "isr", (1, 2, None))
    put(message.rows[2], "size", -1)
    path = outcome(kwire.encode, message, version=version).fault
    assert path is not None
    assert path[2] == ("rows", 2, "size")
    assert_codecs_agree(message, version)


class WideRow(Struct):
    """Has more int32 fields in a row and more arrays than the engine takes in one loop."""

    first: int32 = 0
    second: int32 = 0
    third: int32 = 0
    fourth: int32 = 0
    fifth: int32 = 0
    one: array[int32] = ()
    sixth: int32 = 0
    code: int16 = 0
    two: array[int32] = ()
    three: array[int32] = ()
    four: array[int32] = ()
    seventh: int32 = 0
    eighth: int32 = 0
    five: array[int32] = field(since=2, default=())


class WideRows(Message, versions="0-2", flexible="1+"):
    rows: array[WideRow] = ()


NUMBERS = ("first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth")
LISTS = ("one", "two", "three", "four", "five")
LISTS_OF_A_LENGTH = 12
"""Few, so that many arrays of neighbors are equal."""


def wide_rows(random: Random, version: int) -> WideRows:
    """Return rows of few layouts, some of whose columns are the same in all rows."""
    ranges = [random.choice([(3, 3), (0, 5), (250, 262), (-8, 8), (-(2**31), 2**31 - 1)]) for _ in NUMBERS]
    lengths = [random.choice([0, 1, 2, 3, 3, 3, 4, 5]) for _ in LISTS]
    lists = {
        length: [tuple([random.randrange(1, 300) for _ in range(length)]) for _ in range(LISTS_OF_A_LENGTH)]
        for length in range(6)
    }

    def row() -> WideRow:
        numbers = [random.randint(*each) for each in ranges]
        # Equal arrays are one object, or two.
        arrays = [random.choice(lists[length]) for length in lengths]
        for index, length in enumerate(lengths):
            if random.random() < 0.7:
                arrays[index] = next(array for array in arrays if len(array) == length)
            if random.random() < 0.1:
                arrays[index] = (*arrays[index][:1], *arrays[index][1:])
        if random.random() < 0.02:
            arrays[random.randrange(len(LISTS))] = random.choice(lists[random.randrange(6)])
        values: dict[str, Any] = dict(zip(NUMBERS, numbers, strict=True))
        values.update(zip(LISTS if version == 2 else LISTS[:4], arrays, strict=False))
        return WideRow(**values, code=random.choice([0, -32768, 7, 300]))

    return WideRows(rows=tuple([row() for _ in range(random.choice([1, 2, 5, 33, 70]))]))


@for_rows("version", VERSIONS)
@for_rows("seed", range(60))
def test_wide_rows_are_those_of_the_reference(seed: int, version: int) -> None:
    message = wide_rows(Random(seed), version)
    body = kwire.encode(message, version=version)
    assert body == reference.encode(message, version=version)
    decoded = kwire.decode(WideRows, body, version=version)
    assert decoded == message == reference.decode(WideRows, body, version=version)
    assert kwire.encode(decoded, version=version) == body


def test_lists_that_replace_each_other_in_the_table() -> None:
    """Most lists repeat before other lists have replaced them in the table, and some afterwards."""
    random = Random(1)
    lists = [tuple([random.randrange(1 << 20) for _ in range(random.randrange(1, 5))]) for _ in range(20_000)]
    chosen = [random.choice(lists[:4000] if random.random() < 0.9 else lists) for _ in range(24_000)]
    message = WideRows(rows=tuple([WideRow(one=each, two=each, three=chosen[0]) for each in chosen]))
    body = kwire.encode(message, version=1)
    for _ in range(2):
        assert kwire.decode(WideRows, body, version=1) == message
