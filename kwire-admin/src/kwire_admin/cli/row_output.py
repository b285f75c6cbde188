"""The rows of a verb as a table, JSON, JSON lines, CSV, or YAML.

JSON is one array of objects, also if it is empty or has one object. A failed item is an object with `name` and `error`.
Only what is printed is imported: rich for a table on a terminal, yaml for YAML.
"""

from __future__ import annotations

import sys
from enum import Enum

from kwire._util.light_typing import TYPE_CHECKING, Any
from kwire._util.readable import duration_text, printable, printable_lines, size_text, time_text
from kwire.client.admin.errors import AdminError
from kwire.terminal.tables import TableColumn, print_table
from kwire.terminal.usage_errors import is_usage_error
from kwire.uuids import is_uuid, uuid_to_text
from kwire_admin.operations.declaration import Failure
from kwire_admin.operations.rows import cells, columns, json_value

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from kwire.terminal.colors import Paint

__all__ = ["FORMATS", "print_error", "print_output", "print_rows"]


FORMULA = ("=", "+", "-", "@")
"""Characters that begin a formula in a spreadsheet."""
NUMBER = r"[+-]?[0-9.]*"
"""Pattern of a number, which is a formula only to the eye."""
EMPTY: tuple[object, ...] = (None, False, {}, ())
"""Values that say nothing, for the columns that a table shows only if they say something."""


def print_rows(output: str, row_class: Any, rows: Sequence[Any], paint: Paint) -> None:
    """Print rows to stdout.

    Args:
        output: one of FORMATS.
        row_class: the class of the rows, which names the columns.
        rows: the rows and failures. A table and CSV leave out the failures, which go to stderr.
    """
    FORMATS[output](row_class, rows, paint)


def print_error(error: Exception) -> None:
    """Print an error of a whole command as JSON to stdout."""
    import json

    name = error.name if isinstance(error, AdminError) else type(error).__name__
    code = error.code if isinstance(error, AdminError) else None
    message = error.format_message() if is_usage_error(error) else str(error)
    print(json.dumps({"error": {"code": code, "name": name, "message": message}}))


def _table(row_class: Any, rows: Sequence[Any], paint: Paint) -> None:
    shown = columns(row_class)
    if any(column.unit == "text" for column in shown):
        for row in rows:
            if not isinstance(row, Failure):
                texts = (getattr(row, column.name) for column in shown if column.unit == "text")
                print_output("".join(texts))
        return
    lines = [line for row in rows if not isinstance(row, Failure) for line in cells(row)]
    if not lines:
        return
    readable = sys.stdout.isatty()
    titles: list[TableColumn] = []
    texts_of_columns: list[list[str]] = []
    for column, values in zip(shown, zip(*lines, strict=True), strict=True):
        if not column.if_known or any(value not in EMPTY for value in values):
            titles.append(TableColumn(column.title, column.number))
            texts_of_columns.append(_column_texts(values, column.unit if readable else None))
    print_table(titles, list(zip(*texts_of_columns, strict=True)), paint)


def print_output(text: str) -> None:
    """Print output of a tool: its exact bytes to a pipe, and escaped on a terminal."""
    print(printable_lines(text) if sys.stdout.isatty() else text, end="", flush=True)


def _csv(row_class: Any, rows: Sequence[Any], paint: Paint) -> None:
    import csv
    from io import StringIO

    del paint
    text = StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow([column.name for column in columns(row_class)])
    for row in rows:
        if not isinstance(row, Failure):
            writer.writerows(map(_csv_cell, line) for line in cells(row))
    print_output(text.getvalue())


def _csv_cell(value: Any) -> str:
    """Return a cell of CSV: without control characters, and marked as text if a spreadsheet would calculate it.

    Any client chooses its group id, and `=HYPERLINK(...)` is a legal one. `-o json` has the exact text.
    """
    if isinstance(value, bool):  # programs read it, so that it has the words of JSON
        return "true" if value else "false"
    text = printable(_text(value, None))
    if not isinstance(value, str) or not text.startswith(FORMULA):
        return text
    import re  # the other formats do without it

    return text if re.fullmatch(NUMBER, text) else f"'{text}"


def _json(row_class: Any, rows: Sequence[Any], paint: Paint) -> None:
    import json

    del row_class, paint
    print(json.dumps([json_value(row) for row in rows], indent=2))


def _jsonl(row_class: Any, rows: Sequence[Any], paint: Paint) -> None:
    import json

    del row_class, paint
    for row in rows:
        print(json.dumps(json_value(row)))


def _yaml(row_class: Any, rows: Sequence[Any], paint: Paint) -> None:
    from kwire.terminal.options import require

    require("yaml", "cli")
    from kwire._util.yaml_text import yaml_text

    del row_class, paint
    print(yaml_text([json_value(row) for row in rows]), end="")


FORMATS: dict[str, Callable[[Any, Sequence[Any], Paint], None]] = {
    "table": _table,
    "json": _json,
    "jsonl": _jsonl,
    "csv": _csv,
    "yaml": _yaml,
}
"""The functions by the value of `--output`."""


READABLE: dict[str | None, Callable[[Any], str]] = {
    "bytes": size_text,
    "ms": lambda duration: f"{duration} ms" if duration < 1000 else duration_text(duration / 1000),
    "s": duration_text,
    "time": time_text,
}
"""Functions for the text of a number on a terminal, by the unit of its column."""


def _column_texts(values: Sequence[Any], unit: str | None) -> list[str]:
    """Return the cells of a column, those of unknown values as `-`. Numbers and names are frequent."""
    types = set(map(type, values))
    if types == {str} or (types == {int} and unit is None):
        return [str(value) or "-" for value in values]
    return [_text(value, unit) or "-" for value in values]


def _item_text(item: Any) -> str:
    """Return the text of a value in a mapping, such as `(0,1)` for the partitions of a topic."""
    return f"({','.join(map(str, item))})" if isinstance(item, tuple) else "-" if item is None else str(item)


def _text(value: Any, unit: str | None) -> str:
    """Return the text of a cell; an empty string for an unknown value."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if unit in READABLE:
        return READABLE[unit](value)
    if isinstance(value, dict):
        return ",".join(f"{key}={_item_text(item)}" for key, item in sorted(value.items()))
    if isinstance(value, (list, tuple)):
        return ",".join(map(str, value))
    if isinstance(value, Enum):
        return str(value.value)
    if is_uuid(value):
        return uuid_to_text(value)
    return str(value)
