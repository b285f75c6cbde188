"""The selection of rows that `format("kwire")` reads from a capture: a time range, clusters, and brokers.

File names have the times of closed segments, so segments outside the range are not opened. Rows of other clusters and
brokers are dropped before they reach Spark.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, NamedTuple

import pyarrow.compute as pc

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    import pyarrow as pa
    from pyspark.sql.datasource import Filter

    from kwire.capture.folder import Segment


class RowSelection(NamedTuple):
    """The rows to read; None means all. `since` is inclusive, `until` exclusive."""

    since: datetime | None = None
    until: datetime | None = None
    clusters: frozenset[str] | None = None
    brokers: frozenset[int] | None = None

    def includes(self, segment: Segment) -> bool:
        """Return whether a segment may have selected rows."""
        if segment.first_time is None or segment.last_time is None:
            return True
        return not (
            (self.since is not None and segment.last_time < self.since)
            or (self.until is not None and segment.first_time >= self.until)
        )

    def of_brokers(self, rows: pa.RecordBatch) -> pa.RecordBatch:
        """Return the rows of the selected clusters and brokers, whatever their time."""
        if self.clusters is not None:
            rows = rows.filter(pc.is_in(rows.column("cluster_id"), _values(self.clusters)))
        if self.brokers is not None:
            rows = rows.filter(pc.is_in(rows.column("broker_id"), _values(self.brokers, "int32")))
        return rows

    def before(self, rows: pa.RecordBatch) -> pa.RecordBatch:
        """Return the rows before the time range."""
        return rows.slice(0, 0) if self.since is None else rows.filter(pc.less(rows.column("polled_at"), self.since))

    def within(self, rows: pa.RecordBatch) -> pa.RecordBatch:
        """Return the rows in the time range."""
        if self.since is not None:
            rows = rows.filter(pc.greater_equal(rows.column("polled_at"), self.since))
        if self.until is not None:
            rows = rows.filter(pc.less(rows.column("polled_at"), self.until))
        return rows

    def narrowed(self, filters: Iterable[Filter]) -> RowSelection:
        """Return the selection that also satisfies the filters of a query, as far as it can express them.

        Rows that a filter excludes may remain: Spark applies all filters again.
        """
        selection = self
        for condition in filters:
            selection = selection._with(condition)
        return selection

    def _with(self, condition: Filter) -> RowSelection:
        name, column = type(condition).__name__, ".".join(getattr(condition, "attribute", ()))
        values = frozenset(_filter_values(condition))
        if column == "polled_at" and len(values) == 1:
            [time] = values
            return self._with_time(name, time)
        if name in {"EqualTo", "EqualNullSafe", "In"}:
            if column == "cluster_id" and all(isinstance(value, str) for value in values):
                return self._replace(clusters=values if self.clusters is None else values & self.clusters)
            if column == "broker_id" and all(isinstance(value, int) for value in values):
                return self._replace(brokers=values if self.brokers is None else values & self.brokers)
        return self

    def _with_time(self, name: str, time: object) -> RowSelection:
        if not isinstance(time, datetime):
            return self
        time = time.astimezone(UTC)
        if name in {"GreaterThan", "GreaterThanOrEqual", "EqualTo"}:
            return self._replace(since=time if self.since is None else max(self.since, time))
        if name == "LessThan":
            return self._replace(until=time if self.until is None else min(self.until, time))
        return self


def _filter_values(condition: Filter) -> Iterator[Any]:
    value = getattr(condition, "value", None)
    if isinstance(value, (list, tuple)):
        yield from value
    else:
        yield value


def _values(values: Iterable[Any], type: str | None = None) -> pa.Array:
    import pyarrow as pa

    return pa.array(sorted(values), type)
