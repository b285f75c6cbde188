"""The recorded clusters in tests/data/tapes: the polls, and a log of events and snapshots beside them.

`zk39-public` is Kafka 3.9.1 on ZooKeeper, and `kraft44-public` Kafka 4.4.0. Each has three brokers, polled every half
second while topics are created and deleted, brokers are killed, paused, and shut down, and partitions are moved. The
log has these events, and snapshots by an independent client.
"""

from __future__ import annotations

import gzip
import json
from collections import Counter
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import cache
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any
from uuid import UUID

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from kwire import frame
from kwire.capture.equivalence import decode_row
from kwire.capture.rows import Row, RowKind, to_rows
from kwire.capture.table_import import from_table
from kwire.messages.kafka.metadata import MetadataResponse
from kwire_pipeline.gold.snapshot import PipelineSnapshot
from kwire_pipeline.silver.state_builder import StateBuilder
from kwire_pipeline.silver.tables import SILVER_SCHEMAS
from kwire_pipeline.store.commits import PipelineStore
from kwire_pipeline.store.manifest import FileKind
from kwire_pipeline.store.record import CommitRecord, StoreChange, reporter_key
from kwire_pipeline.store.table_files import Output, TableFile
from tests.paths import DATA

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from pyspark.sql import SparkSession

RECORDINGS = DATA / "tapes"
NAMES = ("zk39-public", "kraft44-public")
SKEW = {"zk39-public": (2, timedelta(minutes=3)), "kraft44-public": (3, timedelta(minutes=-3))}
"""The broker that is polled with another clock, and how far that is ahead."""


@dataclass(frozen=True)
class Snapshot:
    """The metadata that confluent-kafka received from one broker."""

    at: datetime
    broker: int
    partitions: dict[tuple[str, int], tuple[int, tuple[int, ...], frozenset[int]]]
    """Leader, replicas and ISR of each topic and partition."""


@dataclass(frozen=True)
class Event:
    """An event that was caused in the cluster; `at` is just before it."""

    at: datetime
    kind: str
    detail: dict[str, Any]


@cache
def bronze(name: str) -> tuple[Row, ...]:
    """Return the polls in order of time; the cluster id is the name of the recording."""
    table = from_table(pq.read_table(RECORDINGS / f"{name}.parquet"))
    table = table.set_column(table.schema.get_field_index("cluster_id"), "cluster_id", pa.repeat(name, table.num_rows))
    return tuple(row for batch in table.to_batches() for row in to_rows(batch))


def versions() -> list[Row]:
    """Return both recordings, and what worse pollers would have recorded, each as a cluster of its own.

    `NAME every 2 s` has one of four polls, in `NAME without 2` broker 2 is not polled, and in `NAME 2 late` the polls
    of broker 2 are 400 ms late. `NAME lossy` lacks one of eight polls, and in `NAME mixed` broker 3 and half of the
    polls of broker 1 use version 9 of Metadata, which has no topic ids. In `NAME skewed`, one broker is polled with a
    clock that is three minutes off (`SKEW`). In `NAME cut`, one of twenty frames of Metadata ends in its middle.
    `NAME watched` has three pollers (`_watched`).
    """
    rows: list[Row] = []
    for name in NAMES:
        polls = bronze(name)
        rows += polls
        rows += _thinned(polls, f"{name} every 2 s", 4)
        rows += [row._replace(cluster_id=f"{name} without 2") for row in polls if row.broker_id != 2]
        rows += _skewed(polls, f"{name} 2 late", 2, timedelta(milliseconds=400))
        rows += _skewed(polls, f"{name} skewed", *SKEW[name])
        chance = Random(14)
        rows += [
            row._replace(cluster_id=f"{name} lossy") for row in polls if row.api_key != 3 or chance.random() > 1 / 8
        ]
        rows += [row._replace(cluster_id=f"{name} mixed") for row in _mixed_versions(polls)]
        rows += [row._replace(cluster_id=f"{name} cut") for row in _cut(polls, chance)]
        rows += _watched(polls, f"{name} watched")
    return rows


def _mixed_versions(polls: Iterable[Row]) -> Iterator[Row]:
    """Return the polls with some Metadata responses in version 9."""
    for number, row in enumerate(polls):
        old = row.broker_id == 3 or (row.broker_id == 1 and number % 2 == 0)
        message = decode_row(row) if row.api_key == 3 and old else None
        if message is None:
            yield row
        else:
            assert isinstance(message, MetadataResponse)
            topics = tuple(replace(topic, topic_id=UUID(int=0)) for topic in message.topics)
            payload = frame.encode_response(replace(message, topics=topics), version=9, correlation_id=1)[4:]
            yield row._replace(api_version=9, frame=payload, request=None)


def _cut(polls: Iterable[Row], chance: Random) -> Iterator[Row]:
    for row in polls:
        is_cut = row.api_key == 3 and row.frame is not None and chance.random() < 1 / 20
        yield row._replace(frame=row.frame[: len(row.frame) // 2]) if is_cut and row.frame is not None else row


def _skewed(polls: Iterable[Row], name: str, broker: int, skew: timedelta) -> list[Row]:
    """Return the polls as recorded if the clock that polls one broker is ahead by `skew`."""
    rows = [row._replace(cluster_id=name) for row in polls]
    rows = [row._replace(polled_at=row.polled_at + skew) if row.broker_id == broker else row for row in rows]
    return sorted(rows, key=lambda row: row.polled_at)


def _watched(polls: Iterable[Row], name: str) -> list[Row]:
    """Return the polls of three pollers: the recorded one, one that reaches no broker, and one that reaches two.

    The others poll every five seconds, the last one with a clock that is 10 seconds ahead.
    """
    rows = [row._replace(cluster_id=name, poller_id="recorded") for row in polls]
    later = _thinned(polls, name, 10)
    brokers_reached: dict[str, tuple[int, ...]] = {"cut-off": (), "ahead": (1, 3)}
    for poller_id, delay in (("cut-off", 0.11), ("ahead", 10.0)):
        for row in later:
            copy = row._replace(polled_at=row.polled_at + timedelta(seconds=delay), poller_id=poller_id)
            if row.frame is not None and row.broker_id not in brokers_reached[poller_id]:
                copy = copy._replace(frame=None, kind=RowKind.ERROR, error="connect: timed out")
            rows.append(copy)
    return sorted(rows, key=lambda row: row.polled_at)


def rarely(polls: Iterable[Row], seconds: int) -> Iterator[Row]:
    """Return at most one poll of each request in an interval."""
    last: dict[tuple[Any, ...], float] = {}
    for row in polls:
        key = row.broker_id, row.api_key, row.request[8:] if row.api_key == 32 and row.request else None
        at = row.polled_at.timestamp()
        if at - last.get(key, 0) >= seconds - 0.3:
            last[key] = at
            yield row


def _thinned(polls: Iterable[Row], name: str, step: int) -> list[Row]:
    counts: Counter[int] = Counter()
    kept = []
    for row in polls:
        if row.api_key == 3:
            counts[row.broker_id] += 1
            if counts[row.broker_id] % step != 1:
                continue
        kept.append(row._replace(cluster_id=name))
    return kept


@cache
def log_lines(name: str) -> tuple[dict[str, Any], ...]:
    with gzip.open(RECORDINGS / f"{name}.truth.jsonl.gz", "rt") as lines:
        return tuple(json.loads(line) for line in lines)


@cache
def events(name: str) -> tuple[Event, ...]:
    """Return the events by time."""
    return tuple(
        Event(datetime.fromisoformat(line["at"]), line["kind"], line["detail"])
        for line in log_lines(name)
        if "kind" in line and "detail" in line
    )


@cache
def snapshots(name: str) -> tuple[Snapshot, ...]:
    """Return the snapshots of the independent client by time."""
    return tuple(
        Snapshot(
            datetime.fromisoformat(line["at"]),
            line["broker"],
            {
                (topic, int(number)): (state["leader"], tuple(state["replicas"]), frozenset(state["isr"]))
                for topic, partitions in line["snapshot"].items()
                for number, state in partitions.items()
            },
        )
        for line in log_lines(name)
        if "snapshot" in line
    )


def silver_rows(rows: Iterable[Row], before: Iterable[Row] = ()) -> dict[str, list[tuple[Any, ...]]]:
    """Return the rows of silver for rows of bronze, which are in order of time for each broker.

    Args:
        before: the state to start from (`StateBuilder.state`).

    Returns:
        The rows of every table of `SILVER_SCHEMAS`, as `StateBuilder.rows` has them.
    """
    builder = StateBuilder()
    builder.seed(before)
    for row in rows:
        builder.apply(row)
    builder.end()
    return builder.take()


def silver(rows: Iterable[Row]) -> dict[str, pa.Table]:
    """Return the silver of rows of bronze."""
    tables = {}
    for name, table_rows in silver_rows(rows).items():
        schema = SILVER_SCHEMAS[name].arrow
        columns = list(zip(*table_rows, strict=True)) or [()] * len(schema)
        tables[name] = pa.table([_array(*each) for each in zip(columns, schema, strict=True)], schema)
    return tables


def write_silver(rows: Iterable[Row], out: Path) -> None:
    """Write the silver of rows of bronze, as one ingest of the pipeline."""
    commit_silver(silver(rows), out)


def commit_silver(tables: dict[str, pa.Table], out: Path) -> None:
    """Write rows of silver, as one ingest of the pipeline."""
    store = PipelineStore(str(out))
    output = Output(store.location)

    def commit(record: CommitRecord) -> None:
        change = StoreChange("ingest", record.number)
        for name, rows in tables.items():
            table = SILVER_SCHEMAS[name]
            days = pc.strftime(rows.column(table.time), format="%Y-%m-%d")
            for day in sorted(set(days.to_pylist())):
                folder = f"silver/{name}"
                file = TableFile(output, FileKind.SILVER, folder, {"date": day}, table.arrow)
                file.write(rows.filter(pc.equal(days, day)))
                change.added.setdefault(folder, []).append(file.close().file)
        # Gold finds the clusters that several pollers poll by their reporters.
        polls = (
            tables["polls"]
            .select(["cluster_id", "broker_id", "endpoint", "poller_id"])
            .group_by(["cluster_id", "broker_id", "endpoint", "poller_id"])
        )
        for reporter in polls.aggregate([]).to_pylist():
            change.reporters[reporter_key(*reporter.values())] = {"last": 0, "state": "", "starts": []}
        firsts = [file.first for file in change.added.get("silver/polls", ()) if file.first is not None]
        change.oldest = min(firsts, default=None)
        store.commit(change)

    store.transact(commit)


def tables(spark: SparkSession, out: Path | str) -> PipelineSnapshot:
    """Return the tables of a pipeline after its newest commit."""
    return PipelineSnapshot(spark, PipelineStore(str(out)).snapshot())


def _array(values: Iterable[Any], field: pa.Field) -> pa.Array:
    if pa.types.is_timestamp(field.type):
        return pa.array(values, pa.int64()).cast(field.type)
    return pa.array(values, field.type)
