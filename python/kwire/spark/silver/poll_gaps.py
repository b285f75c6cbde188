"""Gaps between the polls of a broker: times without a report.

A poller may be away, rows of its capture may be missing, or its clock may have been set forward. Without a row for such
a time, an hour without polls looks like an hour without changes. Failed polls are not gaps: they are rows of `polls`.

Only Metadata polls count. All pollers make them, and other requests follow them at intervals of their own.
"""

from __future__ import annotations

from collections import deque
from itertools import chain, pairwise
from statistics import median_high
from typing import TYPE_CHECKING, Any

from kwire.capture.rows import RowKind
from kwire.metadata.event_stream import reporter_of
from kwire.metadata.timestamps import microseconds

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kwire.capture import Row

METADATA = 3

CARRIED_POLL = "carried-over poll"
"""The `error` of the row of a state that has the time of a poll. States on disk have it."""

SHORTEST_GAP = 15_000_000
"""Microseconds without a poll that are a gap at least: longer than the longest pause of kwire's poller, which waits 5 s
for a response and 5 s before the next attempt."""

GAP_INTERVALS = 5
"""Number of usual intervals without a poll that are a gap at least. A vote of gold lasts as long (`voting_periods`)."""

INTERVALS = 5
"""Number of earlier intervals whose median is the usual one, so that a gap does not hide the next. Chosen."""


class PollGaps:
    """Finds the gaps before the polls of brokers, which are added in order of time."""

    def __init__(self) -> None:
        self._polls: dict[tuple[str, int, str, str | None], deque[Row]] = {}
        """The last polls of each broker by each poller, as rows of a state."""

    def add(self, row: Row) -> tuple[Any, ...] | None:
        """Add a poll, and return the row of silver's `poll_gaps` about the gap before it, if there is one."""
        if row.api_key != METADATA:
            return None
        # No request has the key -1, so nothing takes the row for a response.
        carried = row._replace(
            kind=RowKind.CARRIED,
            api_key=-1,
            error=CARRIED_POLL,
            frame=None,
            request=None,
            duration_us=None,
            clock_step_us=None,
        )
        times = [microseconds(poll.polled_at) for poll in self._polls.get(reporter_of(row), ())]
        self.seed(carried)
        if len(times) < 2:
            return None  # without an earlier interval, none is usual
        at, last = microseconds(row.polled_at), times[-1]
        usual = median_high(later - before for before, later in pairwise(times))
        # A slow response does not make a gap: the poller asked.
        if at - (row.duration_us or 0) - last <= max(SHORTEST_GAP, GAP_INTERVALS * usual):
            return None
        missed = (at - last) // max(usual, 1) - 1
        return row.cluster_id, at, row.broker_id, last, usual, missed, row.poller_id

    def seed(self, row: Row) -> None:
        """Add a row of another instance's `state`."""
        self._polls.setdefault(reporter_of(row), deque(maxlen=INTERVALS + 1)).append(row)

    def state(self) -> Iterator[Row]:
        """Return the last polls, from which another instance continues, as rows of kind 'carried'."""
        return chain.from_iterable(self._polls.values())
