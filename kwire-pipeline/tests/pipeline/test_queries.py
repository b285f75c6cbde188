"""`kwire pipeline sql` and `register`: the tables of a store for people who do not use Spark's API."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path

import pyarrow as pa
import pytest
from click.testing import CliRunner

from kwire_pipeline.commands.pipeline import pipeline
from kwire_pipeline.gold import TABLES
from kwire_pipeline.silver.tables import SILVER_SCHEMAS
from kwire_pipeline.sql_views import VIEWS, open_duckdb
from kwire_pipeline.store.commits import PipelineStore
from kwire_pipeline.tables import DATE
from tests.pipeline.sinks.alerts import incident, set_incidents


@pytest.fixture
def out(tmp_path: Path) -> str:
    """Return a store with an incident that lasts and one that has ended."""
    folder = str(tmp_path / "out")
    store = PipelineStore(folder)
    store.create({table.folder: table.layout for table in TABLES})
    set_incidents(store, incident(0), incident(10, kind="config_changed", ended=20))
    return folder


def run(*arguments: str) -> str:
    result = CliRunner().invoke(pipeline, arguments)
    assert result.exit_code == 0, result.output
    return result.stdout


def test_query_prints_a_table_csv_or_json(out: str) -> None:
    query = "SELECT kind, began_at, topics FROM current_incidents"

    assert run("sql", "--out", out, query).splitlines()[1].split() == ["broker_killed", "2026-11-21T14:00:00Z", "[]"]
    assert (
        run("sql", "--out", out, "-o", "csv", query) == "kind,began_at,topics\nbroker_killed,2026-11-21T14:00:00Z,[]\n"
    )
    assert json.loads(run("sql", "--out", out, "-o", "json", query)) == [
        {"kind": "broker_killed", "began_at": "2026-11-21T14:00:00Z", "topics": []}
    ]
    listed = run("sql", "--out", out)
    assert all(f"\n{name} " in f"\n{listed}" for name in ("current_clusters", "incidents", "polls"))


@pytest.mark.parametrize("query", ["SELEC 1", "SELECT * FROM nowhere"])
def test_invalid_query_is_an_error_of_use(out: str, query: str) -> None:
    result = CliRunner().invoke(pipeline, ["sql", "--out", out, query])

    assert result.exit_code == 2
    assert "Traceback" not in result.output


def test_cluster_without_partitions_is_shown(tmp_path: Path) -> None:
    poll = {"polled_at": datetime(2026, 11, 21, 14, tzinfo=UTC), "broker_id": 1, "endpoint": "b:9092", "api_key": 3}
    polls = [poll | {"cluster_id": "answers", "kind": "full"}, poll | {"cluster_id": "silent", "kind": "error"}]
    query = "SELECT cluster_id, last_answered_at IS NULL, partitions, offline FROM current_clusters ORDER BY cluster_id"

    with open_duckdb(PipelineStore(str(tmp_path)).snapshot()) as connection:
        connection.register("polls", pa.Table.from_pylist(polls, SILVER_SCHEMAS["polls"].stored(DATE).schema))
        found = connection.execute(query).fetchall()

    assert found == [("answers", False, 0, 0), ("silent", True, None, None)]


def test_registration_names_every_table_and_view(out: str) -> None:
    statements = run("register", "--out", out, "--schema", "main.kafka")

    assert statements.startswith("CREATE SCHEMA IF NOT EXISTS main.kafka;\n")
    assert f"CREATE TABLE IF NOT EXISTS main.kafka.polls USING delta LOCATION '{out}/silver/polls';" in statements
    assert all(f"CREATE OR REPLACE VIEW main.kafka.{view.name} COMMENT " in statements for view in VIEWS)
    refused = CliRunner().invoke(pipeline, ["register", "--out", out, "--schema", "a; DROP"])
    assert refused.exit_code == 2
