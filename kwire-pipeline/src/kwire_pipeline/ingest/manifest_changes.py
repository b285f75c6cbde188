"""From the manifest of an ingest to the change to commit, and to the report for the caller."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict
from typing import TYPE_CHECKING, TypeVar

from kwire_pipeline.ingest.ingest_report import IngestReport
from kwire_pipeline.store.manifest import FileKind, ReporterProgress, UnreadRows, WrittenFile
from kwire_pipeline.store.record import StoreChange

if TYPE_CHECKING:
    from collections.abc import Iterable

    from kwire_pipeline.store.manifest import CaptureProgress, ManifestEntry
    from kwire_pipeline.store.record import CommitRecord

T = TypeVar("T")


def of_type(entries: Iterable[ManifestEntry], cls: type[T]) -> Iterable[T]:
    """Return the entries of one class."""
    return (entry for entry in entries if isinstance(entry, cls))


def to_change(record: CommitRecord, entries: Iterable[ManifestEntry]) -> StoreChange:
    """Return the change that a manifest describes."""
    change = StoreChange("ingest", record.number, rows=row_counts(entries))
    for entry in entries:
        match entry:
            case ReporterProgress(last=last) if last >= 0 or entry.starts:
                starts = [asdict(point) for point in entry.starts]
                change.reporters[entry.key] = {"state": entry.state, "last": entry.last, "starts": starts}
                if entry.aside:
                    change.reporters[entry.key]["aside"] = entry.aside
                if entry.cluster:
                    change.clusters[entry.address] = entry.cluster
            case WrittenFile() if entry.kind != FileKind.LATE:
                change.added.setdefault(entry.table, []).append(entry.file)
                if entry.table == "silver/polls" and entry.kind == FileKind.SILVER:
                    change.oldest = oldest(change.oldest, entry.file.first)
    return change


def oldest(*times: int | None) -> int | None:
    """Return the oldest of several times in microseconds; None is an unknown time."""
    return min((at for at in times if at is not None), default=None)


def to_report(entries: Iterable[ManifestEntry]) -> IngestReport:
    """Return the report that a manifest describes."""
    report = IngestReport(row_counts(entries))
    for reporter in of_type(entries, ReporterProgress):
        report.add_polls(reporter.key, reporter.polls)
        report.outside += reporter.outside
    report.missing += sorted(entry.reason for entry in of_type(entries, UnreadRows))
    return report


def row_counts(entries: Iterable[ManifestEntry]) -> dict[str, int]:
    """Return the numbers of rows written to bronze and the tables of silver."""
    counts: Counter[str] = Counter()
    for written in of_type(entries, WrittenFile):
        if written.kind in {FileKind.SILVER, FileKind.BRONZE}:
            counts[written.table.removeprefix("silver/")] += written.file.rows
    return dict(counts)


def record_progress(record: CommitRecord, change: StoreChange, capture: CaptureProgress) -> None:
    """Record the rows of a capture that are ingested."""
    before = record.progress.captures.get(capture.folder, {})
    continued = capture.first == before.get("row")
    spans = [list(span) for span in before.get("spans", [])] if continued else []
    if capture.in_place and capture.stop > capture.first:
        if spans and spans[-1][1] == capture.first:
            spans[-1][1] = capture.stop
        else:
            spans.append([capture.first, capture.stop])
    change.captures[capture.folder] = {"row": capture.stop, "fingerprint": capture.fingerprint, "spans": spans}


def share_a_reporter(entries: Iterable[ManifestEntry]) -> bool:
    """Return whether two tasks ingested the same broker, each without the rows of the other."""
    keys = Counter(reporter.key for reporter in of_type(entries, ReporterProgress))
    return max(keys.values(), default=0) > 1
