"""Hand-written gold tables and silver polls with the columns that a report reads."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from kwire_pipeline.store.commits import PipelineStore
from kwire_pipeline.store.record import DataFile, StoreChange
from kwire_pipeline.tables import Layout

START = datetime(2026, 11, 21, 14, 0, tzinfo=UTC)
AT = pa.timestamp("us", "UTC")
INTS = pa.list_(pa.int32())
TEXTS = pa.map_(pa.string(), pa.string())

SCHEMAS = {
    "silver/polls": pa.schema(
        [
            ("cluster_id", pa.string()),
            ("broker_id", pa.int32()),
            ("polled_at", AT),
            ("kind", pa.string()),
            ("api_key", pa.int32()),
            ("duration_us", pa.int64()),
        ]
    ),
    "silver/poll_gaps": pa.schema([("cluster_id", pa.string()), ("polled_at", AT), ("last_polled_at", AT)]),
    "gold/intervals": pa.schema(
        [
            ("cluster_id", pa.string()),
            ("topic", pa.string()),
            ("partition", pa.int32()),
            ("leader", pa.int32()),
            ("replicas", INTS),
            ("valid_from", AT),
            ("valid_to", AT),
            *(
                (flag, pa.bool_())
                for flag in (
                    "offline",
                    "under_replicated",
                    "electing",
                    "moving",
                    "under_min_isr",
                    "not_preferred",
                    "leaderless",
                )
            ),
        ]
    ),
    "gold/incidents": pa.schema(
        [
            ("incident_id", pa.string()),
            ("cluster_id", pa.string()),
            ("kind", pa.string()),
            ("cause", pa.string()),
            ("caused_by", pa.string()),
            ("broker_id", pa.int32()),
            ("began_at", AT),
            ("ended_at", AT),
            ("topics", pa.list_(pa.string())),
            *(
                (name, pa.int32())
                for name in (
                    "topic_count",
                    "partition_count",
                    "under_replicated",
                    "offline",
                    "electing",
                    "leaders_moved",
                )
            ),
            ("attributes", TEXTS),
        ]
    ),
    "gold/config_drift": pa.schema(
        [
            ("cluster_id", pa.string()),
            ("topic", pa.string()),
            ("key", pa.string()),
            ("value", pa.string()),
            ("inherited_value", pa.string()),
            ("valid_from", AT),
            ("valid_to", AT),
        ]
    ),
}


def after(seconds: float) -> datetime:
    return START + timedelta(seconds=seconds)


def write(folder: Path, tables: Mapping[str, Iterable[Mapping[str, Any]]]) -> Path:
    """Write a pipeline's folder with these rows; other tables are empty."""
    store = PipelineStore(str(folder))
    store.create({name: Layout(schema) for name, schema in SCHEMAS.items() if name.startswith("gold/")})
    change = StoreChange("gold", 0)
    for name, schema in SCHEMAS.items():
        rows = [{"cluster_id": "a-cluster"} | dict(row) for row in tables.get(name, ())]
        date = "" if name.startswith("gold/") else "date=2026-11-21/"
        path = folder / name / f"{date}part.parquet"
        path.parent.mkdir(parents=True, exist_ok=True)
        pq.write_table(pa.Table.from_pylist(rows, schema), path)
        partition = {"date": "2026-11-21"} if date else {}
        change.added[name] = [DataFile(f"{date}part.parquet", partition, len(rows), path.stat().st_size)]
    store.commit(change)
    return folder


def polls(
    brokers: Iterable[int], seconds: int = 60, failing: Mapping[int, range] | None = None
) -> list[dict[str, Any]]:
    """Return a poll of each broker every second; polls of `failing` brokers fail in these seconds."""
    return [
        {
            "broker_id": broker,
            "polled_at": after(second),
            "kind": "error" if second in (failing or {}).get(broker, ()) else "full",
            "api_key": 3,
            "duration_us": 2_000,
        }
        for broker in brokers
        for second in range(seconds)
    ]


def state(
    topic: str,
    partition: int,
    leader: int,
    replicas: tuple[int, ...],
    begun: float = 0,
    ended: float | None = None,
    **flags: bool,
) -> dict[str, Any]:
    """Return a row of gold's intervals with these flags set."""
    none = dict.fromkeys(
        ("offline", "under_replicated", "electing", "moving", "not_preferred", "leaderless", "under_min_isr"), False
    )
    times = {"valid_from": after(begun), "valid_to": None if ended is None else after(ended)}
    return none | {"topic": topic, "partition": partition, "leader": leader, "replicas": replicas} | times | flags


def incident(
    number: int, kind: str, begun: float, ended: float | None, broker: int | None = None, **more: Any
) -> dict[str, Any]:
    """Return a row of gold's incidents."""
    return {
        "incident_id": f"{number:012x}",
        "kind": kind,
        "cause": "as the test says",
        "broker_id": broker,
        "began_at": after(begun),
        "ended_at": None if ended is None else after(ended),
        "topics": [],
        "attributes": [],
    } | more
