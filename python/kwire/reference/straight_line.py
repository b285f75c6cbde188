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
    from kwire.reference.layout import StructLayout

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
        self.integers: dict[str, str] = {}
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

    def struct(self, layout: StructLayout) -> str:
        if layout.struct in self.active:
            raise NotGenerated
        self.active.add(layout.struct)
        code = self.code
        struct: Any = layout.struct
        values = [(placed.member, self.value(placed.type, layout, placed.compact)) for placed in layout.present]
        tags = self.wait("B") if layout.flexible else None
        self.read_waiting()
        instance = code.variable()
        code.add(f"{instance} = {code.object(struct.__new__)}({code.object(struct)})")
        values += [(placed.member, code.object(placed.default)) for placed in layout.tagged.values()]
        values += [(getattr(struct, f.name), code.object(f.default)) for f in layout.absent]
        for member, value in values:
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
        code.lines.insert(1, f"    {memo} = {{}}; {sizes} = {{}}")
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
        letter = FORMATS[element.name]
        last, raw = f"last_{letter}", f"raw_{letter}"
        if letter not in self.integers:
            self.integers[letter] = code.object([Format(f">{count}{letter}").unpack for count in range(FEW)])
            code.lines.insert(1, f"    {raw} = None")
        code.add(f"if not {n}: {name} = ()")
        code.add("else:")
        code.indent()
        code.add(f"q = p + {n} * {element.size}")
        code.add("r = data[p:q]")
        code.add("p = q")
        code.add(f"if r != {raw}:")
        code.add(f"    {raw} = r")
        code.add(f"    {last} = {self.integers[letter]}[{n}](r) if {n} < {FEW} else unpack(f'>{{{n}}}{letter}', r)")
        code.add(f"{name} = {last}")
        code.dedent()

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
