"""Decoding of many frames of one message into an Arrow record batch, without Python objects for rows.

The engine decodes the frames. This module describes a message class to the engine, once for each class, version, and
`rows`. Arrow is not imported: batches implement the PyCapsule interface.

A **row** is an element of the array that `rows` names; with `""`, each frame is a row. The columns are:

`frame`
    The index of the frame, starting at 0.
fields of the message and of each struct on the path to the rows
    Repeated for every row, strings and bytes dictionary-encoded. Other arrays of these structs are left out.
fields of the row
    Arrays as lists, structs as structs, `maybe` and `nullable` as null.
`error_kind`, `error_offset`, `error_path`
    Null for a valid frame. An invalid frame has one row with the facts of the DecodeError; all other columns except
    `frame` are null. A frame that is None or null has the kind `"null_frame"`, without offset and path.

**Names** are the field names. If a field nearer to the row or one of the columns above has the same name, the path of
the struct is prepended: `topics_error_code`, or `message_error_code` for the message itself.

**Types** do not depend on the version: a field that is not in the version has its default. Unknown tags are dropped.
"""

from __future__ import annotations

import sys

from kwire.declare.fields import MISSING
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
    from kwire.declare.fields import Field

    class ArrowArray(Protocol):
        """An Arrow array of bytes, for example of pyarrow, polars, arro3, or nanoarrow."""

        def __arrow_c_array__(self, requested_schema: object | None = None) -> tuple[object, object]: ...

    class ArrowStream(Protocol):
        """A chunked Arrow array of bytes."""

        def __arrow_c_stream__(self, requested_schema: object | None = None) -> object: ...

    BytesLike: TypeAlias = bytes | bytearray | memoryview
    Frames: TypeAlias = Iterable[BytesLike | None] | ArrowArray | ArrowStream


class NoSuchRows(KwireError, ValueError):
    """`rows` does not name an array of structs of the message. `paths` lists the valid values."""

    def __init__(self, message: str, rows: str, paths: Iterable[str]) -> None:
        super().__init__(message, rows, tuple(paths))
        self.message = message
        self.rows = rows
        self.paths = tuple(paths)

    def __str__(self) -> str:
        if not self.paths:
            return f"{self.message} has no array of structs for rows: pass rows='' for one row per message"
        paths = ", ".join(repr(path) for path in ("", *self.paths))
        return f"{self.message} has no array {self.rows!r} for rows: expected one of {paths}"


class BatchTooLarge(KwireError, ValueError):
    """The frames have more bytes in total (`size`) than 32-bit Arrow offsets allow (`max_size`)."""

    def __init__(self, size: int, max_size: int) -> None:
        super().__init__(size, max_size)
        self.size = size
        self.max_size = max_size

    def __str__(self) -> str:
        return f"the frames have {self.size} bytes in total: a batch can have at most {self.max_size}, so split them"


class ColumnsTooLarge(KwireError, ValueError):
    """The columns need more memory than `max_bytes`. A few bytes can stand for many: a topic repeats in its rows.

    With `one_column`, a column of strings exceeds Arrow's 32-bit offsets, which `max_bytes` is then.
    """

    def __init__(self, max_bytes: int, one_column: bool) -> None:
        super().__init__(max_bytes, one_column)
        self.max_bytes = max_bytes
        self.one_column = one_column

    def __str__(self) -> str:
        if self.one_column:
            return f"a column needs more than {self.max_bytes} bytes, which is Arrow's limit: pass fewer frames"
        return f"the columns need more than {self.max_bytes} bytes: pass fewer frames or increase max_bytes"


def columns(
    cls: type[Message],
    frames: Frames,
    *,
    version: int,
    rows: str = "topics.partitions",
    header: bool = False,
    max_bytes: int = 8 << 30,
) -> Batch:
    """Decode many bodies of one message into an Arrow record batch.

    Pass the batch to `pyarrow.record_batch`, `polars.DataFrame`, `duckdb.from_arrow`, or `pandas.DataFrame.from_arrow`.
    Invalid frames become rows with error columns, not exceptions.

    Args:
        cls: the message class.
        frames: the bodies, as bytes-like objects or None, or as a binary Arrow array, which is not copied.
        version: the version of all bodies.
        rows: the array of structs that becomes the rows, as field names separated by dots.
        header: true if each frame starts with the header of that version, which is skipped. Offsets include it.
        max_bytes: the largest size of all columns in bytes, including what they share [default: 8 GiB].

    Raises:
        UnsupportedVersion: the class does not declare `version`.
        NoSuchRows: `rows` does not name an array of structs.
        BatchTooLarge: the frames have more than 2 GiB in total.
        ColumnsTooLarge: the columns need more than `max_bytes`.
        ImportError: the compiled module of kwire is not installed.
        TypeError: a frame is not bytes-like.
    """
    if isinstance(frames, (bytes, bytearray, memoryview)):
        raise TypeError(
            f"frames: expected several bodies, found one of type {type(frames).__name__}: put it into a list"
        )
    if isinstance(max_bytes, bool) or not isinstance(max_bytes, int):
        raise TypeError(f"max_bytes: expected a number of bytes, found {max_bytes!r}")
    if max_bytes < 1:
        raise ValueError(f"max_bytes: expected a positive number of bytes, found {max_bytes}")
    return _compiled(cls, version, rows, header=header).batch(frames, min(max_bytes, sys.maxsize))


def columns_schema(cls: type[Message], *, version: int, rows: str = "topics.partitions") -> Schema:
    """Return the schema of the batches that `columns` returns, for example for `pyarrow.schema`."""
    return _compiled(cls, version, rows, header=False).schema


_CACHE_SIZE = 256
_cache: dict[tuple[type[Message], int, str, bool], Columns] = {}


def _compiled(cls: type[Message], version: int, rows: str, *, header: bool) -> Columns:
    """Return the compiled columns of a class, version, rows, and header, from a cache."""
    check_version(cls, version)
    if not isinstance(rows, str):
        raise TypeError(f"rows: expected a str of names separated by dots, found {rows!r}")
    key = (cls, version, rows, header)
    compiled = _cache.get(key)
    if compiled is None:
        compile_columns = _columns_class()
        text, defaults = _shape(cls)
        compiled = compile_columns(
            plan_source(cls, version).text, _header_plan(cls, version) if header else None, text, defaults, rows
        )
        if len(_cache) >= _CACHE_SIZE:
            _cache.clear()
        _cache[key] = compiled
    return compiled


def _columns_class() -> type[Columns]:
    try:
        from kwire._kwire import Columns
    except ImportError as error:
        reason = f"kwire.columns needs the compiled module kwire._kwire, and it cannot be imported: {error}"
        raise ImportError(reason, name="kwire._kwire") from error
    return Columns


def _header_plan(cls: type[Message], version: int) -> str:
    from kwire.messages.headers import RequestHeader, ResponseHeader

    facts = describe(cls)
    header = RequestHeader if facts.kind == "request" else ResponseHeader
    return plan_source(header, facts.header_version(version)).text


def _shape(cls: type[Message]) -> tuple[str, list[str]]:
    """Return a plan with the fields of all versions, and for each of its structs a plan with the defaults."""
    writer = _ShapeWriter()
    body = writer.struct(cls)
    return f"{cls.__name__} v0 {body}", [f"Defaults v0 {{{default}}}" for default in writer.defaults]


class _ShapeWriter:
    def __init__(self) -> None:
        self.defaults: list[str] = []

    def struct(self, cls: type[Struct]) -> str:
        declared = fields(cls)
        self.defaults.append(
            " ".join(f"-{f.name}={default_text(cls, f)}" for f in declared if f.default is not MISSING)
        )
        # Angle brackets mean flexible, where even a struct without fields has a byte.
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
        raise DeclarationError(cls.__name__, f.name, "columns support only default=zero for a struct")
    return literal(f.default)
