"""Gaps between the polls of a broker: times without a report.

A poller may be away, rows of its capture may be missing, or its clock may have been set forward. Without a row for such
a time, an hour without polls looks like an hour without changes. Failed polls are not gaps: they are rows of `polls`.

Only Metadata polls count. All pollers make them, and other requests follow them at intervals of their own.
"""

from __future__ import annotations

from collections import deque
from datetime import timedelta
from itertools import pairwise
from statistics import median_high
from typing import TYPE_CHECKING, Any

from kwire.capture.rows import Row, RowKind
from kwire.metadata.event_stream import reporter_of
from kwire.metadata.timestamps import MICROSECOND, microseconds

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import datetime

METADATA = 3

CARRIED_POLL = "carried-over poll"
"""The `error` of the row of a state that has the time of a poll. States on disk have it."""

SHORTEST_GAP = timedelta(seconds=15)
"""Time without a poll that is a gap at least: longer than the longest pause of kwire's poller, which waits 5 s
for a response and 5 s before the next attempt."""

GAP_INTERVALS = 5
"""Number of usual intervals without a poll that are a gap at least. A vote of gold lasts as long (`voting_periods`)."""

INTERVALS = 5
"""Number of earlier intervals whose median is the usual one, so that a gap does not hide the next. Chosen."""


class PollGaps:
    """Finds the gaps before the polls of brokers, which are added in order of time."""

    def __init__(self) -> None:
        self._times: dict[tuple[str, int, str, str | None], deque[datetime]] = {}
        """The times of the last polls, by the result of `reporter_of`."""

    def add(self, row: Row) -> tuple[Any, ...] | None:
        """Add a poll, and return the row of silver's `poll_gaps` about the gap before it, if there is one."""
        if row.api_key != METADATA:
            return None
        times = self._times_of(row)
        gap = _gap(row, times) if len(times) > 1 else None  # without an earlier interval, none is usual
        times.append(row.polled_at)
        return gap

    def has_gap_before(self, row: Row) -> bool:
        """Return whether there is a gap before a poll that is not added yet."""
        times = self._times_of(row)
        return row.api_key == METADATA and len(times) > 1 and _gap(row, times) is not None

    def seed(self, row: Row) -> None:
        """Add a row of another instance's `state`."""
        self._times_of(row).append(row.polled_at)

    def state(self) -> Iterator[Row]:
        """Return the last polls, from which another instance continues, as rows of kind 'carried'."""
        for (cluster_id, broker_id, endpoint, poller_id), times in self._times.items():
            for time in times:
                # No request has the key -1, so nothing takes the row for a response.
                yield Row(
                    time,
                    broker_id,
                    endpoint,
                    api_key=-1,
                    api_version=-1,
                    error=CARRIED_POLL,
                    cluster_id=cluster_id,
                    kind=RowKind.CARRIED,
                    poller_id=poller_id,
                )

    def _times_of(self, row: Row) -> deque[datetime]:
        return self._times.setdefault(reporter_of(row), deque(maxlen=INTERVALS + 1))


def _gap(row: Row, times: deque[datetime]) -> tuple[Any, ...] | None:
    """Return the row about the gap between the last of some times and a poll, if it is one."""
    last = times[-1]
    # A slow response does not make a gap: the poller asked.
    silent = row.polled_at - last - timedelta(microseconds=row.duration_us or 0)
    if silent <= SHORTEST_GAP:
        return None
    usual = median_high(later - before for before, later in pairwise(times))
    if silent <= GAP_INTERVALS * usual:
        return None
    missed = (row.polled_at - last) // max(usual, MICROSECOND) - 1
    columns = microseconds(row.polled_at), row.broker_id, microseconds(last), usual // MICROSECOND
    return row.cluster_id, *columns, missed, row.poller_id
