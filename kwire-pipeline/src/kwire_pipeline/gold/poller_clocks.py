"""The clocks of pollers, and the times of silver corrected by their skew.

`clock_skew` measures the skew. Gold subtracts it from all times. A skew beyond a bound is logged but not corrected:
that far apart, equal reports may be of different events.

Invariant: a row that was before the beginning of a window when the savepoint of that time was built stays before it,
and a later row stays after it, however the skew changes (`Clocks.correct`). Otherwise a change would be lost between
two windows or counted in both.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass, field
from datetime import timedelta
from typing import TYPE_CHECKING, NamedTuple

from kwire.metadata.timestamps import microseconds
from kwire_pipeline.gold.tables import GoldTable
from kwire_pipeline.in_process import broadcast, left_join, with_columns
from kwire_pipeline.tables import Column

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from datetime import datetime

    from pyspark.sql import DataFrame

log = logging.getLogger(__name__)

MAX_SKEW = timedelta(minutes=10)
"""Default maximum clock skew corrected. Chosen, not measured: hosts without NTP drift by seconds a day."""

SQUEEZE = 1000
"""Factor by which distances from the beginning of a window shrink where a corrected time would cross it. Chosen: an
hour becomes 3.6 seconds, and two rows a millisecond apart keep their order."""

NO_BROKER = -1

TABLE = GoldTable(
    "clock_skew",
    "Pollers with another clock than most pollers of their cluster.",
    (
        Column("cluster_id", "string", "the cluster"),
        Column("broker_id", "int", "the broker that is polled with this clock; null for all brokers of a known poller"),
        Column("at", "timestamp", "end of the time for which gold was built with it", "UTC"),
        Column("skew_ms", "bigint", "how far the clock is ahead of the clock of most pollers", "ms"),
        Column("corrected", "boolean", "whether gold corrects it; false beyond the bound"),
        Column("poller_id", "string", "the poller; null if unknown"),
    ),
)


class PollerClock(NamedTuple):
    """The clock of a poller, with `NO_BROKER`, or of the unknown poller of a broker, with None as `poller_id`."""

    cluster_id: str
    poller_id: str | None
    broker_id: int

    @classmethod
    def of(cls, cluster_id: str, poller_id: str | None, broker_id: int) -> PollerClock:
        """Return the clock with which a poller polled a broker."""
        return cls(cluster_id, poller_id, broker_id if poller_id is None else NO_BROKER)

    def __str__(self) -> str:
        if self.poller_id is None:
            return f"the clock that polls broker {self.broker_id} of cluster {self.cluster_id!r}"
        return f"the clock of poller {self.poller_id!r} of cluster {self.cluster_id!r}"


@dataclass(frozen=True)
class Clocks:
    """The skew of clocks in a window, and before it.

    Attributes:
        skew: in microseconds.
        before: the same for the rows before the window, which are in the savepoint that the window continues.
        start: the beginning of the window; None is the beginning of the history.
        bound: the maximum skew that is corrected.
    """

    skew: Mapping[PollerClock, int] = field(default_factory=dict)
    before: Mapping[PollerClock, int] = field(default_factory=dict)
    start: datetime | None = None
    bound: timedelta = MAX_SKEW

    @property
    def is_skewed(self) -> bool:
        """True if any time is corrected."""
        return any(self._is_corrected(skew) for skew in (*self.skew.values(), *self.before.values()))

    def days_of(self, start: datetime | None, stop: datetime | None) -> tuple[datetime | None, datetime | None]:
        """Return the window that contains all rows of a window by their uncorrected times."""
        margin = self.bound if self.is_skewed else timedelta(0)
        return start and start - margin, stop and stop + margin

    def correct(self, rows: DataFrame, time: str) -> DataFrame:
        """Return rows of silver with the times of the right clock, and the dates of these times.

        Args:
            rows: the rows.
            time: their column with the time.

        Every row stays on the side of `start` on which it was when the savepoint at `start` was built, whatever the
        skew was then: no change is lost between two windows, or counted in both. Rows that would cross `start` are
        squeezed beside it (`SQUEEZE`), so that they keep their order.
        """
        if not self.is_skewed:
            return rows
        skews = [
            (*clock, self._applied(self.skew, clock), self._applied(self.before, clock))
            for clock in sorted({*self.skew, *self.before}, key=_sort_key)
        ]
        # Known pollers are found by poller, and unknown ones by broker.
        columns = "clock_cluster string, clock_poller string, clock_broker int, skew bigint, skew_before bigint"
        clocks = broadcast(rows.sparkSession.createDataFrame(skews, columns))
        timed = left_join(
            rows,
            clocks,
            f"""cluster_id = clock_cluster AND poller_id <=> clock_poller
            AND CASE WHEN poller_id IS NULL THEN broker_id ELSE {NO_BROKER} END = clock_broker""",
        )
        corrected = f"unix_micros({time}) - coalesce(skew, 0)"
        if self.start is not None and self.skew != self.before:
            edge = microseconds(self.start)
            from_edge = f"(unix_micros({time}) - coalesce(skew_before, 0) - {edge})"
            # Of a row before the edge, at least 1 us before it.
            squeezed = f"{edge} + CAST(floor({from_edge} / {SQUEEZE}) AS bigint)"
            corrected = f"""CASE WHEN {from_edge} >= 0
                THEN greatest({corrected}, {squeezed}) ELSE least({corrected}, {squeezed}) END"""
        corrected = f"timestamp_micros({corrected})"
        timed = with_columns(timed, **{time: corrected, "date": f"date_format({corrected}, 'yyyy-MM-dd')"})
        return timed.select(*rows.columns)

    def range_of(self, first: datetime, last: datetime) -> tuple[datetime, datetime]:
        """Return the range of the right times of polls that have `first` to `last` by their own clocks."""
        corrected = [timedelta(microseconds=skew) for skew in self.skew.values() if self._is_corrected(skew)]
        zero = timedelta(0)
        return first - max([*corrected, zero]), last - min([*corrected, zero])

    def rows(self, at: datetime) -> list[tuple[str, int | None, datetime, int, bool, str | None]]:
        """Return the rows of `TABLE`."""
        return [
            (
                clock.cluster_id,
                clock.broker_id if clock.poller_id is None else None,
                at,
                round(skew / 1000),
                self._is_corrected(skew),
                clock.poller_id,
            )
            for clock, skew in sorted(self.skew.items(), key=lambda item: _sort_key(item[0]))
        ]

    def warn(self) -> None:
        """Log every skew that is too large to be corrected."""
        for clock, skew in sorted(self.skew.items(), key=lambda item: _sort_key(item[0])):
            if not self._is_corrected(skew):
                log.warning(
                    "%s is %.0f s %s the clock of most pollers, and at most %.0f s are corrected: its changes have"
                    " wrong times, and incidents may be wrong",
                    clock,
                    abs(skew) / 1e6,
                    "ahead of" if skew > 0 else "behind",
                    self.bound.total_seconds(),
                )

    def _is_corrected(self, skew: int) -> bool:
        return abs(skew) <= self.bound // timedelta(microseconds=1)

    def _applied(self, skews: Mapping[PollerClock, int], clock: PollerClock) -> int:
        skew = skews.get(clock, 0)
        return skew if self._is_corrected(skew) else 0


def clocks_of_rows(rows: Iterable[Mapping[str, object]]) -> Clocks:
    """Return the clocks of the rows of `TABLE` that were corrected."""
    skews: dict[PollerClock, int] = {}
    for row in rows:
        if row["corrected"]:
            skew_ms, broker_id = row["skew_ms"], row["broker_id"]
            assert isinstance(skew_ms, int)
            clock = PollerClock._make(
                (row["cluster_id"], row.get("poller_id"), NO_BROKER if broker_id is None else broker_id)
            )
            skews[clock] = skew_ms * 1000
    return Clocks(skews)


def _sort_key(clock: PollerClock) -> tuple[str, str, int]:
    return clock.cluster_id, clock.poller_id or "", clock.broker_id
