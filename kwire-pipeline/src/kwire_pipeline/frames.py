"""`decode_frames`: decode the frames in any DataFrame to rows, in the executors and directly to Arrow.

No Python object is created per row. A frame that cannot be decoded becomes a row with its error.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import functions as f
from pyspark.sql.pandas.types import from_arrow_schema
from pyspark.sql.types import StructField, StructType

from kwire.columnar import columns, columns_schema
from kwire_pipeline.session import use_driver_python

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pyspark.sql import DataFrame

    from kwire.declare import Message

UNSUPPORTED = "unsupported_version"


def decode_frames(
    frames: DataFrame,
    cls: type[Message],
    *,
    version: int | str,
    frame: str = "frame",
    rows: str = "topics.partitions",
    header: bool = True,
    keep: Sequence[str] | None = None,
) -> DataFrame:
    """Decode a column of frames to one row per element of an array in them (docs/columns.md).

    A frame that cannot be decoded becomes one row with the reason in `error_kind`.

    Args:
        frames: the table of frames.
        cls: the message in the frames.
        version: the version of all frames, or the name of a column with the version of each.
        frame: the column of frames.
        rows: the array that gives a row per element.
        header: True for payloads that start at the correlation id; False for bodies without a header.
        keep: the columns to repeat in each row [default: all except `frame`].

    Raises:
        UnsupportedVersion: the message does not have the version.
        NoSuchRows: the message does not have the array.
        ValueError: a kept column has the name of a decoded one.
    """
    layout_version = version if isinstance(version, int) else max(cls.versions)
    decoded = spark_compatible(pa.schema(columns_schema(cls, version=layout_version, rows=rows)))
    decoded = decoded.remove(decoded.get_field_index("frame"))
    kept_names = [name for name in frames.columns if name != frame] if keep is None else list(keep)
    if clashes := sorted(set(kept_names) & set(decoded.names)):
        raise ValueError(
            f"columns {', '.join(clashes)} are in both the frames and the message: rename or exclude them (keep=)"
        )
    selected = frames.select(f.col(frame).cast("binary").alias("__frame"), *kept_names)
    if isinstance(version, str):
        selected = frames.select(
            f.col(frame).cast("binary").alias("__frame"), *kept_names, f.col(version).cast("int").alias("__version")
        )
    types = StructType([StructField(name, frames.schema[name].dataType) for name in kept_names])
    schema = StructType([*types.fields, *from_arrow_schema(decoded).fields])
    use_driver_python(frames.sparkSession)
    task = FrameDecoding(cls, version if isinstance(version, int) else None, rows, header, tuple(kept_names), decoded)
    return selected.mapInArrow(task.run, schema)


class FrameDecoding:
    """The decoding of frames in a worker."""

    def __init__(
        self,
        cls: type[Message],
        version: int | None,
        rows: str,
        header: bool,
        kept_names: tuple[str, ...],
        decoded: pa.Schema,
    ) -> None:
        self._cls = cls
        self._version = version
        self._rows = rows
        self._header = header
        self._kept = kept_names
        self._decoded = decoded

    def run(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Decode batches of frames. For `mapInArrow`."""
        for batch in batches:
            if not batch.num_rows:
                continue
            if self._version is not None:
                yield from self._decode(batch, self._version)
                continue
            versions = batch.column(batch.num_columns - 1)
            for version in pc.unique(versions).to_pylist():
                chosen = pc.is_null(versions) if version is None else pc.equal(versions, version)
                yield from self._decode(batch.filter(chosen), version)

    def _decode(self, batch: pa.RecordBatch, version: int | None) -> Iterator[pa.RecordBatch]:
        """Decode frames in pieces, so that a worker holds the rows of a few megabytes of frames at a time."""
        frames = batch.column(0)
        for start, stop in _pieces(frames):
            yield self._decode_piece(batch.slice(start, stop - start), version)

    def _decode_piece(self, batch: pa.RecordBatch, version: int | None) -> pa.RecordBatch:
        frames = batch.column(0)
        if version is None or version not in self._cls.versions:
            decoded_rows = _undecoded(frames, self._decoded, UNSUPPORTED)
        else:
            decoded_rows = pa.record_batch(
                columns(self._cls, frames, version=version, rows=self._rows, header=self._header)
            )
        index = decoded_rows.column("frame")
        arrays = [batch.column(name).take(index) for name in self._kept]
        arrays += [_cast(decoded_rows.column(field.name), field.type) for field in self._decoded]
        return pa.RecordBatch.from_arrays(arrays, names=[*self._kept, *self._decoded.names])


PIECE_BYTES = 4 << 20
"""Bytes of frames to decode at once; a larger frame is a piece of its own."""


def _pieces(frames: pa.Array) -> Iterator[tuple[int, int]]:
    sizes = pc.fill_null(pc.binary_length(frames), 0).to_pylist()
    start = piece_size = 0
    for position, size in enumerate(sizes):
        if piece_size and piece_size + size > PIECE_BYTES:
            yield start, position
            start, piece_size = position, 0
        piece_size += size
    yield start, len(sizes)


def _undecoded(frames: pa.Array, decoded: pa.Schema, kind: str) -> pa.RecordBatch:
    """Return a row for each frame with an error."""
    count = len(frames)
    arrays: list[pa.Array] = [pa.array(range(count), pa.uint32())]
    for field in decoded:
        is_error = field.name == "error_kind"
        arrays.append(pa.array([kind] * count, field.type) if is_error else pa.nulls(count, field.type))
    return pa.RecordBatch.from_arrays(arrays, names=["frame", *decoded.names])


def spark_compatible(schema: pa.Schema) -> pa.Schema:
    """Return the schema with types that Spark supports: no dictionaries, ids as bytes, wider signed integers."""
    return pa.schema([pa.field(field.name, _compatible_type(field.type)) for field in schema])


def _compatible_type(type: pa.DataType) -> pa.DataType:
    if isinstance(type, pa.BaseExtensionType):
        return _compatible_type(type.storage_type)
    if pa.types.is_dictionary(type):
        return _compatible_type(type.value_type)
    if pa.types.is_fixed_size_binary(type):
        return pa.binary()
    if pa.types.is_uint8(type):
        return pa.int16()
    if pa.types.is_uint16(type):
        return pa.int32()
    if pa.types.is_uint32(type) or pa.types.is_uint64(type):
        return pa.int64()
    if pa.types.is_large_string(type) or pa.types.is_string_view(type):
        return pa.string()
    if pa.types.is_list(type) or pa.types.is_large_list(type):
        return pa.list_(_compatible_type(type.value_type))
    if pa.types.is_struct(type):
        return pa.struct([pa.field(field.name, _compatible_type(field.type)) for field in type])
    return type


def _cast(column: pa.Array, type: pa.DataType) -> pa.Array:
    if isinstance(column.type, pa.BaseExtensionType):
        column = column.storage
    return column if column.type == type else column.cast(type)
