"""Rows as JSON values and as lines of tables."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from uuid import UUID

from kwire.client.admin import AdminError
from kwire_admin.operations.declaration import Failure
from kwire_admin.operations.rows import cells, column, columns, json_value


class Color(StrEnum):
    RED = "red"


@dataclass(frozen=True, slots=True)
class Part:
    index: int
    color: Color


@dataclass(frozen=True, slots=True)
class Whole:
    name: str
    id: UUID | None = field(metadata=column(table=False))
    size: int | None = field(metadata=column(unit="bytes"))
    parts: tuple[Part, ...] = field(metadata=column(rows=True))


WHOLE = Whole("w", UUID(int=1), None, (Part(0, Color.RED), Part(1, Color.RED)))


def test_json_has_every_field_and_null_for_unknown_values() -> None:
    assert json_value(WHOLE) == {
        "name": "w",
        "id": "AAAAAAAAAAAAAAAAAAAAAQ",
        "size": None,
        "parts": [{"index": 0, "color": "red"}, {"index": 1, "color": "red"}],
    }


def test_failed_item_has_its_error() -> None:
    failure = Failure("t", AdminError.of_kafka(36, "t", "Topic 't' already exists."))
    error = {"code": 36, "name": "TOPIC_ALREADY_EXISTS", "message": "Topic 't' already exists."}
    assert json_value(failure) == {"name": "t", "error": error}


def test_table_has_a_line_for_each_nested_row() -> None:
    assert [(column.title, column.number, column.unit) for column in columns(Whole)] == [
        ("NAME", False, None),
        ("SIZE", True, "bytes"),
        ("INDEX", True, None),
        ("COLOR", False, None),
    ]
    assert list(cells(WHOLE)) == [("w", None, 0, Color.RED), ("w", None, 1, Color.RED)]
