"""The order of the polls of one broker by one poller, where the poller's clock was set back.

Rows come in the order of their times. If the clock was set back by ten seconds, the polls of the ten seconds after that
lie between the polls of the ten seconds before it, and the broker seems to return to its old state and back with every
poll. `kwire.client.PollClock` does not let that happen; tables of other programs have it.

The evidence is the order of requests: a client numbers them (the correlation id), so of two polls the one with the
lower id was made first, whatever their times say. With A for polls before the step and B for polls after it:

    times    50.0  50.2  50.5  50.7  51.0  51.2 ... 60.0  60.2  60.7      a step of -10 s at 60
    ids        97   117    98   118    99   119 ...  116   137   138
               A     B     A     B     A     B        A     B     B

    in order    a row is applied when the next `LOOK_AHEAD` ones are known
      -> held   the id of one of these lies between the ids of the last row and of this one: this one is a first B
    held        rows are kept until no A has come for `LAST_POLLS` intervals
      -> in order  B begins where A ends: A is applied, then B, with times after A
      -> given up  B does not continue A (pollers without ids in one table, a reconnected client), or more than
                   `MAX_HELD_ROWS` or `MAX_HELD_BYTES` are held: all rows are applied by their times, from here on

Times of B advance at half the speed until they meet the recorded ones, as in `PollClock`. A clock that was set
forward looks like a gap between polls and needs no correction.
"""

from __future__ import annotations

from datetime import timedelta
from itertools import pairwise
from statistics import median
from typing import TYPE_CHECKING, NamedTuple

from kwire.messages.kafka.metadata import MetadataRequest

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import datetime

    from kwire.capture.rows import Row

METADATA = MetadataRequest.api_key

LOOK_AHEAD = 2
"""Number of Metadata polls known before one is applied. Two polls of B may precede the next A by jitter, not three."""

MAX_WAITING_ROWS = 16
"""Maximum number of rows that wait for later Metadata polls; more were not found between three of them."""

LAST_POLLS = 5
"""Intervals without a poll after which the polls before a step have ended. Chosen: five lost polls are rare."""

MAX_HELD_ROWS = 4096
"""Maximum number of rows held: over half an hour of a broker that is polled twice a second."""

MAX_HELD_BYTES = 64 << 20
"""Maximum size of the responses held."""

NEAR = 10
"""Factor of the usual difference between the ids of two polls up to which B continues A: a poll of the same client with
nine polls lost between. Ids of another client are near only by accident.
"""


class OrderedPoll(NamedTuple):
    """A row as it was recorded, and with the time at which it is applied.

    `row` has the step in `clock_step_us` if it is the first after one. `to_bronze` is what `PollOrder.add` got with it.
    """

    recorded: Row
    row: Row
    to_bronze: bool


class _Slew(NamedTuple):
    """Times after a step: from `start`, at which the row recorded as `recorded` is applied, at half the speed."""

    recorded: datetime
    start: datetime

    def time(self, recorded: datetime) -> datetime:
        """Return the time at which a row is applied."""
        return max(recorded, self.start + (recorded - self.recorded) / 2)


class PollOrder:
    """Puts the polls of one broker by one poller, which come in the order of their times, in the order of requests."""

    def __init__(self) -> None:
        self._is_given_up = False
        self._waiting: list[OrderedPoll] = []
        """The last rows, which are applied when `LOOK_AHEAD` later Metadata polls are known."""
        self._last: list[OrderedPoll] = []
        """The last Metadata poll that was applied, if there is one."""
        self._slew: _Slew | None = None
        self._held: list[OrderedPoll] = []
        self._held_bytes = 0
        self._step_id = 0
        """The id of the first poll after the step, while rows are held."""
        self._before: list[OrderedPoll] = []
        """The Metadata polls before the step, while rows are held."""

    @property
    def has_rows(self) -> bool:
        """True while rows wait for others."""
        return bool(self._waiting or self._held)

    @property
    def is_corrected(self) -> bool:
        """True while rows are applied with corrected times."""
        return self._slew is not None

    def add(self, row: Row, *, to_bronze: bool = False) -> Iterator[OrderedPoll]:
        """Add the next row, and yield the rows that are to be applied now."""
        poll, id = OrderedPoll(row, row, to_bronze), correlation_id(row)
        if self._is_given_up:
            yield self._timed(poll)
        elif self._held:
            yield from self._hold(poll, id)
        elif self._is_before_waiting(row, id):
            self._waiting.append(poll)
            self._start_holding()
        else:
            self._waiting.append(poll)
            while len(self._waiting) > MAX_WAITING_ROWS or self._numbered_waiting() > LOOK_AHEAD:
                first = self._waiting.pop(0)
                if _is_numbered(first):
                    self._last = [first]
                yield self._timed(first)
            if not self._numbered_waiting():
                waiting, self._waiting = self._waiting, []
                for waiting_poll in waiting:
                    yield self._timed(waiting_poll)

    def finish(self) -> Iterator[OrderedPoll]:
        """Yield the remaining rows."""
        if self._held:
            yield from self._release() if self._continues() else self._give_up()
        waiting, self._waiting = self._waiting, []
        for poll in waiting:
            yield self._timed(poll)

    def _numbered_waiting(self) -> int:
        return sum(map(_is_numbered, self._waiting))

    def _is_before_waiting(self, row: Row, id: int | None) -> bool:
        """Return whether a Metadata poll was made after the last one, and before one that waits."""
        if row.api_key != METADATA or id is None:
            return False
        last_id = _known_id(self._last[0]) if self._last else -1
        return any(last_id < id < _known_id(poll) for poll in self._waiting if _is_numbered(poll))

    def _start_holding(self) -> None:
        """Hold the rows that wait. The last one is a poll from before the step, and one from after it precedes it."""
        polls, self._waiting = self._waiting, []
        id = _known_id(polls[-1])
        self._step_id = next(_known_id(poll) for poll in polls if _is_numbered(poll) and _known_id(poll) > id)
        self._held, self._held_bytes = polls, sum(len(poll.row.frame or b"") for poll in polls)
        self._before = [poll for poll in polls if _is_numbered(poll) and not self._is_after(poll)]

    def _hold(self, poll: OrderedPoll, id: int | None) -> Iterator[OrderedPoll]:
        self._held.append(poll)
        self._held_bytes += len(poll.row.frame or b"")
        if len(self._held) > MAX_HELD_ROWS or self._held_bytes > MAX_HELD_BYTES:
            yield from self._give_up()
        elif _is_numbered(poll) and id is not None:
            if id < self._step_id:
                self._before.append(poll)
            elif self._continues() and poll.row.polled_at - self._before[-1].row.polled_at > self._patience():
                yield from self._release()

    def _continues(self) -> bool:
        """Return whether the polls after the step continue the numbers of those before it."""
        ids = [_known_id(poll) for poll in (*self._last, *self._before)]
        differences = [later - earlier for earlier, later in pairwise(ids)]
        return bool(differences) and self._step_id - ids[-1] <= NEAR * median(differences)

    def _interval(self) -> timedelta:
        """Return the usual interval of the polls before the step."""
        times = [poll.recorded.polled_at for poll in (*self._last, *self._before)]
        gaps = sorted(later - earlier for earlier, later in pairwise(times))
        return gaps[len(gaps) // 2]

    def _patience(self) -> timedelta:
        return LAST_POLLS * self._interval()

    def _release(self) -> Iterator[OrderedPoll]:
        """Yield the rows before the step, then those after it."""
        start = self._before[-1].row.polled_at + self._interval()
        polls, self._held = self._held, []
        for poll in polls:
            if not self._is_after(poll):
                yield self._timed(poll)
        after = [poll for poll in polls if self._is_after(poll)]
        first = after[0].row.polled_at
        self._slew = _Slew(first, start)
        step = (first - start) // timedelta(microseconds=1)
        after[0] = after[0]._replace(row=after[0].row._replace(clock_step_us=step))
        for poll in after:
            yield self._timed(poll)
            if _is_numbered(poll):
                self._last = [poll]

    def _give_up(self) -> Iterator[OrderedPoll]:
        polls, self._held, self._is_given_up = self._held, [], True
        for poll in polls:
            yield self._timed(poll)

    def _is_after(self, poll: OrderedPoll) -> bool:
        id = correlation_id(poll.row)
        return id is not None and id >= self._step_id

    def _timed(self, poll: OrderedPoll) -> OrderedPoll:
        if self._slew is None:
            return poll
        recorded = poll.recorded.polled_at
        time = self._slew.time(recorded)
        if time == recorded:
            self._slew = None
        return poll._replace(row=poll.row._replace(polled_at=time))


def _is_numbered(poll: OrderedPoll) -> bool:
    """Return whether a row is a Metadata poll with a correlation id.

    Only these follow one another strictly; other requests are answered beside them.
    """
    return poll.row.api_key == METADATA and correlation_id(poll.row) is not None


def _known_id(poll: OrderedPoll) -> int:
    id = correlation_id(poll.row)
    assert id is not None
    return id


def correlation_id(row: Row) -> int | None:
    """Return the correlation id of the request of a row; None if the request was not recorded."""
    if row.request is None or len(row.request) < 8:
        return None
    return int.from_bytes(row.request[4:8], "big", signed=True)
