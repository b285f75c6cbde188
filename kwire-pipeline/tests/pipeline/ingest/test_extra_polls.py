"""A late poll that is one too many among regular ones is kept aside; one that fills a gap is ingested."""

from __future__ import annotations

from datetime import timedelta
from random import Random
from typing import TYPE_CHECKING

import pyarrow as pa

from kwire.capture.rows import to_batch
from kwire.metadata.timestamps import microseconds
from kwire_pipeline.ingest.extra_polls import are_extra
from kwire_pipeline.pipeline import Pipeline
from kwire_pipeline.store.commits import PipelineStore
from tests.pipeline.bronze_rows import START, response, topic
from tests.pipeline.gold.test_late_frames import gold_rows, ingest, no_spark

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from kwire.capture import Row

HOUR = 3_600
BROKERS = (1, 2)


def is_extra(seconds: Sequence[float], ingested: Sequence[float]) -> bool:
    times = [microseconds(START + timedelta(seconds=second)) for second in ingested]
    rows = [response(second, topic("a"))._replace(cluster_id="c") for second in seconds]
    return are_extra(rows, {("c", rows[0].broker_id, rows[0].poller_id): times}, times[0])


def test_extra_polls_among_random_regular_ones() -> None:
    chance = Random(40)
    for _ in range(300):
        interval = chance.choice((0.5, 1, 5, 60))
        ingested = [interval * (number + chance.uniform(-0.1, 0.1)) for number in range(100)]
        place = chance.randrange(20, 80)
        wrong = [(place + chance.uniform(0.2, 0.4)) * interval]

        assert is_extra(wrong, ingested)
        # A poll that was lost, or whose neighbor was, may have come late.
        lost = [*ingested[:place], *ingested[place + 1 :]]
        assert not is_extra([ingested[place]], lost)
        assert not is_extra(wrong, lost)
        # The same poll once more.
        assert not is_extra([ingested[place]], ingested)
        irregular = sorted(chance.uniform(0, 100 * interval) for _ in range(100))
        assert not is_extra(wrong, irregular)


def test_poll_before_the_first_one_is_extra_if_it_is_far_from_it() -> None:
    ingested = [float(second) for second in range(100)]

    assert is_extra([-HOUR], ingested)
    assert not is_extra([-200.0], ingested)
    assert not is_extra([-HOUR - number for number in range(6)], ingested)
    assert not is_extra([-HOUR], [60.0 * number for number in range(100)])


def polls(first: int, stop: int, step: int = 10) -> list[Row]:
    return [
        response(second + broker / 10, topic("a", epoch=second // HOUR), broker=broker)
        for second in range(first, stop, step)
        for broker in BROKERS
    ]


def test_poll_of_a_wrong_clock_reopens_no_day_and_stays_aside(tmp_path: Path) -> None:
    pipeline, usual = (Pipeline(no_spark, str(tmp_path / name)) for name in ("wrong", "usual"))
    new = polls(2 * HOUR, 2 * HOUR + 60)
    wrong = new[5]._replace(polled_at=new[5].polled_at - timedelta(hours=1, milliseconds=3_700))
    for each in (pipeline, usual):
        ingest(each, polls(0, 2 * HOUR))
        each.gold()
    ingest(usual, new)

    report = pipeline.ingest(pa.Table.from_batches([to_batch([wrong, *new])]))

    assert (report.late, report.rows["bad_frames"]) == (0, 1)
    assert [text.rpartition(": ")[2] for text in report.outside] == ["the clock of its poller was behind"]
    assert PipelineStore(pipeline.out).newest().change.kind == "ingest"
    for each in (pipeline, usual):
        each.gold()
    assert gold_rows(tmp_path / "wrong") == gold_rows(tmp_path / "usual")

    again = pipeline.ingest(pa.Table.from_batches([to_batch([wrong])]))
    assert (again.late, again.outside, again.rows) == (0, [], {})


def test_poll_with_the_time_of_another_one_stays_aside(tmp_path: Path) -> None:
    """A repeated poll beside it changes nothing."""
    pipeline = Pipeline(no_spark, str(tmp_path))
    before = polls(0, HOUR)
    ingest(pipeline, before)
    wrong = response(HOUR, topic("b"), broker=BROKERS[0])._replace(polled_at=before[-40].polled_at)

    new = polls(HOUR, HOUR + 60)
    report = pipeline.ingest(pa.Table.from_batches([to_batch([before[-30], wrong, *new])]))

    assert (report.late, report.repeated, len(report.outside)) == (0, 1, 1)


def test_poll_that_fills_a_gap_is_ingested(tmp_path: Path) -> None:
    pipeline = Pipeline(no_spark, str(tmp_path))
    *before, late = polls(0, HOUR)
    ingest(pipeline, [*before, *polls(HOUR, 2 * HOUR)])

    report = pipeline.ingest(pa.Table.from_batches([to_batch([late, *polls(2 * HOUR, 2 * HOUR + 60)])]))

    assert (report.late, report.outside) == (1, [])
