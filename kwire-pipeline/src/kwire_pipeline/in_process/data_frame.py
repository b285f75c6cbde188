"""DataFrames of PySpark's interface that run in this process, on DuckDB and Arrow.

A frame is a query. Selections are composed to one query, which runs when its rows are needed: by a function on Arrow
data, a second reader, or the caller. Functions of `applyInArrow` and `mapInArrow` are called as Spark's workers call
them, group by group.
"""

from __future__ import annotations

import tempfile
from collections import defaultdict
from inspect import signature
from itertools import count
from typing import TYPE_CHECKING, Any, cast

from kwire_pipeline.in_process.dialect import MACROS, name_of, quoted, to_duckdb
from kwire_pipeline.in_process.xxhash64 import xxhash64
from kwire_pipeline.tables import ddl_schema, ddl_type

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    import pyarrow as pa
    from pyarrow.fs import FileSystem
    from pyspark.sql import DataFrame


class InProcessSession:
    """A database in memory, and the frames in it. It is used by one thread."""

    conf: Mapping[str, str] = {}
    """The settings of Spark that differ from its defaults: none."""

    def __init__(self) -> None:
        import duckdb
        from duckdb.func import FunctionNullHandling

        settings: dict[str, str | bool | int | float | list[str]] = {
            "threads": 1,  # lists are collected in order
            "temp_directory": tempfile.gettempdir(),
            "autoinstall_known_extensions": False,
            "default_null_order": "nulls_first_on_asc_last_on_desc",  # as in Spark
        }
        self._database = duckdb.connect(":memory:", config=settings)
        self._database.execute("SET TimeZone = 'UTC'")
        for macro in MACROS:
            self._database.execute(f"CREATE MACRO {macro}")
        self._database.create_function("xxhash64", _hash, None, "BIGINT", null_handling=FunctionNullHandling.SPECIAL)
        self._names = (f"t{number}" for number in count())

    def close(self) -> None:
        self._database.remove_function("xxhash64")  # otherwise, it keeps the database alive
        self._database.close()

    def createDataFrame(self, rows: Iterable[Sequence[Any]], ddl: str) -> DataFrame:
        """Return a frame of tuples."""
        import pyarrow as pa

        schema = ddl_schema(ddl)
        values = list(zip(*rows, strict=True)) or [()] * len(schema)
        arrays = [pa.array(column, type_) for column, type_ in zip(values, schema.types, strict=True)]
        return cast("DataFrame", self.frame(pa.table(arrays, schema)))

    def read_files(self, files: Iterable[tuple[str, dict[str, str]]], ddl: str, file_system: FileSystem) -> DataFrame:
        """Read Parquet files, each with the values of its partition columns. Columns that a file lacks are null."""
        import pyarrow as pa
        import pyarrow.parquet as pq

        schema = ddl_schema(ddl)
        tables = [schema.empty_table()]
        for path, partition in files:
            # Not `pq.read_table`, whose datasets take longer than the rows of a small file.
            table = pq.ParquetFile(path, filesystem=file_system, pre_buffer=True).read()
            columns = []
            for field in schema:
                if field.name in partition:
                    value = pa.scalar(partition[field.name]).cast(field.type)
                    columns.append(pa.repeat(value, table.num_rows))
                elif field.name in table.column_names:
                    columns.append(table[field.name].cast(field.type))
                else:
                    columns.append(pa.nulls(table.num_rows, field.type))
            tables.append(pa.table(columns, schema))
        return cast("DataFrame", self.frame(pa.concat_tables(tables)))

    def frame(self, table: pa.Table) -> InProcessFrame:
        """Return Arrow data as a frame of this session."""
        name = next(self._names)
        self._database.register(name, table)
        return InProcessFrame(self, f"SELECT * FROM {name}", table.column_names, name, table)

    def run(self, sql: str) -> pa.Table:
        """Return the rows of a query."""
        return self._database.sql(sql).to_arrow_table()

    def columns(self, sql: str) -> list[str]:
        """Return the names of the columns of a query, which does not run."""
        return self._database.sql(sql).columns

    def store(self, sql: str) -> str:
        """Run a query, and return the name of the table with its rows."""
        name = next(self._names)
        self._database.execute(f"CREATE TEMP TABLE {name} AS {sql}")
        return name


def _hash(*values: Any) -> int:
    return xxhash64(values)


class InProcessFrame:
    """The part of PySpark's `DataFrame` that gold uses."""

    def __init__(
        self,
        session: InProcessSession,
        sql: str,
        columns: list[str] | None = None,
        stored: str = "",
        table: pa.Table | None = None,
    ) -> None:
        self.sparkSession = session
        self._sql = sql
        self._columns = columns
        self._stored = stored
        """The name of the table with the rows; empty until a second query reads them."""
        self._is_read = False
        self._table = table

    @property
    def columns(self) -> list[str]:
        if self._columns is None:
            self._columns = self.sparkSession.columns(self._sql)
        return self._columns

    @property
    def dtypes(self) -> list[tuple[str, str]]:
        """The names of the columns, and their types as Spark names them."""
        return [(field.name, ddl_type(field.type)) for field in self.toArrow().schema]

    def source(self) -> str:
        """Return the frame as an operand of FROM. The rows are computed once, however many queries read them."""
        if not self._stored and self._is_read:
            self._stored = self.sparkSession.store(self._sql)
        self._is_read = True
        return self._stored or f"({self._sql})"

    def _derived(self, sql: str, columns: list[str] | None = None) -> InProcessFrame:
        return InProcessFrame(self.sparkSession, sql, columns)

    # Rows

    def toArrow(self) -> pa.Table:
        if self._table is None:
            self._table = self.sparkSession.run(f"FROM {self.source()}" if self._stored else self._sql)
        return self._table

    def collect(self) -> list[tuple[Any, ...]]:
        table = self.toArrow()
        return list(zip(*(table[name].to_pylist() for name in table.column_names), strict=True))

    def count(self) -> int:
        return int(self.toArrow().num_rows)

    def isEmpty(self) -> bool:
        return self.count() == 0

    # Selections

    def selectExpr(self, *expressions: str, clauses: str = "") -> InProcessFrame:
        items, names = [], []
        for expression in expressions:
            name = name_of(expression)
            is_plain = expression == name
            items.append(f"{to_duckdb(expression)} AS {quoted(name)}" if is_plain else to_duckdb(expression))
            names += self.columns if expression == "*" else [name]
        sql = f"SELECT {', '.join(items)} FROM {self.source()} {clauses}"
        return self._derived(sql, names if all(names) else None)

    select = selectExpr

    def where(self, condition: str) -> InProcessFrame:
        return self._derived(f"SELECT * FROM {self.source()} WHERE {to_duckdb(condition)}", self._columns)

    def drop(self, *names: str) -> InProcessFrame:
        return self.select(*(name for name in self.columns if name not in names))

    def distinct(self) -> InProcessFrame:
        return self._derived(f"SELECT DISTINCT * FROM {self.source()}", self._columns)

    def unionByName(self, other: InProcessFrame) -> InProcessFrame:
        names = ", ".join(map(quoted, self.columns))
        return self._derived(f"FROM {self.source()} UNION ALL SELECT {names} FROM {other.source()}", self._columns)

    union = unionByName

    def join(self, other: InProcessFrame, on: list[str], how: str = "inner") -> InProcessFrame:
        kind = {"inner": "JOIN", "left": "LEFT JOIN", "left_semi": "SEMI JOIN", "left_anti": "ANTI JOIN"}[how]
        # The keys come first, as in Spark.
        others = [*self.columns, *(() if how in {"left_semi", "left_anti"} else other.columns)]
        columns = [*on, *(name for name in others if name not in on)]
        names, keys = ", ".join(map(quoted, columns)), ", ".join(map(quoted, on))
        operands = f"{self.source()} AS l {kind} {other.source()} AS r"
        return self._derived(f"SELECT {names} FROM {operands} USING ({keys})", columns)

    def left_join(self, other: InProcessFrame, condition: str) -> InProcessFrame:
        operands = f"{self.source()} AS l LEFT JOIN {other.source()} AS r ON {to_duckdb(condition)}"
        return self._derived(f"SELECT * FROM {operands}")

    # The interface of Spark for the distribution of rows, which has no effect here

    def repartition(self, *_: object) -> InProcessFrame:
        return self

    def coalesce(self, _: int) -> InProcessFrame:
        return self

    def sortWithinPartitions(self, *expressions: str) -> InProcessFrame:
        order = ", ".join(map(to_duckdb, expressions))
        return self._derived(f"SELECT * FROM {self.source()} ORDER BY {order}", self._columns)

    # Groups, and functions on Arrow data

    def aggregate(self, keys: list[str], aggregates: list[str]) -> InProcessFrame:
        return self.selectExpr(*keys, *aggregates, clauses=f"GROUP BY {', '.join(map(str, range(1, len(keys) + 1)))}")

    def groupBy(self, *keys: str) -> InProcessGroups:
        return InProcessGroups(self, keys)

    def mapInArrow(
        self, function: Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]], ddl: str
    ) -> InProcessFrame:
        import pyarrow as pa

        batches = function(iter(self.toArrow().to_batches()))
        return _result(self.sparkSession, [pa.Table.from_batches([batch]) for batch in batches], ddl)


class InProcessGroups:
    """Rows grouped by columns."""

    def __init__(self, frame: InProcessFrame, keys: Sequence[str]) -> None:
        self._frame = frame
        self._keys = keys

    def cogroup(self, other: InProcessGroups) -> CoGroups:
        return CoGroups(self, other)

    def applyInArrow(self, function: Callable[..., pa.Table], ddl: str) -> InProcessFrame:
        groups = self.tables()
        results = [_call(function, key, rows) for key, rows in groups.items()]
        return _result(self.session, results, ddl)

    @property
    def session(self) -> InProcessSession:
        return self._frame.sparkSession

    @property
    def empty(self) -> pa.Table:
        """A group without rows."""
        return self._frame.toArrow().slice(0, 0)

    def tables(self) -> dict[tuple[Any, ...], pa.Table]:
        """Return the rows by key."""
        table = self._frame.toArrow()
        keys = zip(*(table[key].to_pylist() for key in self._keys), strict=True)
        positions: dict[tuple[Any, ...], list[int]] = defaultdict(list)
        for row, key in enumerate(keys):
            positions[key].append(row)
        if len(positions) == 1:
            return dict.fromkeys(positions, table)
        return {key: table.take(rows) for key, rows in positions.items()}


class CoGroups:
    """Groups of two frames with equal keys."""

    def __init__(self, left: InProcessGroups, right: InProcessGroups) -> None:
        self._left = left
        self._right = right

    def applyInArrow(self, function: Callable[..., pa.Table], ddl: str) -> InProcessFrame:
        left, right = self._left.tables(), self._right.tables()
        no_left, no_right = self._left.empty, self._right.empty
        keys = dict.fromkeys([*left, *right])
        results = [_call(function, key, left.get(key, no_left), right.get(key, no_right), tables=2) for key in keys]
        return _result(self._left.session, results, ddl)


def _call(function: Callable[..., pa.Table], key: tuple[Any, ...], *tables_: pa.Table, tables: int = 1) -> pa.Table:
    """Call a function with the key of a group if it has a parameter for it, as Spark does."""
    import pyarrow as pa

    if len(signature(function).parameters) > tables:
        return function(tuple(pa.scalar(value) for value in key), *tables_)
    return function(*tables_)


def _result(session: InProcessSession, results: list[pa.Table], ddl: str) -> InProcessFrame:
    import pyarrow as pa

    schema = ddl_schema(ddl)
    tables = (table.select(schema.names).cast(schema) for table in results if table.num_rows)
    return session.frame(pa.concat_tables([schema.empty_table(), *tables]))
