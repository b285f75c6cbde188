"""Files that other programs have written into a table, with types or paths that Spark does not read."""

from __future__ import annotations

import json
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

from kwire_pipeline.store.delta_table import is_own_file
from kwire_pipeline.store.table_files import in_schema
from kwire_pipeline.tables import ddl_schema

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    import pyarrow as pa

    from kwire.storage.location import Location
    from kwire_pipeline.store.record import DataFile

CACHED_FILES = 4096
"""Number of files whose types are remembered: each costs a request to an object store."""


class OtherFiles(NamedTuple):
    """Reads files of a table with Arrow, in the executors.

    Attributes:
        location: the folder of the store.
        table: the folder of the table.
        schema: DDL of the columns, with partition columns.
    """

    location: Location
    table: str
    schema: str

    def of(self, files: Iterable[DataFile]) -> dict[str, dict[str, str]]:
        """Return the paths of the files that Spark does not read, with the values of their partition columns."""
        expected = ddl_schema(self.schema)
        return {
            file.path: file.partition
            for file in files
            if not is_own_file(file.path)
            and (
                any(f"{name}={value}/" not in file.path for name, value in file.partition.items())
                or not _has_types(self.location, f"{self.table}/{file.path}", expected)
            )
        }

    def run(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Return the rows of files. For `mapInArrow` over paths and partitions as JSON."""
        import pyarrow as pa
        import pyarrow.parquet as pq

        schema = ddl_schema(self.schema)
        files = self.location.files()
        for plan in batches:
            for row in plan.to_pylist():
                partition = json.loads(row["partition"])
                with pq.ParquetFile(f"{self.table}/{row['path']}", filesystem=files) as parquet:
                    for batch in parquet.iter_batches():
                        rows = _with_partition(pa.Table.from_batches([batch]), partition)
                        yield from in_schema(rows, schema).combine_chunks().to_batches()


def _with_partition(rows: pa.Table, partition: Mapping[str, Any]) -> pa.Table:
    """Return rows with the columns that the path of their file has."""
    import pyarrow as pa

    rows = rows.drop_columns([name for name in partition if name in rows.column_names])
    for name, value in partition.items():
        rows = rows.append_column(name, pa.repeat(value, rows.num_rows))
    return rows


@lru_cache(CACHED_FILES)
def _has_types(location: Location, path: str, expected: pa.Schema) -> bool:
    """Return whether Spark reads the columns of a file in the types of a schema."""
    import pyarrow.parquet as pq

    with location.files().open_input_file(path) as stream:
        parquet = pq.ParquetFile(stream)
        actual = parquet.schema_arrow
        physical = {
            column.path: column.physical_type for column in map(parquet.schema.column, range(len(parquet.schema)))
        }
    return all(
        _is_same(actual.field(field.name).type, field.type) or physical.get(field.name) == "INT96"
        for field in expected
        if field.name in actual.names
    )


def _is_same(actual: pa.DataType, expected: pa.DataType) -> bool:
    """Return whether two types of Arrow are stored as the same type of Parquet."""
    from pyarrow import types

    if types.is_dictionary(actual):
        actual = actual.value_type
    same: bool
    if types.is_string(expected):
        same = types.is_string(actual) or types.is_large_string(actual) or types.is_string_view(actual)
    elif types.is_binary(expected):
        same = types.is_binary(actual) or types.is_large_binary(actual) or types.is_binary_view(actual)
    elif types.is_timestamp(expected):
        same = types.is_timestamp(actual) and actual.unit in {"ms", "us"} and actual.tz is not None
    elif types.is_list(expected):
        is_list = types.is_list(actual) or types.is_large_list(actual)
        same = is_list and _is_same(actual.value_type, expected.value_type)
    elif types.is_struct(expected):
        fields = [field for field in expected if types.is_struct(actual) and actual.get_field_index(field.name) >= 0]
        same = types.is_struct(actual) and all(_is_same(actual.field(each.name).type, each.type) for each in fields)
    else:
        same = actual == expected or types.is_map(expected)
    return same
