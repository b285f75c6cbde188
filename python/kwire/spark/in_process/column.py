"""Expressions of PySpark's interface as SQL of DuckDB: `Column`, `Window`, and `functions`.

Only what gold uses exists. Where the two engines differ, the meaning is Spark's: positions of lists start at 0, lists
keep their order, sums of integers are integers, and nulls come first.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import UTC, datetime
from itertools import count
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

_numbers = count()

HASH = "spark_xxhash64"
"""The function of `xxhash64` that a session registers."""

_TYPES = {
    "string": "VARCHAR",
    "int": "INTEGER",
    "bigint": "BIGINT",
    "double": "DOUBLE",
    "boolean": "BOOLEAN",
    "timestamp": "TIMESTAMPTZ",
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
class Column:
    """An expression.

    Attributes:
        sql: the expression; of an aggregate, without `cast`.
        name: the name of the result; empty if it needs an alias.
        cast: the type of the result of an aggregate; empty keeps DuckDB's type.
        conditions: of `when` without `otherwise`, the branches so far.
    """

    sql: str
    name: str = ""
    cast_to: str = ""
    branches: str = ""

    def __str__(self) -> str:
        return f"CAST({self.sql} AS {self.cast_to})" if self.cast_to else self.sql

    def alias(self, name: str) -> Column:
        return replace(self, name=name)

    def cast(self, ddl: str) -> Column:
        return Column(f"CAST({self} AS {sql_type(ddl)})", self.name)

    def over(self, window: Window) -> Column:
        return replace(self, sql=f"{self.sql} OVER ({window})")

    def when(self, condition: Column, value: object) -> Column:
        branches = f"{self.branches} WHEN {condition} THEN {_literal(value)}"
        return Column(f"(CASE{branches} END)", branches=branches)

    def otherwise(self, value: object) -> Column:
        return Column(f"(CASE{self.branches} ELSE {_literal(value)} END)")

    def isin(self, *values: object) -> Column:
        return Column(f"({self} IN ({', '.join(_literal(value) for value in values)}))")

    def eqNullSafe(self, other: object) -> Column:
        return Column(f"({self} IS NOT DISTINCT FROM {_literal(other)})")

    def isNull(self) -> Column:
        return Column(f"({self} IS NULL)")

    def isNotNull(self) -> Column:
        return Column(f"({self} IS NOT NULL)")

    def startswith(self, prefix: str) -> Column:
        return Column(f"starts_with({self}, {_literal(prefix)})")

    def rlike(self, pattern: str) -> Column:
        return Column(f"regexp_matches({self}, {_literal(pattern)})")

    def __getitem__(self, field: str) -> Column:
        return Column(f"struct_extract({self}, {_literal(field)})", field)

    def __invert__(self) -> Column:
        return Column(f"(NOT {self})")

    def __rmul__(self, other: object) -> Column:
        return Column(f"({_literal(other)} * {self})")


def _operator(symbol: str) -> Callable[[Column, object], Column]:
    def apply(self: Column, other: object) -> Column:
        return Column(f"({self} {symbol} {_literal(other)})")

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
    setattr(Column, f"__{_name}__", _operator(_symbol))


@dataclass(frozen=True)
class Window:
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
    def partitionBy(cls, *columns: Column | str) -> Window:
        return cls(tuple(str(column_of(column)) for column in columns))

    def orderBy(self, *columns: Column | str) -> Window:
        return replace(self, order=tuple(str(column_of(column)) for column in columns))

    def rowsBetween(self, start: int, end: int) -> Window:
        return replace(self, frame=f"ROWS BETWEEN {self._bound(start)} AND {self._bound(end)}")

    def rangeBetween(self, start: int, end: int) -> Window:
        return replace(self, frame=f"RANGE BETWEEN {self._bound(start)} AND {self._bound(end)}")

    @classmethod
    def _bound(cls, offset: int) -> str:
        if offset == 0:
            return "CURRENT ROW"
        return "UNBOUNDED PRECEDING" if offset == cls.unboundedPreceding else f"{-offset} PRECEDING"


def column_of(column: Column | str) -> Column:
    """Return a column, or the field of a struct, by its name."""
    if isinstance(column, Column):
        return column
    return Column(".".join(quoted(part) for part in column.split(".")), column.rpartition(".")[2])


def _literal(value: object) -> str:
    match value:
        case Column():
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


def _function(name: str, *arguments: Column | str) -> Column:
    return Column(f"{name}({', '.join(str(column_of(argument)) for argument in arguments)})")


class functions:
    """The functions of `pyspark.sql.functions` that gold uses."""

    col = staticmethod(column_of)

    @staticmethod
    def broadcast(frame: Any) -> Any:
        return frame

    @staticmethod
    def lit(value: object) -> Column:
        return Column(_literal(value))

    @staticmethod
    def expr(sql: str) -> Column:
        return Column(sql)

    @staticmethod
    def when(condition: Column, value: object) -> Column:
        return Column("").when(condition, value)

    # Values

    @staticmethod
    def coalesce(*columns: Column | str) -> Column:
        return _function("coalesce", *columns)

    @staticmethod
    def greatest(*columns: Column | str) -> Column:
        return _function("greatest", *columns)

    @staticmethod
    def least(*columns: Column | str) -> Column:
        return _function("least", *columns)

    @staticmethod
    def floor(column: Column | str) -> Column:
        return Column(f"CAST(floor({column_of(column)}) AS BIGINT)")

    @staticmethod
    def pmod(dividend: Column | str, divisor: Column | str) -> Column:
        a, b = column_of(dividend), column_of(divisor)
        return Column(f"((({a} % {b}) + {b}) % {b})")

    @staticmethod
    def xxhash64(*columns: Column | str) -> Column:
        return _function(HASH, *columns)

    # Times

    @staticmethod
    def unix_micros(column: Column | str) -> Column:
        return _function("epoch_us", column)

    @staticmethod
    def timestamp_micros(column: Column | str) -> Column:
        return _function("make_timestamptz", column)

    @staticmethod
    def date_trunc(unit: str, column: Column | str) -> Column:
        return Column(f"date_trunc({_literal(unit)}, {column_of(column)})")

    @staticmethod
    def hour(column: Column | str) -> Column:
        return Column(f"CAST(hour({column_of(column)}) AS INTEGER)")

    @staticmethod
    def date_format(column: Column | str, pattern: str) -> Column:
        assert pattern == "yyyy-MM-dd"
        return Column(f"strftime({column_of(column)}, '%Y-%m-%d')")

    # Lists, structs, and maps

    @staticmethod
    def array(*columns: Column | str) -> Column:
        return _function("list_value", *columns)

    @staticmethod
    def struct(*columns: Column | str) -> Column:
        fields = [column_of(column) for column in columns]
        return Column(f"struct_pack({', '.join(f'{quoted(field.name)} := {field}' for field in fields)})")

    @staticmethod
    def size(column: Column | str) -> Column:
        return Column(f"CAST(len({column_of(column)}) AS INTEGER)")

    @staticmethod
    def concat(*columns: Column | str) -> Column:
        return _function("list_concat", *columns)

    @staticmethod
    def array_contains(column: Column | str, value: object) -> Column:
        return Column(f"list_contains({column_of(column)}, {_literal(value)})")

    @staticmethod
    def array_except(left: Column | str, right: Column | str) -> Column:
        return _first_of_equals(left, f"NOT list_contains({column_of(right)}, x)")

    @staticmethod
    def array_intersect(left: Column | str, right: Column | str) -> Column:
        return _first_of_equals(left, f"list_contains({column_of(right)}, x)")

    @staticmethod
    def array_compact(column: Column | str) -> Column:
        return Column(f"list_filter({column_of(column)}, lambda x: x IS NOT NULL)")

    @staticmethod
    def sort_array(column: Column | str) -> Column:
        return Column(f"list_sort({column_of(column)}, 'ASC', 'NULLS FIRST')")

    @staticmethod
    def sequence(start: Column, stop: Column) -> Column:
        return _function("generate_series", start, stop)

    @staticmethod
    def get(column: Column | str, position: object) -> Column:
        return Column(f"list_extract({column_of(column)}, {_literal(position)} + 1)")

    @staticmethod
    def element_at(column: Column | str, position: object) -> Column:
        return Column(f"list_extract({column_of(column)}, {_literal(position)})")

    try_element_at = element_at

    @staticmethod
    def filter(column: Column | str, condition: Callable[..., Column]) -> Column:
        return _with_lambda("list_filter", column, condition)

    @staticmethod
    def transform(column: Column | str, value: Callable[..., Column]) -> Column:
        return _with_lambda("list_transform", column, value)

    @staticmethod
    def explode(column: Column | str) -> Column:
        return Column(f"unnest({column_of(column)})", "col")

    @staticmethod
    def create_map(key: Column, value: Column) -> Column:
        return Column(f"MAP {{{key}: {value}}}")

    @staticmethod
    def map_concat(*columns: Column | str) -> Column:
        return _function("map_concat", *columns)

    @staticmethod
    def map_from_entries(column: Column | str) -> Column:
        return _function("map_from_entries", column)

    # Aggregates and functions of windows

    @staticmethod
    def count(column: str) -> Column:
        assert column == "*"
        return Column("count(*)")

    @staticmethod
    def min(column: Column | str) -> Column:
        return _function("min", column)

    @staticmethod
    def max(column: Column | str) -> Column:
        return _function("max", column)

    @staticmethod
    def sum(column: Column | str) -> Column:
        return replace(_function("sum", column), cast_to="BIGINT")

    @staticmethod
    def avg(column: Column | str) -> Column:
        return _function("avg", column)

    @staticmethod
    def max_by(column: Column | str, order: Column | str) -> Column:
        return _function("arg_max_null", column, order)

    @staticmethod
    def collect_list(column: Column | str) -> Column:
        return Column(f"coalesce(list({column_of(column)}) FILTER (WHERE {column_of(column)} IS NOT NULL), [])")

    @staticmethod
    def collect_set(column: Column | str) -> Column:
        return Column(f"coalesce(list_distinct(list({column_of(column)})), [])")

    @staticmethod
    def percentile_approx(column: Column | str, share: float) -> Column:
        return Column(f"quantile_disc({column_of(column)}, {share})")

    @staticmethod
    def lag(column: Column | str, offset: int = 1) -> Column:
        return Column(f"lag({column_of(column)}, {offset})")

    @staticmethod
    def lead(column: Column | str, offset: int = 1) -> Column:
        return Column(f"lead({column_of(column)}, {offset})")

    @staticmethod
    def last(column: Column | str, ignorenulls: bool = False) -> Column:
        return Column(f"last_value({column_of(column)}{' IGNORE NULLS' * ignorenulls})")


def _first_of_equals(column: Column | str, condition: str) -> Column:
    """Return the elements of a list for which a condition on `x` is true, each once."""
    values = column_of(column)
    return Column(f"list_filter({values}, lambda x, i: list_position({values}, x) = i AND {condition})")


def _with_lambda(name: str, column: Column | str, function: Callable[..., Column]) -> Column:
    """Return a call with a lambda of one or two parameters: the element, and its position from 0."""
    number = next(_numbers)
    parameters = (f"x{number}", f"i{number}")[: function.__code__.co_argcount]
    arguments = [Column(parameters[0], parameters[0]), *(Column(f"({place} - 1)") for place in parameters[1:])]
    return Column(f"{name}({column_of(column)}, lambda {', '.join(parameters)}: {function(*arguments)})")
