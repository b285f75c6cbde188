"""docs/pipeline.md lists the tables of silver as they are declared."""

from __future__ import annotations

from pathlib import Path

from kwire.spark.silver_tables import SILVER_SCHEMAS
from kwire.spark.tables import as_markdown
from kwire.spark.writing import date_of

PAGE = Path(__file__).parents[2] / "docs" / "pipeline.md"


def test_page_lists_silver_tables() -> None:
    assert as_markdown(SILVER_SCHEMAS.values()) in PAGE.read_text()


def test_every_column_has_text_and_every_table_has_time_column() -> None:
    for table in SILVER_SCHEMAS.values():
        names = [column.name for column in table.columns]
        assert len(names) == len(set(names))
        assert all(column.doc for column in table.columns)
        assert table.time in names
        assert table.arrow.names == names


def test_files_are_partitioned_by_date_in_utc() -> None:
    assert date_of(0) == "1970-01-01"
    assert date_of(86_399_999_999) == "1970-01-01"
    assert date_of(86_400_000_000) == "1970-01-02"
