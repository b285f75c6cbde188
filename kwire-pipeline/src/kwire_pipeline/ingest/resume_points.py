"""Points from which the polls of a broker can be ingested again, because the state before them is kept.

Late frames *reopen* their broker at such a point, and everything after it is ingested again. So the cost of a late
frame depends on the number of polls after the point before it:

| point | reason |
|---|---|
| before the first poll of each of the last days | frames may come days late |
| before the polls of each of the last ingests | late frames often follow within minutes, and the state exists already |
| before a few polls after a gap at the end of an ingest | a clock may have been ahead: all polls until then come late |

A state is valid wherever it describes all polls before: between the last poll in it and the next one. The pollers of a
broker are reopened at the same time, so they need a time at which a state of each is valid.
"""

from __future__ import annotations

from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any

from kwire_pipeline.store.manifest import ResumePoint, date_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

DAYS_KEPT = 8
"""Number of days whose state at their beginning is kept. Later frames cost the whole history of their broker. Chosen,
not measured."""

INGESTS_KEPT = 4
"""Number of points besides the beginnings of days that are kept. Chosen, not measured."""

BEGINNING = -(2**63)
"""A time before all polls, when the state of a broker is empty."""

END = 2**63 - 1
"""A time after all polls."""


def points_of(reporter: Mapping[str, Any]) -> list[ResumePoint]:
    """Return the points in the progress of a reporter, in order of time."""
    return [ResumePoint(**point) for point in reporter.get("starts", ())]


def kept_points(points: Iterable[ResumePoint]) -> list[ResumePoint]:
    """Return the points that later ingests may need, in order of time."""
    by_time = sorted(points, key=lambda point: point.until)
    days = [point for point in by_time if point.begins_day]
    others = [point for point in by_time if not point.begins_day]
    return sorted((*days[-DAYS_KEPT:], *others[-INGESTS_KEPT:]), key=lambda point: point.until)


def is_kept_day(points: Iterable[ResumePoint], at: int) -> bool:
    """Return whether a time is within the days with a point, or after them."""
    return any(date_of(at) >= date_of(point.until) for point in points)


def reopening_time(reporters: Iterable[Mapping[str, Any]], first: int) -> int:
    """Return the latest time until `first` at which a state of each reporter is valid, in microseconds since 1970.

    Args:
        reporters: the progress of the pollers of a broker.
        first: the time of the first late frame.
    """
    points = [
        [*points_of(reporter), ResumePoint(reporter["last"], 2**63 - 1, reporter["state"])] for reporter in reporters
    ]
    time = first
    while (earlier := min(_latest(own, time) for own in points)) < time:
        time = earlier
    return time


def state_at(reporter: Mapping[str, Any], time: int) -> dict[str, Any]:
    """Return the progress of a reporter at a time that `reopening_time` returned."""
    points = points_of(reporter)
    valid = [point for point in (*points, _end_of(reporter)) if point.after < time <= point.until]
    start = replace(valid[-1], until=time) if valid else ResumePoint(BEGINNING, time, "")
    kept = [point for point in points if point.until < time] + [start] * bool(valid)
    return {
        "state": start.state,
        "last": start.after,
        "starts": [asdict(point) for point in kept],
        "last_before": reporter["last"],
        "aside": reporter.get("aside", []),
    }


def _end_of(reporter: Mapping[str, Any]) -> ResumePoint:
    """Return the point after all polls of a reporter."""
    return ResumePoint(reporter["last"], END, reporter["state"])


def _latest(points: Iterable[ResumePoint], time: int) -> int:
    """Return the latest time until `time` at which one of the states is valid."""
    return max((min(point.until, time) for point in points if point.after < time), default=BEGINNING)
