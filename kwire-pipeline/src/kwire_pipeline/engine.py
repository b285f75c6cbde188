"""The engine of a pipeline: this process for little data, and Spark for the rest.

Queries are written once, for PySpark's interface (`in_process`). A pipeline gets a session of Spark, or a function that
starts one. With a function, inputs of at most `Engine.limit` rows are ingested in this process, and Spark starts when
an input, late frames, or a window of gold pass the limit: a JVM takes longer to start than little data to be ingested.
"""

from __future__ import annotations

from contextlib import contextmanager
from datetime import UTC, datetime
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, TypeAlias, cast

from kwire_pipeline.in_process import run_in_process
from kwire_pipeline.session import own_meaning
from kwire_pipeline.store.snapshot import read_files

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

    from kwire.storage.location import Location
    from kwire_pipeline.in_process.data_frame import InProcessSession
    from kwire_pipeline.store.record import DataFile

SparkSource: TypeAlias = "SparkSession | Callable[[], SparkSession]"
"""A session, or a function that starts one when it is needed."""

IN_PROCESS_ROWS = 100_000
"""Default maximum number of stored rows that are processed in this process. Chosen, not measured: 20 times the rows of
a recording of three minutes, whose build on Spark spends its time on planning and not on rows."""

IN_PROCESS_BYTES = 256 << 20
"""Maximum size in memory of the frames that are ingested in this process. Chosen, not measured."""


class Engine:
    """Runs queries on Spark, or in this process within `queries(in_process=True)`.

    Attributes:
        limit: the maximum number of rows that are processed in this process; 0 processes all on Spark.
        local: the session of this process inside of such a block; None if queries run on Spark.
        starts_spark: True if a session of Spark is started on demand.
    """

    def __init__(self, spark: SparkSource, limit: int = IN_PROCESS_ROWS) -> None:
        self._spark = spark
        # Without DuckDB, which has no wheel for some versions of Python, everything runs on Spark.
        self.limit = limit if find_spec("duckdb") is not None else 0
        self.local: InProcessSession | None = None
        self.starts_spark = callable(spark)

    @classmethod
    def of(cls, spark: SparkSource | Engine) -> Engine:
        """Return the engine itself, or a new one."""
        return spark if isinstance(spark, Engine) else cls(spark)

    @property
    def spark(self) -> SparkSession:
        """The session of Spark, which this starts if necessary."""
        if callable(self._spark):
            from kwire_pipeline.source.datasource import register

            self._spark = self._spark()
            register(self._spark)
        return self._spark

    def ingests_in_process(self, rows: int) -> bool:
        """Return whether an input of `rows` rows is ingested in this process."""
        return self.starts_spark and rows <= self.limit

    @contextmanager
    def queries(self, *, in_process: bool, frames: DataFrame | None = None) -> Iterator[None]:
        """Run the queries of a block in this process, or on Spark with the time zone of the tables.

        A DataFrame of one engine must not reach the other one. `frames` may be of a session of its own.
        """
        if in_process:
            with run_in_process() as self.local:
                yield
            self.local = None
            return
        # A stream has a session of its own, with the settings of its parent.
        with own_meaning(self.spark, *([] if frames is None else [frames.sparkSession])):
            yield

    def frame(self, rows: Iterable[Sequence[Any]], ddl: str) -> DataFrame:
        """Return rows as a DataFrame."""
        return (self.local or self.spark).createDataFrame(rows, ddl)

    def of_arrow(self, rows: pa.Table) -> DataFrame:
        """Return a table of Arrow as a DataFrame."""
        if self.local is None:
            return self.spark.createDataFrame(rows)
        return cast("DataFrame", self.local.frame(rows))

    def read_capture(self, folder: str, first: int, stop: int, since: int) -> DataFrame:
        """Read the rows of a capture from `first` to before `stop`, with the rows that were effective before.

        Rows before the time `since`, in microseconds since 1970, may be left out.
        """
        start = datetime.fromtimestamp(max(since, 0) // 1_000_000, UTC)
        if self.local is None:
            reader = self.spark.read.format("kwire").option("fromRow", first).option("toRow", stop)
            return reader.option("since", start.isoformat()).load(folder)
        import pyarrow as pa

        from kwire.capture.rows import SCHEMA
        from kwire_pipeline.source.capture_readers import ReadOptions, plan_partitions, read_partition
        from kwire_pipeline.source.row_selection import RowSelection

        parts = plan_partitions(folder, first, stop, begins=True, options=ReadOptions(RowSelection(start)))
        return self.of_arrow(pa.Table.from_batches([batch for part in parts for batch in read_partition(part)], SCHEMA))

    def read_files(self, location: Location, table: str, files: Iterable[DataFile], ddl: str) -> DataFrame:
        """Read files of a table of the store; `ddl` has the partition columns."""
        if self.local is None:
            return read_files(self.spark, location, table, files, ddl)
        paths = ((f"{table}/{file.path}", file.partition) for file in files)
        return self.local.read_files(paths, ddl, location.files())
