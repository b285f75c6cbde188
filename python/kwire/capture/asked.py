"""What each request was last answered with: the memory by which a writer knows that an answer is the same again.

Rules of this file: a row may be 'same' only where a reader that sorts rows by time finds the right frame before it,
also when the clock went back. So it must not be older than the full answer that it refers to, nor may a later full
answer to the same request stand in the file.
"""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, NamedTuple

from kwire.capture.errors import NoFullFrame
from kwire.capture.sameness import Answer, message_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from datetime import datetime

    from kwire.capture.rows import RequestKey, Row
    from kwire.declare import Message

FORGET_AFTER = timedelta(days=1)
"""A request that was not answered for so long is no longer carried from file to file."""


class _Last(NamedTuple):
    """``full``: the row of the last full answer, without its frame. ``latest_full``: the newest time of a full answer
    in this file; ``polled_at``: of the last answer at all.
    """

    full: Row
    answer: Answer
    latest_full: datetime
    polled_at: datetime


class Remembered(NamedTuple):
    """The memory at some moment. Answers in it may have changed since in form, never in what they say."""

    last: dict[RequestKey, _Last]
    clusters: dict[tuple[int, str], str]


class Asked:
    """Judges rows in the order in which they are appended."""

    def __init__(self) -> None:
        self._last: dict[RequestKey, _Last] = {}
        self._clusters: dict[tuple[int, str], str] = {}
        self._newest: datetime | None = None

    def judge(self, row: Row, message: Message | None) -> Row:
        """The row as it is to be kept: with kind, cluster and controller, and without a frame that is known.

        Raises ValueError for a row with both a frame and an error, or neither; NoFullFrame.
        """
        _refuse_unclear(row)
        if self._newest is None or row.polled_at > self._newest:
            self._newest = row.polled_at
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
        return self._full(key, row, message or message_of(row))

    def _same(self, key: RequestKey, row: Row, last: _Last, controller_id: int | None) -> Row:
        self._last[key] = last._replace(polled_at=row.polled_at)
        return row._replace(kind="same", frame=None, cluster_id=last.full.cluster_id, controller_id=controller_id)

    def _full(self, key: RequestKey, row: Row, message: Message | None) -> Row:
        answer = Answer(row, message)
        cluster_id = row.cluster_id or getattr(message, "cluster_id", None) or self._cluster(row)
        self._clusters[row.broker_id, row.endpoint] = cluster_id
        controller_id = answer.controller_id if row.controller_id is None else row.controller_id
        row = row._replace(kind="full", cluster_id=cluster_id, controller_id=controller_id)
        before = self._last.get(key)
        latest = row.polled_at if before is None else max(row.polled_at, before.latest_full)
        self._last[key] = _Last(row._replace(frame=None), answer, latest, row.polled_at)
        return row

    def _cluster(self, row: Row) -> str:
        """Of a row that does not tell it."""
        return row.cluster_id or self._clusters.get((row.broker_id, row.endpoint), "")

    def carried(self) -> Iterator[Row]:
        """The rows that the next file begins with. What was not asked for a long time is forgotten."""
        oldest = None if self._newest is None else self._newest - FORGET_AFTER
        self._last = {key: last for key, last in self._last.items() if oldest is None or last.polled_at >= oldest}
        for key, last in self._last.items():
            self._last[key] = last._replace(latest_full=last.full.polled_at)
            yield last.full._replace(kind="carried", frame=last.answer.frame(0, last.full.controller_id))

    def resume(self, rows: Iterable[Row]) -> None:
        """Remember the rows of a file as an earlier writer kept them."""
        full: dict[RequestKey, Row] = {}
        polled_at: dict[RequestKey, datetime] = {}
        for row in rows:
            key = row._replace(cluster_id=None).request_key
            polled_at[key] = row.polled_at
            if row.frame is not None:
                full[key] = row
        for key, row in full.items():
            self._full(key, row, message_of(row))
            self._last[key] = self._last[key]._replace(polled_at=polled_at[key])

    def remembered(self) -> Remembered:
        """What ``restore`` takes."""
        return Remembered(dict(self._last), dict(self._clusters))

    def restore(self, remembered: Remembered) -> None:
        """Forget what was judged since: it could not be kept."""
        self._last, self._clusters = remembered


def _refuse_unclear(row: Row) -> None:
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
