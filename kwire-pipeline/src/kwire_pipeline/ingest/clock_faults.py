"""Polls whose time is the fault of a clock, which are kept aside so that one wrong clock stays that clock's problem.

A poll cannot be later than its arrival. A clock that is behind has no such bound, but pollers poll at an interval: a
few polls alone, far from all others of their broker by their poller, have the time of a clock that was wrong for a
moment.

| polls | next |
|---|---|
| before 1970, or in the year 9000 or later | kept aside |
| later than `latest`, while the polls before arrive as they are made (`LIVE`) | kept aside |
| later than `latest`, and so are the others | accepted: it is the clock of the driver that is wrong |
| a single run of at most `FEW` polls, alone beside a run of many (`MANY`) or beside what is ingested | kept aside |
| the same, but several in a row | accepted: polls at a long interval |
| the same, but within the days that are kept of their broker | accepted: late, unless they are extra (`extra_polls`) |
| any other | accepted |

Bronze has polls that are kept aside, and `bad_frames` a row for each. Their times are part of the progress of the
broker, so that they stay aside when late frames reopen their day. Rows of one broker come in the order of their times.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from kwire.metadata.timestamps import microseconds
from kwire_pipeline.ingest.resume_points import is_kept_day, points_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from kwire.capture.rows import Row

ANY_TIME = 2**63 - 1
"""`latest` without a bound."""

FAR_FUTURE = microseconds(datetime(9000, 1, 1, tzinfo=UTC))
"""A time that no clock has, in microseconds since 1970. Chosen: Python has no times from the year 10000 on."""

LIVE = 3_600_000_000
"""Maximum age in microseconds of a last poll with which the clocks of driver and poller agree. Chosen, not measured."""

FEW = 5
"""Maximum number of polls of a run that can be a fault: a poller makes several requests in a moment."""

MOMENT = 10_000_000
"""Maximum duration of such a run in microseconds. Chosen, not measured."""

MANY = 20
"""Minimum number of polls of a run that shows the interval of a poller. Chosen, not measured."""

ALONE = 300_000_000
"""Minimum distance of two runs in microseconds. Chosen, not measured: longer than any pause of kwire's poller."""

ALONE_INTERVALS = 100
"""Minimum distance of a fault from the polls of its broker, in intervals between these polls. Chosen, not measured."""


class ClockFaults:
    """Sorts out the polls of one broker by one poller whose times cannot be true.

    Args:
        progress: their ingested part (`Progress.reporters`).
        latest: the latest time of a poll, in microseconds since 1970.
        is_bounded: True if other polls arrive as they are made, so that those after `latest` are faults.

    Attributes:
        found: the polls that are kept aside.
    """

    def __init__(self, progress: Mapping[str, Any], latest: int, *, is_bounded: bool) -> None:
        self.found: list[Row] = []
        self._latest = latest
        self._is_bounded = is_bounded
        self._last: int | None = progress.get("last")
        self._starts = points_of(progress)
        self._known = frozenset(progress.get("aside", ()))
        self._lonely: list[Row] = []
        """A run of few polls before the current run, which is not judged yet."""
        self._is_sparse = False
        """True after several runs of few polls in a row, which are polls at a long interval."""
        self._run: list[Row] = []
        """The rows of the current run while its kind is not known."""
        self._is_long = False
        """True once the current run has many polls."""
        self._previous: int | None = None
        """The time of the row before."""
        self._long_run: tuple[int, int] | None = None
        """The end of the last run of many polls, and its interval."""

    def plausible(self, rows: Iterable[Row]) -> Iterator[Row]:
        """Yield the rows whose times can be true."""
        for row in rows:
            if row.kind == "carried":
                yield row
                continue
            at = microseconds(row.polled_at)
            if at in self._known or (at > self._latest and self._is_bounded) or is_impossible(at):
                self.found.append(row)
                continue
            self._is_bounded = self._is_bounded or is_live(at, self._latest)
            if self._previous is not None and at - self._previous > ALONE:
                yield from self._end_run()
            self._previous = at
            if self._is_long:
                yield row
                continue
            self._run.append(row)
            yield from self._begin_long_run()
        yield from self._end_run()
        if self._lonely and self._long_run is not None:
            yield from self._judge(microseconds(self._lonely[0].polled_at) - self._long_run[0], self._long_run[1])
        yield from self._lonely
        self._lonely = []

    def _begin_long_run(self) -> Iterator[Row]:
        """Yield the rows so far once the current run is one of many polls, or continues what is ingested."""
        times = [microseconds(row.polled_at) for row in self._run]
        if self._last is not None and len(times) == 1 and 0 < times[0] - self._last <= ALONE:
            interval = times[0] - self._last
        elif len(times) == MANY:
            interval = (times[-1] - times[0]) // (MANY - 1)
        else:
            return
        if self._lonely:
            distance = times[0] - microseconds(self._lonely[-1].polled_at)
            if self._long_run is not None:
                distance = min(distance, microseconds(self._lonely[0].polled_at) - self._long_run[0])
            yield from self._judge(distance, interval)
        yield from self._run
        self._run, self._is_sparse = [], False
        self._is_long, self._long_run = True, (times[-1], interval)

    def _end_run(self) -> Iterator[Row]:
        run, self._run = self._run, []
        if self._is_long:
            assert self._long_run is not None
            assert self._previous is not None
            self._is_long, self._long_run = False, (self._previous, self._long_run[1])
        elif run:
            if len(run) > FEW or microseconds(run[-1].polled_at) - microseconds(run[0].polled_at) > MOMENT:
                yield from self._lonely
                yield from run
                self._lonely = []
            elif self._is_sparse or self._lonely:
                # The second run of few polls in a row: the interval is long, and no clock was wrong for a moment.
                yield from self._lonely
                yield from run
                self._lonely, self._is_sparse = [], True
            else:
                self._lonely = run

    def _judge(self, distance: int, interval: int) -> Iterator[Row]:
        """Yield the run of few polls, at a distance from many with an interval, or keep it aside."""
        run, self._lonely = self._lonely, []
        begin = microseconds(run[0].polled_at)
        is_late = self._last is not None and begin <= self._last
        if distance <= ALONE_INTERVALS * interval or (is_late and is_kept_day(self._starts, begin)):
            yield from run
        else:
            self.found += run


def is_impossible(at: int) -> bool:
    """Return whether no clock can have this time; gold adds to times, and subtracts from them."""
    return not 0 <= at < FAR_FUTURE


def is_live(at: int, latest: int) -> bool:
    """Return whether a poll arrives as it is made, if polls until `latest` can."""
    return latest - LIVE <= at <= latest


def has_live_polls(reporters: Mapping[str, Mapping[str, Any]], latest: int) -> bool:
    """Return whether the last poll of any reporter has arrived as it was made."""
    return any(is_live(reporter.get("last_before", reporter["last"]), latest) for reporter in reporters.values())
