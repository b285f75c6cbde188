"""docs/pipeline.md lists the tables of silver as they are declared, and its examples run."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from kwire.capture import SCHEMA, Capture
from kwire_pipeline.base_tables import BRONZE, COMMITS
from kwire_pipeline.gold import TABLES
from kwire_pipeline.silver.tables import SILVER_SCHEMAS
from kwire_pipeline.store.commits import PipelineStore
from kwire_pipeline.store.manifest import date_of
from kwire_pipeline.tables import DATE, HOUR
from tests.docs.pages import as_module
from tests.paths import ROOT
from tests.pipeline.recorded import RECORDINGS, bronze
from tests.pipeline.table_pages import as_markdown

if TYPE_CHECKING:
    import pytest
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.nightly

PAGE = ROOT / "docs" / "pipeline.md"


def test_page_lists_silver_tables() -> None:
    assert as_markdown(SILVER_SCHEMAS.values()) in PAGE.read_text()


def test_every_column_has_text_and_every_table_has_time_column() -> None:
    for table in SILVER_SCHEMAS.values():
        names = [column.name for column in table.columns]
        assert len(names) == len(set(names))
        assert all(column.doc for column in table.columns)
        assert table.time in names
        assert table.arrow.names == names


def test_delta_schemas_have_the_comments_of_the_declarations(tmp_path: Path) -> None:
    store = PipelineStore(str(tmp_path))
    store.create({table.folder: table.layout for table in TABLES})
    declared = {f"silver/{name}": table for name, table in SILVER_SCHEMAS.items()}
    declared |= {table.folder: table for table in TABLES} | {"bronze": BRONZE, "ingests": COMMITS}

    for folder, table in declared.items():
        stored = store.open_table(folder)
        comments = {field.name: field.metadata["comment"] for field in stored.schema().fields}
        partition = stored.metadata().partition_columns
        assert (stored.metadata().name, stored.metadata().description) == (table.name, table.doc)
        assert comments == {each.name: each.comment for each in (*table.columns, DATE, HOUR) if each.name in comments}
        assert [*comments] == [*table.names, *partition]
    assert BRONZE.stored().schema.equals(SCHEMA)


def test_files_are_partitioned_by_date_in_utc() -> None:
    assert date_of(0) == "1970-01-01"
    assert date_of(86_399_999_999) == "1970-01-01"
    assert date_of(86_400_000_000) == "1970-01-02"


def test_examples_run(spark: SparkSession, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with Capture(tmp_path / "capture") as capture:
        capture.append_many(bronze("kraft44-public")[:60])
    recording = str(RECORDINGS / "kraft44-public.parquet")
    spark.read.parquet(recording).limit(100).createOrReplaceTempView("frames")
    code = as_module(PAGE)
    for path, real in (
        ("/data/kafka", tmp_path / "out"),
        ("/captures/prod", tmp_path / "capture"),
        ("frames.parquet", recording),
    ):
        assert path in code
        code = code.replace(path, str(real))
    names: dict[str, Any] = {}

    exec(compile(code, str(PAGE), "exec"), names)
    names["query"].processAllAvailable()
    names["query"].stop()

    output = capsys.readouterr().out
    assert "polls 60 rows; 0 bad frames" in output
    assert "leader_epoch" in output
    assert names["pipeline"].table("polls").count() > 60
