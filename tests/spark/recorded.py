"""The recorded clusters of tests/data/tapes: what a poller saw of them, and the truth beside it.

`zk39-public` is Kafka 3.9.1 on ZooKeeper, `kraft44-public` Kafka 4.4.0; three brokers each, polled every half second
through creations, kills, stops, shutdowns, moves, elections, deletions. What was done to them, and what an independent
client saw, is in the truth.
"""

from __future__ import annotations

import gzip
import json
from collections import Counter
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from kwire.capture.rows import Row, to_rows
from kwire.capture.table_import import from_table
from kwire.spark.silver_tables import SILVER_SCHEMAS
from kwire.spark.state_builder import silver_rows

if TYPE_CHECKING:
    from collections.abc import Iterable

TAPES = Path(__file__).parents[1] / "data" / "tapes"
NAMES = ("zk39-public", "kraft44-public")


@dataclass(frozen=True)
class Snapshot:
    """What confluent-kafka was told by one broker."""

    at: datetime
    broker: int
    partitions: dict[tuple[str, int], tuple[int, tuple[int, ...], frozenset[int]]]
    """Leader, replicas and ISR of each topic and partition."""


@dataclass(frozen=True)
class Event:
    """Something that was done to the cluster; ``at`` is just before."""

    at: datetime
    kind: str
    detail: dict[str, Any]


@cache
def bronze(name: str) -> tuple[Row, ...]:
    """What the poller saw, in order of time; the cluster is called by the tape's name."""
    table = from_table(pq.read_table(TAPES / f"{name}.parquet"))
    table = table.set_column(table.schema.get_field_index("cluster_id"), "cluster_id", pa.repeat(name, table.num_rows))
    return tuple(row for batch in table.to_batches() for row in to_rows(batch))


def versions() -> list[Row]:
    """Both recordings, and what worse pollers would have seen, each as a cluster of its own.

    `NAME every 2 s`: three of four polls left out; `NAME without 2`: broker 2 not polled; `NAME 2 late`: the clock of
    broker 2's polls is 400 ms ahead.
    """
    rows: list[Row] = []
    for name in NAMES:
        polls = bronze(name)
        rows += polls
        rows += _thinned(polls, f"{name} every 2 s", 4)
        rows += [row._replace(cluster_id=f"{name} without 2") for row in polls if row.broker_id != 2]
        late = [
            row._replace(polled_at=row.polled_at + timedelta(milliseconds=400)) if row.broker_id == 2 else row
            for row in polls
        ]
        rows += [row._replace(cluster_id=f"{name} 2 late") for row in sorted(late, key=lambda row: row.polled_at)]
    return rows


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
def truth(name: str) -> tuple[dict[str, Any], ...]:
    with gzip.open(TAPES / f"{name}.truth.jsonl.gz", "rt") as lines:
        return tuple(json.loads(line) for line in lines)


@cache
def events(name: str) -> tuple[Event, ...]:
    """What was done, by time."""
    return tuple(
        Event(datetime.fromisoformat(line["at"]), line["kind"], line["detail"])
        for line in truth(name)
        if "kind" in line and "detail" in line
    )


@cache
def snapshots(name: str) -> tuple[Snapshot, ...]:
    """What the independent client saw, by time."""
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
        for line in truth(name)
        if "snapshot" in line
    )


def write_silver(rows: Iterable[Row], out: Path) -> None:
    """Silver of these rows of bronze, as the pipeline lays it out."""
    for name, table_rows in silver_rows(rows).items():
        table = SILVER_SCHEMAS[name]
        columns = list(zip(*table_rows, strict=True)) or [()] * len(table.columns)
        arrow = pa.table(
            [_array(values, field) for values, field in zip(columns, table.arrow, strict=True)], table.arrow
        )
        days = pc.strftime(arrow.column(table.time), format="%Y-%m-%d")
        for day in sorted(set(days.to_pylist())) or ["2026-01-01"]:
            folder = out / "silver" / name / f"date={day}"
            folder.mkdir(parents=True, exist_ok=True)
            number = len(list(folder.glob("*.parquet")))
            pq.write_table(arrow.filter(pc.equal(days, day)), folder / f"part-{number}.parquet")


def _array(values: Iterable[Any], field: pa.Field) -> pa.Array:
    if pa.types.is_timestamp(field.type):
        return pa.array(values, pa.int64()).cast(field.type)
    return pa.array(values, field.type)
