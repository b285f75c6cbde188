"""Replace the rows without an end of some partitions, in the executors.

Such rows are stored in one file per bucket. A file is read as Arrow data, the rows of partitions with a new state
are left out, and the new rows are added. All other rows are copied as they are.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from kwire_pipeline.gold import days
from kwire_pipeline.store.manifest import FileKind, manifest
from kwire_pipeline.store.table_files import Output, TableFile, in_schema

if TYPE_CHECKING:
    import pyarrow as pa

    from kwire.storage.location import Location

KEY = ["cluster_id", "topic", "partition"]


class OpenRowsTask(NamedTuple):
    """Rewrites the file of a bucket.

    Attributes:
        location: the folder of the store.
        folder: the folder of the table, relative to it.
        schema: the schema of its files.
        files: the present files by bucket, relative to `location`.
    """

    location: Location
    folder: str
    schema: pa.Schema
    files: dict[int, list[str]]

    def run(self, key: tuple[pa.Scalar, ...], rows: pa.Table) -> pa.Table:
        """Write a bucket. `rows` has one row for each partition with a new state."""
        import pyarrow as pa
        import pyarrow.parquet as pq

        bucket = key[0].as_py()
        output = Output(self.location)
        partition = {"date": days.OPEN, "hour": str(bucket)}
        file = TableFile(output, FileKind.GOLD, self.folder, partition, self.schema)
        new = rows.filter(rows["present"]).select(self.schema.names).cast(self.schema)
        old = [
            in_schema(pq.read_table(path, filesystem=output.files, partitioning=None), self.schema)
            for path in self.files.get(bucket, ())
        ]
        file.write(pa.concat_tables([*(_without(table, rows.select(KEY)) for table in old), new]))
        return pa.Table.from_batches([manifest([file.close()])])


def _without(rows: pa.Table, keys: pa.Table) -> pa.Table:
    """Return the rows of other partitions."""
    import pyarrow as pa

    numbered = rows.select(KEY).append_column("row", pa.array(range(rows.num_rows), pa.int64()))
    others = numbered.join(keys.cast(rows.select(KEY).schema), KEY, join_type="left anti", use_threads=False)
    return rows.take(others["row"].combine_chunks())
