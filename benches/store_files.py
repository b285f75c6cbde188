"""Number of Parquet files of a store after a day of batches every ten seconds.

    python -m benches.store_files [--quick]

Each batch is a commit with one file of `bronze`, `polls`, and `partitions`: partitions change in every batch, which is
the worst case of a stream. Small files are merged after as many batches as in a stream. Spark is not used.
"""

from __future__ import annotations

import tempfile
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from benches.figure import Figure
from benches.gold_store import Cluster
from benches.program import print_figures

if TYPE_CHECKING:
    import pyarrow as pa

    from kwire.spark.store.commits import PipelineStore
    from kwire.spark.store.record import CommitRecord

EVERY = timedelta(seconds=10)
BEGIN = datetime(2026, 10, 1, tzinfo=UTC)
BATCHES, QUICK_BATCHES = 8_640, 200


def run(quick: bool) -> list[Figure]:
    """Return the figure."""
    from kwire.spark.pipeline import BATCHES_MERGED
    from kwire.spark.store.commits import PipelineStore
    from kwire.spark.store.maintenance import optimize

    batches = QUICK_BATCHES if quick else BATCHES
    cluster = Cluster("c", 1_000, changed=0.01)
    with tempfile.TemporaryDirectory(prefix="kwire-bench-") as folder:
        store = PipelineStore(folder)
        largest = 0
        for number in range(batches):
            _add_batch(store, cluster, number)
            if (number + 1) % BATCHES_MERGED == 0:
                largest = max(largest, _count(store))
                optimize(store)
        on_disk = sum(1 for _ in Path(folder).rglob("*.parquet"))
        detail = (
            f"{batches:,} batches; the most that a snapshot has, {BATCHES_MERGED} batches after the last merge; "
            f"{_count(store):,} at the end; {on_disk:,} on disk before `vacuum`"
        )
    return [Figure("files that a reader of a day opens", largest, "", 500, 100, False, detail)]


def _add_batch(store: PipelineStore, cluster: Cluster, number: int) -> None:
    from kwire.capture.rows import SCHEMA
    from kwire.spark.store.manifest import FileKind
    from kwire.spark.store.record import StoreChange
    from kwire.spark.store.table_files import Output, TableFile

    at = BEGIN + number * EVERY
    tables = {f"silver/{name}": rows for name, rows in cluster.silver(at, first=number == 0).items()}
    tables["silver/polls"] = tables["silver/polls"].slice(0, 3)
    tables["bronze"] = _frames(SCHEMA, tables["silver/polls"])

    def commit(record: CommitRecord) -> None:
        change = StoreChange("ingest", record.number, streams={"stream": number})
        output = Output(store.location)
        for folder, rows in tables.items():
            file = TableFile(output, FileKind.SILVER, folder, {"date": f"{at:%Y-%m-%d}"}, rows.schema)
            file.write(rows)
            change.added[folder] = [file.close().file]
        store.commit(change)

    store.transact(commit)


def _frames(schema: pa.Schema, polls: pa.Table) -> pa.Table:
    """Return rows of bronze for polls, without frames."""
    import pyarrow as pa

    known = set(polls.column_names)
    columns = [
        polls[field.name].cast(field.type) if field.name in known else pa.nulls(polls.num_rows, field.type)
        for field in schema
    ]
    return pa.table(columns, schema=schema)


def _count(store: PipelineStore) -> int:
    """Return the number of files in the tables of the newest snapshot."""
    snapshot = store.snapshot()
    return sum(len(snapshot.files(table)) for table in snapshot.versions)


if __name__ == "__main__":
    print_figures(run, "store_files", "Count the files of a day.", "ingest two hours")
