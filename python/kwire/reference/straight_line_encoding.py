"""Generated functions that encode ordinary messages. `straight_line` describes the rules that they follow."""

from __future__ import annotations

from struct import Struct as Format
from struct import pack
from uuid import UUID

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

PIECES = 1000
"""Number of bytes objects that are joined. More of them no longer fit the caches of the processor."""

EXACT = (int, str, bytes)
"""Types whose `==` compares what is written. Numbers with a fraction and uuids are compared by the encoder."""


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
        self.loops = 0
        self.code.objects.update(uvarint=uvarint, pack=pack, Unusual=Unusual, ONE=ONE_BYTE)
        self.code.add("joined = []")
        self.code.add("out = []")
        self.code.add("w = out.append")
        self.struct(layout, "message")
        self.write_waiting()
        self.code.add("return b''.join(joined + out)")

    def function(self) -> Callable[[Any], bytes]:
        function: Callable[[Any], bytes] = self.code.function("encode")
        return function

    def check(self, condition: str) -> None:
        self.code.add(f"if not ({condition}): raise Unusual")

    def write_waiting(self, *, keep: bool = False) -> None:
        """Add the code that writes the waiting fields; with `keep`, other branches write them, too."""
        if self.waiting:
            self.code.add(f"w({self.packed(self.waiting)})")
            if not keep:
                self.waiting = []

    def packed(self, fields: list[tuple[str, str]], padding: str = "") -> str:
        pack = Format(">" + "".join(format for _, format in fields) + padding).pack
        return f"{self.code.object(pack)}({', '.join(value for value, _ in fields)})"

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
            self.tags(layout, value)
        self.active.discard(layout.struct)

    def tags(self, layout: StructLayout, value: str) -> None:
        """Add the code that writes the tags of a struct, and the waiting fields before them."""
        code = self.code
        no_unknown = f"{value}.unknown_tags is {code.object(NO_TAGS)}"
        plain = [no_unknown]
        plain += [f"{value}.{p.name} is {code.object(p.default)}" for p in layout.tagged.values()]
        fields = self.waiting
        # The pad byte after the waiting fields is the number of tags, 0.
        without_tags = self.packed(fields, "x") if fields else "b'\\0'"
        code.add(f"if {' and '.join(plain)}: w({without_tags})")
        # A default is left out. `()`, None, True, and False are single objects.
        if layout.tagged and all(
            p.default in ((), None) or type(p.default) in (bool, *EXACT) for p in layout.tagged.values()
        ):
            code.add(f"elif {no_unknown}:")
            code.indent()
            self.write_waiting(keep=True)
            self.declared_tags(layout, value)
            code.dedent()
        code.add("else:")
        code.indent()
        self.write_waiting()
        code.add(f"t = {self.output}()")
        code.add(f"{code.object(self.tag_section(layout))}(t, {value})")
        code.add("w(t.data)")
        code.dedent()

    def declared_tags(self, layout: StructLayout, value: str) -> None:
        """Add the code that writes the declared tags. Each has its size before it, so `w` appends to its own list."""
        code = self.code
        count, entries, outer, body = (code.variable() for _ in range(4))
        code.add(f"{count} = 0")
        code.add(f"{entries} = []")
        code.add(f"{outer} = w")
        waiting, self.waiting = self.waiting, []
        self.loops += 1  # `w` does not append to `out`, so nothing may be joined
        for tag, placed in sorted(layout.tagged.items()):
            name = code.variable()
            code.add(f"{name} = {value}.{placed.name}")
            code.add(f"if not ({self.is_default(name, placed.default)}):")
            code.indent()
            code.add(f"{count} += 1")
            code.add(f"{body} = []")
            code.add(f"w = {body}.append")
            self.value(placed.type, layout, placed.compact, name)
            self.write_waiting()
            code.add(f"{body} = b''.join({body})")
            code.add(f"{entries} += {uvarint(tag)!r}, uvarint(len({body})), {body}")
            code.dedent()
        self.loops -= 1
        self.waiting = waiting
        code.add(f"w = {outer}")
        code.add(f"w(uvarint({count}))")
        code.add(f"w(b''.join({entries}))")

    def check_default(self, value: str, default: Any) -> None:
        self.check(self.is_default(value, default))

    def is_default(self, value: str, default: Any) -> str:
        """Return the expression that is true if a value is the default. It may be false for an equal one."""
        is_default = f"{value} is {(known := self.code.object(default))}"
        if type(default) in EXACT:
            # After `is`, which an equal constant usually fulfills.
            is_default += f" or (type({value}) is {self.code.object(type(default))} and {value} == {known})"
        return is_default

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
            self.loops += 1
            self.value(element, layout, compact, item)
            self.write_waiting()
            self.loops -= 1
            if self.loops == 0:
                code.add(f"if len(out) > {PIECES}:")
                code.add("    joined.append(b''.join(out))")
                code.add("    out.clear()")
            code.dedent()
        if nullable:
            code.dedent()

    def integers(self, element: Primitive, compact: bool, value: str) -> None:
        """Add the code that writes integers. The tuple of the array before has its bytes: in-sync replicas, usually."""
        code = self.code
        letter = FORMATS[element.name]
        key = f"{letter}{'c' if compact else ''}"
        last, raw = f"last_{key}", f"raw_{key}"
        code.begin_with(f"{last} = None")
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
