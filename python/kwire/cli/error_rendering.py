"""An error for a person: the sentence, what was being read, and the bytes around the fault, which carets point at.

Rules of this file: what is marked follows from the kind of the error and the type of the field.

    Error: brokers[0].host: negative_length at byte 8

      in MetadataResponse v1, 18 bytes; the field is a string

           0  0000  00 00 00 01 00 00 00 01  80 00 00 00 00 00 00 00  |................|
                                             ^^^^^
          16  0010  00 00                                             |..|
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kwire.declare.introspect import describe, fields
from kwire.declare.wire_types import ArrayType, BytesType, MaybeType, NullableType, StringType, StructType
from kwire.errors import DecodeError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kwire.cli.colors import Paint
    from kwire.cli.frames import Frame, Part
    from kwire.declare.wire_types import WireType
    from kwire.errors import PathElement

IN_A_ROW = 16
ROWS_AROUND = 1
MARKED_ROWS = 2


def fault_text(frame: Frame, paint: Paint) -> str:
    """The problem of a frame, in full."""
    problem = frame.problem
    where = "".join(f"{name} {number}: " for name, number in frame.where.items())
    lines = [f"{paint('fault', 'Error')}: {where}{problem}"]
    if isinstance(problem, DecodeError):
        part = _part_at(frame, problem)
        spelled = type_text(part, problem.path)
        lines += [
            "",
            f"  in {part.title}, {len(part.data)} bytes" + (f"; the field is {spelled}" if spelled else ""),
            "",
            *(f"  {row}" for row in bytes_around(frame.payload, problem.offset, extent(part, problem), paint)),
        ]
    return "\n".join(lines)


def bytes_around(data: bytes, start: int, length: int, paint: Paint) -> Iterator[str]:
    """Rows of bytes with carets under ``length`` bytes from ``start``; at the end of the input, behind the last."""
    end = min(start + length, (start // IN_A_ROW + MARKED_ROWS) * IN_A_ROW)
    first = max(start // IN_A_ROW - ROWS_AROUND, 0) * IN_A_ROW
    last = min(max(end - 1, start) // IN_A_ROW + ROWS_AROUND, max(len(data) - 1, start) // IN_A_ROW) * IN_A_ROW
    for row in range(first, last + 1, IN_A_ROW):
        chunk = data[row : row + IN_A_ROW]
        halves = f"{chunk[:8].hex(' '):23}  {chunk[8:].hex(' '):23}"
        text = "".join(chr(byte) if 32 <= byte < 127 else "." for byte in chunk)
        yield f"{paint('quiet', f'{row:6}  {row:04x}')}  {halves}  {paint('quiet', f'|{text}|')}"
        marked = range(max(start, row), min(max(end, start + 1), row + IN_A_ROW))
        if marked:
            left, right = _column(marked[0] - row), _column(marked[-1] - row) + 2
            yield " " * (14 + left) + paint("fault", "^" * (right - left))


def _column(place: int) -> int:
    return place * 3 + (place >= IN_A_ROW // 2)


def extent(part: Part, error: DecodeError) -> int:
    """How many bytes are at fault: all of a number, of a string what its length covers, as far as there is any."""
    left = part.start + len(part.data) - error.offset
    data = part.data[error.offset - part.start :]
    size = _size_of_length(part, error.path, data)
    match error.kind:
        case "trailing_bytes":
            found = left
        case "tag_size":
            found = error.wanted or 0
        case "truncated":
            found = left if size == 0 else size + (error.left or 0)
        case "invalid_utf8":
            found = size + _length(data[:size])
        case "varint_overflow":
            found = 5
        case "invalid_marker":
            found = 1
        case _:
            found = size
    return max(min(found, left), 1)


def type_text(part: Part, path: tuple[PathElement, ...]) -> str:
    """The type of the field at a path, in a word or two; empty for a message or a struct."""
    field_type, compact = _type_at(part, path)
    word = "compact " if compact else ""
    match field_type:
        case StringType():
            return f"a {word}string"
        case BytesType():
            return f"{word}bytes"
        case ArrayType():
            return f"{'a' if compact else 'an'} {word}array"
        case None | StructType() | NullableType() | MaybeType():
            return ""
    return f"{'an' if repr(field_type).startswith('i') else 'a'} {field_type!r}"


def _part_at(frame: Frame, error: DecodeError) -> Part:
    return next(part for part in reversed(frame.parts) if part.start <= error.offset)


def _type_at(part: Part, path: tuple[PathElement, ...]) -> tuple[WireType | None, bool]:
    """What is declared at a path, its null apart, and whether its length is a varint; None for the message itself."""
    struct: Any = part.cls
    found: WireType | None = None
    flexible = describe(part.cls).is_flexible(part.version)
    compact = flexible
    for element in path:
        if isinstance(element, int):
            assert isinstance(found, ArrayType)
            found = found.element
        else:
            field = next(f for f in fields(struct) if f.name == element)
            found, compact = field.type, flexible and field.compact
        while isinstance(found, (NullableType, MaybeType)):
            found = found.inner
        if isinstance(found, StructType):
            struct = found.struct
    return found, compact


def _size_of_length(part: Part, path: tuple[PathElement, ...], data: bytes) -> int:
    """Bytes of the length that a value begins with, or of a part of the tag section; 0 where there is neither."""
    field_type, compact = _type_at(part, path)
    varint = next((place for place, byte in enumerate(data[:5], 1) if byte < 0x80), len(data[:5]))
    match field_type:
        case StringType():
            return varint if compact else 2
        case BytesType() | ArrayType():
            return varint if compact else 4
        case None | StructType():
            return varint
    return 0


def _length(data: bytes) -> int:
    """What the length of a string says: two bytes if it is classic, a varint of one more if it is compact."""
    if len(data) == 2 and data[0] < 0x80:
        return int.from_bytes(data, "big")
    return sum((byte & 0x7F) << (7 * place) for place, byte in enumerate(data)) - 1
