"""Expressions of PySpark's interface as SQL of DuckDB: `SqlColumn`, `SqlWindow`, and `functions`.

Gold is written for `pyspark.sql.functions` and `pyspark.sql.Column`. In a build without Spark, the same calls reach
this module, and return text:

    f.max("at").over(window)     an immutable `SqlColumn` with the SQL `max("at") OVER (...)`
    data_frame.select(column)    `data_frame.SqlFrame` puts the text into a query, and DuckDB plans and runs it

| an expression is | until | then it has |
|---|---|---|
| an aggregate with `cast_to` | `str`, after `over` | the cast around the aggregate and its window |
| `when` with open `branches` | `otherwise` | an ELSE; without it, the value is null, as in Spark |
| without a `name` | `alias` | the name of a column; functions of a plain column keep none |

Invariants: an expression has no state and can be used in several queries; the text of an operand is in parentheses or
is a call, so an operator never changes its meaning; parameters of lambdas have numbers that are unique in the process,
so nested lambdas do not hide each other's.

Only what gold uses exists, and anything else raises an error instead of another answer. Where the two engines differ,
the meaning is Spark's: positions of lists start at 0, lists keep their order, sums of integers are integers, and nulls
come first.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import UTC, datetime
from inspect import signature
from itertools import count
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

_numbers = count()

HASH = "spark_xxhash64"
"""The function of `xxhash64` that a session registers."""

_TYPES = {
    "string": "VARCHAR",
    "smallint": "SMALLINT",
    "int": "INTEGER",
    "bigint": "BIGINT",
    "double": "DOUBLE",
    "boolean": "BOOLEAN",
    "timestamp": "TIMESTAMPTZ",
    "binary": "BLOB",
}


def sql_type(ddl: str) -> str:
    """Return a type of Spark's DDL as DuckDB writes it.

    Raises:
        KeyError: tables of kwire do not use the type.
    """
    kind, _, inner = ddl.removesuffix(">").partition("<")
    match kind:
        case "array":
            return f"{sql_type(inner)}[]"
        case "map":
            return f"MAP({', '.join(sql_type(part) for part in inner.split(','))})"
        case "struct":
            fields = (field.partition(":") for field in inner.split(","))
            return f"STRUCT({', '.join(f'{quoted(name)} {sql_type(type)}' for name, _, type in fields)})"
    return _TYPES[kind]


def quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


@dataclass(frozen=True, eq=False)
class SqlColumn:
    """An expression.

    Attributes:
        sql: the expression; of an aggregate, without `cast_to`.
        name: the name of the result; empty if it needs an alias.
        cast_to: the type of the result of an aggregate; empty keeps DuckDB's type.
        branches: of `when` without `otherwise`, the branches so far.
    """

    sql: str
    name: str = ""
    cast_to: str = ""
    branches: str = ""

    def __str__(self) -> str:
        return f"CAST({self.sql} AS {self.cast_to})" if self.cast_to else self.sql

    def alias(self, name: str) -> SqlColumn:
        return replace(self, name=name)

    def cast(self, ddl: str) -> SqlColumn:
        return SqlColumn(f"CAST({self} AS {sql_type(ddl)})", self.name)

    def over(self, window: SqlWindow) -> SqlColumn:
        return replace(self, sql=f"{self.sql} OVER ({window})")

    def when(self, condition: SqlColumn, value: object) -> SqlColumn:
        branches = f"{self.branches} WHEN {condition} THEN {_literal(value)}"
        return SqlColumn(f"(CASE{branches} END)", branches=branches)

    def otherwise(self, value: object) -> SqlColumn:
        return SqlColumn(f"(CASE{self.branches} ELSE {_literal(value)} END)")

    def isin(self, *values: object) -> SqlColumn:
        return SqlColumn(f"({self} IN ({', '.join(_literal(value) for value in values)}))")

    def eqNullSafe(self, other: object) -> SqlColumn:
        return SqlColumn(f"({self} IS NOT DISTINCT FROM {_literal(other)})")

    def isNull(self) -> SqlColumn:
        return SqlColumn(f"({self} IS NULL)")

    def isNotNull(self) -> SqlColumn:
        return SqlColumn(f"({self} IS NOT NULL)")

    def startswith(self, prefix: str) -> SqlColumn:
        return SqlColumn(f"starts_with({self}, {_literal(prefix)})")

    def rlike(self, pattern: str) -> SqlColumn:
        return SqlColumn(f"regexp_matches({self}, {_literal(pattern)})")

    def __getitem__(self, field: str) -> SqlColumn:
        return SqlColumn(f"struct_extract({self}, {_literal(field)})", field)

    def __invert__(self) -> SqlColumn:
        return SqlColumn(f"(NOT {self})")

    def __rmul__(self, other: object) -> SqlColumn:
        return SqlColumn(f"({_literal(other)} * {self})")


def _operator(symbol: str) -> Callable[[SqlColumn, object], SqlColumn]:
    def apply(self: SqlColumn, other: object) -> SqlColumn:
        return SqlColumn(f"({self} {symbol} {_literal(other)})")

    return apply


for _name, _symbol in {
    "eq": "=",
    "ne": "<>",
    "lt": "<",
    "le": "<=",
    "gt": ">",
    "ge": ">=",
    "and": "AND",
    "or": "OR",
    "add": "+",
    "sub": "-",
    "mul": "*",
    "truediv": "/",
    "mod": "%",
}.items():
    setattr(SqlColumn, f"__{_name}__", _operator(_symbol))


@dataclass(frozen=True)
class SqlWindow:
    """A window, as its clauses in SQL."""

    unboundedPreceding = -(2**63)
    currentRow = 0

    partition: tuple[str, ...] = ()
    order: tuple[str, ...] = ()
    frame: str = ""

    def __str__(self) -> str:
        parts = [f"PARTITION BY {', '.join(self.partition)}"] if self.partition else []
        parts += [f"ORDER BY {', '.join(self.order)}"] if self.order else []
        return " ".join([*parts, self.frame])

    @classmethod
    def partitionBy(cls, *columns: SqlColumn | str) -> SqlWindow:
        return cls(tuple(str(column_of(column)) for column in columns))

    def orderBy(self, *columns: SqlColumn | str) -> SqlWindow:
        return replace(self, order=tuple(str(column_of(column)) for column in columns))

    def rowsBetween(self, start: int, end: int) -> SqlWindow:
        return replace(self, frame=f"ROWS BETWEEN {self._bound(start)} AND {self._bound(end)}")

    def rangeBetween(self, start: int, end: int) -> SqlWindow:
        return replace(self, frame=f"RANGE BETWEEN {self._bound(start)} AND {self._bound(end)}")

    @classmethod
    def _bound(cls, offset: int) -> str:
        if offset == 0:
            return "CURRENT ROW"
        return "UNBOUNDED PRECEDING" if offset == cls.unboundedPreceding else f"{-offset} PRECEDING"


def column_of(column: SqlColumn | str) -> SqlColumn:
    """Return a column, or the field of a struct, by its name."""
    if isinstance(column, SqlColumn):
        return column
    return SqlColumn(".".join(quoted(part) for part in column.split(".")), column.rpartition(".")[2])


def _literal(value: object) -> str:
    match value:
        case SqlColumn():
            return str(value)
        case None:
            return "NULL"
        case bool():
            return str(value).upper()
        case str():
            return "'" + value.replace("'", "''") + "'"
        case float():
            return f"{value!r}::DOUBLE"
        case datetime():
            return f"TIMESTAMPTZ '{value.astimezone(UTC):%Y-%m-%d %H:%M:%S.%f}+00'"
    return f"({value})"


def _function(name: str, *arguments: SqlColumn | str) -> SqlColumn:
    return SqlColumn(f"{name}({', '.join(str(column_of(argument)) for argument in arguments)})")


class functions:
    """The functions of `pyspark.sql.functions` that gold uses."""

    col = staticmethod(column_of)

    @staticmethod
    def broadcast(frame: Any) -> Any:
        return frame

    @staticmethod
    def lit(value: object) -> SqlColumn:
        return SqlColumn(_literal(value))

    @staticmethod
    def expr(sql: str) -> SqlColumn:
        return SqlColumn(sql)

    @staticmethod
    def when(condition: SqlColumn, value: object) -> SqlColumn:
        return SqlColumn("").when(condition, value)

    # Values

    @staticmethod
    def coalesce(*columns: SqlColumn | str) -> SqlColumn:
        return _function("coalesce", *columns)

    @staticmethod
    def greatest(*columns: SqlColumn | str) -> SqlColumn:
        return _function("greatest", *columns)

    @staticmethod
    def least(*columns: SqlColumn | str) -> SqlColumn:
        return _function("least", *columns)

    @staticmethod
    def nullif(column: SqlColumn, other: SqlColumn) -> SqlColumn:
        return _function("nullif", column, other)

    @staticmethod
    def unhex(column: SqlColumn | str) -> SqlColumn:
        """Return null for other characters, and take an odd number of digits for one with a leading zero, as Spark."""
        digits = f"(repeat('0', len({column_of(column)}) % 2) || {column_of(column)})"
        return SqlColumn(f"CASE WHEN regexp_full_match({digits}, '[0-9a-fA-F]*') THEN unhex({digits}) END")

    @staticmethod
    def floor(column: SqlColumn | str) -> SqlColumn:
        return SqlColumn(f"CAST(floor({column_of(column)}) AS BIGINT)")

    @staticmethod
    def pmod(dividend: SqlColumn | str, divisor: SqlColumn | str) -> SqlColumn:
        a, b = column_of(dividend), column_of(divisor)
        return SqlColumn(f"((({a} % {b}) + {b}) % {b})")

    @staticmethod
    def xxhash64(*columns: SqlColumn | str) -> SqlColumn:
        return _function(HASH, *columns)

    # Times

    @staticmethod
    def unix_micros(column: SqlColumn | str) -> SqlColumn:
        return _function("epoch_us", column)

    @staticmethod
    def timestamp_micros(column: SqlColumn | str) -> SqlColumn:
        return _function("make_timestamptz", column)

    @staticmethod
    def date_trunc(unit: str, column: SqlColumn | str) -> SqlColumn:
        return SqlColumn(f"date_trunc({_literal(unit)}, {column_of(column)})")

    @staticmethod
    def hour(column: SqlColumn | str) -> SqlColumn:
        return SqlColumn(f"CAST(hour({column_of(column)}) AS INTEGER)")

    @staticmethod
    def date_format(column: SqlColumn | str, pattern: str) -> SqlColumn:
        if pattern != "yyyy-MM-dd":
            raise NotImplementedError(f"expected the pattern yyyy-MM-dd, found {pattern}")
        return SqlColumn(f"strftime({column_of(column)}, '%Y-%m-%d')")

    # Lists, structs, and maps

    @staticmethod
    def array(*columns: SqlColumn | str) -> SqlColumn:
        return _function("list_value", *columns)

    @staticmethod
    def struct(*columns: SqlColumn | str) -> SqlColumn:
        fields = [column_of(column) for column in columns]
        return SqlColumn(f"struct_pack({', '.join(f'{quoted(field.name)} := {field}' for field in fields)})")

    @staticmethod
    def size(column: SqlColumn | str) -> SqlColumn:
        return SqlColumn(f"CAST(len({column_of(column)}) AS INTEGER)")

    @staticmethod
    def concat(*columns: SqlColumn | str) -> SqlColumn:
        return _function("list_concat", *columns)

    @staticmethod
    def array_contains(column: SqlColumn | str, value: object) -> SqlColumn:
        return SqlColumn(f"list_contains({column_of(column)}, {_literal(value)})")

    @staticmethod
    def array_except(left: SqlColumn | str, right: SqlColumn | str) -> SqlColumn:
        return _first_of_equals(left, f"NOT list_contains({column_of(right)}, x)")

    @staticmethod
    def array_intersect(left: SqlColumn | str, right: SqlColumn | str) -> SqlColumn:
        return _first_of_equals(left, f"list_contains({column_of(right)}, x)")

    @staticmethod
    def array_compact(column: SqlColumn | str) -> SqlColumn:
        return SqlColumn(f"list_filter({column_of(column)}, lambda x: x IS NOT NULL)")

    @staticmethod
    def sort_array(column: SqlColumn | str) -> SqlColumn:
        return SqlColumn(f"list_sort({column_of(column)}, 'ASC', 'NULLS FIRST')")

    @staticmethod
    def sequence(start: SqlColumn, stop: SqlColumn) -> SqlColumn:
        return _function("generate_series", start, stop)

    @staticmethod
    def get(column: SqlColumn | str, position: object) -> SqlColumn:
        return SqlColumn(f"list_extract({column_of(column)}, {_literal(position)} + 1)")

    @staticmethod
    def element_at(column: SqlColumn | str, position: object) -> SqlColumn:
        return SqlColumn(f"list_extract({column_of(column)}, {_literal(position)})")

    try_element_at = element_at

    @staticmethod
    def filter(column: SqlColumn | str, condition: Callable[..., SqlColumn]) -> SqlColumn:
        return _with_lambda("list_filter", column, condition)

    @staticmethod
    def transform(column: SqlColumn | str, value: Callable[..., SqlColumn]) -> SqlColumn:
        return _with_lambda("list_transform", column, value)

    @staticmethod
    def explode(column: SqlColumn | str) -> SqlColumn:
        return SqlColumn(f"unnest({column_of(column)})", "col")

    @staticmethod
    def create_map(key: SqlColumn, value: SqlColumn) -> SqlColumn:
        return SqlColumn(f"MAP {{{key}: {value}}}")

    @staticmethod
    def map_concat(*columns: SqlColumn | str) -> SqlColumn:
        return _function("map_concat", *columns)

    @staticmethod
    def map_from_entries(column: SqlColumn | str) -> SqlColumn:
        return _function("map_from_entries", column)

    # Aggregates and functions of windows

    @staticmethod
    def count(column: SqlColumn | str) -> SqlColumn:
        return SqlColumn("count(*)") if column == "*" else _function("count", column)

    @staticmethod
    def min(column: SqlColumn | str) -> SqlColumn:
        return _function("min", column)

    @staticmethod
    def max(column: SqlColumn | str) -> SqlColumn:
        return _function("max", column)

    @staticmethod
    def sum(column: SqlColumn | str) -> SqlColumn:
        return replace(_function("sum", column), cast_to="BIGINT")

    @staticmethod
    def avg(column: SqlColumn | str) -> SqlColumn:
        return _function("avg", column)

    @staticmethod
    def max_by(column: SqlColumn | str, order: SqlColumn | str) -> SqlColumn:
        return _function("arg_max_null", column, order)

    @staticmethod
    def collect_list(column: SqlColumn | str) -> SqlColumn:
        return SqlColumn(f"coalesce(list({column_of(column)}) FILTER (WHERE {column_of(column)} IS NOT NULL), [])")

    @staticmethod
    def collect_set(column: SqlColumn | str) -> SqlColumn:
        return SqlColumn(f"coalesce(list_distinct(list({column_of(column)})), [])")

    @staticmethod
    def percentile_approx(column: SqlColumn | str, share: float) -> SqlColumn:
        return SqlColumn(f"quantile_disc({column_of(column)}, {share})")

    @staticmethod
    def lag(column: SqlColumn | str, offset: int = 1) -> SqlColumn:
        return SqlColumn(f"lag({column_of(column)}, {offset})")

    @staticmethod
    def lead(column: SqlColumn | str, offset: int = 1) -> SqlColumn:
        return SqlColumn(f"lead({column_of(column)}, {offset})")

    @staticmethod
    def last(column: SqlColumn | str, ignorenulls: bool = False) -> SqlColumn:
        return SqlColumn(f"last_value({column_of(column)}{' IGNORE NULLS' * ignorenulls})")


def _first_of_equals(column: SqlColumn | str, condition: str) -> SqlColumn:
    """Return the elements of a list for which a condition on `x` is true, each once."""
    values = column_of(column)
    return SqlColumn(f"list_filter({values}, lambda x, i: list_position({values}, x) = i AND {condition})")


def _with_lambda(name: str, column: SqlColumn | str, function: Callable[..., SqlColumn]) -> SqlColumn:
    """Return a call with a lambda of one or two parameters: the element, and its position from 0."""
    number = next(_numbers)
    parameters = (f"x{number}", f"i{number}")[: len(signature(function).parameters)]
    arguments = [SqlColumn(parameters[0], parameters[0]), *(SqlColumn(f"({place} - 1)") for place in parameters[1:])]
    return SqlColumn(f"{name}({column_of(column)}, lambda {', '.join(parameters)}: {function(*arguments)})")
