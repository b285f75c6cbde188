"""The agreed state of each partition: a vote among the brokers that respond, repeated over time.

Brokers report different views, some late and some wrong. At any time the agreed state of a partition is the state that
1. is reported by a broker that has a vote: a broker that fails to respond, or responds without topics for the first
   time, has none (`voting_periods`);
2. belongs to the topic id that most voters report; absence counts as a state, and the newest report breaks a tie.
   A report without an id, as of Metadata before version 10, equals any id;
3. has the highest leader epoch under that topic id, which excludes a broker that was paused or has just started. The
   last reports of brokers without a vote count here, so that an epoch never goes down because its reporter failed;
4. is reported by most of the remaining voters; the newest report breaks a tie.

Two facts depend on earlier states: which replicas a reassignment is *adding* (they have never been in sync), and
whether a partition without a leader is *electing* (leader -1 under an epoch that had a leader, which Kafka 3.9 shows
for up to two seconds after its controller failed).

This module is pure Python over columns; one call folds many partitions. Times are microseconds since 1970.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from dataclasses import dataclass, field
from enum import IntEnum
from typing import TYPE_CHECKING, NamedTuple, Protocol, TypeVar

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

T_co = TypeVar("T_co", covariant=True)

NEVER = -(2**63)


class Role(IntEnum):
    """The role of an input row. Rows of a partition are sorted by role first."""

    AGREED = 0
    """The agreed state before the window."""
    LAST_REPORT = 1
    """A broker's last report before the window."""
    OBSERVATION = 2
    """A change that a broker reported in the window."""
    TOPIC = 3
    """A topic whose configs changed in the window."""
    UNCHANGED = 4
    """The agreed state of a partition that was not folded."""


class Observation(NamedTuple):
    """A broker's current report about a partition."""

    row: int
    since: int
    present: bool
    topic_id: str | None
    epoch: int
    fingerprint: int
    """Hash of the state without the topic id: equal fingerprints and matching ids are equal states."""

    def is_same_state(self, other: Observation) -> bool:
        """Return whether both report the same state. A missing topic id matches any."""
        return (
            self.fingerprint == other.fingerprint
            and self.present == other.present
            and ids_match(self.topic_id, other.topic_id)
        )


def ids_match(topic_id: str | None, other: str | None) -> bool:
    """Return whether two reported ids can be of one topic: old versions of Metadata do not report ids."""
    return topic_id is None or other is None or topic_id == other


_NO_REPORT = Observation(-1, NEVER, present=False, topic_id=None, epoch=-1, fingerprint=0)


@dataclass(slots=True)
class AgreedState:
    """A state of a partition during the time in which it was agreed.

    Fields `was_*` repeat a field of the state before this one.
    """

    row: int
    """An input row that reports the state."""
    since: int
    """The time of the vote that agreed on it."""
    until: int | None = None
    first_reported_at: int = 0
    """The time of its first report."""
    reported_by: int = -1
    """The broker that reported it first."""
    reports: list[tuple[int, int]] = field(default_factory=list)
    """Brokers and the times of their reports, earliest first; only brokers that had a vote at `first_reported_at`."""
    previous_row: int = -1
    """The row of the state before; -1 if this is the first state."""
    last_leader: int = -1
    """The last leader up to and including this state."""
    previous_leader: int = -1
    """The last leader before this state."""
    adding: tuple[int, ...] = ()
    """Replicas that a reassignment adds and that are not in sync yet."""
    electing: bool = False
    was_electing: bool = False
    out_of_sync: tuple[int, ...] = ()
    """Replicas out of sync or offline, except replicas in `adding`."""
    was_out_of_sync: tuple[int, ...] = ()
    was_adding: tuple[int, ...] = ()
    expanded: bool = False
    """True if the last change of the replicas added some: if some leave next, the same reassignment ends."""
    was_expanded: bool = False
    topic_id: str | None = None
    """The topic id; None if no broker has reported it."""
    was_topic_id: str | None = None
    known_id: str | None = None
    """The id of the last topic with this name, up to and including this state; absence keeps it."""
    known: bool = False
    """True if the partition has existed, up to and including this state."""
    was_known_id: str | None = None
    was_known: bool = False
    carried: bool = False
    """True if the state was agreed before the window; events are derived from other states only."""


class ColumnValues(Protocol[T_co]):
    """A column that returns its value in a row."""

    def __getitem__(self, row: int, /) -> T_co: ...


class ObservationColumns(NamedTuple):
    """The input rows as columns, sorted by topic, partition, role, time, and broker."""

    topic: Sequence[str]
    partition: Sequence[int]
    role: Sequence[int]
    at: Sequence[int]
    broker_id: Sequence[int]
    present: Sequence[bool]
    topic_id: Sequence[str | None]
    leader: Sequence[int]
    epoch: Sequence[int]
    replicas: ColumnValues[Sequence[int]]
    isr: ColumnValues[Sequence[int]]
    offline: ColumnValues[Sequence[int]]
    fingerprint: Sequence[int]
    agreed: ColumnValues[AgreedState | None]
    """The agreed state in rows with the role `Role.AGREED`."""


class Voters:
    """The brokers that have a vote at each time."""

    def __init__(self, periods: Iterable[tuple[int, int, int]], end: int, voted_until: int = NEVER) -> None:
        """Index the voting periods.

        Args:
            periods: broker, start, and stop of each period in which a broker has a vote.
            end: the time of the last poll.
            voted_until: the time of the last poll before the window; the votes until then are in the agreed states.
        """
        periods = list(periods)
        self._voted_until = voted_until
        bounds = {time for _, start, stop in periods for time in (start, stop) if time <= end}
        self.bounds = sorted(bounds)
        """Times at which a broker gains or loses its vote."""
        self._voters = [
            tuple(sorted({broker for broker, start, stop in periods if start <= time < stop})) for time in self.bounds
        ]

    def at(self, time: int) -> tuple[int, ...]:
        """Return the brokers with a vote at `time`."""
        position = bisect_right(self.bounds, time) - 1
        return self._voters[position] if position >= 0 else ()

    def bounds_between(self, after: int, until: int) -> list[int]:
        """Return the bounds in `(after, until)`: where reports differ, the vote is repeated at each of them."""
        first = bisect_right(self.bounds, max(after, self._voted_until))
        return self.bounds[first : max(first, bisect_right(self.bounds, until - 1))]


def vote(observations: dict[int, Observation], voters: Sequence[int]) -> Observation | None:
    """Return the observation that the voters agree on, by the rules of this module; None if there is none.

    Args:
        observations: the last observation of each broker, also of brokers without a vote.
        voters: the brokers with a vote.
    """
    if len(observations) == len(voters) == 1 and voters[0] in observations:
        return observations[voters[0]]  # a single broker is polled
    reported = [observations.get(broker, _NO_REPORT) for broker in voters]
    if not reported:
        return None
    reported = _of_most_reported_topic(reported)
    if not reported[0].present:
        return min(reported, key=_since)
    reported = _of_highest_epoch(reported, observations)
    if not reported:
        return None
    return min(_of_most_reported_state(reported), key=_since)


def _of_most_reported_topic(reported: list[Observation]) -> list[Observation]:
    """Return the observations of the topic id, or of absence, that most voters report."""
    first = reported[0]
    if all(report.topic_id == first.topic_id and report.present == first.present for report in reported):
        return reported
    groups: dict[tuple[bool, str | None], list[Observation]] = {}
    for report in reported:
        groups.setdefault((report.present, report.topic_id), []).append(report)

    def weight(topic: tuple[bool, str | None]) -> tuple[int, int]:
        return len(groups[topic]), max(report.since for report in groups[topic])

    identified = [topic for topic in groups if topic[0] and topic[1] is not None]
    if identified and (True, None) in groups:
        groups[max(identified, key=weight)] += groups.pop((True, None))
    return groups[max(groups, key=weight)]


def _of_highest_epoch(reported: list[Observation], observations: dict[int, Observation]) -> list[Observation]:
    """Return the observations of the highest leader epoch that any broker has reported under their topic id.

    The result is empty if only brokers without a vote reported that epoch.
    """
    topic_id = next((report.topic_id for report in reported if report.topic_id is not None), None)
    highest = max(report.epoch for report in reported)
    if topic_id is not None and len(observations) > len(reported):
        same_topic = (
            observation
            for observation in observations.values()
            if observation.present and observation.topic_id == topic_id
        )
        highest = max([highest, *(report.epoch for report in same_topic)])
    return [report for report in reported if report.epoch == highest]


def _of_most_reported_state(reported: list[Observation]) -> list[Observation]:
    """Return the observations of the state that most voters report."""
    first = reported[0]
    if all(report.fingerprint == first.fingerprint for report in reported):
        return reported
    states = Counter(report.fingerprint for report in reported)
    newest = {report.fingerprint: report.since for report in sorted(reported, key=_since)}
    best = max(states, key=lambda state: (states[state], newest[state]))
    return [report for report in reported if report.fingerprint == best]


def _since(observation: Observation) -> int:
    return observation.since


def fold_partitions(rows: ObservationColumns, voters: Voters, end: int) -> list[AgreedState]:
    """Return every state that the brokers agreed on, absence included, by partition and time.

    Args:
        rows: the observations.
        voters: the brokers with a vote at each time.
        end: the time of the last poll; until then, reports that differ are voted on again.
    """
    agreed: list[AgreedState] = []
    fold: _PartitionFold | None = None
    key: tuple[str, int] | None = None
    for row, (topic, partition, role) in enumerate(zip(rows.topic, rows.partition, rows.role, strict=True)):
        if key is None or partition != key[1] or topic != key[0]:
            if fold is not None:
                fold.finish(end)
            key = (topic, partition)
            fold = _PartitionFold(rows, voters, agreed)
        assert fold is not None
        if role == Role.OBSERVATION:
            fold.apply(row)
        elif role == Role.LAST_REPORT:
            fold.add_last_report(row)
        else:
            fold.resume(row)
    if fold is not None:
        fold.finish(end)
    return agreed


class _PartitionFold:
    """The fold over the rows of one partition. New states are appended to `agreed`."""

    __slots__ = ("agreed", "differ", "last", "now", "observations", "rows", "voters")

    def __init__(self, rows: ObservationColumns, voters: Voters, agreed: list[AgreedState]) -> None:
        self.rows = rows
        self.voters = voters
        self.agreed = agreed
        self.observations: dict[int, Observation] = {}
        self.now: AgreedState | None = None
        self.differ = False
        """True while brokers report different states."""
        self.last = NEVER
        """The time of the last report."""

    def resume(self, row: int) -> None:
        """Start from the state that was agreed before the window."""
        agreed = self.rows.agreed[row]
        assert agreed is not None
        self.now = agreed
        self.agreed.append(agreed)

    def add_last_report(self, row: int) -> None:
        """Add a broker's last report before the window."""
        self._observe(row)
        self.last = max(self.last, self.rows.at[row])
        self.differ = self._reports_differ()

    def apply(self, row: int) -> None:
        """Apply a change that a broker reports."""
        rows = self.rows
        time, broker, present = rows.at[row], rows.broker_id[row], rows.present[row]
        if self.differ:
            self._vote_between(time)
        self._observe(row)
        self.last = time
        self.differ = self._reports_differ()
        self._vote(time)
        now = self.now
        if now is None or not present or not self._is_agreed(self.observations[broker]):
            return
        if now.topic_id is None:
            now.topic_id = now.known_id = rows.topic_id[row]
        if now.since == time:
            return
        # A broker that did not respond when the state was first reported says nothing about propagation.
        if all(broker != reporter for reporter, _ in now.reports) and broker in self.voters.at(now.first_reported_at):
            now.reports.append((broker, time))

    def finish(self, end: int) -> None:
        """Repeat the vote until the last poll."""
        if self.differ:
            self._vote_between(end + 1)

    def _observe(self, row: int) -> None:
        rows = self.rows
        present = rows.present[row]
        self.observations[rows.broker_id[row]] = Observation(
            row, rows.at[row], present, rows.topic_id[row] if present else None, rows.epoch[row], rows.fingerprint[row]
        )

    def _reports_differ(self) -> bool:
        observations = self.observations
        if len(observations) < 2:
            return False
        if len({observation.fingerprint for observation in observations.values()}) > 1:
            return True
        return (
            len({observation.topic_id for observation in observations.values() if observation.topic_id is not None}) > 1
        )

    def _vote_between(self, until: int) -> None:
        for time in self.voters.bounds_between(self.last, until):
            self._vote(time)

    def _vote(self, time: int) -> None:
        winner = vote(self.observations, self.voters.at(time))
        now = self.now
        if winner is None or winner.row < 0:
            return
        if (not winner.present) if now is None else self._is_agreed(winner):
            return
        self.now = self._next_state(winner, time)
        self.agreed.append(self.now)

    def _is_agreed(self, observation: Observation) -> bool:
        """Return whether an observation reports the agreed state."""
        now = self.now
        if now is None or self.rows.present[now.row] != observation.present:
            return False
        same = self.rows.fingerprint[now.row] == observation.fingerprint
        return not observation.present or (same and ids_match(now.topic_id, observation.topic_id))

    def _next_state(self, winner: Observation, time: int) -> AgreedState:
        before = self.now
        reports = self._reports_of(winner, before)
        state = AgreedState(
            winner.row, time, first_reported_at=reports[0][1], reported_by=reports[0][0], reports=reports
        )
        if before is not None:
            before.until = time
            _keep_previous(state, before)
        rows, row = self.rows, winner.row
        if not winner.present:
            state.topic_id = rows.topic_id[row]
            return state
        old = state.previous_row
        same_topic = before is not None and rows.present[old] and ids_match(before.topic_id, winner.topic_id)
        state.topic_id = winner.topic_id
        if same_topic and before is not None:
            state.topic_id = winner.topic_id or before.topic_id
            self._compare_with(before, state)
        state.known, state.known_id = True, state.topic_id
        state.last_leader = rows.leader[row] if rows.leader[row] >= 0 else state.previous_leader
        replicas, isr, offline = rows.replicas[row], rows.isr[row], rows.offline[row]
        if len(isr) < len(replicas) or offline:
            state.out_of_sync = tuple(
                replica
                for replica in replicas
                if replica in offline or (replica not in isr and replica not in state.adding)
            )
        return state

    def _reports_of(self, winner: Observation, before: AgreedState | None) -> list[tuple[int, int]]:
        """Return the brokers that report the winning state, and since when, earliest first."""
        if len(self.observations) > 1:
            # A paused broker may have reported the same state long ago, before it changed and changed back.
            earliest = before.first_reported_at if before is not None else NEVER
            reports = [
                (broker, other.since)
                for broker, other in self.observations.items()
                if other.is_same_state(winner) and other.since >= earliest
            ]
            if reports:
                return sorted(reports, key=lambda report: report[1])
        return [(self.rows.broker_id[winner.row], winner.since)]

    def _compare_with(self, before: AgreedState, state: AgreedState) -> None:
        """Set what depends on the state before: both are states of one topic id."""
        rows, row, old = self.rows, state.row, state.previous_row
        replicas, isr, old_replicas = rows.replicas[row], rows.isr[row], rows.replicas[old]
        state.previous_leader = before.last_leader
        adding, state.expanded = before.adding, before.expanded
        if old_replicas != replicas:
            added = [replica for replica in replicas if replica not in old_replicas]
            adding = (*adding, *added)
            state.expanded = bool(added)
        state.adding = tuple(replica for replica in adding if replica in replicas and replica not in isr)
        if rows.leader[row] < 0 and rows.epoch[row] >= 0:
            had_leader = rows.leader[old] >= 0 or before.electing
            state.electing = had_leader and rows.epoch[row] == rows.epoch[old]


def _keep_previous(state: AgreedState, before: AgreedState) -> None:
    """Copy the fields of the state before into the `was_*` fields."""
    state.previous_row = before.row
    state.was_out_of_sync, state.was_adding = before.out_of_sync, before.adding
    state.was_electing, state.was_expanded = before.electing, before.expanded
    state.was_known, state.was_known_id = before.known, before.known_id
    state.known, state.known_id = before.known, before.known_id
    state.was_topic_id = before.topic_id
