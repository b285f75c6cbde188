"""Renders an error for people: the message, the field, and a hex dump with carets under the malformed bytes.

The kind of the error and the type of the field decide which bytes are marked.

    Error: brokers[0].host: negative_length at byte 8

      in MetadataResponse v1, 18 bytes; the field is a string

           0  0000  00 00 00 01 00 00 00 01  80 00 00 00 00 00 00 00  |................|
                                             ^^^^^
          16  0010  00 00                                             |..|
"""

from __future__ import annotations

from kwire._util.light_typing import TYPE_CHECKING, Any
from kwire.declare.introspect import describe, fields
from kwire.declare.wire_types import ArrayType, BytesType, MaybeType, NullableType, StringType, StructType
from kwire.errors import DecodeError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kwire.cli.frames import Frame, Part
    from kwire.declare.wire_types import WireType
    from kwire.errors import PathElement
    from kwire.terminal.colors import Paint

ROW_SIZE = 16
CONTEXT_ROWS = 1
MAX_MARKED_ROWS = 2


def render_error(frame: Frame, paint: Paint) -> str:
    """Render the error of a frame with its context."""
    error = frame.error
    position = "".join(f"{name} {number}: " for name, number in frame.position.items())
    lines = [f"{paint('error', 'Error')}: {position}{error}"]
    if isinstance(error, DecodeError):
        part = _part_at(frame, error)
        field_type = type_name(part, error.path)
        lines += [
            "",
            f"  in {part.title}, {len(part.data)} bytes" + (f"; the field is {field_type}" if field_type else ""),
            "",
            *(f"  {row}" for row in marked_rows(frame.payload, error.offset, marked_size(part, error), paint)),
        ]
    return "\n".join(lines)


def marked_rows(data: bytes, start: int, length: int, paint: Paint) -> Iterator[str]:
    """Return rows of bytes with carets under `length` bytes from `start`, which may be the end of the input."""
    end = min(start + length, (start // ROW_SIZE + MAX_MARKED_ROWS) * ROW_SIZE)
    first = max(start // ROW_SIZE - CONTEXT_ROWS, 0) * ROW_SIZE
    last = min(max(end - 1, start) // ROW_SIZE + CONTEXT_ROWS, max(len(data) - 1, start) // ROW_SIZE) * ROW_SIZE
    for row in range(first, last + 1, ROW_SIZE):
        chunk = data[row : row + ROW_SIZE]
        halves = f"{chunk[:8].hex(' '):23}  {chunk[8:].hex(' '):23}"
        text = "".join(chr(byte) if 32 <= byte < 127 else "." for byte in chunk)
        yield f"{paint('quiet', f'{row:6}  {row:04x}')}  {halves}  {paint('quiet', f'|{text}|')}"
        marked = range(max(start, row), min(max(end, start + 1), row + ROW_SIZE))
        if marked:
            left, right = _column(marked[0] - row), _column(marked[-1] - row) + 2
            yield " " * (14 + left) + paint("error", "^" * (right - left))


def _column(index: int) -> int:
    return index * 3 + (index >= ROW_SIZE // 2)


def marked_size(part: Part, error: DecodeError) -> int:
    """Return how many bytes to mark: a whole number, or a string with its length, up to the end of the input."""
    left = part.start + len(part.data) - error.offset
    data = part.data[error.offset - part.start :]
    size = _length_size(part, error.path, data)
    match error.kind:
        case "trailing_bytes":
            marked = left
        case "tag_size":
            marked = error.wanted or 0
        case "truncated":
            marked = left if size == 0 else size + (error.left or 0)
        case "invalid_utf8":
            marked = size + _decode_length(data[:size])
        case "varint_overflow":
            marked = 5
        case "invalid_marker":
            marked = 1
        case _:
            marked = size
    return max(min(marked, left), 1)


def type_name(part: Part, path: tuple[PathElement, ...]) -> str:
    """Return the type of the field at a path in a few words; an empty string for a message or a struct."""
    field_type, compact = _type_at(part, path)
    prefix = "compact " if compact else ""
    match field_type:
        case StringType():
            return f"a {prefix}string"
        case BytesType():
            return f"{prefix}bytes"
        case ArrayType():
            return f"{'a' if compact else 'an'} {prefix}array"
        case None | StructType() | NullableType() | MaybeType():
            return ""
    return f"{'an' if repr(field_type).startswith('i') else 'a'} {field_type!r}"


def _part_at(frame: Frame, error: DecodeError) -> Part:
    return next(part for part in reversed(frame.parts) if part.start <= error.offset)


def _type_at(part: Part, path: tuple[PathElement, ...]) -> tuple[WireType | None, bool]:
    """Return the declared type at a path without `nullable`, and whether its length is a varint.

    The type of the message itself is None.
    """
    struct: Any = part.cls
    wire_type: WireType | None = None
    flexible = describe(part.cls).is_flexible(part.version)
    compact = flexible
    for element in path:
        if isinstance(element, int):
            assert isinstance(wire_type, ArrayType)
            wire_type = wire_type.element
        else:
            field = next(f for f in fields(struct) if f.name == element)
            wire_type, compact = field.type, flexible and field.compact
        while isinstance(wire_type, (NullableType, MaybeType)):
            wire_type = wire_type.inner
        if isinstance(wire_type, StructType):
            struct = wire_type.struct
    return wire_type, compact


def _length_size(part: Part, path: tuple[PathElement, ...], data: bytes) -> int:
    """Return the size of a value's length field, or of a varint of the tag section; 0 where there is neither."""
    field_type, compact = _type_at(part, path)
    varint = next((size for size, byte in enumerate(data[:5], 1) if byte < 0x80), len(data[:5]))
    match field_type:
        case StringType():
            return varint if compact else 2
        case BytesType() | ArrayType():
            return varint if compact else 4
        case None | StructType():
            return varint
    return 0


def _decode_length(data: bytes) -> int:
    """Decode the length of a string: an int16, or for a compact string a varint of the length plus one."""
    if len(data) == 2 and data[0] < 0x80:
        return int.from_bytes(data, "big")
    return sum((byte & 0x7F) << (7 * index) for index, byte in enumerate(data)) - 1
