"""Rows of results: dataclasses, and how they become JSON values and cells of tables.

A row is a frozen dataclass. Its fields are the keys of JSON objects and the columns of tables, in their order. `column`
adds what a table needs to know. An unknown value is None: null in JSON, an empty cell in CSV, `-` in a table.
"""

from __future__ import annotations

from enum import Enum
from functools import cache
from operator import attrgetter

from kwire._util.light_dataclasses import fields, is_dataclass
from kwire._util.light_typing import TYPE_CHECKING, Any, NamedTuple, TypeVar, evaluated_annotations
from kwire.client.admin import AdminError
from kwire.uuids import is_uuid, uuid_to_text
from kwire_admin.operations.declaration import Failure

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from kwire_admin.operations.declaration import Rows

R = TypeVar("R")
T = TypeVar("T")

JSON_TYPES = frozenset({str, int, float, bool, type(None)})
NUMBERS = ("int", "float", "int | None", "float | None")


class RowColumn(NamedTuple):
    """A column of a table.

    Attributes:
        name: the name of the field.
        title: the heading.
        number: true if it is aligned to the right.
        unit: the unit of a number that a terminal shows readable: `bytes`; `ms` or `s` for a duration in milliseconds
            or seconds; `time` for milliseconds since 1970. `text` for the only value that a table shows, as it is.
        if_known: true if a table leaves out the column unless a row has a value other than False and nothing.
    """

    name: str
    title: str
    number: bool
    unit: str | None
    if_known: bool


def column(
    *,
    title: str | None = None,
    unit: str | None = None,
    rows: bool = False,
    table: bool = True,
    if_known: bool = False,
) -> Mapping[str, Any]:
    """Return metadata for a dataclass field.

    Args:
        title: the heading; by default, the name of the field in upper case.
        unit: see RowColumn.
        rows: the value is a tuple of rows, and a table shows a line for each of them.
        table: true if tables show the field. JSON always does.
        if_known: see RowColumn.
    """
    return {"title": title, "unit": unit, "rows": rows, "table": table, "if_known": if_known}


def rows_of(results: Mapping[str, T | AdminError], row: Callable[[str, T], R]) -> Rows[R]:
    """Return the row of each item that was found, and a failure for each item that a broker refused."""
    return [Failure(name, item) if isinstance(item, AdminError) else row(name, item) for name, item in results.items()]


def columns(row_class: Any) -> tuple[RowColumn, ...]:
    """Return the columns of a table of rows, those of nested rows last."""
    own: list[RowColumn] = []
    nested: list[RowColumn] = []
    for field in fields(row_class):
        if field.metadata.get("rows"):
            nested += columns(_element(row_class, field.name))
        elif field.metadata.get("table", True):
            title = field.metadata.get("title") or field.name.replace("_", " ").upper()
            unit, if_known = field.metadata.get("unit"), field.metadata.get("if_known", False)
            own.append(RowColumn(field.name, title, str(field.type) in NUMBERS, unit, if_known))
    return (*own, *nested)


def cells(row: Any) -> Sequence[tuple[Any, ...]]:
    """Return the lines of a row in a table, as values in the order of `columns`."""
    row_class: type = type(row)
    own_values, nested = _shown_fields(row_class)
    own = own_values(row)
    if nested is None:
        return (own,)
    lines = [(*own, *line) for inner in getattr(row, nested) for line in cells(inner)]
    # A row without nested rows, such as a group without members, is shown as well.
    return lines or [(*own, *(None,) * len(columns(_element(row_class, nested))))]


@cache
def _shown_fields(row_class: type) -> tuple[Callable[[Any], tuple[Any, ...]], str | None]:
    """Return a function for the values of a row that tables show, and the name of the field with nested rows."""
    declared = fields(row_class)
    nested = [field.name for field in declared if field.metadata.get("rows")]
    names = [field.name for field in declared if field.metadata.get("table", True) and field.name not in nested]
    # `attrgetter` is faster, but it returns a tuple only for several names.
    several = attrgetter(*names) if len(names) > 1 else lambda row: tuple(getattr(row, name) for name in names)
    return several, nested[-1] if nested else None


def json_value(value: Any) -> Any:
    """Return a row, or a value of a row, as a value for `json.dumps`."""
    if type(value) in JSON_TYPES:
        return value
    if isinstance(value, Failure):
        error = value.error
        return {
            "name": value.name,
            "error": {
                "code": error.code,
                "name": error.name,
                "message": error.text if error.needs is None else error.reason,
            },
        }
    if is_dataclass(value) and not isinstance(value, type):
        row_class: type = type(value)
        return {name: json_value(getattr(value, name)) for name in _field_names(row_class)}
    if isinstance(value, dict):
        return {str(json_value(key)): json_value(item) for key, item in value.items()}
    if isinstance(value, (list, tuple, set, frozenset)):
        return [json_value(item) for item in value]
    if isinstance(value, Enum):
        return json_value(value.value)
    if is_uuid(value):
        return uuid_to_text(value)
    if type(value).__name__ == "datetime":  # the import takes longer than rows without times
        return value.isoformat()
    if isinstance(value, bytes):
        return value.hex()
    return value


@cache
def _field_names(row_class: Any) -> tuple[str, ...]:
    return tuple(field.name for field in fields(row_class))


def _element(row_class: Any, name: str) -> Any:
    """Return the class of the rows in a field of type `tuple[Row, ...]`."""
    return evaluated_annotations(row_class)[name].__args__[0]
