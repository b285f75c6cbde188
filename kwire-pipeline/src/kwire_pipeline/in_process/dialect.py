"""Spark's SQL expressions, as DuckDB reads them.

Gold's expressions are text in Spark's SQL. `to_duckdb` rewrites what DuckDB writes in another way, and `MACROS` define
functions that it lacks. Only what gold uses exists: other functions of Spark are errors of DuckDB.

Some results have other types in DuckDB. Expressions that both engines read have a cast around them: sums and counts of
integers, `floor`, and `hour`.
"""

from __future__ import annotations

import re

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

_FUNCTIONS = {
    "array": "list_value",
    "explode": "unnest",
    "filter": "list_filter",
    "max_by": "arg_max_null",
    "percentile_approx": "quantile_disc",
    "regexp_like": "regexp_matches",
    "sequence": "generate_series",
    "startswith": "starts_with",
    "struct": "row",
    "timestamp_micros": "make_timestamptz",
    "transform": "list_transform",
    "try_element_at": "list_extract",
    "unhex": "spark_unhex",
    "unix_micros": "epoch_us",
}

MACROS = (
    "array_compact(list) AS list_filter(list, lambda x: x IS NOT NULL)",
    "array_except(a, b) AS list_filter(a, lambda x, i: list_position(a, x) = i AND NOT list_contains(b, x))",
    "array_intersect(a, b) AS list_filter(a, lambda x, i: list_position(a, x) = i AND list_contains(b, x))",
    "collect_set(x) AS coalesce(list_distinct(list(x)), [])",
    "date_format(time, pattern) AS strftime(time, '%Y-%m-%d')",
    "pmod(a, b) AS ((a % b) + b) % b",
    "size(list) AS CAST(len(list) AS INTEGER)",
    "sort_array(list) AS list_sort(list, 'ASC', 'NULLS FIRST')",
    # Null for other characters, and an odd number of digits for one with a leading zero.
    """spark_unhex(digits) AS CASE WHEN regexp_full_match(digits, '[0-9a-fA-F]*')
        THEN unhex(repeat('0', len(digits) % 2) || digits) END""",
)
"""Functions of Spark, as the rest of CREATE MACRO."""

_DIFFERENCE = re.compile(
    r"""'[^']*'                                                     # literals stay
    | `(?P<quoted>[^`]*)`
    | \b(?P<parameter>\w+)\ ->
    | \bAS\ (?P<type>(?:array|map|struct)<[\w<>,:]+>|timestamp)(?=\))
    | \b(?P<function>\w+)(?=\()
    | \b(?P<reserved>at|end|group|offset)\b                           # keywords have capital letters
    | (?P<equal><=>)
    """,
    re.VERBOSE,
)


def to_duckdb(expression: str) -> str:
    """Return an expression of Spark's SQL in DuckDB's."""
    return _DIFFERENCE.sub(_replacement, expression)


def _replacement(match: re.Match[str]) -> str:
    value = match[match.lastgroup] if match.lastgroup else ""
    match match.lastgroup:
        case "quoted" | "reserved":
            return quoted(value)
        case "parameter":
            return f"lambda {value}:"
        case "type":
            return f"AS {sql_type(value)}"
        case "function":
            return _FUNCTIONS.get(value, value)
        case "equal":
            return "IS NOT DISTINCT FROM"
    return match[0]


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


def text_literal(text: str) -> str:
    """Return a literal of DuckDB. Spark's has backslashes as escapes."""
    return "'" + text.replace("'", "''") + "'"


def name_of(expression: str) -> str:
    """Return the name of the result of an expression of Spark's SQL; '' if it has several results or no name."""
    named = re.fullmatch(r"(?:.*(?: AS |\.))?`?(\w+)`?", expression, re.DOTALL)
    return named[1] if named else ""


def split(expressions: str) -> list[str]:
    """Return the expressions of a list, without the space around them."""
    parts, depth, in_literal = [""], 0, False
    for character in expressions:
        in_literal ^= character == "'"
        depth += {"(": 1, ")": -1}.get(character, 0)
        if character == "," and depth == 0 and not in_literal:
            parts.append("")
        else:
            parts[-1] += character
    return [part.strip() for part in parts]
