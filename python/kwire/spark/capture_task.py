"""Captures in the executors: which rows are new, whether they can be walked where they lie, and else their rows.

Rules of this file: where an ingest ended is remembered with a mark; where that does not hold, another capture begins.
Rows that follow what their brokers told last are walked where they lie. Others (the same capture by another way, a
clock that went back, a file that cannot be read) are put aside for `Pipeline.ingest`, which compares row by row.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from kwire.capture.errors import UnreadableCapture
from kwire.capture.folder import Segment, segments
from kwire.capture.reader import read_segment
from kwire.capture.rows import SCHEMA
from kwire.spark.datasource import Rows, carried_in, rows_of_file
from kwire.spark.marks import SPEAKER, holds, mark_of, own_rows
from kwire.spark.state_builder import microseconds
from kwire.spark.store import teller_key
from kwire.spark.writing import Written, manifest

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from kwire.spark.ingest_task import Task

WANTED = "folder string, row bigint, mark string"
"""What `CaptureTask.ingest` takes: the row to go on with and the mark that was left with it."""

PLAN = "folder string, first_row bigint, start bigint, stop bigint, first boolean, lost_from bigint, lost_to bigint"
"""What `rows_of_plan` takes: a file, which of its rows, and of which time there is nothing since a file is damaged."""


class CaptureTask(NamedTuple):
    """For ``mapInArrow`` over `WANTED`. ``task``: walks what can be walked where it lies.

    Tells a row 'captured' or 'aside' for each folder: ``rows`` is the row to go on with, ``detail`` the first one that
    was wanted, the mark, and the files that cannot be read.
    """

    task: Task

    def ingest(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Of each folder what is new."""
        for batch in batches:
            for folder, row, mark in zip(*(column.to_pylist() for column in batch.columns), strict=True):
                try:
                    yield from self._ingest(folder, row, mark)
                except FileNotFoundError:  # a tail was closed since it was listed
                    yield from self._ingest(folder, row, mark)

    def _ingest(self, folder: str, row: int, mark: str) -> list[pa.RecordBatch]:
        found = segments(folder)
        first = row if holds(found, mark) else 0
        wanted = [file for file, stop in zip(found, _stops(found), strict=True) if stop > first]
        damaged: list[tuple[Segment, str]] = []
        try:
            if not self._any_late(wanted, first):
                made = list(self.task.ingest_capture(iter([pa.record_batch([[folder], [first]], ["folder", "first"])])))
                [stop] = (each["rows"] for batch in made for each in batch.to_pylist() if each["kind"] == "capture")
                return [*made, _told("captured", folder, stop, first, mark_of(wanted) or mark, [])]
        except FileNotFoundError:
            raise
        except (UnreadableCapture, OSError, pa.ArrowException):
            damaged = [(file, why) for file in wanted if (why := damage(file))]
            if not damaged:
                raise
        bad = {file for file, _ in damaged}
        stop = first
        if wanted:
            last = wanted[-1]
            stop = last.first_row + (0 if last in bad else sum(batch.num_rows for batch in own_rows(last)))
        good = [file for file in wanted if file not in bad]
        return [_told("aside", folder, max(stop, first), first, mark_of(good) or mark, damaged)]

    def _any_late(self, wanted: list[Segment], first: int) -> bool:
        """Whether any row is not newer than what its broker told last."""
        for file in wanted:
            number = file.first_row
            for batch in own_rows(file):
                new = batch.slice(max(first - number, 0))
                number += batch.num_rows
                earliest = pa.table(new).group_by(SPEAKER).aggregate([("polled_at", "min")])
                for who in earliest.to_pylist():
                    if microseconds(who["polled_at_min"]) <= self._last_told(*(who[name] for name in SPEAKER)):
                        return True
        return False

    def _last_told(self, cluster_id: str | None, broker_id: int, endpoint: str) -> int:
        cluster = cluster_id or self.task.clusters.get(f"{broker_id}/{endpoint}", "")
        known = self.task.tellers.get(teller_key(cluster, broker_id, endpoint))
        return -(2**63) if known is None else int(known["last"])


def plan(folder: str, start: int, stop: int, damaged: Iterable[int]) -> list[tuple[Any, ...]]:
    """Rows of `PLAN`: the files that hold those rows, without the damaged ones, which are named by their numbers."""
    bad = set(damaged)
    planned: list[tuple[Any, ...]] = []
    lost: tuple[int, int] | tuple[None, None] = None, None
    found = segments(folder)
    for file, behind in zip(found, _stops(found), strict=True):
        if file.first_row >= stop or behind <= start:
            continue
        if file.first_row in bad:
            if file.first_time is not None and file.last_time is not None:
                begun = microseconds(file.first_time) if lost[0] is None else lost[0]
                lost = begun, microseconds(file.last_time)
            continue
        planned.append((folder, file.first_row, max(start, file.first_row), min(stop, behind), not planned, *lost))
        lost = None, None
    return planned


def rows_of_plan(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """For ``mapInArrow`` over `PLAN`: the rows. What the next file carries over from a damaged one is given as what it
    was there: a full answer.
    """
    for batch in batches:
        for part in batch.to_pylist():
            rows = Rows(part["folder"], part["first_row"], part["start"], part["stop"], first=True)
            for given in rows_of_file(rows):
                carried = carried_in(given)
                if carried and part["lost_from"] is not None:
                    yield from _recovered(given.slice(0, carried), part["lost_from"], part["lost_to"])
                if carried and part["first"]:
                    yield given.slice(0, carried)
                if carried < given.num_rows:
                    yield given.slice(carried)


def damage(file: Segment) -> str:
    """Why a file cannot be read; empty when it can."""
    try:
        for _ in read_segment(file):
            pass
    except UnreadableCapture as error:
        return error.reason.splitlines()[0]
    return ""


def _recovered(carried: pa.RecordBatch, lost_from: int, lost_to: int) -> Iterator[pa.RecordBatch]:
    at = carried.column("polled_at").cast(pa.int64())
    rows = carried.filter(pc.and_(pc.greater_equal(at, lost_from), pc.less_equal(at, lost_to)))
    if rows.num_rows:
        kinds = pa.array(["full"] * rows.num_rows, SCHEMA.field("kind").type)
        yield rows.set_column(SCHEMA.get_field_index("kind"), SCHEMA.field("kind"), kinds)


def _told(
    kind: str, folder: str, stop: int, first: int, mark: str, damaged: list[tuple[Segment, str]]
) -> pa.RecordBatch:
    bad = [(file.first_row, f"{file.path}: {why}") for file, why in damaged]
    return manifest([Written(kind, "", "", folder, stop, json.dumps({"first": first, "mark": mark, "damaged": bad}))])


def _stops(found: tuple[Segment, ...]) -> list[int]:
    """The number of the first row behind each file; of the last one no row is behind."""
    return [file.first_row for file in found[1:]] + [1 << 62] * bool(found)
