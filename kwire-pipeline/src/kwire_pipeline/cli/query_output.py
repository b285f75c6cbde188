"""The results of `kwire pipeline sql` as a table, CSV, or JSON."""

from __future__ import annotations

import csv
import json
import sys
from datetime import datetime
from typing import TYPE_CHECKING, Any

import click

from kwire.terminal.tables import TableColumn, print_table

if TYPE_CHECKING:
    import pyarrow as pa

    from kwire.terminal.colors import Paint
    from kwire_pipeline.store.snapshot import Snapshot


def print_query(snapshot: Snapshot, query: str, output: str, paint: Paint) -> None:
    """Run a query and print its rows.

    Raises:
        click.UsageError: DuckDB refuses the query.
        duckdb.Error: a file of the tables cannot be read.
    """
    import duckdb

    from kwire_pipeline.sql_views import open_duckdb

    with open_duckdb(snapshot) as connection:
        try:
            relation = connection.sql(query)
            if relation is None:
                raise click.UsageError("expected a query that returns rows, such as SELECT")
            rows = relation.to_arrow_table()
        except duckdb.Error as error:
            if "reading the stream registered as" in str(error):  # a file, not the query
                raise
            raise click.UsageError(str(error)) from None
    if output == "table":
        _print_table(rows, paint)
    elif output == "json":
        print(json.dumps(rows.to_pylist(), default=_text, indent=2))
    else:
        writer = csv.writer(sys.stdout, lineterminator="\n")
        writer.writerow(rows.schema.names)
        writer.writerows([_cell(value) for value in row.values()] for row in rows.to_pylist())


def _print_table(rows: pa.Table, paint: Paint) -> None:
    import pyarrow as pa

    columns = [
        TableColumn(field.name, number=pa.types.is_integer(field.type) or pa.types.is_floating(field.type))
        for field in rows.schema
    ]
    print_table(columns, [[_cell(value) for value in row.values()] for row in rows.to_pylist()], paint)


def _cell(value: Any) -> str:
    match value:
        case None:
            return ""
        case str():
            return value
        case list() | dict() | tuple():
            return json.dumps(value, default=_text)
    return _text(value)


def _text(value: Any) -> str:
    """Return a value that JSON does not have as text; times are ISO 8601."""
    if isinstance(value, datetime):
        return value.isoformat().replace("+00:00", "Z")
    return value.hex() if isinstance(value, bytes) else str(value)
