"""The last response to each request, with which the writer finds out whether a response has changed.

Readers sort the rows of a segment by time, and the clock may go back while a segment is written. A 'same' row must find
the right full frame before it even then:

- A 'same' row is not older than the full response that it refers to.
- No other full response to the request in the segment is later than that one.
- A full response older than a 'same' row of its request goes to a new segment.
"""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, NamedTuple

from kwire.capture.equivalence import FullResponse, decode_row
from kwire.capture.errors import NoFullFrame
from kwire.capture.rows import RowKind

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from datetime import datetime

    from kwire.capture.rows import RequestKey, Row
    from kwire.declare import Message

CARRY_FOR = timedelta(days=1)
"""Retention of a request from segment to segment after its last response. The present is the time of the current row or
of the row before, whichever is earlier, so that one poll with a clock far ahead does not drop all other requests.
"""


class _RequestState(NamedTuple):
    """The responses to one request in the current segment.
    Attributes:
        full: the row of the last full response, without its frame.
        response: that response, for comparison.
        latest_full: the latest time of a full response in this segment.
        latest_same: the latest time of a 'same' row in this segment.
        polled_at: the time of the last response.
    """

    full: Row
    response: FullResponse
    latest_full: datetime
    latest_same: datetime | None
    polled_at: datetime


class ResponseSnapshot(NamedTuple):
    """A state of `LastResponses`. Its responses may change the order of their elements, but not their content."""

    requests: dict[RequestKey, _RequestState]
    clusters: dict[tuple[int, str], str]
    time: datetime | None


class LastResponses:
    """Classify rows in the order in which they are appended."""

    def __init__(self) -> None:
        self._requests: dict[RequestKey, _RequestState] = {}
        self._clusters: dict[tuple[int, str], str] = {}
        self._time: datetime | None = None  # of the last row

    def classify(self, row: Row, message: Message | None) -> Row | None:
        """Return the row as it is stored: with kind, cluster, and controller, and without a frame that is known.

        Args:
            row: a poll.
            message: its decoded response, if the caller has it.

        Returns:
            None if the row belongs in another segment. The caller starts one with `carry_over` and calls this again.

        Raises:
            NoFullFrame: the row has kind 'same', but no full response precedes it.
        """
        classified = self._classify(row, message)
        if classified is not None:
            self._time = row.polled_at
        return classified

    def _classify(self, row: Row, message: Message | None) -> Row | None:
        if row.frame is None and row.kind != RowKind.SAME:
            return row._replace(kind=RowKind.ERROR, cluster_id=self._cluster_of(row))
        key = row._replace(cluster_id=None).request_key
        state = self._requests.get(key)
        if state is not None and _may_refer(row, state):
            if row.frame is None:
                return self._same(key, row, state, row.controller_id)
            if state.response.matches(row, message):
                return self._same(key, row, state, state.response.controller_id_in(row.frame))
        if row.frame is None:
            raise NoFullFrame(row.polled_at, row.endpoint)
        if state is not None and state.latest_same is not None and row.polled_at < state.latest_same:
            return None
        return self._full(key, row, message or decode_row(row))

    def _same(self, key: RequestKey, row: Row, state: _RequestState, controller_id: int | None) -> Row:
        latest = row.polled_at if state.latest_same is None else max(row.polled_at, state.latest_same)
        self._requests[key] = state._replace(latest_same=latest, polled_at=row.polled_at)
        cluster_id = state.full.cluster_id
        return row._replace(kind=RowKind.SAME, frame=None, cluster_id=cluster_id, controller_id=controller_id)

    def _full(self, key: RequestKey, row: Row, message: Message | None) -> Row:
        response = FullResponse(row, message)
        cluster_id = row.cluster_id or getattr(message, "cluster_id", None) or self._cluster_of(row)
        self._clusters[row.broker_id, row.endpoint] = cluster_id
        controller_id = response.controller_id if row.controller_id is None else row.controller_id
        row = row._replace(kind=RowKind.FULL, cluster_id=cluster_id, controller_id=controller_id)
        before = self._requests.get(key)
        latest = row.polled_at if before is None else max(row.polled_at, before.latest_full)
        latest_same = None if before is None else before.latest_same
        self._requests[key] = _RequestState(row._replace(frame=None), response, latest, latest_same, row.polled_at)
        return row

    def _cluster_of(self, row: Row) -> str:
        """Return the cluster id of a row if its response does not contain one."""
        return row.cluster_id or self._clusters.get((row.broker_id, row.endpoint), "")

    def carry_over(self, time: datetime) -> Iterator[Row]:
        """Start a new segment: return the carried rows that it begins with, and forget unused requests.

        Args:
            time: the poll time of the first row of the segment.
        """
        now = min(time, self._time or time)
        self._requests = {key: state for key, state in self._requests.items() if now - state.polled_at <= CARRY_FOR}
        for key, state in self._requests.items():
            self._requests[key] = state._replace(latest_full=state.full.polled_at, latest_same=None)
            frame = state.response.build_frame(state.full.controller_id)
            yield state.full._replace(kind=RowKind.CARRIED, frame=frame, clock_step_us=None)

    def load(self, rows: Iterable[Row]) -> None:
        """Restore the state from the rows of a segment."""
        full: dict[RequestKey, Row] = {}
        polled_at: dict[RequestKey, datetime] = {}
        for row in rows:
            key = row._replace(cluster_id=None).request_key
            polled_at[key] = row.polled_at
            if row.kind != RowKind.CARRIED:
                self._time = row.polled_at
            if row.frame is not None:
                full[key] = row
        for key, row in full.items():
            self._full(key, row, decode_row(row))
            self._requests[key] = self._requests[key]._replace(polled_at=polled_at[key])

    def snapshot(self) -> ResponseSnapshot:
        """Return the current state for `restore`."""
        return ResponseSnapshot(dict(self._requests), dict(self._clusters), self._time)

    def restore(self, snapshot: ResponseSnapshot) -> None:
        """Return to an earlier state, after rows could not be stored."""
        self._requests, self._clusters, self._time = snapshot


def check_row(row: Row) -> None:
    """Raise ValueError for a row with both frame and error, with neither, or with a time without a time zone."""
    if row.polled_at.tzinfo is None:
        raise ValueError(f"polled_at={row.polled_at} has no time zone")
    if row.kind == RowKind.SAME and row.frame is None and row.error is None:
        return
    if (row.frame is None) == (row.error is None):
        raise ValueError("a row needs either a frame or an error")


def _may_refer(row: Row, state: _RequestState) -> bool:
    """Return whether the row may be 'same' as the last full response."""
    full = state.full
    return (
        row.cluster_id in (None, full.cluster_id)
        and full.polled_at == state.latest_full
        and row.polled_at >= full.polled_at
    )
