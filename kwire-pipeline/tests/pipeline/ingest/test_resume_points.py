"""Late frames reopen their broker at the last point before them, so that their cost depends on the polls since then."""

from __future__ import annotations

from datetime import timedelta
from random import Random
from typing import TYPE_CHECKING, Any

import pytest

from kwire.metadata.timestamps import microseconds
from kwire_pipeline.ingest.ingest_task import IngestTask
from kwire_pipeline.ingest.resume_points import (
    BEGINNING,
    DAYS_KEPT,
    INGESTS_KEPT,
    kept_points,
    points_of,
    reopening_time,
    state_at,
)
from kwire_pipeline.pipeline import Pipeline
from kwire_pipeline.store.commits import PipelineStore
from kwire_pipeline.store.manifest import ResumePoint
from tests.pipeline.bronze_rows import response, topic
from tests.pipeline.gold.test_late_frames import gold_rows, ingest, no_spark

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    import pyarrow as pa

    from kwire.capture import Row

BROKERS = (1, 2)
DAY = 86_400_000_000


def polls(first: int, stop: int) -> list[Row]:
    return [
        response(second + broker / 10, topic("a", epoch=second // 50), broker=broker)
        for second in range(first, stop)
        for broker in BROKERS
    ]


def reporter(last: int, *points: tuple[int, int, str]) -> dict[str, Any]:
    starts = [{"after": after, "until": until, "state": state} for after, until, state in points]
    return {"state": "end", "last": last, "starts": starts}


def test_pollers_of_a_broker_are_reopened_at_a_time_at_which_a_state_of_each_is_valid() -> None:
    chance = Random(40)
    for _ in range(300):
        times = [sorted(chance.sample(range(1_000), 40)) for _ in range(chance.randrange(1, 4))]
        reporters = []
        for own in times:
            starts = sorted(chance.sample(range(1, 40), chance.randrange(0, 12)))
            points = [(own[number - 1], own[number], str(number)) for number in starts]
            reporters.append(reporter(own[-1], (BEGINNING, own[0], ""), *points))
        first = chance.randrange(1_000)

        start = reopening_time(reporters, first)

        assert start <= first
        for own, progress in zip(times, reporters, strict=True):
            state = state_at(progress, start)
            applied = sum(at < start for at in own)
            assert state["state"] == ("end" if applied == len(own) else str(applied or ""))
            assert state["last"] == (own[applied - 1] if applied else BEGINNING)
            assert all(point.until <= start for point in points_of(state))


def test_points_of_days_and_of_the_last_ingests_are_kept() -> None:
    points = [
        ResumePoint(at - 1, at, str(at)) for day in range(20) for at in range(day * DAY, (day + 1) * DAY, DAY // 6)
    ]

    kept = kept_points(points)

    assert [point for point in kept if point.begins_day] == points[::6][-DAYS_KEPT:]
    assert [point for point in kept if not point.begins_day] == points[-5:][-INGESTS_KEPT:]


@pytest.fixture
def reopened_rows(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The numbers of rows, known and late, that are ingested again by each reopening."""
    numbers: list[int] = []
    reopen = IngestTask.reopen

    def counted(task: IngestTask, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        read = list(batches)
        numbers.append(sum(batch.num_rows for batch in read))
        return reopen(task, iter(read))

    monkeypatch.setattr(IngestTask, "reopen", counted)
    return numbers


@pytest.mark.parametrize("minutes", [1, 5, 60, 600])
def test_cost_of_a_poll_that_is_ahead_depends_on_the_polls_of_each_ingest(
    tmp_path: Path, reopened_rows: list[int], minutes: int
) -> None:
    """Each ingest until then is late, and only that poll and its own polls are ingested again."""
    pipeline = Pipeline(no_spark, str(tmp_path))
    ingest(pipeline, polls(0, 200))
    new = polls(200, 220)
    ahead = new[-4]._replace(polled_at=new[-4].polled_at + timedelta(minutes=minutes))
    ingest(pipeline, [*new[:-4], *new[-3:], ahead])

    for first in range(220, 320, 20):
        ingest(pipeline, polls(first, first + 20))

    assert all(rows <= 20 + 1 for rows in reopened_rows[1:])
    assert sum(reopened_rows) <= 5 * 21


def test_random_wrong_and_late_polls_give_the_same_rows_as_one_ingest(tmp_path: Path) -> None:
    chance = Random(4)
    for number in range(3):
        batches = [polls(first, first + 30) for first in range(0, 240, 30)]
        for _ in range(3):
            source = chance.randrange(2, 6)
            moved = batches[source].pop(chance.randrange(10, 50))
            # Late by up to three ingests, or with a time of up to two minutes later.
            if chance.random() < 0.5:
                batches[source + chance.randrange(1, 3)].append(moved)
            else:
                wrong = moved.polled_at + timedelta(seconds=chance.randrange(20, 120), milliseconds=500)
                batches[source].append(moved._replace(polled_at=wrong))
        rows = [row for batch in batches for row in batch]
        pieces, whole = (Pipeline(no_spark, str(tmp_path / f"{name}{number}")) for name in ("pieces", "whole"))
        for batch in batches:
            ingest(pieces, sorted(batch, key=lambda row: row.polled_at))
        ingest(whole, rows)

        for pipeline in (pieces, whole):
            pipeline.gold()
        assert gold_rows(tmp_path / f"pieces{number}") == gold_rows(tmp_path / f"whole{number}")
        assert reports(pieces) == reports(whole)


def reports(pipeline: Pipeline) -> list[tuple[Any, ...]]:
    rows = PipelineStore(pipeline.out).snapshot().dataset("silver/partitions")
    assert rows is not None
    return sorted(
        (row["broker_id"], row["at"], row["topic"], row["leader_epoch"]) for row in rows.to_table().to_pylist()
    )


def test_progress_has_states_that_exist(tmp_path: Path) -> None:
    pipeline = Pipeline(no_spark, str(tmp_path))
    for first in range(0, 300, 30):
        ingest(pipeline, polls(first, first + 30))

    for progress in PipelineStore(pipeline.out).newest().progress.reporters.values():
        points = points_of(progress)
        assert len(points) == 1 + INGESTS_KEPT
        assert all((tmp_path / point.state).exists() for point in points if point.state)
        assert reopening_time([progress], microseconds(polls(250, 251)[0].polled_at)) >= points[-2].after
