"""Hand-written gold tables and silver polls with the columns that a report reads."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from kwire_pipeline.sql_views import tables
from kwire_pipeline.store.commits import PipelineStore
from kwire_pipeline.store.record import DataFile, StoreChange
from kwire_pipeline.tables import Layout

START = datetime(2026, 11, 21, 14, 0, tzinfo=UTC)
SCHEMAS = {
    folder: table.arrow
    for folder, table in tables().items()
    if folder.startswith("gold/") or folder in {"silver/polls", "silver/poll_gaps"}
}


def after(seconds: float) -> datetime:
    return START + timedelta(seconds=seconds)


def write(folder: Path, rows_by_table: Mapping[str, Iterable[Mapping[str, Any]]]) -> Path:
    """Write a pipeline's folder with these rows; other tables are empty."""
    store = PipelineStore(str(folder))
    store.create({name: Layout(schema) for name, schema in SCHEMAS.items() if name.startswith("gold/")})
    change = StoreChange("gold", 0)
    for name, given in rows_by_table.items():
        schema = SCHEMAS[name]
        rows = [{"cluster_id": "a-cluster"} | dict(row) for row in given]
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
