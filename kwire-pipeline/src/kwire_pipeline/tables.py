"""Declarations of tables, shared by bronze, silver, and gold.

A table is declared once. Spark's DDL, the Arrow schema of its files, the order of the values in a row, the comments of
the Delta table, and the tables in the documentation derive from the declaration.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True, slots=True)
class Column:
    """A column: its name, its type as Spark's DDL writes it, what it means, and its unit if it has one."""

    name: str
    type: str
    doc: str
    unit: str = ""

    @property
    def comment(self) -> str:
        """The meaning and the unit, as catalogs show them."""
        return f"{self.doc} ({self.unit})" if self.unit else self.doc


DATE = Column("date", "string", "the day of the row as YYYY-MM-DD; in gold, 'open' for a row without an end", "UTC")
HOUR = Column("hour", "int", "the hour of the row, from 0 to 23", "UTC")
"""Partition columns, which the paths of files have."""

REPORTED = (
    Column("cluster_id", "string", "the cluster; '' where no response contains its id"),
    Column("at", "timestamp", "when the response was received", "UTC"),
    Column("broker_id", "int", "the broker that reported it; -1 if unknown"),
)
CHANGE = Column(
    "change", "string", "'set': the new state; 'gone': no longer reported, and the other fields are the last known"
)
TOPIC = Column("topic", "string", "the topic's name")
PARTITION = Column("partition", "int", "the partition's number, from 0")
POLLER_ID = Column("poller_id", "string", "the poller that asked; null if unknown")
"""The last column of every table of silver."""


@dataclass(frozen=True, slots=True)
class Layout:
    """The stored form of a table: the schema with partition columns, their names, and the comment of the table."""

    schema: pa.Schema
    partition_by: tuple[str, ...] = ()
    comment: str | None = None


@dataclass(frozen=True, slots=True)
class Table:
    """A table of silver or gold.

    `time` names the column by which the files of the table are partitioned into dates.
    """

    name: str
    doc: str
    columns: tuple[Column, ...]
    time: str = "at"

    @property
    def ddl(self) -> str:
        """The schema of the files as Spark's DDL, without the partition columns."""
        return ", ".join(f"`{column.name}` {column.type}" for column in self.columns)

    @property
    def names(self) -> list[str]:
        """The names of the columns."""
        return [column.name for column in self.columns]

    @property
    def arrow(self) -> pa.Schema:
        """The schema of the files as Arrow."""
        return _arrow_schema(self.columns)

    def stored(self, *partition: Column) -> Layout:
        """Return the table as it is stored, with comments and with these partition columns."""
        import pyarrow as pa

        columns = (*self.columns, *partition)
        fields = [
            pa.field(column.name, arrow_type(column.type), metadata={"comment": column.comment}) for column in columns
        ]
        return Layout(pa.schema(fields), tuple(column.name for column in partition), self.doc)


@cache
def _arrow_schema(columns: tuple[Column, ...]) -> pa.Schema:
    import pyarrow as pa

    return pa.schema([pa.field(column.name, arrow_type(column.type)) for column in columns])


def arrow_type(type: str) -> pa.DataType:
    """Return the Arrow type of a type in Spark's DDL.

    Raises:
        KeyError: the type is not used by tables of kwire.
    """
    import pyarrow as pa

    kind, _, inner = type.removesuffix(">").partition("<")
    match kind:
        case "array":
            return pa.list_(pa.field("element", arrow_type(inner)))
        case "map":
            key, value = _split(inner)
            return pa.map_(arrow_type(key), arrow_type(value))
        case "struct":
            fields = (field.partition(":") for field in _split(inner))
            return pa.struct([(name, arrow_type(of)) for name, _, of in fields])
    return {
        "string": pa.string(),
        "smallint": pa.int16(),
        "int": pa.int32(),
        "bigint": pa.int64(),
        "double": pa.float64(),
        "boolean": pa.bool_(),
        "timestamp": pa.timestamp("us", tz="UTC"),
        "binary": pa.binary(),
    }[kind]


def ddl_type(type: pa.DataType) -> str:
    """Return the type in Spark's DDL as which Spark reads a type of Arrow.

    Types that Spark does not have, and nested types, keep Arrow's name.
    """
    import pyarrow as pa

    if pa.types.is_dictionary(type):
        type = type.value_type
    if pa.types.is_timestamp(type):
        return "timestamp" if type.tz else "timestamp_ntz"
    names = {
        pa.null(): "void",
        pa.bool_(): "boolean",
        pa.int8(): "tinyint",
        pa.float32(): "float",
        pa.float64(): "double",
        **dict.fromkeys((pa.uint8(), pa.int16()), "smallint"),
        **dict.fromkeys((pa.uint16(), pa.int32()), "int"),
        **dict.fromkeys((pa.uint32(), pa.int64()), "bigint"),
        **dict.fromkeys((pa.string(), pa.large_string(), pa.string_view()), "string"),
        **dict.fromkeys((pa.binary(), pa.large_binary(), pa.binary_view()), "binary"),
    }
    return "decimal" if pa.types.is_decimal(type) or type == pa.uint64() else names.get(type, str(type))


@cache
def ddl_schema(ddl: str) -> pa.Schema:
    """Return the Arrow schema of columns in Spark's DDL."""
    import pyarrow as pa

    columns = (column.split(maxsplit=1) for column in _split(ddl))
    return pa.schema([pa.field(name.strip("`"), arrow_type(type)) for name, type in columns])


def _split(types: str) -> list[str]:
    """Return the parts between commas outside of brackets."""
    parts, depth = [""], 0
    for character in types:
        depth += {"<": 1, ">": -1}.get(character, 0)
        if character == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += character
    return parts
