"""The lag of groups on one partition: a fold of committed offsets and log ends, in order of time.

Pure Python without Spark. Times are microseconds since 1970.
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

STALLED_AFTER = 15_000_000
"""Minimum time without a commit of a stalled group: three times the default of `auto.commit.interval.ms`."""
STALLED_GROWTHS = 3
"""Minimum number of polls that saw the log grow since the last commit. Chosen, not measured."""
LOG_ENDS_KEPT = 240
"""Maximum number of log ends kept; above it, the older half is downsampled 2:1. Chosen, not measured."""


class Event(NamedTuple):
    """A changed committed offset, or a changed log end.

    Attributes:
        group: the group; None for a log end.
        offset: the committed offset, or the log end.
        gone: True if the broker no longer reports it.
    """

    at: int
    broker_id: int
    group: str | None
    offset: int
    gone: bool = False


class LagSample(NamedTuple):
    """The lag of a group after an event.

    Attributes:
        lag: records between the committed offset and the log end.
        time_lag: microseconds since the next record for the group was written; None if that is not known.
    """

    at: int
    group: str
    committed_offset: int
    log_end: int
    lag: int
    time_lag: int | None


class Stall(NamedTuple):
    """A group stalled on the partition, or continued.

    Attributes:
        not_before: of a stall, the last time without lag, or the last commit if the group lagged then.
        stalled: False if it continued, or has no committed offset anymore.
        has_committed: True if a commit was observed; otherwise the group may be abandoned.
    """

    at: int
    group: str
    not_before: int
    stalled: bool
    has_committed: bool
    reported_by: int


@dataclass(slots=True)
class _Position:
    """The committed offset of a group, and the commit before it."""

    commit: Event
    before: Event | None = None
    stalled: bool = False


class PartitionLagHistory:
    """The log ends of a partition, and the positions of its groups."""

    def __init__(self) -> None:
        self._ends: list[Event] = []
        self._positions: dict[str, _Position] = {}

    def kept_events(self) -> list[Event]:
        """Return the events from which another history continues, in order of time."""
        commits = [
            commit for position in self._positions.values() for commit in (position.before, position.commit) if commit
        ]
        return sorted([*self._ends, *commits], key=lambda event: event.at)

    def apply(self, event: Event) -> Iterator[LagSample | Stall]:
        """Apply an event, and yield what follows from it."""
        if event.group is None:
            yield from self._apply_log_end(event)
        elif event.gone:
            yield from self._remove_group(event.group, event)
        else:
            yield from self._apply_commit(event.group, event)

    def _apply_log_end(self, event: Event) -> Iterator[LagSample | Stall]:
        if event.gone or (self._ends and event.offset < self._ends[-1].offset):  # deleted, created again, or truncated
            self._ends.clear()
        if event.gone:
            return
        self._ends.append(event)
        if len(self._ends) > LOG_ENDS_KEPT:
            half = LOG_ENDS_KEPT // 2
            self._ends[:half] = islice(self._ends, 0, half, 2)
        for group, position in self._positions.items():
            yield self._sample(group, position, event)
            if not position.stalled and (not_before := self._stalled_since(position)) is not None:
                position.stalled = True
                yield Stall(event.at, group, not_before, True, position.before is not None, event.broker_id)

    def _apply_commit(self, group: str, event: Event) -> Iterator[LagSample | Stall]:
        position_before = self._positions.get(group)
        if (
            position_before is not None and position_before.commit.offset == event.offset
        ):  # reported by a new coordinator
            position_before.commit = position_before.commit._replace(broker_id=event.broker_id)
            return
        position = self._positions[group] = _Position(
            event, None if position_before is None else position_before.commit
        )
        if position_before is not None and position_before.stalled:
            yield Stall(event.at, group, position_before.commit.at, False, True, event.broker_id)
        if self._ends:
            yield self._sample(group, position, event)

    def _remove_group(self, group: str, event: Event) -> Iterator[Stall]:
        position_before = self._positions.get(group)
        if (
            position_before is None or position_before.commit.broker_id != event.broker_id
        ):  # the group has another coordinator
            return
        del self._positions[group]
        if position_before.stalled:
            yield Stall(event.at, group, position_before.commit.at, False, True, event.broker_id)

    def _stalled_since(self, position: _Position) -> int | None:
        """Return `Stall.not_before` if the group has stalled; else None."""
        commit = position.commit
        later = bisect_right(self._ends, commit.at, key=lambda end: end.at)
        growths = [end for end in self._ends[later:] if end.offset > commit.offset]
        if len(growths) < STALLED_GROWTHS or growths[-1].at - growths[0].at < STALLED_AFTER:
            return None
        lagged = later > 0 and self._ends[later - 1].offset > commit.offset
        return commit.at if lagged else growths[0].at

    def _sample(self, group: str, position: _Position, event: Event) -> LagSample:
        committed, end = position.commit.offset, self._ends[-1].offset
        # A commit may be read after the log has grown beyond the last known end.
        lag = max(end - committed, 0)
        return LagSample(event.at, group, committed, max(end, committed), lag, self._time_lag(committed, event.at))

    def _time_lag(self, committed: int, at: int) -> int | None:
        """Return the time since the log end was the committed offset, interpolated between two log ends."""
        after = bisect_right(self._ends, committed, key=lambda end: end.offset)
        if after == len(self._ends):
            return 0
        if after == 0:
            return None
        before, end = self._ends[after - 1], self._ends[after]
        share = (committed - before.offset) / (end.offset - before.offset)
        return at - round(before.at + share * (end.at - before.at))
