"""Many frames of one message as one Arrow record batch, without a Python object for a row.

Rules of this file: the engine does the work; here a message class becomes what the engine must know about it, once for
each (class, version, rows). Nothing of Arrow is imported: the batch is handed over through the PyCapsule interface.

A **row** is an element of the array that ``rows`` names; for ``""`` each frame is one. Its columns:

``frame``
    The index of the frame, from 0.
fields of the message and of each struct on the way to the rows
    repeated for every row below; strings and bytes by a dictionary. Arrays beside the way are left out.
fields of the row
    as they are: arrays as lists, structs as structs, ``maybe`` and ``nullable`` as null.
``error_kind``, ``error_offset``, ``error_path``
    null for a good frame. A bad one has one row, null in all other columns but ``frame``: what ``kwire.decode`` would
    raise, the path as a person writes it. A frame that is None, or null, is a ``"null_frame"`` and has neither offset
    nor path.

**Names** are the fields' own. Where a name is taken by a field nearer to the row, or by one of the columns above, the
path of its struct stands before it: ``topics_error_code``, and ``message_error_code`` for the message's own.

**Types** do not depend on the version: a field that a version lacks holds its default there. Unknown tags are not kept.
"""

from __future__ import annotations

from kwire.declare.field import MISSING
from kwire.declare.introspect import check_version, describe, fields, zero_of
from kwire.declare.plan_text import literal, plan_source
from kwire.declare.wire_types import (
    ArrayType,
    BytesType,
    MaybeType,
    NullableType,
    Primitive,
    StringType,
    StructType,
    WireType,
)
from kwire.errors import DeclarationError, KwireError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Protocol, TypeAlias

    from kwire._kwire import Batch, Columns, Schema
    from kwire.declare import Message, Struct
    from kwire.declare.field import Field

    class ArrowArray(Protocol):
        """Anything that hands over an Arrow array of bytes: of pyarrow, polars, arro3, nanoarrow."""

        def __arrow_c_array__(self, requested_schema: object | None = None) -> tuple[object, object]: ...

    class ArrowStream(Protocol):
        """Anything that hands over a chunked one."""

        def __arrow_c_stream__(self, requested_schema: object | None = None) -> object: ...

    BytesLike: TypeAlias = bytes | bytearray | memoryview
    Frames: TypeAlias = Iterable[BytesLike | None] | ArrowArray | ArrowStream


class NoSuchRows(KwireError, ValueError):
    """``rows`` names no array of the message. ``message``: its name; ``paths``: those that there are."""

    def __init__(self, message: str, rows: str, paths: Iterable[str]) -> None:
        super().__init__(message, rows, tuple(paths))
        self.message = message
        self.rows = rows
        self.paths = tuple(paths)

    def __str__(self) -> str:
        known = ", ".join(repr(path) for path in ("", *self.paths))
        return f"{self.message} has no array {self.rows!r} for rows: there are {known}"


class BatchTooLarge(KwireError, ValueError):
    """More bytes of frames than Arrow's 32-bit offsets are sure to reach. ``size``, ``max_size``: in bytes."""

    def __init__(self, size: int, max_size: int) -> None:
        super().__init__(size, max_size)
        self.size = size
        self.max_size = max_size

    def __str__(self) -> str:
        return f"frames of {self.size} bytes in all: at most {self.max_size} go into one batch, so make several"


def columns(
    cls: type[Message], frames: Frames, *, version: int, rows: str = "topics.partitions", header: bool = False
) -> Batch:
    """Decode many bodies of one message into an Arrow record batch.

    ``frames``: bodies, as bytes-like objects or None, or as an Arrow array of type binary, which is not copied.
    ``header``: the frames are payloads, each with the header before it that goes with the version; it is passed over,
    and offsets count from its first byte. ``rows``: the array whose elements are the rows, as names with dots between.

    The batch offers ``__arrow_c_array__``, ``__arrow_c_stream__`` and ``__arrow_c_schema__``: give it to
    ``pyarrow.record_batch``, ``polars.DataFrame``, ``duckdb.from_arrow`` or ``pandas.DataFrame.from_arrow``.

    Bad frames are rows, not exceptions. Raises UnsupportedVersion, NoSuchRows, BatchTooLarge (2 GiB of frames),
    TypeError for frames that are no bytes.
    """
    if isinstance(frames, (bytes, bytearray, memoryview)):
        raise TypeError(f"frames: many bodies are wanted, not one of type {type(frames).__name__}: put it into a list")
    return _compiled(cls, version, rows, header=header).batch(frames)


def columns_schema(cls: type[Message], *, version: int, rows: str = "topics.partitions") -> Schema:
    """What ``columns`` gives, without data: offers ``__arrow_c_schema__``, for ``pyarrow.schema`` and others."""
    return _compiled(cls, version, rows, header=False).schema


_MOST_COMPILED = 256
_compiled_before: dict[tuple[type[Message], int, str, bool], Columns] = {}


def _compiled(cls: type[Message], version: int, rows: str, *, header: bool) -> Columns:
    """How to do it for one class, version, rows and header; the last ones asked for are kept."""
    check_version(cls, version)
    if not isinstance(rows, str):
        raise TypeError(f"rows: a str is wanted, names with dots between, not {rows!r}")
    wanted = (cls, version, rows, header)
    found = _compiled_before.get(wanted)
    if found is None:
        from kwire._kwire import Columns

        text, defaults = _shape(cls)
        found = Columns(
            plan_source(cls, version).text, _header_plan(cls, version) if header else None, text, defaults, rows
        )
        if len(_compiled_before) >= _MOST_COMPILED:
            _compiled_before.clear()
        _compiled_before[wanted] = found
    return found


def _header_plan(cls: type[Message], version: int) -> str:
    from kwire.messages.headers import RequestHeader, ResponseHeader

    facts = describe(cls)
    header = RequestHeader if facts.kind == "request" else ResponseHeader
    return plan_source(header, facts.header_version(version)).text


def _shape(cls: type[Message]) -> tuple[str, list[str]]:
    """All fields of all versions as a plan, and for each struct in it the defaults as another."""
    writer = _ShapeWriter()
    body = writer.struct(cls)
    return f"{cls.__name__} v0 {body}", [f"Defaults v0 {{{each}}}" for each in writer.defaults]


class _ShapeWriter:
    def __init__(self) -> None:
        self.defaults: list[str] = []

    def struct(self, cls: type[Struct]) -> str:
        declared = fields(cls)
        self.defaults.append(
            " ".join(f"-{f.name}={default_text(cls, f)}" for f in declared if f.default is not MISSING)
        )
        # In angle brackets, where even a struct without fields has a byte.
        return f"<{' '.join(f'{f.name}:{self.type(f.type)}' for f in declared)}>"

    def type(self, type: WireType) -> str:
        match type:
            case Primitive(name=name):
                return name
            case StringType():
                return "string"
            case BytesType():
                return "bytes"
            case ArrayType(element=element):
                return f"[{self.type(element)}]"
            case NullableType(inner=inner):
                return f"{self.type(inner)}?"
            case MaybeType(inner=inner):
                return f"maybe({self.type(inner)})"
            case StructType(struct=struct):
                return self.struct(struct)
        raise TypeError(f"{type!r} has no text")


def default_text(cls: type[Struct], f: Field) -> str:
    if isinstance(f.type, StructType) and f.default != zero_of(f.type):
        raise DeclarationError(cls.__name__, f.name, "a struct with columns can only have default=zero")
    return literal(f.default)
