"""Generated functions that decode and encode ordinary messages, for programs that run without the engine.

The functions of `decoder` and `encoder` check each value, and keep the path to it for errors. These run four to eight
times faster, because each message has one function without calls: it reads and writes neighboring numbers at once, and
checks only that a value is ordinary. Whatever is not (an invalid value, a subclass, a long length) ends it with one of
`UNUSUAL`, and `decoder` or `encoder` starts again. So they alone decide what is an error, and which one:

    decode:  generated  -> message
                        -> UNUSUAL -> decoder -> message or DecodeError
    encode:  generated  -> bytes
                        -> UNUSUAL -> encoder -> bytes or EncodeError

A function must therefore never accept what the other one rejects, nor give another result. It may end at any time,
because it changes nothing that others see. `Decoding` is here, and `Encoding` in `straight_line_encoding`.
"""

from __future__ import annotations

import sys
from functools import cache, lru_cache
from struct import Struct as Format
from struct import unpack
from uuid import UUID, SafeUUID

from kwire.declare.unknown_tags import NO_TAGS
from kwire.declare.wire_types import (
    ArrayType,
    BytesType,
    MaybeType,
    NullableType,
    Primitive,
    StringType,
    StructType,
)
from kwire.reference.formats import FORMATS, MAX_STRING_LENGTH
from kwire.reference.generated_code import Code, NotGenerated, Unusual

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from kwire.declare.wire_types import WireType
    from kwire.reference.layout import Placed, StructLayout

REPEATED = 4
"""Minimum number of structs in an array that is compared with earlier arrays by its bytes. Chosen, not measured."""

MAX_SIZE = 128
"""Maximum mean size in bytes of the structs in such an array, so that comparisons take linear time in the input."""

SHORT_LENGTHS = (None, *range(127), *[None] * 128)
"""Lengths by their byte, which is one more; None for those of several bytes, and for null."""

NULLABLE_LENGTHS = (-1, *SHORT_LENGTHS[1:])
"""The same with -1 for null."""

FEW = 8
"""Number of lengths for which the format of an array of integers is compiled; most replica lists have three."""

MAX_FORMATS = 64
"""Maximum number of formats that are kept for a struct, one for each combination of lengths. Chosen, not measured."""


def length(data: bytes, position: int) -> tuple[int, int]:
    """Return the value of a length of several bytes, which is one less, and the position behind it."""
    value = shift = 0
    for _ in range(3):
        byte = data[position]
        position += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            if not value:
                break
            return value - 1, position
        shift += 7
    raise Unusual


@cache
def unpackers(letter: str) -> list[Callable[[bytes], tuple[int, ...]]]:
    """Return the functions that unpack few integers, by their number."""
    return [Format(f">{count}{letter}").unpack for count in range(FEW)]


def is_row(layout: StructLayout) -> bool:
    """Return whether a struct consists of numbers and at least one array of integers."""
    types = [placed.type for placed in layout.present]
    return any(isinstance(type, ArrayType) for type in types) and all(map(is_number_or_integers, types))


def is_number_or_integers(type: WireType) -> bool:
    match type:
        case Primitive(name=name):
            return name != "uuid"
        case ArrayType(element=Primitive() as element):
            return element.is_integer
    return False


class RowFormat:
    """The format of a struct of numbers and arrays of integers, which depends on the lengths of the arrays.

    Attributes:
        format: format of its bytes, with a replacement field for the size of each array.
        names: variables for what it unpacks.
        arrays: type of the elements of each array by the variable of its tuple.
        empty: length in the input of each array when it is empty: 1 if compact, else 0.
    """

    def __init__(self) -> None:
        self.format = ">"
        self.names: list[str] = []
        self.arrays: dict[str, Primitive] = {}
        self.empty: list[int] = []

    def add(self, placed: Placed, value: str) -> None:
        match placed.type:
            case Primitive(name=name):
                self.format += FORMATS[name]
                self.names.append(value)
            case ArrayType(element=Primitive() as element):
                self.format += "B{}s" if placed.compact else "i{}s"
                self.names += [f"count_{value}", f"raw_{value}"]
                self.arrays[value] = element
                self.empty.append(int(placed.compact))

    def formats(self) -> Callable[..., tuple[Any, ...]]:
        """Return a function that takes the number of elements of each array and returns a flat tuple.

        The tuple has the size of the struct, the function that unpacks it, and two items for each array: its length in
        the input, and the function that unpacks its elements. If an array is not short, the size is larger than any
        input.
        """
        template, elements, empty = self.format, list(self.arrays.values()), self.empty

        @lru_cache(MAX_FORMATS)
        def formats(*counts: int) -> tuple[Any, ...]:
            if max(counts) >= FEW:
                return sys.maxsize, None, *[None] * 2 * len(counts)
            row = Format(template.format(*(n * element.size for n, element in zip(counts, elements, strict=True))))
            arrays: list[Any] = []
            for n, element, least in zip(counts, elements, empty, strict=True):
                arrays += [n + least, unpackers(FORMATS[element.name])[n]]
            return row.size, row.unpack_from, *arrays

        return formats


class Decoding:
    """Generates the function that decodes a message.

    `p` is the position. Fixed-size fields that follow each other wait in `waiting`, together with the length of the
    field behind them, and are read by one call.

    A slice ends at the end of the input, so `p` may then be behind it. It never decreases: the next number cannot be
    read there, and the last line of the function compares it with the end. Slices are therefore not checked.

    Args:
        tag_section: returns the function of the decoder that reads the tags of a struct.
        source: creates its input at a position.
    """

    def __init__(
        self, layout: StructLayout, tag_section: Callable[[StructLayout], Any], source: Callable[[bytes, int], Any]
    ) -> None:
        self.code = Code("decode", "data")
        self.tag_section = tag_section
        self.source = self.code.object(source)
        self.waiting: list[tuple[str, str]] = []
        self.active: set[object] = set()
        self.loops = 0
        self.code.objects.update(length=length, unpack=unpack, Unusual=Unusual)
        self.code.objects.update(short_lengths=SHORT_LENGTHS, nullable_lengths=NULLABLE_LENGTHS)
        self.code.add("p = 0")
        self.code.add("end = len(data)")
        message = self.struct(layout)
        self.code.add("if p != end: raise Unusual")
        self.code.add(f"return {message}")

    def function(self) -> Callable[[bytes], Any]:
        function: Callable[[bytes], Any] = self.code.function("decode")
        return function

    def wait(self, format: str) -> str:
        name = self.code.variable()
        self.waiting.append((name, format))
        return name

    def read_waiting(self) -> None:
        if self.waiting:
            run = Format(">" + "".join(format for _, format in self.waiting))
            names = ", ".join(name for name, _ in self.waiting)
            read = "data[p]" if run.format == ">B" else f"{self.code.object(run.unpack_from)}(data, p)"
            self.code.add(f"{names}{'' if run.format == '>B' else ','} = {read}")
            self.code.add(f"p += {run.size}")
            self.waiting.clear()

    def struct(self, layout: StructLayout, *, is_element: bool = False) -> str:
        if layout.struct in self.active:
            raise NotGenerated
        self.active.add(layout.struct)
        code = self.code
        struct: Any = layout.struct
        values, tags = self.row(layout) if is_element and is_row(layout) else self.fields(layout)
        instance = code.variable()
        code.add(f"{instance} = {code.object(struct.__new__)}({code.object(struct)})")
        members = [(placed.member, value) for placed, value in zip(layout.present, values, strict=True)]
        members += [(placed.member, code.object(placed.default)) for placed in layout.tagged.values()]
        members += [(getattr(struct, f.name), code.object(f.default)) for f in layout.absent]
        for member, value in members:
            code.add(f"{code.object(member.__set__)}({instance}, {value})")
        set_tags = code.object(struct.unknown_tags.__set__)
        if tags is None:
            code.add(f"{set_tags}({instance}, {code.object(NO_TAGS)})")
        else:
            code.add(f"if {tags}:")
            code.add(f"    s = {self.source}(data, p - 1)")
            code.add(f"    {set_tags}({instance}, {code.object(self.tag_section(layout))}(s, {instance}))")
            code.add("    p = s.position")
            code.add("else:")
            code.add(f"    {set_tags}({instance}, {code.object(NO_TAGS)})")
        self.active.discard(layout.struct)
        return instance

    def fields(self, layout: StructLayout) -> tuple[list[str], str | None]:
        """Add the code that reads the fields of a struct, and return the variables of the fields and of the tags."""
        values = [self.value(placed.type, layout, placed.compact) for placed in layout.present]
        tags = self.wait("B") if layout.flexible else None
        self.read_waiting()
        return values, tags

    def row(self, layout: StructLayout) -> tuple[list[str], str | None]:
        """Add the code that reads a struct by one call if its arrays are as long as those of the struct before.

        They usually are, because most topics of a cluster have the same replication factor. The call reads the lengths,
        too, so it may have read anything before they are compared. Otherwise, the struct is read field by field.
        """
        code = self.code
        begin = len(code.lines)
        code.indent()
        values, tags = self.fields(layout)
        code.dedent()
        by_field = code.lines[begin:]
        del code.lines[begin:]

        size, read = code.variable(), code.variable()
        code.begin_with(f"{size} = len(data) + 1")  # the first struct is read field by field
        row = RowFormat()
        for placed, value in zip(layout.present, values, strict=True):
            row.add(placed, value)
        if tags is not None:
            row.format += "B"
            row.names.append(tags)
        formats = code.object(row.formats())
        code.add(f"q = p + {size}")
        code.add(f"if q <= end: {', '.join(row.names)}, = {read}(data, p)")
        code.add(f"if q <= end and {' and '.join(f'count_{value} == row_count_{value}' for value in row.arrays)}:")
        code.add("    p = q")
        for value, element in row.arrays.items():
            raw, last = self.last_integers(element)
            code.add(f"    if raw_{value} == {raw}: {value} = {last}")
            code.add(f"    elif raw_{value}:")
            code.add(f"        {raw} = raw_{value}")
            code.add(f"        {value} = {last} = row_unpack_{value}(raw_{value})")
            code.add(f"    else: {value} = ()")
        code.add("else:")
        code.lines += by_field
        expected = [f"row_count_{value}, row_unpack_{value}" for value in row.arrays]
        counts = [f"len({value})" for value in row.arrays]
        code.add(f"    {size}, {read}, {', '.join(expected)}, = {formats}({', '.join(counts)})")
        return values, tags

    def value(self, type: WireType, layout: StructLayout, compact: bool, *, nullable: bool = False) -> str:
        """Add the code that reads a value, and return the variable or expression that has it."""
        match type:
            case Primitive(name="uuid"):
                self.read_waiting()
                return self.uuid()
            case Primitive():
                return self.wait(FORMATS[type.name])
            case StringType():
                return self.sized(compact, nullable, "h", "data[p:p + n].decode()", limit=MAX_STRING_LENGTH)
            case BytesType():
                return self.sized(compact, nullable, "i", "data[p:p + n]")
            case ArrayType(element=element):
                return self.array(element, layout, compact, nullable)
            case NullableType(inner=StructType(struct=struct)):
                return self.marked("b", lambda: self.struct(layout.of(struct)))
            case NullableType(inner=inner):
                return self.value(inner, layout, compact, nullable=True)
            case MaybeType(inner=inner):
                return self.marked("?", lambda: self.value(inner, layout, compact))
            case StructType(struct=struct):
                return self.struct(layout.of(struct))
        raise TypeError(f"{type!r} cannot be read")

    def uuid(self) -> str:
        code = self.code
        uuid: Any = UUID
        name = code.variable()
        code.add(f"{name} = {code.object(uuid.__new__)}({code.object(UUID)})")
        code.add(f"{code.object(uuid.int.__set__)}({name}, {code.object(int.from_bytes)}(data[p:p + 16], 'big'))")
        code.add(f"{code.object(uuid.is_safe.__set__)}({name}, {code.object(SafeUUID.unknown)})")
        code.add("p += 16")
        return name

    def length(self, compact: bool, nullable: bool, classic: str) -> str:
        """Add the code that reads a length, which is -1 for null, into a variable."""
        read = self.wait("B" if compact else classic)
        self.read_waiting()
        if not compact:
            self.code.add(f"if {read} < {-1 if nullable else 0}: raise Unusual")
            return read
        name = self.code.variable()
        self.code.add(f"{name} = {'nullable' if nullable else 'short'}_lengths[{read}]")
        self.code.add(f"if {name} is None: {name}, p = length(data, p - 1)")
        return name

    def sized(self, compact: bool, nullable: bool, classic: str, expression: str, *, limit: int | None = None) -> str:
        n = self.length(compact, nullable, classic)
        code = self.code
        if limit is not None and compact:
            code.add(f"if {n} > {limit}: raise Unusual")
        name = code.variable()
        value = expression.replace("n]", f"{n}]")
        if nullable:
            code.add(f"if {n} < 0: {name} = None")
            code.add("else:")
            code.add(f"    {name} = {value}")
            code.add(f"    p += {n}")
        else:
            code.add(f"{name} = {value}")
            code.add(f"p += {n}")
        return name

    def array(self, element: WireType, layout: StructLayout, compact: bool, nullable: bool) -> str:
        n = self.length(compact, nullable, "i")
        code = self.code
        name = code.variable()
        if nullable:
            code.add(f"if {n} < 0: {name} = None")
            code.add("else:")
            code.indent()
        if isinstance(element, Primitive) and element.is_integer:
            self.read_integers(element, n, name)
        else:
            is_repeated = self.loops > 0 and isinstance(element, StructType)
            repeated = self.find_equal_array(n, name) if is_repeated else None
            smallest = layout.smallest(element, compact)
            code.add(f"if {n} * {smallest} > end - p: raise Unusual")
            elements = code.variable()
            code.add(f"{elements} = []")
            code.add(f"for _ in range({n}):")
            code.indent()
            self.loops += 1
            if isinstance(element, StructType):
                value = self.struct(layout.of(element.struct), is_element=True)
            else:
                value = self.value(element, layout, compact)
            self.read_waiting()
            self.loops -= 1
            code.add(f"{elements}.append({value})")
            code.dedent()
            code.add(f"{name} = tuple({elements})")
            if repeated is not None:
                start, memo, sizes = repeated
                code.add(f"if {n} >= {REPEATED} and p - {start} <= {n} * {MAX_SIZE}:")
                code.add(f"    {sizes}[{n}] = p - {start}")
                code.add(f"    {memo}[data[{start}:p]] = {name}")
                code.dedent()
        if nullable:
            code.dedent()
        return name

    def find_equal_array(self, n: str, name: str) -> tuple[str, str, str]:
        """Add the code that takes an array of structs from an earlier one with the same bytes, and `else`.

        The partitions of topics, usually: Kafka assigns replicas so that whole topics are equal.
        """
        code = self.code
        start, memo, sizes = (code.variable() for _ in range(3))
        code.begin_with(f"{memo} = {{}}; {sizes} = {{}}")
        code.add(f"{name} = {memo}.get(data[p:p + {sizes}.get({n}, 0)])")
        # The bytes of fewer elements are equal to the beginning of more.
        code.add(f"if {name} is not None and len({name}) == {n}: p += {sizes}[{n}]")
        code.add("else:")
        code.indent()
        code.add(f"{start} = p")
        return start, memo, sizes

    def read_integers(self, element: Primitive, n: str, name: str) -> None:
        """Add the code that reads integers. The bytes of the array before have its tuple: in-sync replicas, usually."""
        code = self.code
        raw, last = self.last_integers(element)
        letter = FORMATS[element.name]
        unpack_few = code.object(unpackers(letter))
        code.add(f"if not {n}: {name} = ()")
        code.add("else:")
        code.indent()
        code.add(f"q = p + {n} * {element.size}")
        code.add("r = data[p:q]")
        code.add("p = q")
        code.add(f"if r != {raw}:")
        code.add(f"    {raw} = r")
        code.add(f"    {last} = {unpack_few}[{n}](r) if {n} < {FEW} else unpack(f'>{{{n}}}{letter}', r)")
        code.add(f"{name} = {last}")
        code.dedent()

    def last_integers(self, element: Primitive) -> tuple[str, str]:
        """Return the variables that have the bytes and the tuple of the array before of this type."""
        letter = FORMATS[element.name]
        self.code.begin_with(f"raw_{letter} = None")
        return f"raw_{letter}", f"last_{letter}"

    def marked(self, format: str, add_inner: Callable[[], str]) -> str:
        """Add the code that reads a marker byte, 1 before a value."""
        code = self.code
        marker = self.wait(format)
        self.read_waiting()
        name = code.variable()
        code.add(f"if {marker} == 1:")
        code.indent()
        inner = add_inner()
        self.read_waiting()
        code.add(f"{name} = {inner}")
        code.dedent()
        if format == "b":
            code.add(f"elif {marker} != -1: raise Unusual")
        code.add(f"else: {name} = None")
        return name
