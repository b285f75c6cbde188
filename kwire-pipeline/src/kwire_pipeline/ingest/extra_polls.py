"""Late polls of a wrong clock, distinguished from polls that came late by the polls around their time.

A poll that came late was missing until then: where its poller polls at a regular interval, it fills a gap. A poll whose
time is wrong is one poll too many, or is alone long before the first poll of the store. Polls that are not regular
prove nothing: the poll between them counts as late.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from itertools import pairwise
from statistics import median
from typing import TYPE_CHECKING, TypeAlias

from kwire.metadata.timestamps import microseconds
from kwire_pipeline.ingest.clock_faults import ALONE, ALONE_INTERVALS, FEW, MOMENT
from kwire_pipeline.silver.poll_gaps import METADATA

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from kwire.capture import Row

AROUND = 10
"""Number of polls on either side that show the interval of a poller. Chosen, not measured."""

IRREGULAR = 1.6
"""Ratio of two intervals from which on polls are not regular. Chosen: less than the 2 of one missing poll."""

IRREGULAR_INTERVALS = 2
"""Maximum number of irregular intervals near a poll that is extra: a poll with a wrong time leaves a gap at its true
one, and may delay the next poll."""

EXTRA_POLLS = 100
"""Maximum number of late polls that are compared. Chosen, not measured."""

WINDOW = 7_200_000_000
"""Time in microseconds before and after late polls from which polls are compared. Chosen, not measured."""


Reporter: TypeAlias = tuple[str, int, str | None]
"""Cluster, broker, and poller."""


def can_be_extra(late: Iterable[Row]) -> bool:
    """Return whether late polls can be extra, by their number, so that the ingested polls must be read."""
    return all(len(run) <= FEW for rows in _by_reporter(late).values() for run in _runs(rows))


def are_extra(
    late: Iterable[Row], metadata_times: Mapping[Reporter, Sequence[int]], oldest: int, *, are_new: bool = False
) -> bool:
    """Return whether late polls are all too many among the ingested polls of their pollers.

    Args:
        late: the polls.
        metadata_times: the sorted times of ingested Metadata polls in microseconds since 1970.
        oldest: the time of the oldest ingested poll.
        are_new: True if none of the polls is ingested already, so that a poll at the time of another is another one.
    """
    return all(
        reporter[0] != ""
        and reporter[1] >= 0
        and _is_extra(run, metadata_times.get(reporter, ()), oldest, are_new=are_new)
        for reporter, rows in _by_reporter(late).items()
        for run in _runs(rows)
    )


def _by_reporter(rows: Iterable[Row]) -> dict[Reporter, list[Row]]:
    """Return the rows of each reporter in order of time."""
    by_reporter: dict[Reporter, list[Row]] = defaultdict(list)
    for row in sorted(rows, key=lambda each: each.polled_at):
        by_reporter[row.cluster_id or "", row.broker_id, row.poller_id].append(row)
    return by_reporter


def _runs(rows: Iterable[Row]) -> list[list[Row]]:
    """Return the rows by the times between which they are alone."""
    runs: list[list[Row]] = []
    for row in rows:
        if runs and microseconds(row.polled_at) - microseconds(runs[-1][-1].polled_at) <= ALONE:
            runs[-1].append(row)
        else:
            runs.append([row])
    return runs


def _is_extra(run: Sequence[Row], times: Sequence[int], oldest: int, *, are_new: bool) -> bool:
    """Return whether the polls of a run are too many among the times of regular polls."""
    polls = [microseconds(row.polled_at) for row in run if row.api_key == METADATA]
    if not polls or len(run) > FEW or polls[-1] - polls[0] > MOMENT:
        return False
    first, stop = bisect_left(times, polls[0]), bisect_left(times, polls[-1] + 1)
    before, between, after = times[max(first - AROUND, 0) : first], times[first:stop], times[stop : stop + AROUND]
    is_first = polls[0] < oldest
    if len(after) < AROUND or (len(before) < AROUND and not is_first):
        return False
    intervals = [later - earlier for earlier, later in pairwise([*before, *between, *after])]
    usual = median(intervals)
    irregular = [usual > IRREGULAR * interval or interval > IRREGULAR * usual for interval in intervals]
    # A poll between two regular ones fills no gap.
    around = irregular[max(len(before) - 1, 0) : len(before) + len(between)]
    if any(around) or sum(irregular) > IRREGULAR_INTERVALS:
        return False
    if is_first:
        return after[0] - polls[-1] > max(ALONE, ALONE_INTERVALS * usual)
    # A poll with the time of another one may be the same poll once more.
    return are_new or not set(polls) & set(between)
