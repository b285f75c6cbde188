"""Gold after late frames: equal to one build of all polls, and without computing partitions that did not change."""

from __future__ import annotations

from datetime import timedelta
from random import Random
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from kwire.capture.rows import to_batch
from kwire_pipeline.gold.build import TABLES
from kwire_pipeline.pipeline import Pipeline
from kwire_pipeline.store.commits import PipelineStore
from tests.pipeline.bronze_rows import START, response, topic

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from pyspark.sql import SparkSession

    from kwire.capture import Row

INTERVAL, HOUR = 120, 3_600
BROKERS = (1, 2)


def no_spark() -> SparkSession:
    raise AssertionError("so little data needs no Spark")


def history(random: Random, hours: int) -> list[Row]:
    """Return the polls of brokers that report some changes a round later, and do not list some topic for a round."""
    epochs = dict.fromkeys(("a", "b", "c", "d"), 0)
    polls: list[Row] = []
    views: dict[int, dict[str, int]] = {broker: dict(epochs) for broker in BROKERS}
    for second in range(0, hours * HOUR, INTERVAL):
        if random.random() < 0.2:
            epochs[random.choice("abcd")] += 1
        for broker in BROKERS:
            if random.random() < 0.8:
                views[broker] = dict(epochs)
            hidden = random.choice("cd") if random.random() < 0.05 else ""
            topics = [
                topic(name, 1 + epoch % 2, epoch=epoch) for name, epoch in views[broker].items() if name != hidden
            ]
            polls.append(response(second + broker, *topics, broker=broker))
    return polls


def ingest(pipeline: Pipeline, rows: Sequence[Row]) -> None:
    pipeline.ingest(pa.Table.from_batches([to_batch(rows)]))


def gold_rows(out: Path) -> dict[str, list[str]]:
    """Return the rows of gold without the hour under which they are stored."""
    snapshot = PipelineStore(str(out)).snapshot()
    datasets = {table.name: snapshot.dataset(table.folder) for table in TABLES}
    found = {name: rows.to_table().to_pylist() for name, rows in datasets.items() if rows is not None}
    return {name: sorted(map(_text, rows)) for name, rows in found.items()}


def _text(row: dict[str, Any]) -> str:
    values = {name: value for name, value in row.items() if name not in {"date", "hour"}}
    return str(
        {name: sorted(value) if name == "partition_hashes" and value else value for name, value in values.items()}
    )


def test_builds_after_late_polls_equal_one_build(tmp_path: Path) -> None:
    named = 0
    for seed in range(2):
        random = Random(seed)
        polls = history(random, 3)
        late = random.sample(polls[5 : 2 * HOUR // INTERVAL * len(BROKERS)], 6)
        parts = Pipeline(no_spark, str(tmp_path / f"parts-{seed}"))
        by_hour: list[list[Row]] = [[], [], []]
        for number, row in enumerate(polls):
            by_hour[number * 3 // len(polls)].append(row)
        for number, rows in enumerate(by_hour):
            now = [row for row in rows if row not in late]
            ingest(parts, [*late, *now] if number == 2 else now)
            replaced = PipelineStore(parts.out).newest().progress.replaced_topics.values()
            named += sum(len(topics) for found in replaced for topics in found.values())
            parts.gold()
        whole = Pipeline(no_spark, str(tmp_path / f"whole-{seed}"))
        ingest(whole, polls)
        whole.gold()

        assert gold_rows(tmp_path / f"parts-{seed}") == gold_rows(tmp_path / f"whole-{seed}"), seed
    assert named > 0


def test_topic_whose_disappearance_is_refuted_by_late_polls_has_never_vanished(tmp_path: Path) -> None:
    """Two responses in a row without topics count, but not with one between them that has topics."""
    polls: list[Row] = []
    late: list[Row] = []
    for second in range(0, HOUR + 300, 20):
        for broker in BROKERS:
            topics = [] if second in (HOUR + 100, HOUR + 140) else [topic("a"), topic("b")]
            row = response(second + broker, *topics, broker=broker)
            (late if second == HOUR + 120 else polls).append(row)
    parts, whole = (Pipeline(no_spark, str(tmp_path / name)) for name in ("parts", "whole"))
    ingest(parts, [row for row in polls if row.polled_at < START + timedelta(seconds=HOUR + 60)])
    parts.gold()
    ingest(parts, [row for row in polls if row.polled_at >= START + timedelta(seconds=HOUR + 60)])
    parts.gold()
    vanished = gold_rows(tmp_path / "parts")

    ingest(parts, late)
    assert PipelineStore(parts.out).newest().change.replaced_topics == {"c": ["a", "b"]}
    parts.gold()

    ingest(whole, sorted([*polls, *late], key=lambda row: row.polled_at))
    whole.gold()
    assert gold_rows(tmp_path / "parts") == gold_rows(tmp_path / "whole") != vanished


def test_late_poll_without_changes_replaces_no_topic(tmp_path: Path) -> None:
    polls = [response(second + broker, topic("a"), broker=broker) for second in range(0, 600, 10) for broker in BROKERS]
    pipeline = Pipeline(no_spark, str(tmp_path))
    ingest(pipeline, [*polls[:50], *polls[51:]])
    pipeline.gold()

    ingest(pipeline, [polls[50]])

    store = PipelineStore(str(tmp_path))
    record = store.newest()
    assert record.change.kind == "reopening ingest"
    assert store.replaced_topics(record.progress.gold["commit"], record) == set()
    pipeline.gold()
    assert store.newest().progress.replaced_topics == {}
