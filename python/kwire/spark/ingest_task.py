"""The walk in the executors: rows of bronze in, files of bronze and silver written, a manifest out.

Rules of this file: this runs in Python workers and holds, for one broker at a time, the last answers and its view;
nothing else grows with the history. Rows that are not newer than what that broker was heard with last are late or
repeated; they are set aside, and `reopened` looks at them together with what is known of their days.
"""

from __future__ import annotations

import json
from collections import deque
from itertools import chain, groupby
from typing import TYPE_CHECKING, Any, NamedTuple, Self
from uuid import uuid4

from kwire.capture.reader import read_segment
from kwire.capture.rows import SCHEMA, Row, to_rows
from kwire.spark.state_builder import StateBuilder, microseconds
from kwire.spark.store import STATE, open_file_system, teller_key
from kwire.spark.writing import BronzeFiles, SilverFiles, Written, date_of, manifest, write_rows

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    import pyarrow as pa

    from kwire.capture.folder import Segment

DAYS_KEPT = 8
"""How many days a state at their beginning is remembered for. For later frames all that their broker
told is walked over once more."""

FRAMES_AHEAD = 64
"""How many answers are looked at for the name of the cluster; older clusters tell none."""

SILENCES_AHEAD = 10_000
"""How many polls without an answer wait at once for an answer that tells the cluster."""

NEVER = -(2**63)


class Task(NamedTuple):
    """What every task is told. ``tellers``, ``clusters``: of the newest record. ``out``: the store."""

    out: str
    staging: str
    tellers: dict[str, dict[str, Any]]
    clusters: dict[str, str]

    def ingest(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """For ``mapInArrow`` over `by_broker`."""
        with _Output(self) as output:
            for (cluster_id, broker_id, _), rows in groupby(_rows(output.timed(batches)), speaker):
                output.walk(self, cluster_id, broker_id, rows)
        yield manifest(output.written)

    def ingest_capture(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """For ``mapInArrow`` over rows of (folder, first row wanted): its rows stay where they are."""
        from kwire.capture import segments

        with _Output(self, bronze=False) as output:
            for batch in batches:
                for folder, first in zip(*(column.to_pylist() for column in batch.columns), strict=True):
                    output.walk_capture(self, folder, segments(folder), first)
        yield manifest(output.written)

    def reopen(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """For ``mapInArrow`` over bronze and late rows, the late ones marked by a last column. The ``state`` of each
        teller is the one to begin with.
        """
        with _Output(self) as output:
            for _, rows in groupby(_marked_rows(batches), lambda marked: (marked[0].cluster_id, marked[0].broker_id)):
                output.walk_again(self, rows)
        yield manifest(output.written)

    def rewrite(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """For ``mapInArrow`` over paths of files of silver: copies them without what was made anew, which is what the
        ``tellers`` told from their ``day`` on.
        """
        import pyarrow.compute as pc
        import pyarrow.parquet as pq

        system, root = open_file_system(self.out)
        written = []
        for batch in batches:
            for path in batch.column(0).to_pylist():
                table, folder, _ = path.split("/")[-3:]
                date = folder.removeprefix("date=")
                rows = pq.read_table(f"{root}/{path}", filesystem=system, partitioning=None)
                for anew in self.tellers.values():
                    if date >= anew["day"]:
                        told = pc.and_(
                            pc.equal(rows["cluster_id"], anew["cluster"]), pc.equal(rows["broker_id"], anew["broker"])
                        )
                        rows = rows.filter(pc.invert(told))
                if rows.num_rows:
                    copy = f"{self.staging}/silver/{table}/{folder}/{uuid4().hex}.parquet"
                    system.create_dir(f"{root}/{copy}".rpartition("/")[0])
                    pq.write_table(rows, f"{root}/{copy}", filesystem=system, compression="zstd", compression_level=1)
                    written.append(Written("kept", table, date, copy, rows.num_rows, ""))
        yield manifest(written)


class _Output:
    """Files of one task, and the manifest when it is over."""

    def __init__(self, task: Task, *, bronze: bool = True) -> None:
        self._system, self._root = open_file_system(task.out)
        self._staging = task.staging
        self._silver = SilverFiles(self._system, self._root, task.staging)
        self._bronze = BronzeFiles(self._system, self._root, task.staging, "bronze") if bronze else None
        self._late = BronzeFiles(self._system, self._root, task.staging, "late")
        self.written: list[Written] = []
        self._timeless = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, failed: object, *_: object) -> None:
        files: tuple[SilverFiles | BronzeFiles | None, ...] = (self._silver, self._late, self._bronze)
        for each in files:
            written = [] if each is None else list(each.close())
            if failed is None:
                self.written += written
        if self._timeless:
            self.written.append(Written("timeless", "", "", "", self._timeless, ""))

    def walk(self, task: Task, cluster_id: str | None, broker_id: int, rows: Iterator[Row]) -> None:
        """One broker's rows, in order of time."""
        first = next(rows)
        endpoint = first.endpoint
        cluster = cluster_id or task.clusters.get(f"{broker_id}/{endpoint}", "")
        # Silence that was taken before anybody told the cluster is known without it.
        last_nameless = task.tellers.get(teller_key("", broker_id, endpoint), {}).get("last", NEVER)
        last = NEVER
        teller: _Teller | None = None
        before: list[Row] = []
        for given, told in _named(chain([first], rows), cluster):
            key = teller_key(told, broker_id, endpoint)
            if teller is None or teller.key != key:
                if teller is not None:
                    self._end(teller)
                teller = _Teller(key, task.tellers.get(key, {}), self)
                last = task.tellers.get(key, {}).get("last", NEVER)
            row = given._replace(cluster_id=given.cluster_id or told)
            at = microseconds(row.polled_at)
            if row.kind == "carried":
                if not teller.knows(row):
                    teller.hear(row)
            elif not given.cluster_id and given.frame is None and at <= last_nameless:
                self._late.add(row._replace(cluster_id=""))
            elif at <= last:
                self._late.add(row)
            elif not _is_among(row, before):
                kept = teller.hear(row)
                assert self._bronze is not None
                self._bronze.add(kept)
            before = [*(other for other in before if other.polled_at == row.polled_at), row]
        assert teller is not None
        self._end(teller)

    def walk_capture(self, task: Task, folder: str, files: tuple[Segment, ...], first: int) -> None:
        """The rows of a capture from a number on, file by file."""
        tellers: dict[str, _Teller] = {}
        number = first
        for place, file in enumerate(files):
            if place + 1 < len(files) and files[place + 1].first_row <= first:
                continue
            number = file.first_row
            rows = []
            for batch in read_segment(file):
                for row in to_rows(batch):
                    if row.kind == "carried":
                        rows.append((row, True))
                    else:
                        if number >= first:
                            rows.append((row, False))
                        number += 1
            for row, carried in sorted(rows, key=lambda each: each[0].polled_at):
                key = teller_key(row.cluster_id or "", row.broker_id, row.endpoint)
                teller = tellers.get(key)
                if teller is None:
                    teller = tellers[key] = _Teller(key, task.tellers.get(key, {}), self)
                if not carried or not teller.knows(row):
                    teller.hear(row)
        for teller in tellers.values():
            self._end(teller)
        self.written.append(Written("capture", "", "", folder, number, ""))

    def walk_again(self, task: Task, marked: Iterator[tuple[Row, bool]]) -> None:
        """Rows of some days, old and late ones, of one broker, or of all unknown ones of a cluster; nothing is written
        unless a late one is new.
        """
        tellers: dict[str, _Teller] = {}
        held: list[tuple[Row, bool]] = []
        before: list[Row] = []
        news = False
        for row, late in marked:  # at the same time the old one comes first
            before = [other for other in before if other.polled_at == row.polled_at]
            if late and _is_among(row, before):
                continue
            before.append(row)
            news = news or late
            held.append((row, late))
            if news:
                for each in held:
                    self._hear_again(task, tellers, *each)
                held.clear()
        for teller in tellers.values():
            self._end(teller, reopened=True)

    def _hear_again(self, task: Task, tellers: dict[str, _Teller], row: Row, late: bool) -> None:
        key = teller_key(row.cluster_id or "", row.broker_id, row.endpoint)
        if key not in tellers:
            tellers[key] = _Teller(key, task.tellers.get(key, {}) | {"last": NEVER}, self)
        kept = tellers[key].hear(row)
        if late:
            assert self._bronze is not None
            self._bronze.add(kept)

    def timed(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """The rows that say when they were polled; how many do not, is said in the manifest."""
        for batch in batches:
            times = batch.column("polled_at")
            self._timeless += times.null_count
            yield batch.filter(times.is_valid()) if times.null_count else batch

    def take(self, walk: StateBuilder) -> None:
        """Rows of silver so far."""
        self._silver.add(walk.take())

    def keep_state(self, walk: StateBuilder) -> str:
        """Write a state; where it is going to lie."""
        name = f"{STATE}/{uuid4().hex}.parquet"
        rows = walk.state()
        if rows:
            write_rows(self._system, self._root, f"{self._staging}/{name}", rows)
        self.written.append(Written("state", "", "", f"{self._staging}/{name}" if rows else "", len(rows), name))
        return name if rows else ""

    def state(self, path: str) -> list[Row]:
        """Read a state."""
        import pyarrow.parquet as pq

        table = pq.read_table(f"{self._root}/{path}", filesystem=self._system, partitioning=None)
        return [row for batch in table.cast(SCHEMA).to_batches() for row in to_rows(batch)]

    def _end(self, teller: _Teller, *, reopened: bool = False) -> None:
        if teller.heard:
            said = teller.end()
            self.written.append(Written("teller", "", "", "", 0, json.dumps(said | {"reopened": reopened})))


class _Teller:
    """One broker in this ingest: its walk, and its states at the beginnings of days."""

    def __init__(self, key: str, known: dict[str, Any], output: _Output) -> None:
        self.key = key
        self._output = output
        self._walk = StateBuilder()
        self._state: str = known.get("state", "")
        self._state_is_current = True
        self._seeds: set[Any] = set()
        if self._state:
            seeds = output.state(self._state)
            self._walk.seed(seeds)
            self._seeds = {row.request_key for row in seeds}
        self._days: dict[str, str] = dict(known.get("days", {}))
        self._last: int = known.get("last", NEVER)
        self._cluster = ("", "")
        self._endpoint = ""
        self.heard = 0

    def knows(self, carried: Row) -> bool:
        """Whether that answer was heard already."""
        return self.heard > 0 or carried.request_key in self._seeds

    def hear(self, row: Row) -> Row:
        """Walk over one row; the row as it is to be kept."""
        at = microseconds(row.polled_at)
        date = date_of(at)
        if row.kind != "carried":
            if date not in self._days and at > self._last:
                self._days[date] = self._current_state()
            self._last = max(self._last, at)
        kept = self._walk.apply(row)
        self._state_is_current = False
        self.heard += 1
        if kept.cluster_id:
            self._cluster = f"{row.broker_id}/{row.endpoint}", kept.cluster_id
        if self.heard % 64 == 0:
            self._output.take(self._walk)
        return kept

    def end(self) -> dict[str, Any]:
        """What the log is to know."""
        self._walk.end()
        self._output.take(self._walk)
        days = dict(sorted(self._days.items())[-DAYS_KEPT:])
        address, cluster = self._cluster
        return {
            "key": self.key,
            "state": self._current_state(),
            "last": self._last,
            "days": days,
            "address": address,
            "cluster": cluster,
        }

    def _current_state(self) -> str:
        if not self._state_is_current:
            self._state = self._output.keep_state(self._walk)
            self._state_is_current = True
        return self._state


def speaker(row: Row) -> tuple[str | None, int, str]:
    """Whose rows go together; the endpoint counts while cluster or broker are not known. As `bronze.by_broker`."""
    return row.cluster_id, row.broker_id, row.endpoint if row.cluster_id is None or row.broker_id < 0 else ""


def _rows(batches: Iterable[pa.RecordBatch]) -> Iterator[Row]:
    for batch in batches:
        if batch.num_rows:
            yield from to_rows(batch.cast(SCHEMA))


def _marked_rows(batches: Iterable[pa.RecordBatch]) -> Iterator[tuple[Row, bool]]:
    for batch in batches:
        if batch.num_rows:
            marks = batch.column(batch.num_columns - 1).to_pylist()
            yield from zip(to_rows(batch.select(SCHEMA.names).cast(SCHEMA)), marks, strict=True)


def _named(rows: Iterator[Row], cluster: str) -> Iterator[tuple[Row, str]]:
    """Rows and their cluster: the one given or, without, the one that the first answer tells which tells any. A broker
    that is down when polls begin belongs to the cluster that it tells when it is back.
    """
    while not cluster:
        ahead: deque[Row] = deque()
        cluster, frames = _cluster_told(rows, ahead)
        yield from ((row, cluster) for row in ahead)
        if not ahead or frames >= FRAMES_AHEAD:
            break
    yield from ((row, cluster) for row in rows)


def _cluster_told(rows: Iterator[Row], ahead: deque[Row]) -> tuple[str, int]:
    """The cluster told by the first rows, which go to ``ahead``, and how many answers are among these."""
    probe = StateBuilder()
    frames = 0
    for row in rows:
        ahead.append(row)
        if row.frame is not None:
            frames += 1
            if told := probe.apply(row).cluster_id:
                return told, frames
        if frames >= FRAMES_AHEAD or len(ahead) >= SILENCES_AHEAD:
            break
    return "", frames


def _is_among(row: Row, before: list[Row]) -> bool:
    """Whether it is one of these again."""
    return any(_repeats(row, other) for other in before)


def _repeats(row: Row, before: Row) -> bool:
    """Whether it is the same row again: same time, same question, same answer."""
    return (
        row.polled_at == before.polled_at
        and row.api_key == before.api_key
        and row.endpoint == before.endpoint
        and row.request == before.request
        and row.frame == before.frame
    )
