"""Encoder of the reference codec.

Each field gets a function that writes its type, created once for each version of a message (`Writers`). Constructors
reject invalid values, but slots can be set without them, so every value is checked again. A slot can hold any object,
so no method of a value or of its class is called: types are checked with `is_a`, and subclasses of str, bytes, and
tuple are read through the base class.

Tests compare bytes and errors with the engine. So the order of checks counts: of several faults in a message, both
codecs report the same one. After an error, the output is discarded: its path names the fault and is not restored.
"""

from __future__ import annotations

from itertools import repeat
from operator import is_
from struct import Struct as Format
from struct import error as struct_error
from struct import pack
from uuid import UUID

from kwire.declare import Struct
from kwire.declare.introspect import check_version
from kwire.declare.lazy import message_of
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
    int16,
    int32,
)
from kwire.errors import DecodeError, EncodeError
from kwire.reference.decoder import Input, read_rest, read_sized, read_uvarint
from kwire.reference.formats import FORMATS, LARGEST_COUNT, MAX_STRING_LENGTH, uvarint
from kwire.reference.layout import StructLayout, layout_of
from kwire.reference.slot_values import (
    UNSET,
    exact_bytes,
    exact_tuple,
    get_uuid_number,
    getter,
    is_a,
    is_default,
    is_written_default,
    pack_float,
    type_name,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, TypeAlias

    from kwire.declare import Message
    from kwire.errors import EncodeKind, PathElement

    Write: TypeAlias = Callable[["EncoderOutput", Any], None]


def encode(message: Message, *, version: int) -> bytes:
    """Encode the body of a message, like `kwire.encode`."""
    message = message_of(message)
    cls: Any = type(message)
    if type(version) is not int or is_a(message, type):
        if is_a(message, type):
            raise TypeError(f"message: expected an instance, found the class {type_name(message)}")
        check_version(cls, version)
    # From the dictionary of the class itself: a subclass has other fields than the base that it would inherit from.
    writers = cls.__dict__.get("__kwire_writers__")
    if writers is None:
        check_version(cls, version)
        writers = cls.__kwire_writers__ = {}
    write = writers.get(version)
    if write is None:
        write = writers[version] = writer_of(layout_of(cls, version))
    encoded: bytes = write(message)
    return encoded


def writer_of(layout: StructLayout) -> Callable[[Any], bytes]:
    """Return the function that encodes a message."""
    write_message = Writers(layout).message()

    def write(message: Any) -> bytes:
        output = EncoderOutput()
        write_message(output, message)
        return bytes(output.data)

    return write


class EncoderOutput:
    """The bytes written so far, and the path to the current value."""

    __slots__ = ("data", "path")

    def __init__(self) -> None:
        self.data = bytearray()
        self.path: list[PathElement] = []

    def fault(self, kind: EncodeKind, reason: str) -> EncodeError:
        return EncodeError(kind, tuple(self.path), reason)

    def wrong_type(self, wanted: str, value: object) -> EncodeError:
        """Return the error for a value of a wrong type."""
        if value is None:
            return self.fault("null_not_allowed", f"expected {wanted}, found None")
        actual = "nothing" if value is UNSET else type_name(type(value))
        return self.fault("wrong_type", f"expected {wanted}, found {actual}")


class Writers:
    """Creates the functions that write one version of a message."""

    def __init__(self, layout: StructLayout) -> None:
        self.layout = layout
        self.structs: dict[object, Write] = {}

    def message(self) -> Write:
        return self.struct(self.layout)

    def struct(self, layout: StructLayout) -> Write:
        if layout.struct not in self.structs:
            self.structs[layout.struct] = self._struct(layout)
        return self.structs[layout.struct]

    def _struct(self, layout: StructLayout) -> Write:
        struct: Any = layout.struct
        present = [
            (placed.name, placed.member.__get__, self.write(placed.type, layout, placed.compact))
            for placed in layout.present
        ]
        absent = [(f.name, getter(getattr(struct, f.name)), f.default) for f in layout.absent if not f.ignorable]
        reject_unknown = None if layout.flexible else reject_tags(layout)
        write_tags = self.tag_section(layout) if layout.flexible else None

        def write_struct(output: EncoderOutput, value: Any) -> None:
            if not is_a(value, struct):
                raise output.wrong_type(f"a {struct.__name__}", value)
            # Values that the version cannot carry come first, as in the engine, then fields in the order of the bytes.
            path = output.path
            path.append("")
            for name, get, default in absent:
                path[-1] = name
                reject_loss(output, get(value), default, layout.version)
            if reject_unknown is not None:
                reject_unknown(output, value)
            try:
                for name, get, write in present:
                    path[-1] = name
                    write(output, get(value))
            except AttributeError:  # from `get`: the slot is not set; no code of a value runs here
                raise output.wrong_type("a value", UNSET) from None
            path.pop()
            if write_tags is not None:
                write_tags(output, value)

        return write_struct

    def tag_section(self, layout: StructLayout) -> Write:
        declared = [
            (tag, placed.name, getter(placed.member), self.write(placed.type, layout, placed.compact), placed.default)
            for tag, placed in sorted(layout.tagged.items())
        ]

        def write_tags(output: EncoderOutput, value: Any) -> None:
            path = output.path
            path.append("unknown_tags")
            raw = raw_tags(output, value)
            if not raw and not declared:
                path.pop()
                output.data += b"\x00"
                return
            entries = entries_of(output, raw)
            for tag, _ in entries:
                if tag in layout.tagged:
                    raise output.fault("tag_clash", f"tag {tag} belongs to {layout.tagged[tag].name}")
            section = output.data
            for tag, name, get, write, default in declared:
                path[-1] = name
                content = get(value)
                # Written apart, since its size precedes it, and before it is compared with the default: an invalid
                # value is an error, and never passes for a default that is left out.
                output.data = bytearray()
                write(output, content)
                if isinstance(default, Struct):
                    unchanged = output.data == encoded(output, write, default)
                else:
                    unchanged = is_written_default(content, default)
                if not unchanged:
                    entries.append((tag, uvarint(tag) + uvarint(len(output.data)) + output.data))
            path.pop()
            output.data = section
            # Unknown and declared tags are one sequence, which must ascend (KIP-482).
            section += uvarint(len(entries))
            for _, entry in sorted(entries):
                section += entry

        return write_tags

    def write(self, type: WireType, layout: StructLayout, compact: bool, *, nullable: bool = False) -> Write:
        """Return the function that writes `type` in a field with compact or classic lengths."""
        match type:
            case Primitive(name="bool"):
                return write_bool
            case Primitive(name="float64"):
                return write_float
            case Primitive(name="uuid"):
                return write_uuid
            case Primitive():
                return integer(type)
            case StringType():
                return string(length(compact, int16), nullable)
            case BytesType():
                return octets(length(compact, int32), nullable)
            case ArrayType(element=Primitive(is_integer=True) as element):
                return array(length(compact, int32), nullable, integers(element))
            case ArrayType(element=element):
                return array(length(compact, int32), nullable, elements(self.write(element, layout, compact)))
            case NullableType(inner=StructType(struct=struct)):
                return prefixed(b"\x01", b"\xff", self.struct(layout.of(struct)))
            case NullableType(inner=inner):
                return self.write(inner, layout, compact, nullable=True)
            case MaybeType(inner=inner):
                return prefixed(b"\x01", b"\x00", self.write(inner, layout, compact))
            case StructType(struct=struct):
                return self.struct(layout.of(struct))
        raise TypeError(f"{type!r} cannot be written")


_struct: Any = Struct
_unknown_tags: Any = UnknownTags
_get_unknown_tags = getter(_struct.unknown_tags)
_get_raw = getter(_unknown_tags._raw)  # noqa: SLF001  # the slot, which can be empty in a forged object


def raw_tags(output: EncoderOutput, value: Any) -> bytes:
    """Return the raw unknown tags of a struct."""
    unknown = _get_unknown_tags(value)
    if unknown is NO_TAGS:
        return b""
    if not is_a(unknown, UnknownTags):
        raise output.wrong_type("UnknownTags", unknown)
    raw = _get_raw(unknown)
    if not is_a(raw, bytes):
        raise output.wrong_type("bytes", raw)
    return exact_bytes(raw)


def entries_of(output: EncoderOutput, raw: bytes) -> list[tuple[int, bytes]]:
    """Unknown tags taken apart: the number of each, and the bytes that it takes in a tag section."""
    source = Input(raw)
    entries: list[tuple[int, bytes]] = []
    try:
        while source.position < source.end:
            start = source.position
            tag = read_uvarint(source)
            read_sized(source, read_uvarint(source), read_rest)
            if entries and tag <= entries[-1][0]:  # strictly ascending, so also without duplicates (KIP-482)
                raise source.fault("tag_order", start)
            entries.append((tag, raw[start : source.position]))
    except DecodeError as error:
        raise output.fault("wrong_type", f"invalid unknown tags: {error}") from None
    return entries


def reject_tags(layout: StructLayout) -> Write:
    def write_no_tags(output: EncoderOutput, value: Any) -> None:
        output.path[-1] = "unknown_tags"
        if raw_tags(output, value):
            raise output.fault("tag_clash", f"version {layout.version} has no tags")

    return write_no_tags


def reject_loss(output: EncoderOutput, value: object, default: object, version: int) -> None:
    """Reject a value other than the default in a field that the version does not have."""
    if not is_default(value, default):
        raise output.fault("not_in_version", f"version {version} does not have this field")


def encoded(output: EncoderOutput, write: Write, value: Any) -> bytearray:
    """Return the bytes of a valid value, without adding them to the output."""
    before, output.data = output.data, bytearray()
    write(output, value)
    alone, output.data = output.data, before
    return alone


def integer(type: Primitive) -> Write:
    pack_one = Format(">" + FORMATS[type.name]).pack

    def write_integer(output: EncoderOutput, value: Any) -> None:
        if not is_a(value, int) or value is True or value is False:
            raise output.wrong_type("an int", value)
        try:
            output.data += pack_one(value)
        except struct_error:
            raise output.fault("out_of_range", f"{type!r} ranges from {type.lowest} to {type.highest}") from None

    return write_integer


def integers(element: Primitive) -> Write:
    """Return a function that writes plain integers at once, and others one by one to find the invalid one."""
    code = FORMATS[element.name]
    write_one_by_one = elements(integer(element))

    def write_integers(output: EncoderOutput, value: Any) -> None:
        # One call of `pack` is faster than one for each element. It does not say which element is out of range, so the
        # slow path writes them again to name its index.
        if all(map(is_, map(type, value), repeat(int))):
            try:
                output.data += pack(f">{len(value)}{code}", *value)
            except struct_error:
                write_one_by_one(output, value)
        else:
            write_one_by_one(output, value)

    return write_integers


def elements(write_element: Write) -> Write:
    def write_elements(output: EncoderOutput, value: Any) -> None:
        path = output.path
        path.append(0)
        for index, element in enumerate(value):
            path[-1] = index
            write_element(output, element)
        path.pop()

    return write_elements


def write_bool(output: EncoderOutput, value: Any) -> None:
    if value is not True and value is not False:
        raise output.wrong_type("True or False", value)
    output.data += b"\x01" if value else b"\x00"


def write_float(output: EncoderOutput, value: Any) -> None:
    if not is_a(value, float):
        raise output.wrong_type("a float", value)
    output.data += pack_float(value)


def write_uuid(output: EncoderOutput, value: Any) -> None:
    if not is_a(value, UUID):
        raise output.wrong_type("a uuid.UUID", value)
    number = get_uuid_number(value)
    if not is_a(number, int):
        raise output.wrong_type("a uuid.UUID with a number", number)
    try:
        output.data += int.to_bytes(number, 16, "big")
    except OverflowError:
        raise output.fault("out_of_range", "a uuid must have 16 bytes") from None


def string(write_length: Write, nullable: bool) -> Write:
    def write_string(output: EncoderOutput, value: Any) -> None:
        if value is None and nullable:
            write_length(output, None)
            return
        if not is_a(value, str):
            raise output.wrong_type("a str", value)
        try:
            encoded = str.encode(value)
        except UnicodeEncodeError:
            raise output.fault("invalid_utf8", "the string has a lone surrogate") from None
        if len(encoded) > MAX_STRING_LENGTH:
            raise output.fault("too_long", f"{len(encoded)} bytes of UTF-8 exceed the maximum of {MAX_STRING_LENGTH}")
        write_length(output, len(encoded))
        output.data += encoded

    return write_string


def octets(write_length: Write, nullable: bool) -> Write:
    def write_octets(output: EncoderOutput, value: Any) -> None:
        if value is None and nullable:
            write_length(output, None)
            return
        if not is_a(value, bytes):
            raise output.wrong_type("bytes", value)
        content = exact_bytes(value)
        write_length(output, len(content))
        output.data += content

    return write_octets


def array(write_count: Write, nullable: bool, write_elements: Write) -> Write:
    def write_array(output: EncoderOutput, value: Any) -> None:
        if value is None and nullable:
            write_count(output, None)
            return
        if not is_a(value, tuple):
            raise output.wrong_type("a tuple", value)
        content = exact_tuple(value)
        write_count(output, len(content))
        write_elements(output, content)

    return write_array


def prefixed(present: bytes, absent: bytes, write_inner: Write) -> Write:
    """Return a function that writes a marker byte, followed by the value if it is not None."""

    def write_prefixed(output: EncoderOutput, value: Any) -> None:
        if value is None:
            output.data += absent
        else:
            output.data += present
            write_inner(output, value)

    return write_prefixed


def length(compact: bool, classic: Primitive) -> Write:
    """Return the function that writes a length or count, or None for null."""
    pack_one = Format(">" + FORMATS[classic.name]).pack

    def write_length(output: EncoderOutput, value: int | None) -> None:
        counted = -1 if value is None else value
        if counted > LARGEST_COUNT:
            raise output.fault("too_long", f"{value} exceeds the maximum of {LARGEST_COUNT}")
        # Compact lengths are one higher, so that 0 is null (KIP-482).
        output.data += uvarint(counted + 1) if compact else pack_one(counted)

    return write_length
