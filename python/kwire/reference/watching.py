"""Which bytes of a body are which value: for dumps, and for finding out why a frame is wrong.

Rules of this file: it reads with the decoder's own functions, and only notes what they took. The spans of a valid body
lie one behind the other and cover every byte of it.
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
    """Bytes that were read as one value.

    ``path``: names and indexes down to the value; for parts of a tag section, to the struct that it ends. ``type``:
    a type as plans spell it (``int32``, ``compact_string``: with its length), or a part that is no value of its own:
    ``count`` of an array (None for null), ``marker`` of a nullable struct, ``control`` of maybe[...], ``tag count``,
    ``tag``, ``tag size``, ``unknown tag`` (its bytes).
    """

    path: tuple[PathElement, ...]
    start: int
    end: int
    type: str
    value: Any


def spans(cls: type[Message], data: BytesLike, *, version: int) -> tuple[list[Span], DecodeError | None]:
    """The spans of a body, and None; for a body that is wrong, those before the fault, and the error."""
    source = Watched(data)
    read = WatchingReaders(layout_of(cls, version)).message()
    try:
        read(source)
    except DecodeError as error:
        return source.spans, error
    return source.spans, None


class Watched(Input):
    """An input that remembers what was read from it."""

    __slots__ = ("spans",)

    def __init__(self, data: BytesLike) -> None:
        super().__init__(data)
        self.spans: list[Span] = []


class WatchingReaders(Readers):
    """Readers that note each part they read."""

    def part(self, type: str, read: Read) -> Read:
        def read_and_note(source: Any) -> Any:
            start = source.position
            value = read(source)
            source.spans.append(Span(tuple(source.path), start, source.position, type, value))
            return value

        return read_and_note

    def integers(self, element: Primitive, read_count: Read) -> Read:
        """One by one, so that each has its span."""
        return self.elements(self.primitive(element), element.size, read_count)
