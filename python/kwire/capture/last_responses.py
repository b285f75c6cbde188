"""What each request was last answered with: the memory by which a writer knows that an answer is the same again.

Rules of this file: a row may be 'same' only where a reader that sorts rows by time finds the right frame before it,
also when the clock went back. So it must not be older than the full answer that it refers to, nor may a later full
answer to the same request stand in the file. Nor may a full answer come that is older than a 'same' row of its request
in the file, which would then find it: such an answer needs a file of its own.
"""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, NamedTuple

from kwire.capture.equivalence import Answer, decode_row
from kwire.capture.errors import NoFullFrame

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from datetime import datetime

    from kwire.capture.rows import RequestKey, Row
    from kwire.declare import Message

FORGET_AFTER = timedelta(days=1)
"""A request that was not answered for so long is no longer carried from file to file. What counts is the time of the
row at hand or of the one before, if that is earlier: one poll from the far future does not make all the others old.
"""


class _Last(NamedTuple):
    """``full``: the row of the last full answer, without its frame. ``latest_full``: the newest time of a full answer
    in this file; ``latest_same``: that of a 'same' row, if there is one; ``polled_at``: of the last answer at all.
    """

    full: Row
    answer: Answer
    latest_full: datetime
    latest_same: datetime | None
    polled_at: datetime


class Remembered(NamedTuple):
    """The memory at some moment. Answers in it may have changed since in form, never in what they say."""

    last: dict[RequestKey, _Last]
    clusters: dict[tuple[int, str], str]
    time: datetime | None


class LastResponses:
    """Judges rows in the order in which they are appended."""

    def __init__(self) -> None:
        self._last: dict[RequestKey, _Last] = {}
        self._clusters: dict[tuple[int, str], str] = {}
        self._time: datetime | None = None  # of the row before

    def judge(self, row: Row, message: Message | None) -> Row | None:
        """The row as it is to be kept: with kind, cluster and controller, and without a frame that is known.

        None when it can only stand in another file: begin that with ``carried``, and ask again. Raises NoFullFrame.
        """
        judged = self._judge(row, message)
        if judged is not None:
            self._time = row.polled_at
        return judged

    def _judge(self, row: Row, message: Message | None) -> Row | None:
        if row.frame is None and row.kind != "same":
            return row._replace(kind="error", cluster_id=self._cluster(row))
        key = row._replace(cluster_id=None).request_key
        last = self._last.get(key)
        if last is not None and _may_refer(row, last):
            if row.frame is None:
                return self._same(key, row, last, row.controller_id)
            if last.answer.is_said_by(row, message):
                return self._same(key, row, last, last.answer.controller_id_in(row.frame))
        if row.frame is None:
            raise NoFullFrame(row.polled_at, row.endpoint)
        if last is not None and last.latest_same is not None and row.polled_at < last.latest_same:
            return None
        return self._full(key, row, message or decode_row(row))

    def _same(self, key: RequestKey, row: Row, last: _Last, controller_id: int | None) -> Row:
        latest = row.polled_at if last.latest_same is None else max(row.polled_at, last.latest_same)
        self._last[key] = last._replace(latest_same=latest, polled_at=row.polled_at)
        return row._replace(kind="same", frame=None, cluster_id=last.full.cluster_id, controller_id=controller_id)

    def _full(self, key: RequestKey, row: Row, message: Message | None) -> Row:
        answer = Answer(row, message)
        cluster_id = row.cluster_id or getattr(message, "cluster_id", None) or self._cluster(row)
        self._clusters[row.broker_id, row.endpoint] = cluster_id
        controller_id = answer.controller_id if row.controller_id is None else row.controller_id
        row = row._replace(kind="full", cluster_id=cluster_id, controller_id=controller_id)
        before = self._last.get(key)
        latest = row.polled_at if before is None else max(row.polled_at, before.latest_full)
        latest_same = None if before is None else before.latest_same
        self._last[key] = _Last(row._replace(frame=None), answer, latest, latest_same, row.polled_at)
        return row

    def _cluster(self, row: Row) -> str:
        """Of a row that does not tell it."""
        return row.cluster_id or self._clusters.get((row.broker_id, row.endpoint), "")

    def carried(self, time: datetime) -> Iterator[Row]:
        """The rows that the next file begins with, for the sake of a row of that time. What was not asked for a long
        time is forgotten.
        """
        now = min(time, self._time or time)
        self._last = {key: last for key, last in self._last.items() if now - last.polled_at <= FORGET_AFTER}
        for key, last in self._last.items():
            self._last[key] = last._replace(latest_full=last.full.polled_at, latest_same=None)
            yield last.full._replace(kind="carried", frame=last.answer.frame(0, last.full.controller_id))

    def resume(self, rows: Iterable[Row]) -> None:
        """Remember the rows of a file as an earlier writer kept them."""
        full: dict[RequestKey, Row] = {}
        polled_at: dict[RequestKey, datetime] = {}
        for row in rows:
            key = row._replace(cluster_id=None).request_key
            polled_at[key] = row.polled_at
            if row.kind != "carried":
                self._time = row.polled_at
            if row.frame is not None:
                full[key] = row
        for key, row in full.items():
            self._full(key, row, decode_row(row))
            self._last[key] = self._last[key]._replace(polled_at=polled_at[key])

    def remembered(self) -> Remembered:
        """What ``restore`` takes."""
        return Remembered(dict(self._last), dict(self._clusters), self._time)

    def restore(self, remembered: Remembered) -> None:
        """Forget what was judged since: it could not be kept."""
        self._last, self._clusters, self._time = remembered


def refuse_unclear(row: Row) -> None:
    """Raises ValueError for a row with both a frame and an error, or neither, or with a time that may mean several."""
    if row.polled_at.tzinfo is None:
        raise ValueError(f"polled_at={row.polled_at} is not aware of its time zone")
    if row.kind == "same" and row.frame is None and row.error is None:
        return
    if (row.frame is None) == (row.error is None):
        raise ValueError("a row has either a frame or an error")


def _may_refer(row: Row, last: _Last) -> bool:
    full = last.full
    return (
        row.cluster_id in (None, full.cluster_id)
        and full.polled_at == last.latest_full
        and row.polled_at >= full.polled_at
    )
