"""Annotated hex dumps: the bytes of a frame next to the fields that they encode.

The dump shows the spans of `kwire.reference.spans` in the order of the bytes. Every byte is on the line of its field or
counted on a line that says how many are left out: long arrays show their first and last elements, long values their
first bytes. Bytes that cannot be decoded come last, below the error.

    offset       bytes                    field                type            value
        4  0004  03                       brokers              count           2
                                          brokers[0]
        5  0005  00 00 00 01                node_id            int32           1
"""

from __future__ import annotations

from itertools import pairwise

from kwire._util.light_typing import TYPE_CHECKING, NamedTuple
from kwire._util.secret import HIDDEN
from kwire.cli.value_labels import value_label, value_text
from kwire.declare.sensitive_fields import has_sensitive_fields, secret_paths
from kwire.errors import path_text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kwire.cli.frames import Frame, Part
    from kwire.errors import DecodeError, PathElement
    from kwire.reference import Span
    from kwire.terminal.colors import Paint

    Path = tuple[PathElement, ...]

LINE_BYTES = 8
"""Bytes on a line; few fields are longer."""
MAX_VALUE_LINES = 4
MAX_VALUE_WIDTH = 48
MAX_NAME_WIDTH = 44
LONG_ARRAY = 16
"""Elements from which on an array is shortened to its first and last elements."""
FIRST_ELEMENTS, LAST_ELEMENTS = 8, 2

TAG_SPANS = ("tag count", "tag", "unknown tag")
"""Spans of the tag section, which have the path of their struct."""
PRESENCE_SPANS = ("marker", "control")
"""Spans that say whether the value follows or is null."""


class Line(NamedTuple):
    """A line of the dump; `start` is None on lines without bytes, `style` applies to name and value."""

    name: str
    start: int | None = None
    data: bytes = b""
    type: str = ""
    value: str = ""
    note: str = ""
    style: str = ""


def hexdump(frame: Frame, dialect: str, paint: Paint, *, everything: bool, hide_secrets: bool = False) -> Iterator[str]:
    """Yield the lines of a frame's dump.

    Args:
        frame: the frame to dump.
        dialect: the dialect that names error codes and APIs.
        paint: colors the lines.
        everything: shows long arrays and values in full.
        hide_secrets: leaves out the bytes of secrets, and bytes that belong to no field but could be secrets.
    """
    parts = [
        (part, list(_part_lines(part, frame.payload, dialect, everything=everything, hide_secrets=hide_secrets)))
        for part in frame.parts
    ]
    rest = list(_remaining_lines(frame))
    if hide_secrets and frame.rest_may_be_secret:
        rest = [_hidden(line) for line in rest]
    columns = _Columns([line for _, lines in parts for line in lines] + rest, len(frame.payload), paint, everything)
    for number, (part, lines) in enumerate(parts):
        if number > 0:
            yield ""
        size = f"{len(part.data)} byte{'' if len(part.data) == 1 else 's'}"
        yield paint("title", part.title) + paint("quiet", f", {size}" + (f" from {part.start}" if part.start else ""))
        for line in lines:
            yield from columns.rows(line)
    for line in rest:
        yield from columns.rows(line)


def _part_lines(part: Part, payload: bytes, dialect: str, *, everything: bool, hide_secrets: bool) -> Iterator[Line]:
    spans, error = part.spans()
    secrets = _secret_starts(part, spans) if hide_secrets else set()
    for line in _span_lines(spans, payload, dialect, everything=everything):
        yield _hidden(line) if line.start in secrets else line
    if error is not None:
        for line in _error_lines(error, spans[-1].end if spans else part.start, payload):
            yield _hidden(line) if hide_secrets else line


def _secret_starts(part: Part, spans: list[Span]) -> set[int]:
    """Return the offsets of the spans that can hold secrets."""
    values = {span.path: span.value for span in spans if span.type not in (*TAG_SPANS, *PRESENCE_SPANS, "tag size")}
    secret = secret_paths(part.cls, values)
    unknown_tags = has_sensitive_fields(part.cls)
    return {
        span.start
        for span in spans
        if (span.path in secret and span.value) or (unknown_tags and span.type == "unknown tag")
    }


def _hidden(line: Line) -> Line:
    """Return a line without its bytes. The text of an error has no values."""
    return line._replace(data=b"", value=HIDDEN) if line.data else line


def _error_lines(error: DecodeError, decoded: int, payload: bytes) -> Iterator[Line]:
    """Yield the error and the bytes that it prevents from being decoded."""
    name = path_text(error.path[-1:]) or "(end of message)"
    rest = payload[decoded:]
    text = str(error).partition(": ")[2] if error.path else str(error)
    # An error in a decoded value, such as a count, has no bytes of its own: the line above shows them.
    has_bytes = error.offset >= decoded
    yield Line(
        _indent(_depth(error.path[:-1])) + name, error.offset, rest if has_bytes else b"", note=text, style="error"
    )
    if rest and not has_bytes:
        yield Line("(not read)", decoded, rest, style="note")


def _remaining_lines(frame: Frame) -> Iterator[Line]:
    """Yield the bytes after the last part: surplus bytes, or the body of an unknown message."""
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
        array = _shortened_array(span.path, sizes)
        if array is not None:
            end = position
            while end < len(spans) and _shortened_array(spans[end].path, sizes) == array:
                end += 1
            yield _omitted_line(array, sizes[array], span, spans[end - 1].end)
            position = end
            continue
        container = _container(spans, position)
        announced = spans[position - 1].path if position and spans[position - 1].type in PRESENCE_SPANS else None
        yield from _headings(opened, container, announced)
        opened = container
        packed = _packed(spans, position, sizes)
        known_tag = spans[position + 1].path if span.type == "tag" and position + 1 < len(spans) else ()
        yield _line(packed, container, known_tag, payload, dialect)
        position += len(packed)


def _sizes_of_long_arrays(spans: list[Span]) -> dict[Path, int]:
    """Return the number of elements of each array that is shortened."""
    sizes: dict[Path, int] = {}
    for span in spans:
        for index, element in enumerate(span.path):
            if isinstance(element, int) and element >= LONG_ARRAY:
                sizes[span.path[:index]] = element + 1
    return sizes


def _shortened_array(path: Path, sizes: dict[Path, int]) -> Path | None:
    """Return the outermost array that omits the element at a path, or None if the element is shown."""
    # A path from its start leads from outer arrays to inner ones.
    if sizes:
        for index, element in enumerate(path):
            if isinstance(element, int):
                size = sizes.get(path[:index])
                if size is not None and FIRST_ELEMENTS <= element < size - LAST_ELEMENTS:
                    return path[:index]
    return None


def _omitted_line(array: Path, size: int, span: Span, end: int) -> Line:
    first, last = FIRST_ELEMENTS, size - LAST_ELEMENTS - 1
    depth = _depth(array) if span.path[:-1] == array else _depth((*array, first)) - 1
    note = f"{last - first + 1} elements, {end - span.start} bytes: --all shows them"
    return Line(f"{_indent(depth)}[{first}-{last}] ...", span.start, note=note, style="note")


def _container(spans: list[Span], position: int) -> Path:
    """Return the struct or array that contains a span."""
    span = spans[position]
    if span.type == "tag size":
        # The path names the field for a known tag, and the struct otherwise. The tag before it always has
        # the path of the struct.
        return spans[position - 1].path
    return span.path if span.type in TAG_SPANS else span.path[:-1]


def _headings(opened: Path, container: Path, announced: Path | None) -> Iterator[Line]:
    """Yield a line with the path of each struct that starts here, for orientation in a long dump.

    Args:
        opened: the container of the previous line.
        container: the container of the next line.
        announced: the path of a nullable struct that has its marker on the previous line.
    """
    for index, element in enumerate(container):
        path = container[: index + 1]
        is_array = isinstance(element, str) and isinstance(next(iter(container[index + 1 :]), 0), int)
        if opened[: index + 1] != path and path != announced and not is_array:
            yield Line(f"{_indent(_depth(path) - 1)}{path_text(path)}", style="title")


def _depth(container: Path) -> int:
    """Return the indentation of a container's fields: one level for each struct or array element."""
    return sum(
        isinstance(element, int) or not isinstance(next_element, int)
        for element, next_element in pairwise((*container, None))
    )


def _packed(spans: list[Span], position: int, sizes: dict[Path, int]) -> list[Span]:
    """Return a span, and the following elements of the same array of numbers that fit on its line."""
    first = spans[position]
    packed = [first]
    if not first.path or not isinstance(first.path[-1], int) or first.type in TAG_SPANS:
        return packed
    for span in spans[position + 1 : position + LINE_BYTES]:
        same = span.path[:-1] == first.path[:-1] and span.type == first.type and span.type not in TAG_SPANS
        fits = span.end - first.start <= LINE_BYTES
        if not (same and fits) or _shortened_array(span.path, sizes) is not None:
            break
        packed.append(span)
    return packed


def _line(packed: list[Span], container: Path, known_tag: Path, payload: bytes, dialect: str) -> Line:
    first, last = packed[0], packed[-1]
    data = payload[first.start : last.end]
    indent = _indent(_depth(container))
    if first.type in TAG_SPANS or first.type == "tag size":
        style = "quiet" if first.type == "tag count" and first.value == 0 else ""
        note = ""
        if first.type == "tag":
            note = path_text(known_tag[len(container) :]) or "not declared"
        return Line(f"{indent}tags", first.start, data, first.type, _span_text(first), note, style)
    if len(packed) > 1:
        values = value_text(tuple(span.value for span in packed))
        return Line(f"{indent}[{first.path[-1]}-{last.path[-1]}]", first.start, data, first.type, values)
    note = value_label(first.path, first.value, dialect)
    return Line(f"{indent}{path_text(first.path[-1:])}", first.start, data, first.type, _span_text(first), note)


def _span_text(span: Span) -> str:
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
    """Formats the lines of a dump with columns of equal width."""

    def __init__(self, lines: list[Line], size: int, paint: Paint, everything: bool) -> None:
        self.digits = max(len(str(size)), 3)
        self.names = min(max((len(line.name) for line in lines if line.start is not None), default=0), MAX_NAME_WIDTH)
        self.types = max((len(line.type) for line in lines), default=0)
        self.before_bytes = self.digits + len("  0000  ")
        self.paint = paint
        self.everything = everything

    def rows(self, line: Line) -> Iterator[str]:
        if line.start is None:
            yield " " * (self.before_bytes + LINE_BYTES * 3 + 1) + self.paint("title", line.name)
            return
        first, *more = _rows(line.data, everything=self.everything)
        value = line.value
        if len(value) > MAX_VALUE_WIDTH and not self.everything:
            value = value[: MAX_VALUE_WIDTH - 4] + " ..."
        cells = [
            f"{first:{LINE_BYTES * 3 - 1}}",
            self.paint(line.style or "plain", f"{line.name:{self.names}}"),
            self.paint(line.style or "type", f"{line.type:{self.types}}"),
            *([self.paint(line.style or "value", value)] if value else []),
            *([self.paint(line.style or "note", line.note)] if line.note else []),
        ]
        yield (self.offset(line.start) + "  ".join(cells)).rstrip()
        for number, row in enumerate(more, 1):
            has_bytes = not row.startswith("...")
            start = line.start + number * LINE_BYTES
            yield (self.offset(start) if has_bytes else " " * self.before_bytes) + row

    def offset(self, start: int) -> str:
        return self.paint("quiet", f"{start:{self.digits}}  {start:04x}") + "  "


def _rows(data: bytes, *, everything: bool) -> Iterator[str]:
    """Yield the bytes in lines; of a long value the first lines and the number of omitted bytes."""
    shown = len(data) if everything or len(data) <= MAX_VALUE_LINES * LINE_BYTES else (MAX_VALUE_LINES - 1) * LINE_BYTES
    for start in range(0, max(shown, 1), LINE_BYTES):
        yield data[start : min(start + LINE_BYTES, shown)].hex(" ")
    if shown < len(data):
        yield f"... {len(data) - shown} more bytes"
