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
because it changes nothing that others see.
"""

from __future__ import annotations

from struct import Struct as Format
from struct import pack, unpack
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
from kwire.reference.formats import FORMATS, MAX_STRING_LENGTH, ONE_BYTE, uvarint
from kwire.reference.generated_code import Code, NotGenerated, Unusual

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from kwire.declare.wire_types import WireType
    from kwire.reference.layout import StructLayout

FEW = 8
"""Number of lengths for which the format of an array of integers is compiled; most replica lists have three."""


def length(data: bytes, position: int) -> tuple[int, int]:
    """Return a length of several bytes and the position behind it."""
    value = shift = 0
    for _ in range(3):
        byte = data[position]
        position += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, position
        shift += 7
    raise Unusual


class Decoding:
    """Generates the function that decodes a message.

    `p` is the position. Fixed-size fields that follow each other wait in `waiting`, together with the length of the
    field behind them, and are read by one call.

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
        self.integers: dict[str, str] = {}
        self.code.objects.update(length=length, unpack=unpack, Unusual=Unusual)
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
            self.code.add(f"{names}, = {self.code.object(run.unpack_from)}(data, p)")
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
        code.add("if p + 16 > end: raise Unusual")
        code.add(f"{name} = {code.object(uuid.__new__)}({code.object(UUID)})")
        code.add(f"{code.object(uuid.int.__set__)}({name}, {code.object(int.from_bytes)}(data[p:p + 16], 'big'))")
        code.add(f"{code.object(uuid.is_safe.__set__)}({name}, {code.object(SafeUUID.unknown)})")
        code.add("p += 16")
        return name

    def length(self, compact: bool, nullable: bool, classic: str) -> str:
        """Add the code that reads a length, which is -1 for null, into a variable."""
        name = self.wait("B" if compact else classic)
        self.read_waiting()
        if compact:
            self.code.add(f"if {name} > 127: {name}, p = length(data, p - 1)")
            self.code.add(f"{name} -= 1")
        if not nullable or not compact:
            self.code.add(f"if {name} < {-1 if nullable else 0}: raise Unusual")
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
        # A slice ends at the end of the input. The position is behind it then, which the caller must notice.
        code.add("if p > end: raise Unusual")
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
            smallest = layout.smallest(element, compact)
            code.add(f"if {n} * {smallest} > end - p: raise Unusual")
            elements = code.variable()
            code.add(f"{elements} = []")
            code.add(f"for _ in range({n}):")
            code.indent()
            value = self.value(element, layout, compact)
            self.read_waiting()
            code.add(f"{elements}.append({value})")
            code.dedent()
            code.add(f"{name} = tuple({elements})")
        if nullable:
            code.dedent()
        return name

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
        code.add(f"r = data[p:p + {n} * {element.size}]")
        code.add(f"p += {n} * {element.size}")
        code.add("if p > end: raise Unusual")
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


class Encoding:
    """Generates the function that encodes a message.

    `w` appends to the output. Fixed-size fields that follow each other wait in `waiting`, and are written by one call.

    Args:
        tag_section: returns the function of the encoder that writes the tags of a struct.
        output: creates its output.
    """

    def __init__(
        self, layout: StructLayout, tag_section: Callable[[StructLayout], Any], output: Callable[[], Any]
    ) -> None:
        self.code = Code("encode", "message")
        self.tag_section = tag_section
        self.output = self.code.object(output)
        self.waiting: list[tuple[str, str]] = []
        self.active: set[object] = set()
        self.code.objects.update(uvarint=uvarint, pack=pack, Unusual=Unusual, ONE=ONE_BYTE)
        self.code.add("out = []")
        self.code.add("w = out.append")
        self.struct(layout, "message")
        self.write_waiting()
        self.code.add("return b''.join(out)")

    def function(self) -> Callable[[Any], bytes]:
        function: Callable[[Any], bytes] = self.code.function("encode")
        return function

    def check(self, condition: str) -> None:
        self.code.add(f"if not ({condition}): raise Unusual")

    def write_waiting(self) -> None:
        if self.waiting:
            pack = Format(">" + "".join(format for _, format in self.waiting)).pack
            values = ", ".join(value for value, _ in self.waiting)
            self.code.add(f"w({self.code.object(pack)}({values}))")
            self.waiting.clear()

    def struct(self, layout: StructLayout, value: str) -> None:
        struct: Any = layout.struct
        # A class with attributes of its own making is left to the encoder, which reads the slots.
        if (
            layout.struct in self.active
            or struct.__getattribute__ is not object.__getattribute__
            or not all(name.isidentifier() for name in struct.__kwire_names__)
        ):
            raise NotGenerated
        self.active.add(layout.struct)
        code = self.code
        self.check(f"type({value}) is {code.object(struct)}")
        for f in layout.absent:
            if not f.ignorable:
                self.check_default(f"{value}.{f.name}", f.default)
        no_tags = code.object(NO_TAGS)
        if not layout.flexible:
            self.check(f"{value}.unknown_tags is {no_tags}")
        for placed in layout.present:
            name = code.variable()
            code.add(f"{name} = {value}.{placed.name}")
            self.value(placed.type, layout, placed.compact, name)
        if layout.flexible:
            self.write_waiting()
            is_plain = [f"{value}.unknown_tags is {no_tags}"]
            is_plain += [f"{value}.{p.name} is {code.object(p.default)}" for p in layout.tagged.values()]
            code.add(f"if {' and '.join(is_plain)}: w(b'\\0')")
            code.add("else:")
            code.add(f"    t = {self.output}()")
            code.add(f"    {code.object(self.tag_section(layout))}(t, {value})")
            code.add("    w(t.data)")
        self.active.discard(layout.struct)

    def check_default(self, value: str, default: Any) -> None:
        is_default = f"{value} is {(named_default := self.code.object(default))}"
        if type(default) in (int, str, bytes):
            # Only types whose `==` is exact, after `is`, which an equal constant usually fulfills.
            is_default += f" or (type({value}) is {self.code.object(type(default))} and {value} == {named_default})"
        self.check(is_default)

    def value(self, type: WireType, layout: StructLayout, compact: bool, value: str, *, nullable: bool = False) -> None:
        """Add the code that writes the variable `value`."""
        code = self.code
        match type:
            case Primitive(name="bool"):
                self.check(f"{value} is True or {value} is False")
                self.waiting.append((value, "?"))
            case Primitive(name="float64"):
                self.check(f"type({value}) is float")
                self.waiting.append((value, "d"))
            case Primitive(name="uuid"):
                self.write_waiting()
                self.check(f"type({value}) is {code.object(UUID)} and type({value}.int) is int")
                code.add(f"w({value}.int.to_bytes(16, 'big'))")
            case Primitive():
                self.check(f"type({value}) is int")
                self.waiting.append((value, FORMATS[type.name]))
            case StringType():
                self.sized(compact, nullable, "h", value, "str", f"{value} = {value}.encode()")
            case BytesType():
                self.sized(compact, nullable, "i", value, "bytes")
            case ArrayType(element=element):
                self.array(element, layout, compact, nullable, value)
            case NullableType(inner=StructType(struct=struct)):
                self.marked("b'\\xff'", value, lambda: self.struct(layout.of(struct), value))
            case NullableType(inner=inner):
                self.value(inner, layout, compact, value, nullable=True)
            case MaybeType(inner=inner):
                self.marked("b'\\0'", value, lambda: self.value(inner, layout, compact, value))
            case StructType(struct=struct):
                self.struct(layout.of(struct), value)

    def marked(self, absent: str, value: str, add_inner: Callable[[], None]) -> None:
        code = self.code
        self.write_waiting()
        code.add(f"if {value} is None: w({absent})")
        code.add("else:")
        code.indent()
        code.add("w(b'\\x01')")
        add_inner()
        self.write_waiting()
        code.dedent()

    def null(self, compact: bool, nullable: bool, classic: str, value: str) -> None:
        """Add the code that writes null; what follows it is the other case."""
        if nullable:
            self.write_waiting()
            null = "b'\\0'" if compact else repr(b"\xff" * Format(classic).size)
            self.code.add(f"if {value} is None: w({null})")
            self.code.add("else:")
            self.code.indent()

    def length(self, compact: bool, classic: str, value: str) -> str:
        """Add the code that writes the length of a value, and return its variable."""
        n = self.code.variable()
        if compact:
            self.write_waiting()
            self.code.add(f"{n} = len({value}) + 1")
            self.code.add(f"w(ONE[{n}] if {n} < 128 else uvarint({n}))")
        else:
            self.code.add(f"{n} = len({value})")
            self.waiting.append((n, classic))
            self.write_waiting()
        return n

    def sized(
        self, compact: bool, nullable: bool, classic: str, value: str, type: str, convert: str | None = None
    ) -> None:
        self.null(compact, nullable, classic, value)
        self.check(f"type({value}) is {type}")
        if convert is not None:
            self.code.add(convert)
        n = self.length(compact, classic, value)
        if type == "str" and compact:
            self.check(f"{n} <= {MAX_STRING_LENGTH + 1}")
        self.code.add(f"w({value})")
        if nullable:
            self.code.dedent()

    def array(self, element: WireType, layout: StructLayout, compact: bool, nullable: bool, value: str) -> None:
        code = self.code
        self.null(compact, nullable, "i", value)
        self.check(f"type({value}) is tuple")
        if isinstance(element, Primitive) and element.is_integer:
            self.integers(element, compact, value)
        else:
            self.length(compact, "i", value)
            item = code.variable()
            code.add(f"for {item} in {value}:")
            code.indent()
            self.value(element, layout, compact, item)
            self.write_waiting()
            code.dedent()
        if nullable:
            code.dedent()

    def integers(self, element: Primitive, compact: bool, value: str) -> None:
        """Add the code that writes integers. The tuple of the array before has its bytes: in-sync replicas, usually."""
        code = self.code
        letter = FORMATS[element.name]
        key = f"{letter}{'c' if compact else ''}"
        last, raw = f"last_{key}", f"raw_{key}"
        if f"    {last} = None" not in code.lines:
            code.lines.insert(1, f"    {last} = None")
        self.write_waiting()
        three = Format(f">{'B' if compact else 'i'}3{letter}").pack
        code.add(f"if {value} is {last}: w({raw})")
        code.add(f"elif not {value}: w({bytes((1,)) if compact else bytes(4)!r})")
        code.add("else:")
        code.indent()
        code.add(f"{last} = {value}")
        code.add(f"if len({value}) == 3:")
        code.add(f"    a, b, c = {value}")
        code.add("    if not (type(a) is int and type(b) is int and type(c) is int): raise Unusual")
        code.add(f"    {raw} = {code.object(three)}({4 if compact else 3}, a, b, c)")
        code.add("else:")
        code.add(f"    for a in {value}:")
        code.add("        if type(a) is not int: raise Unusual")
        code.add(f"    a = len({value})")
        count = "uvarint(a + 1)" if compact else "a.to_bytes(4, 'big')"
        code.add(f"    {raw} = {count} + pack(f'>{{a}}{letter}', *{value})")
        code.add(f"w({raw})")
        code.dedent()
