"""Which bytes are which field: a frame, byte by byte, beside what its declaration calls them.

Rules of this file: it shows what ``kwire.reference.spans`` found, in the order of the bytes. Every byte is on a line of
its field, or counted on a line that says how many are left out: of long arrays the first and the last elements are
shown, of long values the first bytes. Bytes that could not be read come last, below the fault.

    offset       bytes                    field                type            value
        4  0004  03                       brokers              count           2
                                          brokers[0]
        5  0005  00 00 00 01                node_id            int32           1
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from kwire.cli.value_labels import meaning, value_text
from kwire.errors import path_text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kwire.cli.colors import Paint
    from kwire.cli.frames import Frame, Part
    from kwire.errors import DecodeError, PathElement
    from kwire.reference import Span

    Path = tuple[PathElement, ...]

IN_A_LINE = 8
"""Bytes: a field is rarely longer, and the columns behind stay on the screen."""
LINES_OF_A_VALUE = 4
LONGEST_VALUE = 48
LONG_ARRAY = 16
FIRST, LAST = 8, 2
WIDEST_NAME = 44

STRUCT_PARTS = ("tag count", "tag", "unknown tag")
"""Spans whose path is that of the struct they end."""
PRESENCE = ("marker", "control")
"""Spans that say whether the rest of their value follows."""


class Line(NamedTuple):
    """A line of the dump; ``start`` is None on lines that have no bytes. ``style``: for name and value."""

    name: str
    start: int | None = None
    data: bytes = b""
    type: str = ""
    value: str = ""
    note: str = ""
    style: str = ""


def hexdump(frame: Frame, dialect: str, paint: Paint, *, everything: bool) -> Iterator[str]:
    """The dump of a frame, line by line."""
    parts = [(part, list(_part_lines(part, frame.payload, dialect, everything=everything))) for part in frame.parts]
    rest = list(_lines_of_the_rest(frame))
    columns = _Columns([line for _, lines in parts for line in lines] + rest, len(frame.payload), paint, everything)
    for part, lines in parts:
        if part.start:
            yield ""
        size = f"{len(part.data)} byte{'' if len(part.data) == 1 else 's'}"
        yield paint("title", part.title) + paint("quiet", f", {size}" + (f" from {part.start}" if part.start else ""))
        for line in lines:
            yield from columns.rows(line)
    for line in rest:
        yield from columns.rows(line)


def _part_lines(part: Part, payload: bytes, dialect: str, *, everything: bool) -> Iterator[Line]:
    spans, error = part.spans()
    yield from _span_lines(spans, payload, dialect, everything=everything)
    if error is not None:
        yield from _fault_lines(error, spans[-1].end if spans else part.start, payload)


def _fault_lines(error: DecodeError, read: int, payload: bytes) -> Iterator[Line]:
    """What was wrong where, and the bytes that for this reason nobody could read."""
    name = path_text(error.path[-1:]) or "(end of message)"
    rest = payload[read:]
    text = str(error).partition(": ")[2] if error.path else str(error)
    # A fault of something that was read, such as a count, stands below it and has no bytes of its own.
    of_the_rest = error.offset >= read
    yield Line(
        _indent(_depth(error.path[:-1])) + name, error.offset, rest if of_the_rest else b"", note=text, style="fault"
    )
    if rest and not of_the_rest:
        yield Line("(not read)", read, rest, style="note")


def _lines_of_the_rest(frame: Frame) -> Iterator[Line]:
    """Bytes behind the last part: those that belong to nothing, or to a message that nobody here knows."""
    last = frame.parts[-1] if frame.parts else None
    end = last.start + len(last.data) if last else 0
    if end < len(frame.payload):
        name = "(surplus)" if frame.surplus else "(unknown message)"
        yield Line(name, end, frame.payload[end:], style="note")


def _span_lines(spans: list[Span], payload: bytes, dialect: str, *, everything: bool) -> Iterator[Line]:
    sizes = {} if everything else _sizes_of_long_arrays(spans)
    opened: Path = ()
    position = 0
    while position < len(spans):
        span = spans[position]
        array = _hidden_by(span.path, sizes)
        if array is not None:
            end = position
            while end < len(spans) and _hidden_by(spans[end].path, sizes) == array:
                end += 1
            yield _left_out(array, sizes[array], span, spans[end - 1].end)
            position = end
            continue
        container = _container(spans, position)
        announced = spans[position - 1].path if position and spans[position - 1].type in PRESENCE else None
        yield from _headings(opened, container, announced)
        opened = container
        together = _packed(spans, position, sizes)
        known_tag = spans[position + 1].path if span.type == "tag" and position + 1 < len(spans) else ()
        yield _line(together, container, known_tag, payload, dialect)
        position += len(together)


def _sizes_of_long_arrays(spans: list[Span]) -> dict[Path, int]:
    """How many elements the arrays have of which not all are shown."""
    sizes: dict[Path, int] = {}
    for span in spans:
        for place, element in enumerate(span.path):
            if isinstance(element, int) and element >= LONG_ARRAY:
                sizes[span.path[:place]] = element + 1
    return sizes


def _hidden_by(path: Path, sizes: dict[Path, int]) -> Path | None:
    """The outermost array of whose elements this one is left out."""
    if sizes:
        for place, element in enumerate(path):
            if isinstance(element, int):
                size = sizes.get(path[:place])
                if size is not None and FIRST <= element < size - LAST:
                    return path[:place]
    return None


def _left_out(array: Path, size: int, span: Span, end: int) -> Line:
    first, last = FIRST, size - LAST - 1
    depth = _depth(array) if span.path[:-1] == array else _depth((*array, first)) - 1
    note = f"{last - first + 1} elements, {end - span.start} bytes: --all shows them"
    return Line(f"{_indent(depth)}[{first}-{last}] ...", span.start, note=note, style="note")


def _container(spans: list[Span], position: int) -> Path:
    """The struct or array that the span at a position stands in."""
    span = spans[position]
    if span.type == "tag size":
        # Its path is that of the field, or of the struct where nobody knows the tag; that of the tag before it is sure.
        return spans[position - 1].path
    return span.path if span.type in STRUCT_PARTS else span.path[:-1]


def _headings(opened: Path, container: Path, announced: Path | None) -> Iterator[Line]:
    """A line for each struct that begins here: its path, so that one knows where one is in a long dump.

    ``announced``: the path of a struct that the line above has said to be present.
    """
    for place, element in enumerate(container):
        inside = container[: place + 1]
        is_array = isinstance(element, str) and isinstance(next(iter(container[place + 1 :]), 0), int)
        if opened[: place + 1] != inside and inside != announced and not is_array:
            yield Line(f"{_indent(_depth(inside) - 1)}{path_text(inside)}", style="title")


def _depth(container: Path) -> int:
    """How far to the right the contents of a struct or an array stand: one step for each struct or array element."""
    followed = pairwise((*container, None))
    return sum(isinstance(element, int) or not isinstance(next_, int) for element, next_ in followed)


def _packed(spans: list[Span], position: int, sizes: dict[Path, int]) -> list[Span]:
    """The span at a position, and the elements of the same array of numbers that fit into its line."""
    first = spans[position]
    together = [first]
    if not first.path or not isinstance(first.path[-1], int) or first.type in STRUCT_PARTS:
        return together
    for span in spans[position + 1 : position + IN_A_LINE]:
        same = span.path[:-1] == first.path[:-1] and span.type == first.type and span.type not in STRUCT_PARTS
        fits = span.end - first.start <= IN_A_LINE
        if not (same and fits) or _hidden_by(span.path, sizes) is not None:
            break
        together.append(span)
    return together


def _line(together: list[Span], container: Path, known_tag: Path, payload: bytes, dialect: str) -> Line:
    first, last = together[0], together[-1]
    data = payload[first.start : last.end]
    indent = _indent(_depth(container))
    if first.type in STRUCT_PARTS or first.type == "tag size":
        style = "quiet" if first.type == "tag count" and first.value == 0 else ""
        note = ""
        if first.type == "tag":
            note = path_text(known_tag[len(container) :]) or "not declared"
        return Line(f"{indent}tags", first.start, data, first.type, _shown(first), note, style)
    if len(together) > 1:
        values = value_text(tuple(span.value for span in together))
        return Line(f"{indent}[{first.path[-1]}-{last.path[-1]}]", first.start, data, first.type, values)
    note = meaning(first.path, first.value, dialect)
    return Line(f"{indent}{path_text(first.path[-1:])}", first.start, data, first.type, _shown(first), note)


def _shown(span: Span) -> str:
    match span.type, span.value:
        case "marker", marker:
            return "present" if marker == 1 else "null"
        case "control", control:
            return "present" if control else "absent"
        case _, bytes(data):
            return f"{len(data)} byte{'' if len(data) == 1 else 's'}"
    return value_text(span.value)


def _indent(depth: int) -> str:
    return "  " * depth


class _Columns:
    """The widths of a dump's columns, and lines in them."""

    def __init__(self, lines: list[Line], size: int, paint: Paint, everything: bool) -> None:
        self.digits = max(len(str(size)), 3)
        self.names = min(max((len(line.name) for line in lines if line.start is not None), default=0), WIDEST_NAME)
        self.types = max((len(line.type) for line in lines), default=0)
        self.before_bytes = self.digits + len("  0000  ")
        self.paint = paint
        self.everything = everything

    def rows(self, line: Line) -> Iterator[str]:
        if line.start is None:
            yield " " * (self.before_bytes + IN_A_LINE * 3 + 1) + self.paint("title", line.name)
            return
        first, *more = _rows(line.data, everything=self.everything)
        value = line.value
        if len(value) > LONGEST_VALUE and not self.everything:
            value = value[: LONGEST_VALUE - 4] + " ..."
        cells = [
            f"{first:{IN_A_LINE * 3 - 1}}",
            self.paint(line.style or "plain", f"{line.name:{self.names}}"),
            self.paint(line.style or "type", f"{line.type:{self.types}}"),
            *([self.paint(line.style or "value", value)] if value else []),
            *([self.paint(line.style or "note", line.note)] if line.note else []),
        ]
        yield (self.offset(line.start) + "  ".join(cells)).rstrip()
        for number, row in enumerate(more, 1):
            has_bytes = not row.startswith("...")
            start = line.start + number * IN_A_LINE
            yield (self.offset(start) if has_bytes else " " * self.before_bytes) + row

    def offset(self, start: int) -> str:
        return self.paint("quiet", f"{start:{self.digits}}  {start:04x}") + "  "


def _rows(data: bytes, *, everything: bool) -> Iterator[str]:
    """The bytes in lines; of many, the first lines and how many are left out."""
    shown = len(data) if everything or len(data) <= LINES_OF_A_VALUE * IN_A_LINE else (LINES_OF_A_VALUE - 1) * IN_A_LINE
    for start in range(0, max(shown, 1), IN_A_LINE):
        yield data[start : min(start + IN_A_LINE, shown)].hex(" ")
    if shown < len(data):
        yield f"... {len(data) - shown} more bytes"
