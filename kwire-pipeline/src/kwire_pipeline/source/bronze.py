"""Bronze rows from any table: the columns of a capture, sorted by time for each broker.

Nothing is decoded here. Missing columns are null, except for the defaults of `normalize`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kwire._util.readable import counted
from kwire.errors import KwireError
from kwire_pipeline.base_tables import BRONZE
from kwire_pipeline.in_process import distribute
from kwire_pipeline.tables import ddl_type

if TYPE_CHECKING:
    from collections.abc import Iterable

    import pyarrow as pa
    from pyspark.sql import DataFrame


class MissingPollTime(KwireError, ValueError):
    """Rows without a time of their poll that Python can express.

    `rows` is their number; None if the column `polled_at` is missing.
    """

    def __init__(self, rows: int | None = None) -> None:
        super().__init__(rows)
        self.rows = rows

    def __str__(self) -> str:
        fault = (
            "the frames have no column polled_at"
            if self.rows is None
            else f"polled_at is null, or not in the years 1 to 9999, in {counted(self.rows, 'row')}"
        )
        return f"{fault}: silver needs the time of each frame; fill it in, or drop these rows"


class InvalidColumn(KwireError, ValueError):
    """A column of a table of frames has a type that cannot be one of bronze.

    Attributes:
        column: its name.
        type: its type.
        expected: the type that is expected, and a function that returns it.
    """

    def __init__(self, column: str, type: str, expected: str) -> None:
        super().__init__(column, type, expected)
        self.column = column
        self.type = type
        self.expected = expected

    def __str__(self) -> str:
        return f"the column {self.column} is {self.type}: expected {self.expected}"


COLUMNS = {column.name: column.type for column in BRONZE.columns}
"""The types of the columns as Spark writes them."""

DDL = BRONZE.ddl


def normalize(frames: DataFrame) -> DataFrame:
    """Return the columns of bronze; other columns are dropped.

    `request_hex`, a string, is accepted as `request`. A null `kind` becomes 'full' if there is a frame and else
    'error', a null `dialect` 'kafka', and a null `broker_id`, `api_key`, or `api_version` -1. An empty `poller_id`
    becomes null.

    Raises:
        MissingPollTime: there is no column `polled_at`.
        InvalidColumn: a column has a type whose values would be taken for others.
    """
    if "polled_at" not in frames.columns:
        raise MissingPollTime
    check_types(frames)
    columns = {name: name if name in frames.columns else "NULL" for name in COLUMNS}
    if "request_hex" in frames.columns:
        columns["request"] = f"coalesce(CAST({columns['request']} AS binary), unhex(request_hex))"
    columns["kind"] = f"coalesce({columns['kind']}, CASE WHEN {columns['frame']} IS NULL THEN 'error' ELSE 'full' END)"
    columns["dialect"] = f"coalesce({columns['dialect']}, 'kafka')"
    for unknown in ("broker_id", "api_key", "api_version"):
        columns[unknown] = f"coalesce({columns[unknown]}, -1)"
    columns["endpoint"] = f"coalesce({columns['endpoint']}, '')"
    columns["poller_id"] = f"nullif(CAST({columns['poller_id']} AS string), '')"
    return frames.selectExpr(*(f"CAST({columns[name]} AS {type}) AS {name}" for name, type in COLUMNS.items()))


def check_types(frames: DataFrame) -> None:
    """Check the types of the columns of bronze. Spark casts some to values that were never polled.

    Raises:
        InvalidColumn: a column has such a type.
    """
    text_is_binary = frames.sparkSession.conf.get("spark.sql.parquet.binaryAsString", "false") == "true"
    _check(frames.dtypes, text_is_binary=text_is_binary)


def is_plain(schema: pa.Schema) -> bool:
    """Return whether each engine casts the columns of bronze to the same values, since they have nearly its types.

    Raises:
        InvalidColumn: a column has a type whose values would be taken for others.
    """
    types = {field.name: ddl_type(field.type) for field in schema if field.name in COLUMNS}
    _check(types.items(), text_is_binary=False)
    integers = ("tinyint", "smallint", "int", "bigint")
    plain = {"timestamp": ("timestamp", "timestamp_ntz"), **dict.fromkeys(integers, integers)}
    return all(type in ("void", *plain.get(COLUMNS[name], (COLUMNS[name],))) for name, type in types.items())


def check_values(frames: pa.Table) -> None:
    """Check that numbers fit into the columns of bronze.

    Raises:
        InvalidColumn: a column has one that does not.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    for name, type in COLUMNS.items():
        if name in frames.column_names and pa.types.is_integer(frames[name].type) and type in _INTEGER_BITS:
            bound = 2 ** (_INTEGER_BITS[type] - 1)
            for value in pc.min_max(frames[name]).as_py().values():
                if value is not None and not -bound <= value < bound:
                    raise InvalidColumn(name, f"{value:,}", type)


_INTEGER_BITS = {"smallint": 16, "int": 32, "bigint": 64}


def _check(types: Iterable[tuple[str, str]], *, text_is_binary: bool) -> None:
    accepted = {
        "timestamp": ("timestamp", "timestamp_ntz", "string", "void"),
        "binary": ("binary", "void", *(["string"] if text_is_binary else [])),
    }
    numbers = ("tinyint", "smallint", "int", "bigint", "float", "double", "decimal", "string", "void")
    accepted |= dict.fromkeys(("int", "smallint", "bigint"), numbers)
    texts = ("string", "binary", "void", "tinyint", "smallint", "int", "bigint")
    for name, type in types:
        target = COLUMNS.get(name)
        if target is None:
            continue
        # `char(10)` and `decimal(10,0)` are `char` and `decimal`.
        kind = {"char": "string", "varchar": "string"}.get(type.partition("(")[0], type.partition("(")[0])
        if kind not in accepted.get(target, texts):
            raise InvalidColumn(name, type, f"{target}{_ADVICE.get(target, '')}")


_ADVICE = {
    "timestamp": ", as timestamp_seconds, timestamp_millis, and timestamp_micros return it from numbers",
    "binary": ", as unhex and unbase64 return it from text",
}


def partition_by_broker(rows: DataFrame, *then: str) -> DataFrame:
    """Return the rows partitioned by broker and poller and sorted by time, then by the columns `then`.

    While the cluster or the broker is not known, the endpoint identifies the broker.
    """
    endpoint = "CASE WHEN cluster_id IS NULL OR broker_id < 0 THEN endpoint ELSE '' END"
    return distribute(rows, f"cluster_id, broker_id, {endpoint}, poller_id", ", ".join(("polled_at", *then)))


def partition_by_reporter(rows: DataFrame, *then: str) -> DataFrame:
    """Return rows of known clusters, partitioned as silver identifies brokers: unknown brokers together as -1."""
    return distribute(rows, "cluster_id, broker_id", ", ".join(("polled_at", *then)))
