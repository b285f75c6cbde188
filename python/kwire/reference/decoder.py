"""Decoder of the reference codec.

Each field gets a function that reads its type, created once; the function of a struct calls its fields' functions. A
function checks the remaining input before it reads. The offset of an error is the start of the invalid value.
"""

from __future__ import annotations

from struct import Struct as Format
from struct import unpack_from
from uuid import UUID

from kwire.declare.introspect import check_version
from kwire.declare.unknown_tags import NO_TAGS, UnknownTags
from kwire.declare.wire_types import (
    ArrayType,
    BytesType,
    MaybeType,
    NullableType,
    Primitive,
    StringType,
    StructType,
    WireType,
    boolean,
    int8,
    int16,
    int32,
)
from kwire.errors import DecodeError
from kwire.reference.formats import FORMATS, MAX_STRING_LENGTH, uvarint
from kwire.reference.layout import StructLayout, layout_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, TypeAlias, TypeVar

    from kwire.declare import Message
    from kwire.errors import DecodeKind, PathElement

    M = TypeVar("M", bound=Message)
    BytesLike: TypeAlias = bytes | bytearray | memoryview
    Read: TypeAlias = Callable[["Input"], Any]


def decode(cls: type[M], data: BytesLike, *, version: int) -> M:
    """Decode the body of a message, like `kwire.decode`."""
    if type(version) is not int or not isinstance(cls, type):
        check_version(cls, version)  # True and 1.0 equal 1, so the cache would find them
    readers = cls.__dict__.get("__kwire_readers__")
    if readers is None:
        check_version(cls, version)
        readers = cls.__kwire_readers__ = {}  # type: ignore[attr-defined]  # a cache of this module
    read = readers.get(version)
    if read is None:
        read = readers[version] = reader_of(layout_of(cls, version))
    message: M = read(data if type(data) is bytes else bytes(memoryview(data)))
    return message


def reader_of(layout: StructLayout) -> Callable[[bytes], Any]:
    """Return the function that decodes a message."""
    read_message = Readers(layout).message()

    def read(data: bytes) -> Any:
        return read_message(Input(data))

    return read


def validate(cls: type[Message], data: BytesLike, *, version: int) -> None:
    """Check the body of a message, like `kwire.validate`."""
    decode(cls, data, version=version)


class Input:
    """The input, the current position, the end for the current value, and the path to it."""

    __slots__ = ("data", "end", "path", "position")

    def __init__(self, data: BytesLike, position: int = 0) -> None:
        self.data = data if type(data) is bytes else bytes(memoryview(data))
        self.position = position
        self.end = len(self.data)
        self.path: list[PathElement] = []

    def take(self, size: int, start: int) -> bytes:
        """Return the next `size` bytes of a value that starts at `start`."""
        position = self.position
        stop = position + size
        if stop > self.end:
            raise self.fault("truncated", start, size, self.end - position)
        self.position = stop
        return self.data[position:stop]

    def fault(self, kind: DecodeKind, offset: int, wanted: int | None = None, left: int | None = None) -> DecodeError:
        return DecodeError(kind, offset, tuple(self.path), wanted, left)


def read_uvarint(source: Input) -> int:
    """Read an unsigned varint of at most five bytes and 32 bits, which can be longer than necessary."""
    start = position = source.position
    if position < source.end and source.data[position] < 0x80:
        # Almost all varints have one byte.
        source.position = position + 1
        return source.data[position]
    value = shift = 0
    while True:
        if position >= source.end:
            raise source.fault("truncated", start, 1, 0)
        byte = source.data[position]
        position += 1
        if shift == 28 and byte > 0x0F:
            raise source.fault("varint_overflow", start)
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            source.position = position
            return value
        shift += 7


def read_fixed(type: Primitive) -> Read:
    """Return the function that reads a type of fixed size."""
    unpack = Format(">" + FORMATS[type.name]).unpack_from
    size = type.size

    def read(source: Input) -> Any:
        start = source.position
        stop = start + size
        if stop > source.end:
            raise source.fault("truncated", start, size, source.end - start)
        source.position = stop
        return unpack(source.data, start)[0]

    return read


def read_uuid(source: Input) -> UUID:
    return UUID(bytes=source.take(16, source.position))


def read_sized(source: Input, size: int, read: Read) -> Any:
    """Read a value that must use exactly the next `size` bytes."""
    start = source.position
    outer_end = source.end
    if size > outer_end - start:
        raise source.fault("truncated", start, size, outer_end - start)
    source.end = start + size
    value = read(source)
    if source.position < source.end:
        raise source.fault("tag_size", start, size, source.end - source.position)
    source.end = outer_end
    return value


def read_rest(source: Input) -> bytes:
    return source.take(source.end - source.position, source.position)


def reject_excessive_count(source: Input, start: int, wanted: int) -> None:
    """Reject a count if that many elements of minimum size do not fit in the remaining input."""
    left = source.end - source.position
    if wanted > left:
        raise source.fault("count_exceeds_input", start, wanted, left)


class Readers:
    """Creates the functions that read one version of a message."""

    def __init__(self, layout: StructLayout) -> None:
        self.layout = layout
        self.structs: dict[object, Read] = {}

    def part(self, type: str, read: Read) -> Read:  # noqa: ARG002  # for watchers
        """Return a function that reads a part. Every byte is read by such a function; `value_spans` overrides it."""
        return read

    def message(self) -> Read:
        read_body = self.struct(self.layout)

        def read_message(source: Input) -> Any:
            message = read_body(source)
            if source.position < source.end:
                raise source.fault("trailing_bytes", source.position, 0, source.end - source.position)
            return message

        return read_message

    def struct(self, layout: StructLayout) -> Read:
        if layout.struct not in self.structs:
            self.structs[layout.struct] = self._struct(layout)
        return self.structs[layout.struct]

    def _struct(self, layout: StructLayout) -> Read:
        struct: Any = layout.struct
        make = struct.__new__
        present = [
            (placed.name, placed.member.__set__, self.read(placed.type, layout, placed.compact))
            for placed in layout.present
        ]
        defaults = [(placed.member.__set__, placed.default) for placed in layout.tagged.values()]
        defaults += [(getattr(struct, f.name).__set__, f.default) for f in layout.absent]
        set_unknown_tags = struct.unknown_tags.__set__
        read_tags = self.tag_section(layout) if layout.flexible else None

        def read_struct(source: Input) -> Any:
            instance = make(struct)
            path = source.path
            path.append("")
            for name, set_field, read in present:
                path[-1] = name
                set_field(instance, read(source))
            path.pop()
            for set_field, default in defaults:
                set_field(instance, default)
            set_unknown_tags(instance, NO_TAGS if read_tags is None else read_tags(source, instance))
            return instance

        return read_struct

    def tag_section(self, layout: StructLayout) -> Callable[[Input, Any], UnknownTags]:
        declared = {
            tag: (placed.name, placed.member.__set__, self.read(placed.type, layout, placed.compact))
            for tag, placed in layout.tagged.items()
        }
        read_count = self.part("tag count", read_uvarint)
        read_tag = self.part("tag", read_uvarint)
        read_size = self.part("tag size", read_uvarint)
        read_unknown = self.part("unknown tag", read_rest)

        def read_tags(source: Input, instance: Any) -> UnknownTags:
            start = source.position
            count = read_count(source)
            if count == 0:
                return NO_TAGS
            reject_excessive_count(source, start, count * 2)
            unknown = bytearray()
            highest = -1
            # Tags ascend (KIP-482), so a repeated one is out of order as well.
            for _ in range(count):
                start = source.position
                tag = read_tag(source)
                if tag <= highest:
                    raise source.fault("tag_order", start)
                highest = tag
                if tag in declared:
                    name, set_field, read = declared[tag]
                    source.path.append(name)
                    set_field(instance, read_sized(source, read_size(source), read))
                    source.path.pop()
                else:
                    size = read_size(source)
                    unknown += uvarint(tag) + uvarint(size) + read_sized(source, size, read_unknown)
            return UnknownTags(bytes(unknown)) if unknown else NO_TAGS

        return read_tags

    def read(self, type: WireType, layout: StructLayout, compact: bool, *, nullable: bool = False) -> Read:
        """Return the function that reads `type` in a field with compact or classic lengths."""
        match type:
            case Primitive():
                return self.primitive(type)
            case StringType():
                return self.string(compact, nullable)
            case BytesType():
                return self.octets(compact, nullable)
            case ArrayType(element=element):
                return self.array(element, layout, compact, nullable)
            case NullableType(inner=StructType(struct=struct)):
                return self.nullable_struct(self.struct(layout.of(struct)))
            case NullableType(inner=inner):
                return self.read(inner, layout, compact, nullable=True)
            case MaybeType(inner=inner):
                return self.maybe(self.read(inner, layout, compact))
            case StructType(struct=struct):
                return self.struct(layout.of(struct))
        raise TypeError(f"{type!r} cannot be read")

    def primitive(self, type: Primitive) -> Read:
        return self.part(type.name, read_uuid if type.name == "uuid" else read_fixed(type))

    def string(self, compact: bool, nullable: bool) -> Read:
        read_length = self.length(compact, nullable, int16)

        def read_string(source: Input) -> str | None:
            start = source.position
            length = read_length(source)
            if length is None:
                return None
            if length > MAX_STRING_LENGTH:
                raise source.fault("too_long", start)
            try:
                return source.take(length, start).decode()
            except UnicodeDecodeError:
                raise source.fault("invalid_utf8", start) from None

        return self.part("compact_string" if compact else "string", read_string)

    def octets(self, compact: bool, nullable: bool) -> Read:
        read_length = self.length(compact, nullable, int32)

        def read_octets(source: Input) -> bytes | None:
            start = source.position
            length = read_length(source)
            return None if length is None else source.take(length, start)

        return self.part("compact_bytes" if compact else "bytes", read_octets)

    def array(self, element: WireType, layout: StructLayout, compact: bool, nullable: bool) -> Read:
        read_count = self.part("count", self.length(compact, nullable, int32))
        if isinstance(element, Primitive) and element.is_integer:
            return self.integers(element, read_count)
        return self.elements(self.read(element, layout, compact), layout.smallest(element, compact), read_count)

    def elements(self, read_element: Read, smallest: int, read_count: Read) -> Read:
        def read_elements(source: Input) -> tuple[Any, ...] | None:
            start = source.position
            count = read_count(source)
            if count is None:
                return None
            reject_excessive_count(source, start, count * smallest)
            path = source.path
            path.append(0)
            elements = []
            for index in range(count):
                path[-1] = index
                elements.append(read_element(source))
            path.pop()
            return tuple(elements)

        return read_elements

    def integers(self, element: Primitive, read_count: Read) -> Read:
        """Return the function that reads an array of integers at once, because integers are always valid."""
        code = FORMATS[element.name]
        size = element.size

        def read_integers(source: Input) -> tuple[int, ...] | None:
            start = source.position
            count = read_count(source)
            if count is None:
                return None
            reject_excessive_count(source, start, count * size)
            position = source.position
            source.position = position + count * size
            return unpack_from(f">{count}{code}", source.data, position)

        return read_integers

    def nullable_struct(self, read_struct: Read) -> Read:
        read_marker = self.part("marker", read_fixed(int8))

        def read_nullable_struct(source: Input) -> Any:
            start = source.position
            marker = read_marker(source)
            if marker == 1:
                return read_struct(source)
            if marker == -1:
                return None
            raise source.fault("invalid_marker", start)

        return read_nullable_struct

    def maybe(self, read_inner: Read) -> Read:
        read_control = self.part("control", read_fixed(boolean))

        def read_maybe(source: Input) -> Any:
            return read_inner(source) if read_control(source) else None

        return read_maybe

    def length(self, compact: bool, nullable: bool, classic: Primitive) -> Read:
        """Return the function that reads a length or count, which is None for null."""
        read_classic = read_fixed(classic)

        def read_length(source: Input) -> int | None:
            start = source.position
            # A compact length is stored plus one, with 0 for null.
            length: int = read_uvarint(source) - 1 if compact else read_classic(source)
            if length >= 0:
                return length
            if length < -1:
                raise source.fault("negative_length", start)
            if not nullable:
                raise source.fault("null_not_allowed", start)
            return None

        return read_length
