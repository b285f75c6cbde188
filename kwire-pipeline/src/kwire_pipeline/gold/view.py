"""Gold tables at one commit, overlaid with the uncommitted files of a build.

A build reads one snapshot from its first query to its last, whatever other processes commit meanwhile. Workers write
its files; they become visible with its commit, all at once.
"""

from __future__ import annotations

from collections import Counter
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq

from kwire_pipeline.engine import Engine, SparkSource
from kwire_pipeline.gold import clock_skew, days, poller_clocks, pollers, transitions
from kwire_pipeline.gold.open_rows import OpenRowsTask
from kwire_pipeline.gold.poller_clocks import Clocks, clocks_of_rows
from kwire_pipeline.gold.transitions import FILED_AT
from kwire_pipeline.in_process import distribute, time_literal, with_columns
from kwire_pipeline.session import sized_queries
from kwire_pipeline.silver.tables import SILVER_SCHEMAS
from kwire_pipeline.store.manifest import MANIFEST, WrittenFile, entries_of
from kwire_pipeline.store.record import CommitRecord, DataFile, StoreChange
from kwire_pipeline.store.snapshot import Snapshot
from kwire_pipeline.store.table_files import PartitionWriter, digests
from kwire_pipeline.tables import Layout, arrow_type, ddl_schema

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from pyspark.sql import DataFrame

    from kwire_pipeline.gold.tables import GoldTable
    from kwire_pipeline.store.commits import PipelineStore

AS_OF = "as_of"
"""The partition column of the tables of savepoints, which is the beginning of an hour."""

STAMP = "%Y-%m-%dT%H"

SAVED_PARTITIONS = "gold/_partitions"

BUCKET, NO_BUCKET = "bucket", -1
"""The second partition column of `SAVED_PARTITIONS`, and its value in files with changes of all buckets."""


class GoldView:
    """The tables of a snapshot.

    Attributes:
        engine: runs the queries.
        clocks: corrects the times of silver; by default, as the last build of gold did.
    """

    def __init__(self, spark: SparkSource | Engine, snapshot: Snapshot, clocks: Clocks | None = None) -> None:
        self.engine = Engine.of(spark)
        self.snapshot = snapshot
        self.clocks = _last_clocks(snapshot) if clocks is None else clocks

    def files(self, table: str) -> list[DataFile]:
        """Return the files of a table, which is named by its folder."""
        return self.snapshot.files(table)

    def silver(self, name: str, start: datetime | None = None, stop: datetime | None = None) -> DataFrame:
        """Read a table of silver with its column `date`, from the day of `start` to the day of `stop`, inclusive.

        None means the first or the last day. Times are corrected (`clocks`).
        """
        table = SILVER_SCHEMAS[name]
        first, last = self.clocks.days_of(start, stop)
        schema = f"{table.ddl}, `date` string"
        rows = self._read(f"silver/{name}", schema, lambda file: days.is_between(file.partition["date"], first, last))
        return self.clocks.correct(rows, table.time)

    def table(self, table: GoldTable, since: datetime | None = None) -> DataFrame:
        """Read a table of gold with its columns `date` and `hour`; it is empty before the first build.

        Args:
            table: the table.
            since: read the days from this one on, and rows without an end; None reads all days.
        """
        schema = f"{table.ddl}, date string, hour int"
        return self._read(table.folder, schema, lambda file: days.is_between(file.partition["date"], since, None))

    def filed(self, table: GoldTable, files: Iterable[DataFile]) -> DataFrame:
        """Read files of hours of a table of gold, with the hour as column `FILED_AT`."""
        rows = self._read_files(table.folder, files, f"{table.ddl}, date string, hour int")
        micros = "unix_micros(CAST(date AS timestamp)) + CAST(hour AS bigint) * 3600000000"
        return with_columns(rows, **{FILED_AT: f"timestamp_micros({micros})"}).drop("date", "hour")

    def savepoints(self) -> list[datetime]:
        """Return the hours that have a savepoint, ascending."""
        stamps = {file.partition[AS_OF] for file in self.files("gold/_config_polls")}
        return sorted(datetime.strptime(stamp, STAMP).replace(tzinfo=UTC) for stamp in stamps)

    def saved(self, part: str, as_of: datetime, ddl: str) -> DataFrame:
        """Read a part of the savepoint of an hour."""
        folder, stamp = f"gold/_{part}", as_of.strftime(STAMP)
        files = [file for file in self.files(folder) if file.partition[AS_OF] == stamp]
        return self._read_files(folder, files, f"{ddl}, {AS_OF} string").drop(AS_OF)

    def saved_rows(self, part: str, as_of: datetime, columns: Sequence[str]) -> pa.Table:
        """Read columns of a small part of the savepoint of an hour in the driver."""
        folder, stamp = self.snapshot.location.child(f"gold/_{part}").files(), as_of.strftime(STAMP)
        files = (file for file in self.files(f"gold/_{part}") if file.partition[AS_OF] == stamp)
        opened = (pq.ParquetFile(file.path, filesystem=folder, pre_buffer=True) for file in files)
        rows = [file.read(columns=list(columns)) for file in opened]
        return pa.concat_tables(rows) if rows else pa.table(dict.fromkeys(columns, ()))

    def saved_partitions(self, hours: Iterable[datetime], as_of: datetime, *, with_first: bool) -> DataFrame:
        """Read the saved states of partitions since the first savepoint of a day, with the column `as_of`.

        Args:
            hours: the hours that have a savepoint.
            as_of: the last hour to read.
            with_first: True to read the first one, too (`first_saved`).
        """
        first, *later = self._hours_of_day(hours, as_of)
        stamps = {hour.strftime(STAMP) for hour in ([first, *later] if with_first else later)}
        files = [file for file in self.files(SAVED_PARTITIONS) if file.partition[AS_OF] in stamps]
        schema = f"{transitions.ddl(transitions.INPUT)}, {AS_OF} string, {BUCKET} int"
        return self._read_files(SAVED_PARTITIONS, files, schema).drop(BUCKET)

    def first_saved(self, hours: Iterable[datetime], as_of: datetime) -> dict[int, list[str]]:
        """Return the files of the first savepoint of a day by bucket."""
        stamp = self._hours_of_day(hours, as_of)[0].strftime(STAMP)
        paths: dict[int, list[str]] = {}
        for file in self.files(SAVED_PARTITIONS):
            if file.partition[AS_OF] == stamp:
                paths.setdefault(int(file.partition[BUCKET]), []).append(f"{SAVED_PARTITIONS}/{file.path}")
        return paths

    @staticmethod
    def _hours_of_day(hours: Iterable[datetime], as_of: datetime) -> list[datetime]:
        return sorted(hour for hour in hours if hour.date() == as_of.date() and hour <= as_of)

    def frame(self, rows: Iterable[tuple[Any, ...]], ddl: str) -> DataFrame:
        """Return rows as a DataFrame."""
        return self.engine.frame(rows, ddl)

    def _read(self, table: str, schema: str, selects: Callable[[DataFile], bool]) -> DataFrame:
        return self._read_files(table, filter(selects, self.files(table)), schema)

    def _read_files(self, table: str, files: Iterable[DataFile], ddl: str) -> DataFrame:
        return self.engine.read_files(self.snapshot.location, table, files, ddl)


class GoldBuild(GoldView):
    """A build that continues a record.

    | call | effect |
    |---|---|
    | `replace`, `save`, `save_partitions` | plans the new files of a table; nothing is computed |
    | `computed_once` | stores rows that several tables read |
    | `write` | computes and writes all planned tables in one job; this build reads them from now on |
    | `forget_savepoints` | drops savepoints |
    | `commit` | makes everything visible at once; without it, the files are garbage that `vacuum` deletes |

    Attributes:
        leaders: the leading poller of each broker of `shared_clusters` in this window (`pollers`); None counts all.
        shared_clusters: the clusters that several pollers poll.
        reporters: number of brokers, each counted once for every poller.
        has_several_clocks: True if a cluster is polled with several clocks.
        has_unattributed_polls: True if polls of unknown clusters are stored.
    """

    def __init__(self, spark: SparkSource | Engine, store: PipelineStore, record: CommitRecord) -> None:
        super().__init__(spark, Snapshot.of(store.location, record), Clocks())
        self.leaders: DataFrame | None = None
        self.shared_clusters = pollers.shared_clusters(record.progress.reporters)
        self.reporters = len(record.progress.reporters)
        self.has_several_clocks = clock_skew.has_several_clocks(record.progress.reporters)
        self.has_unattributed_polls = any(key.startswith("/") for key in record.progress.reporters)
        self._store = store
        self._current: dict[str, list[DataFile]] = {}
        self._planned: list[_PlannedTable] = []
        self._persisted: list[DataFrame] = []

    def files(self, table: str) -> list[DataFile]:
        """Return the files of a table as the build has changed it."""
        return self._current.get(table, self.snapshot.files(table))

    def silver(self, name: str, start: datetime | None = None, stop: datetime | None = None) -> DataFrame:
        """Read a table of silver as `GoldView.silver` does, without the rows that do not count (`leaders`)."""
        return self.of_leaders(super().silver(name, start, stop), name)

    def of_leaders(self, rows: DataFrame, name: str) -> DataFrame:
        """Return the rows of a table of silver that count (`leaders`)."""
        if self.leaders is None:
            return rows
        return pollers.of_leaders(rows, name, self.leaders, self.shared_clusters)

    def replace(
        self,
        table: GoldTable,
        rows: DataFrame,
        since: datetime | None,
        *,
        open_rows: DataFrame | None = None,
        full_rebuild: bool = False,
        keep_equal: bool = False,
        kept: list[DataFile] | None = None,
    ) -> None:
        """Replace everything from the hour `since` on (None: everything), and rows without an end.

        Args:
            table: the table.
            rows: the new rows. A row belongs to the hour of its column `FILED_AT`, or of the table's time column if it
                does not have one, but to `since` if that is later: builds from then on replace it.
            since: the first hour that is replaced.
            open_rows: rows without an end, one for each partition that has a new state, with the columns `bucket` and
                `present`; the rows of other partitions stay. None if `rows` has all rows without an end.
            full_rebuild: True if `open_rows` has all partitions.
            keep_equal: True to keep the file of an hour whose rows are the same. Comparing costs a quarter of writing.
            kept: the files that are not replaced; by default, those of hours before `since`.
        """
        time = FILED_AT if FILED_AT in rows.columns else table.time
        if since is not None:
            time = f"CASE WHEN {time} IS NOT NULL THEN greatest({time}, {time_literal(since)}) END"
        dated = rows.selectExpr(
            *(f"`{name}`" for name in table.names),
            f"coalesce(date_format({time}, 'yyyy-MM-dd'), '{days.OPEN}') AS date",
            f"coalesce(CAST(hour({time}) AS int), 0) AS hour",
        )
        # One file per hour, whatever the parallelism was: each file costs readers time.
        dated = dated.repartition("date", "hour")
        stored = digests(self.files(table.folder)) if keep_equal else None
        task = PartitionWriter(self.snapshot.location, table.folder, table.arrow, ("date", "hour"), stored)
        manifest = dated.mapInArrow(task.run, MANIFEST)
        earlier = [file for file in self.files(table.folder) if since is not None and days.is_before(file, since)]
        earlier = earlier if kept is None else kept
        if open_rows is None:
            self._planned.append(_PlannedTable(table.folder, lambda _: earlier, manifest))
            return
        # Rows without an end are in one file per bucket. Only files of buckets with new states are written again.
        open_files = [file for file in self.files(table.folder) if file.partition["date"] == days.OPEN]
        buckets: dict[int, list[str]] = {}
        for file in open_files if not full_rebuild else ():
            buckets.setdefault(int(file.partition["hour"]), []).append(f"{table.folder}/{file.path}")
        open_task = OpenRowsTask(self.snapshot.location, table.folder, table.arrow, buckets)
        written = open_rows.groupBy("bucket").applyInArrow(
            lambda key, rows: open_task.run(key, rows),  # noqa: PLW0108  # Spark takes the `self` of a method for an argument
            MANIFEST,
        )
        manifest = manifest.unionByName(written)

        def remaining(new: list[DataFile]) -> list[DataFile]:
            written = {file.partition["hour"] for file in new if file.partition["date"] == days.OPEN}
            others = [] if full_rebuild else [file for file in open_files if file.partition["hour"] not in written]
            return [*earlier, *others]

        self._planned.append(_PlannedTable(table.folder, remaining, manifest))

    def save_partitions(self, as_of: datetime, rows: DataFrame, *, complete: bool) -> None:
        """Write the states of partitions (`transitions.INPUT`) at the beginning of an hour.

        All partitions have one file per bucket; changed ones have one file.
        """
        stamp = as_of.strftime(STAMP)
        schema = pa.schema([(name, arrow_type(type)) for name, type in transitions.INPUT.items()])
        stored = schema.append(pa.field(AS_OF, pa.string())).append(pa.field(BUCKET, pa.int32()))
        self._store.create({SAVED_PARTITIONS: Layout(stored, (AS_OF, BUCKET))})
        bucket = transitions.BUCKET_OF_TOPIC if complete else str(NO_BUCKET)
        rows = with_columns(rows, **{AS_OF: f"'{stamp}'", BUCKET: bucket})
        # Tasks of later builds read the rows of one cluster and bucket of a complete savepoint.
        rows = distribute(rows, BUCKET, "cluster_id") if complete else rows.coalesce(1)
        task = PartitionWriter(self.snapshot.location, SAVED_PARTITIONS, schema, (AS_OF, BUCKET))
        others = [file for file in self.files(SAVED_PARTITIONS) if file.partition[AS_OF] != stamp]
        self._planned.append(_PlannedTable(SAVED_PARTITIONS, lambda _: others, rows.mapInArrow(task.run, MANIFEST)))

    def save(self, part: str, as_of: datetime, rows: DataFrame, ddl: str) -> None:
        """Write a part of the savepoint of an hour; `ddl` is its schema."""
        folder, stamp, schema = f"gold/_{part}", as_of.strftime(STAMP), ddl_schema(ddl)
        self._store.create({folder: Layout(schema.append(pa.field(AS_OF, pa.string())), (AS_OF,))})
        task = PartitionWriter(self.snapshot.location, folder, schema, (AS_OF,))
        others = [file for file in self.files(folder) if file.partition[AS_OF] != stamp]
        manifest = with_columns(rows, **{AS_OF: f"'{stamp}'"}).mapInArrow(task.run, MANIFEST)
        self._planned.append(_PlannedTable(folder, lambda _: others, manifest))

    @contextmanager
    def queries(self, *, in_process: bool) -> Iterator[None]:
        """Run the queries of a window in this process, or on Spark with settings for the size of a day."""
        with self.engine.queries(in_process=in_process):
            if in_process:
                yield
                return
            with sized_queries(self.engine.spark, self._largest_day()):
                yield

    def _largest_day(self) -> int:
        """Return the bytes of silver's files in the day with the most; builds read a day at a time."""
        sizes: Counter[str] = Counter()
        for table in ("silver/partitions", "silver/polls"):
            for file in self.snapshot.files(table):
                sizes[file.partition["date"]] += file.size
        return max(sizes.values(), default=0)

    def computed_once(self, rows: DataFrame, level: str = "MEMORY_AND_DISK") -> DataFrame:
        """Return rows that are stored when they are computed, until the next `write`. `level` is one of Spark."""
        if self.engine.local is not None:
            return rows  # they are stored by themselves
        from pyspark import StorageLevel

        self._persisted.append(rows.persist(getattr(StorageLevel, level)))
        return rows

    def write(self) -> None:
        """Write all tables that are planned."""
        manifests = [planned.manifest for planned in self._planned]
        entries = entries_of(_union(manifests).toArrow())
        for planned in self._planned:
            new = [entry.file for entry in entries if isinstance(entry, WrittenFile) and entry.table == planned.folder]
            self._current[planned.folder] = [*planned.kept(new), *new]
        self._planned.clear()
        while self._persisted:
            self._persisted.pop().unpersist()

    def forget_savepoints(self, hours: set[datetime]) -> None:
        """Delete the savepoints of some hours."""
        stamps = {hour.strftime(STAMP) for hour in hours}
        for folder in SAVEPOINT_FOLDERS:
            if files := self.files(folder):
                self._current[folder] = [file for file in files if file.partition[AS_OF] not in stamps]

    def commit(self, gold: dict[str, object]) -> None:
        """Commit the build. `gold` is its `Progress.gold`.

        Raises:
            ConcurrentCommit: another process has built gold.
        """
        change = StoreChange("gold", self.snapshot.number, gold=gold)
        for table, files in self._current.items():
            before = self.snapshot.files(table)
            paths_before, paths_after = {file.path for file in before}, {file.path for file in files}
            change.added[table] = [file for file in files if file.path not in paths_before]
            change.removed[table] = [file for file in before if file.path not in paths_after]
            change.rows[table.removeprefix("gold/")] = sum(file.rows for file in change.added[table])
        self._store.commit(change, self.snapshot.opened)


def _union(parts: Sequence[DataFrame]) -> DataFrame:
    """Return the rows of all parts. Spark analyzes both sides of each union, so the parts are joined by halves."""
    if len(parts) == 1:
        return parts[0]
    middle = len(parts) // 2
    return _union(parts[:middle]).union(_union(parts[middle:]))


def _last_clocks(snapshot: Snapshot) -> Clocks:
    """Return the skew with which gold was built."""
    dataset = snapshot.dataset(poller_clocks.TABLE.folder)
    return clocks_of_rows([] if dataset is None else dataset.to_table().to_pylist())


SAVEPOINT_FOLDERS = (
    SAVED_PARTITIONS,
    "gold/_broker_loads",
    "gold/_config_polls",
    "gold/_group_lag",
    "gold/_log_dirs",
    "gold/_lasting_incidents",
)


class _PlannedTable(NamedTuple):
    """Planned result of a build for one table.

    Attributes:
        folder: the folder of the table.
        kept: returns the files that the table keeps, from its new files.
        manifest: writes the new files when it is computed.
    """

    folder: str
    kept: Callable[[list[DataFile]], list[DataFile]]
    manifest: DataFrame
