"""Gold can be built wherever it lies, of as little as there is, and again after a build that died."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from pyspark.errors.exceptions.captured import SparkRuntimeException

from kwire.spark.gold import incidents
from kwire.spark.pipeline import Pipeline
from kwire.spark.places import literal
from tests.spark.telling import answer, silence, table, topic

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession

    from kwire.capture import Row


def test_a_single_poll_makes_gold_whatever_the_folder_is_called(spark: SparkSession, tmp_path: Path) -> None:
    pipeline = Pipeline(spark, str(tmp_path / "a [1] {x} 5 %20 # ü"))

    pipeline.ingest(table(spark, tmp_path / "bronze", answer(0, topic("orders"))))
    pipeline.gold()

    assert [row.topic for row in pipeline.table("intervals").collect()] == ["orders"]
    assert pipeline.table("incidents").count() == 0


def test_a_path_is_literal_letter_by_letter() -> None:
    assert literal("/a b/[1]{x}*?\\") == "/a b/\\[1\\]\\{x\\}\\*\\?\\\\"


def test_an_incident_that_lasts_outlives_a_build_that_dies(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pipeline = Pipeline(spark, str(tmp_path / "out"))
    pipeline.ingest(table(spark, tmp_path / "bronze", *_broker_3_dies(range(40))))
    pipeline.gold()
    before = _told(pipeline)
    diagnosed = incidents.incidents

    def dies(signals: DataFrame) -> DataFrame:
        return diagnosed(signals).where("assert_true(false) is null")

    pipeline.ingest(table(spark, tmp_path / "bronze", *_broker_3_dies(range(40, 60))))
    with monkeypatch.context() as patched:
        patched.setattr(incidents, "incidents", dies)
        with pytest.raises(SparkRuntimeException):
            pipeline.gold()
    pipeline.gold()

    assert before == [("broker_lost", 3, None)]
    assert _told(pipeline) == before
    assert [path.name for path in (tmp_path / "out/gold/_state").iterdir() if "incidents" in path.name] == []


def test_silence_before_the_first_answer_is_its_cluster_s_and_an_address_of_nobody_is_no_cluster(
    spark: SparkSession, tmp_path: Path
) -> None:
    pipeline = Pipeline(spark, str(tmp_path / "out"))
    dead = [silence(second, broker=-1, endpoint="nobody:1") for second in range(20)]
    well = [answer(second, topic("x"), listed=(1, 3)) for second in range(20)]
    early = [silence(second + 0.2, broker=-1, endpoint="k3:9092") for second in range(10)]
    back = [answer(second + 0.2, topic("x"), broker=3, listed=(1, 3)) for second in range(10, 20)]

    pipeline.ingest(table(spark, tmp_path / "bronze", *dead, *well, *early, *back))
    pipeline.gold()

    found = pipeline.table("incidents").orderBy("began_at").collect()
    assert [(row.cluster_id, row.kind, row.broker_id) for row in found] == [
        ("c", "broker_lost", 3),
        ("c", "broker_returned", 3),
    ]
    assert all(row.ended_at is not None for row in found)


def test_silence_of_nobody_makes_no_gold(spark: SparkSession, tmp_path: Path) -> None:
    pipeline = Pipeline(spark, str(tmp_path / "out"))

    pipeline.ingest(table(spark, tmp_path / "bronze", *(silence(second, broker=-1) for second in range(5))))
    pipeline.gold()

    assert pipeline.table("incidents").count() == 0
    assert pipeline.table("signals").count() == 0


def _broker_3_dies(rounds: range) -> list[Row]:
    """Polls every ten seconds; it is gone from the 20th round on, two minutes before the hour."""
    rows = []
    for number in rounds:
        at, dead = 3300 + 10 * number, number >= 20
        rows.append(answer(at, topic("x"), listed=(1, 2) if dead else (1, 2, 3)))
        rows.append(
            silence(at + 0.2, broker=3, cluster="c") if dead else answer(at + 0.2, topic("x"), broker=3, listed=(1, 3))
        )
    return rows


def _told(pipeline: Pipeline) -> list[tuple[str, int, object]]:
    return [tuple(row) for row in pipeline.table("incidents").select("kind", "broker_id", "ended_at").collect()]
