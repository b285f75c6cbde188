"""Statistics of Parquet files in the form of Delta Lake, from their footers.

Readers skip the files that their filters exclude by these bounds. In Delta, a missing bound excludes nothing, but
deltalake 1.6 then skips every file, so each column with values has both bounds: wider than its values where the footer
or JSON cannot express them.
"""

from __future__ import annotations

import json
import math
import sys
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from kwire.metadata.timestamps import microseconds
from kwire_pipeline.store.record import DataFile

if TYPE_CHECKING:
    from collections.abc import Collection

    import pyarrow as pa
    from pyarrow.parquet import FileMetaData

BOUND_CHARACTERS = 64
"""Maximum number of characters of the bounds of strings. Chosen, not measured; Delta Lake for Spark keeps 32."""

_LAST_CHARACTER = "\U0010ffff"
"""The last code point in order, which Unicode reserves: no text begins with it."""


def data_file(
    path: str, partition: dict[str, str], size: int, footer: FileMetaData, with_nan: Collection[str] = ()
) -> DataFile:
    """Return a Parquet file as a table lists it, with statistics of all columns that are not nested.

    Args:
        path: relative to the folder of the table.
        partition: the values of the partition columns.
        size: in bytes.
        footer: the footer of the file.
        with_nan: the columns with NaN, which Parquet leaves out of its bounds although some readers sort it last.
    """
    import pyarrow as pa

    schema = footer.schema.to_arrow_schema()
    null_count: dict[str, int] = {}
    bounds: dict[str, tuple[Any, Any]] = {}
    # A group without rows has no statistics.
    row_groups = [group for group in map(footer.row_group, range(footer.num_row_groups)) if group.num_rows]
    for index in range(footer.num_columns):
        name = footer.schema.column(index).path
        if name not in schema.names:
            continue  # a leaf of a nested column
        groups = [group.column(index).statistics for group in row_groups]
        null_count[name] = sum(group.null_count for group in groups)
        if null_count[name] == footer.num_rows or pa.types.is_binary(schema.field(name).type):
            continue
        filled = [group for group in groups if group.num_values]
        # The footer has no bounds of values over 4 KiB.
        if name not in with_nan and all(group.has_min_max for group in filled):
            bounds[name] = min(group.min for group in filled), max(group.max for group in filled)
        else:
            bounds[name] = _unbounded(schema.field(name).type)
    statistics = {
        "minValues": {name: _lower_bound(low) for name, (low, _) in bounds.items()},
        "maxValues": {name: _upper_bound(high) for name, (_, high) in bounds.items()},
        "nullCount": null_count,
    }
    times = (bounds.get(field.name) for field in schema if pa.types.is_timestamp(field.type))
    first, last = next(times, None) or (None, None)
    # deltalake 1.6 decodes escaped characters from U+20000 on to others, so there are no escapes.
    text = json.dumps(statistics, ensure_ascii=False)
    return DataFile(path, partition, footer.num_rows, size, microseconds(first), microseconds(last), text)


def _unbounded(type: pa.DataType) -> tuple[Any, Any]:
    import pyarrow as pa

    return ("", _LAST_CHARACTER) if pa.types.is_string(type) else (-math.inf, math.inf)


def _lower_bound(value: Any) -> Any:
    match value:
        case str():
            return value[:BOUND_CHARACTERS]
        case float():
            return max(value, -sys.float_info.max)  # JSON has no infinity
    return _scalar(value)


def _upper_bound(value: Any) -> Any:
    match value:
        case str() if len(value) > BOUND_CHARACTERS and value[BOUND_CHARACTERS] != _LAST_CHARACTER:
            return value[:BOUND_CHARACTERS] + _LAST_CHARACTER
        case float():
            return min(value, sys.float_info.max)
    return _scalar(value)


def _scalar(value: Any) -> Any:
    if isinstance(value, datetime):
        return value.astimezone(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")
    return value
