"""Spans: the bytes of each value of a body, for annotated dumps.

Spans are recorded by the functions of the decoder. The spans of a valid body are contiguous and cover every byte.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from kwire.errors import DecodeError
from kwire.reference.decoder import Input, Readers
from kwire.reference.layout import layout_of

if TYPE_CHECKING:
    from typing import Any

    from kwire.declare import Message
    from kwire.declare.wire_types import Primitive
    from kwire.errors import PathElement
    from kwire.reference.decoder import BytesLike, Read


class Span(NamedTuple):
    """The bytes of one value.

    `path` has the field names and indexes down to the value or, for parts of the tagged fields, down to the struct.
    `type` is a type as in plans (`int32`, `compact_string` with its length) or another part: `count` of an array (None
    for null), `marker` of a nullable struct, `control` of maybe[...], `tag count`, `tag`, `tag size`, or `unknown tag`
    (its bytes).
    """

    path: tuple[PathElement, ...]
    start: int
    end: int
    type: str
    value: Any


def spans(cls: type[Message], data: BytesLike, *, version: int) -> tuple[list[Span], DecodeError | None]:
    """Return the spans of a body and None or, for an invalid body, the spans before the error and the error."""
    source = SpanInput(data)
    read = SpanReaders(layout_of(cls, version)).message()
    try:
        read(source)
    except DecodeError as error:
        return source.spans, error
    return source.spans, None


class SpanInput(Input):
    """An input that records spans."""

    __slots__ = ("spans",)

    def __init__(self, data: BytesLike) -> None:
        super().__init__(data)
        self.spans: list[Span] = []


class SpanReaders(Readers):
    """Readers that record each part."""

    def part(self, type: str, read: Read) -> Read:
        def read_and_record(source: Any) -> Any:
            start = source.position
            value = read(source)
            source.spans.append(Span(tuple(source.path), start, source.position, type, value))
            return value

        return read_and_record

    def integers(self, element: Primitive, read_count: Read) -> Read:
        """Return a function that reads integers one by one, so that each has a span."""
        return self.elements(self.primitive(element), element.size, read_count)
