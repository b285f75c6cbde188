"""Broker outages and returns: a broker is killed, shut down, or paused, and comes back.

Signs of an outage, each with its time in `seen_at`:

- `poll_failed`: polls of the broker fail. Refused or closed connections mean that its process ended; connections that
  stay open without a response mean that it is paused (SIGSTOP, a long garbage collection, a blocked disk) or cut off;
- `isr_shrink`: leaders remove it from ISRs (`replica.lag.time.max.ms` after its last fetch);
- `leaders_moved`, `leaderless`: its partitions have other leaders, or none;
- `electing`: leader -1 under an unchanged leader epoch, for a short time after a controller failed;
- `unlisted`: brokers that respond no longer list it.

A kill and a shutdown differ in how soon the leaders move. A broker that shuts down hands them over before its process
ends: within a second of its last response, or while it still responds. A killed broker is noticed only when its session
times out, and no session is shorter than four seconds (ZooKeeper: at least two ticks of two seconds; KRaft: 9 seconds
by default). Where polls are too rare to distinguish the two, the kind is `broker_lost`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING

from kwire_pipeline.gold.diagnosis.incident import Incident, IncidentKind, Sign
from kwire_pipeline.gold.diagnosis.signal import NO_BROKER, PollFailure, SignalKind

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kwire_pipeline.gold.diagnosis.signal import Signal, Signals

SECOND = 1_000_000
SHORTEST_SESSION = 3 * SECOND
"""Leaders that move sooner after the last response did not wait for a session to time out: the broker shut down."""

RARE_POLLS = 10 * SECOND
"""Interval of polls from which on one refused connection is an outage. Chosen, not measured."""

LONGEST_SESSION = 60 * SECOND
"""Longer than the default timeouts of followers (30 seconds) and sessions (18 and 9 seconds)."""

LONGEST_SHUTDOWN = 600 * SECOND
"""A leader that a broker gave up longer before it stopped responding was not moved by its shutdown."""

_KILLED_BY_SESSION = "its process ended, and its leaders stayed until its session timed out: killed or crashed"
_SHUT_DOWN_BEFORE_SESSION = "its leaders moved before its session could time out: controlled shutdown"
_AMBIGUOUS = "its process ended; polls are too rare to distinguish a kill from a shutdown"

_SIGNS = {
    SignalKind.ISR_LEFT: Sign.ISR_SHRINK,
    SignalKind.LEADER_LOST: Sign.LEADERS_MOVED,
    SignalKind.LEADERLESS: Sign.LEADERLESS,
    SignalKind.ELECTING: Sign.ELECTING,
    SignalKind.REPLICA_OFFLINE: Sign.OFFLINE_REPLICAS,
}


@dataclass(slots=True)
class FailedPolls:
    """Failed polls of a broker in a row. Times are microseconds since 1970."""

    last_response: int | None
    first_failure: int
    failures: int = 1
    kinds: list[str] = field(default_factory=list)
    recovered_at: int | None = None
    last_failure: int | None = None

    def covers(self, at: int) -> bool:
        """Return whether the broker does not respond at a time."""
        return self.first_failure <= at and (self.recovered_at is None or at < self.recovered_at)


@dataclass(frozen=True, slots=True)
class UnlistedSpan:
    """A time in which brokers do not list another one.

    `first` is the first report that it is missing, `last` the report by which it is listed again, or None.
    """

    first: Signal
    last: Signal | None = None


@dataclass(slots=True)
class Outage:
    """A time in which a broker is unavailable, by one sign or several."""

    failed_polls: FailedPolls | None = None
    unlisted: UnlistedSpan | None = None

    @property
    def start(self) -> int:
        """The first failed poll, or the first report that the broker is missing."""
        starts = [self.failed_polls.first_failure] if self.failed_polls else []
        if self.unlisted:
            starts.append(self.unlisted.first.at)
        return min(starts)

    @property
    def _ends(self) -> list[int | None]:
        ends = [self.failed_polls.recovered_at] if self.failed_polls else []
        if self.unlisted:
            ends.append(self.unlisted.last.at if self.unlisted.last else None)
        return ends

    @property
    def returned_at(self) -> int | None:
        """The time at which the broker responds and is listed again."""
        times = [end for end in self._ends if end is not None]
        return max(times) if len(times) == len(self._ends) else None

    @property
    def first_return(self) -> int | None:
        """The first sign that the broker is available again."""
        return min((end for end in self._ends if end is not None), default=None)


def find(signals: Signals) -> list[Incident]:
    """Return the outages and returns of all brokers by time."""
    failed_polls = find_failed_polls(signals)
    failed_polls.pop(NO_BROKER, None)  # an endpoint that has never responded: `reachability` looks at it
    unlisted = _unlisted_spans(signals, failed_polls)
    incidents: list[Incident] = []
    for broker_id in sorted(failed_polls.keys() | unlisted.keys()):
        outages = _outages(failed_polls.get(broker_id, []), unlisted.get(broker_id, []), signals.settle)
        incidents += _BrokerHistory(broker_id, signals).incidents(outages)
    return sorted(incidents, key=lambda incident: (incident.began_at, incident.first_sign_at))


def find_failed_polls(signals: Signals) -> dict[int, list[FailedPolls]]:
    """Return the failed polls of each broker, grouped by the responses between them."""
    spans_by_broker: dict[int, list[FailedPolls]] = {}
    for signal in signals.of(SignalKind.POLL_FAILED, SignalKind.POLL_RECOVERED):
        spans = spans_by_broker.setdefault(signal.broker_id, [])
        now = spans[-1] if spans and spans[-1].recovered_at is None else None
        if signal.kind == SignalKind.POLL_RECOVERED:
            if now is not None:
                now.recovered_at, now.last_failure = signal.at, signal.not_before
        elif now is None:
            spans.append(FailedPolls(signal.not_before, signal.at, kinds=[signal.detail["failure"]]))
        else:
            now.failures += 1
            now.kinds.append(signal.detail["failure"])
    return spans_by_broker


def _unlisted_spans(signals: Signals, failed_polls: dict[int, list[FailedPolls]]) -> dict[int, list[UnlistedSpan]]:
    """Return when at least half of the brokers that respond do not list a broker."""
    spans: dict[int, list[UnlistedSpan]] = {}
    reporters: set[int] = set()
    missing: dict[int, dict[int, Signal]] = {}
    for signal in signals.of(SignalKind.FIRST_RESPONSE, SignalKind.BROKER_UNLISTED, SignalKind.BROKER_LISTED):
        reporters.add(signal.reported_by)
        if signal.kind == SignalKind.FIRST_RESPONSE:
            continue
        votes = missing.setdefault(signal.broker_id, {})
        votes.pop(signal.reported_by, None)
        if signal.kind == SignalKind.BROKER_UNLISTED:
            votes[signal.reported_by] = signal
        responding = {reporter for reporter in reporters if not _fails(failed_polls.get(reporter, []), signal.at)}
        against = [vote for reporter, vote in votes.items() if reporter in responding]
        unlisted = bool(against) and 2 * len(against) >= len(responding)
        own_spans = spans.setdefault(signal.broker_id, [])
        lasting = bool(own_spans) and own_spans[-1].last is None
        if unlisted and not lasting:
            own_spans.append(UnlistedSpan(min(against, key=lambda vote: vote.at)))
        elif lasting and not unlisted:
            own_spans[-1] = UnlistedSpan(own_spans[-1].first, signal)
    return spans


def _fails(failed_polls: Sequence[FailedPolls], at: int) -> bool:
    return any(failed_poll.covers(at) for failed_poll in failed_polls)


def _outages(failed_polls: list[FailedPolls], unlisted: list[UnlistedSpan], settle: int) -> list[Outage]:
    """Join failed polls and spans without listing that overlap or follow one another within the settling time."""
    outages: list[Outage] = []
    rest = list(unlisted)
    for polls in failed_polls:
        outage = Outage(polls)
        until = polls.recovered_at
        for span in rest:
            if (until is None or span.first.at <= until + settle) and (
                span.last is None or span.last.at >= polls.first_failure - settle
            ):
                first = outage.unlisted.first if outage.unlisted else span.first
                outage.unlisted = UnlistedSpan(first, span.last)
        rest = [
            span
            for span in rest
            if outage.unlisted is None
            or not outage.unlisted.first.at <= span.first.at <= (outage.returned_at or span.first.at)
        ]
        outages.append(outage)
    outages += [Outage(unlisted=span) for span in rest]
    return sorted(outages, key=lambda outage: outage.start)


class _BrokerHistory:
    """The signals about one broker, and the incidents that follow from its outages."""

    def __init__(self, broker_id: int, signals: Signals) -> None:
        self.broker_id = broker_id
        self.signals = signals
        self.about = [signal for signal in signals.all if signal.broker_id == broker_id]
        self.levels = out_of_sync_levels(self.about)

    def incidents(self, outages: list[Outage]) -> list[Incident]:
        """Return an incident for each outage and one for each return."""
        incidents: list[Incident] = []
        outages = [outage for outage in outages if self._is_confirmed(outage)]
        previous_return = 0
        for outage, following in pairwise([*outages, None]):
            assert outage is not None
            incident = self._outage_incident(outage, previous_return, following)
            incidents.append(incident)
            if outage.first_return is not None:
                incidents.append(self._return_incident(outage, incident, following))
            previous_return = outage.returned_at or previous_return
        return incidents

    def _is_confirmed(self, outage: Outage) -> bool:
        """Return whether an outage has more evidence than a single failed poll.

        A refused connection is evidence enough where polls are rare: nothing listens at the port, and the next poll may
        come after the outage. Where polls are frequent, a restart of the listener or of a proxy looks the same.
        """
        polls = outage.failed_polls
        if polls is None or polls.failures > 1 or outage.unlisted is not None:
            return True
        if polls.kinds[0] == PollFailure.REFUSED and self.signals.interval >= RARE_POLLS:
            return True
        start = polls.first_failure - self.signals.settle
        stop = (polls.recovered_at or self.signals.end) + self.signals.settle
        confirming = {SignalKind.OUT_OF_SYNC, SignalKind.LEADER_LOST}
        return any(signal.kind in confirming and start <= signal.at <= stop for signal in self.about)

    # The incident of an outage

    def _outage_incident(self, outage: Outage, previous_return: int, following: Outage | None) -> Incident:
        stop = following.start if following else self.signals.end + 1
        until = min(outage.returned_at + self.signals.settle if outage.returned_at is not None else stop, stop)
        early = self._early_sign(outage, previous_return)
        start = min(outage.start, early.at if early else outage.start)
        within = [signal for signal in self.about if start <= signal.at < until]
        incident = Incident(
            IncidentKind.BROKER_LOST, "", start, start, Sign.POLL_FAILED, broker_id=self.broker_id
        )  # kind, cause, and times follow from the signs
        for signal in within:
            if signal.kind in _SIGNS:
                incident.add_sign(_SIGNS[signal.kind], signal.at)
            _count(incident, signal)
        if outage.failed_polls:
            incident.add_sign(Sign.POLL_FAILED, outage.failed_polls.first_failure)
            incident.attributes["failures"] = ", ".join(dict.fromkeys(outage.failed_polls.kinds))
        if outage.unlisted:
            incident.add_sign(Sign.UNLISTED, outage.unlisted.first.at)
        incident.first_sign, incident.first_sign_at = incident.signs_by_time()[0]
        incident.began_at = self._began_at(incident, outage, within)
        incident.kind, incident.cause = self._classify(outage, incident, within)
        incident.ended_at = self._ended_at(outage, following)
        return incident

    def _early_sign(self, outage: Outage, previous_return: int) -> Signal | None:
        """Return the first sign of an outage before the first failed poll or missing listing.

        It is the first leader that the broker gave up while it still responded, at most `LONGEST_SHUTDOWN` before,
        without being in sync again before the outage. For a broker that is not polled, the first ISR that it left
        counts too.
        """
        in_sync = max((at for at, level in self.levels if at < outage.start and level <= 0), default=0)
        since = max(in_sync, previous_return, outage.start - LONGEST_SHUTDOWN - self.signals.settle)
        lost = {SignalKind.LEADER_LOST, SignalKind.LEADERLESS}
        signs = [sign for sign in self.about if sign.kind in lost and since <= sign.at < outage.start]
        if outage.failed_polls is None:
            since = max(since, outage.start - LONGEST_SESSION)
            lagging = {SignalKind.ISR_LEFT, SignalKind.OUT_OF_SYNC}
            signs += [sign for sign in self.about if sign.kind in lagging and since <= sign.at < outage.start]
        return min(signs, key=lambda signal: signal.at, default=None)

    def _began_at(self, incident: Incident, outage: Outage, within: list[Signal]) -> int:
        """Return the last time at which the broker is known to have been available."""
        first = incident.first_sign_at
        bounds = [signal.not_before for signal in within if signal.kind in _SIGNS and signal.at == first]
        polls = outage.failed_polls
        if polls and polls.first_failure == first:
            bounds.append(polls.last_response)
        if outage.unlisted and outage.unlisted.first.at == first:
            bounds.append(outage.unlisted.first.not_before)
        began = max((bound for bound in bounds if bound is not None), default=first)
        # The broker responded until then, even if a sign from another broker has an older bound.
        if polls and polls.last_response and polls.last_response < first <= polls.first_failure:
            began = max(began, polls.last_response)
        return min(began, first)

    def _classify(self, outage: Outage, incident: Incident, within: list[Signal]) -> tuple[IncidentKind, str]:
        """Return the kind of an outage and its cause."""
        handed_over = [sign for sign in within if sign.kind in {SignalKind.LEADER_LOST, SignalKind.LEADERLESS}]
        if outage.failed_polls is None:
            assert outage.unlisted is not None
            return _classify_unpolled(outage.unlisted.first, handed_over)
        noticed = handed_over[0] if handed_over else (outage.unlisted.first if outage.unlisted else None)
        return _classify_polled(outage.failed_polls, noticed, incident.seen_at.get(Sign.ISR_SHRINK))

    def _ended_at(self, outage: Outage, following: Outage | None) -> int | None:
        """Return when the broker was back and in sync everywhere; None if it was not before the next outage."""
        returned = outage.returned_at
        if returned is None:
            return None
        until = following.start if following else self.signals.end + 1
        before = [level for at, level in self.levels if at < outage.start - self.signals.settle]
        base = max(before[-1] if before else 0, 0)
        level = max([value for at, value in self.levels if at <= returned][-1:], default=0)
        if level <= base:
            return returned
        in_sync = (at for at, value in self.levels if returned < at < until and value <= base)
        return next(in_sync, following.start if following else None)

    # The incident of a return

    def _return_incident(self, outage: Outage, lost: Incident, following: Outage | None) -> Incident:
        returned = outage.first_return
        assert returned is not None
        kind, cause = _classify_return(lost.kind, outage.failed_polls)
        polls = outage.failed_polls
        began = returned
        if polls and polls.recovered_at == returned:
            began = polls.last_failure if polls.last_failure is not None else returned
        elif outage.unlisted and outage.unlisted.last:
            began = outage.unlisted.last.not_before or returned
        incident = Incident(kind, cause, began, returned, Sign.RESPONDS, broker_id=self.broker_id)
        if polls and polls.recovered_at is not None:
            incident.add_sign(Sign.RESPONDS, polls.recovered_at)
        if outage.unlisted and outage.unlisted.last is not None:
            incident.add_sign(Sign.LISTED, outage.unlisted.last.at)
        until = following.start if following else self.signals.end + 1
        ended = lost.ended_at if lost.ended_at is None or lost.ended_at < until else None
        last = ended if ended is not None else until
        for signal in self.about:
            if returned <= signal.at <= last and signal.kind in {SignalKind.ISR_JOINED, SignalKind.BACK_IN_SYNC}:
                incident.add_sign(Sign.ISR_EXPAND, signal.at)
                incident.topics.update(signal.topics)
                if signal.kind == SignalKind.ISR_JOINED:
                    incident.partitions.add(signal)
        incident.first_sign, incident.first_sign_at = incident.signs_by_time()[0]
        incident.ended_at = lost.ended_at
        return incident


def _classify_unpolled(unlisted: Signal, handed_over: list[Signal]) -> tuple[IncidentKind, str]:
    """Return the kind and cause of the outage of a broker that is not polled."""
    if handed_over and handed_over[0].at < unlisted.at:
        return IncidentKind.CONTROLLED_SHUTDOWN, "its leaders moved while it was still listed: controlled shutdown"
    return IncidentKind.BROKER_LOST, "other brokers no longer list it; it is not polled, so the cause is not known"


def _classify_polled(polls: FailedPolls, noticed: Signal | None, isr_shrunk_at: int | None) -> tuple[IncidentKind, str]:
    """Return the kind and cause of an outage from the failed polls and from what other brokers reported.

    Args:
        polls: the failed polls.
        noticed: the first leader that moved, else the first missing listing, else None.
        isr_shrunk_at: the time at which the broker first left an ISR.
    """
    if not {PollFailure.REFUSED, PollFailure.CLOSED, PollFailure.TIMED_OUT} & set(polls.kinds):
        return IncidentKind.BROKER_LOST, "polls fail with errors that do not show whether its process runs"
    if polls.kinds[0] == PollFailure.TIMED_OUT:
        later = "; later its process ended" if PollFailure.REFUSED in polls.kinds else ""
        return (
            IncidentKind.BROKER_PAUSED,
            f"its connections stay open without responses: paused process or lost network{later}",
        )
    if polls.last_response is None and (noticed is None or noticed.at - polls.first_failure < SHORTEST_SESSION):
        return IncidentKind.BROKER_LOST, "it was unavailable when polling started"
    last_response = polls.last_response if polls.last_response is not None else polls.first_failure
    if noticed is None:
        if polls.first_failure - last_response > SHORTEST_SESSION:
            return IncidentKind.BROKER_LOST, _AMBIGUOUS
        if polls.recovered_at is None:
            return IncidentKind.BROKER_KILLED, "its process ended, and no other broker has reported its loss yet"
        return IncidentKind.BROKER_KILLED, "its process ended, and it was back before another broker noticed"
    return _kill_or_shutdown(polls.first_failure, last_response, noticed, isr_shrunk_at)


def _kill_or_shutdown(
    first_failure: int, last_response: int, noticed: Signal, isr_shrunk_at: int | None
) -> tuple[IncidentKind, str]:
    """Distinguish a kill from a controlled shutdown by the time from the end of the process until others noticed.

    Polls give that time as a range: from `soonest` to `latest`.
    """
    soonest, latest = noticed.earliest - first_failure, noticed.at - last_response
    if noticed.at <= last_response or latest <= SHORTEST_SESSION:
        return IncidentKind.CONTROLLED_SHUTDOWN, _SHUT_DOWN_BEFORE_SESSION
    if soonest >= SHORTEST_SESSION:
        return IncidentKind.BROKER_KILLED, _KILLED_BY_SESSION
    if latest - soonest <= 2 * SHORTEST_SESSION:
        if soonest + latest <= 2 * SHORTEST_SESSION:
            return IncidentKind.CONTROLLED_SHUTDOWN, "its leaders moved as it ended: controlled shutdown"
        return IncidentKind.BROKER_KILLED, _KILLED_BY_SESSION
    if isr_shrunk_at is not None and isr_shrunk_at < noticed.at:
        return (
            IncidentKind.BROKER_KILLED,
            "its process ended, and it left ISRs before its leaders moved: killed or crashed",
        )
    return IncidentKind.BROKER_LOST, _AMBIGUOUS


def _classify_return(lost: IncidentKind, polls: FailedPolls | None) -> tuple[IncidentKind, str]:
    """Return the kind and cause of the return from an outage."""
    if lost == IncidentKind.BROKER_LOST:
        return IncidentKind.BROKER_RETURNED, "it is listed again"
    if lost == IncidentKind.BROKER_PAUSED and not (polls and PollFailure.REFUSED in polls.kinds):
        return IncidentKind.BROKER_RESUMED, "it responds again, with the same process"
    return IncidentKind.BROKER_RESTARTED, "its process was started again"


def out_of_sync_levels(about: list[Signal]) -> list[tuple[int, int]]:
    """Return the number of partitions in which the broker's replica is out of sync, after each change."""
    level = 0
    levels: list[tuple[int, int]] = []
    for signal in about:
        if signal.kind in {SignalKind.OUT_OF_SYNC, SignalKind.BACK_IN_SYNC}:
            level += signal.partitions if signal.kind == SignalKind.OUT_OF_SYNC else -signal.partitions
            levels.append((signal.at, level))
    return levels


def _count(incident: Incident, signal: Signal) -> None:
    """Add the partitions and topics of a signal to the counts of an incident."""
    match signal.kind:
        case SignalKind.OUT_OF_SYNC:
            incident.under_replicated.add(signal)
            incident.partitions.add(signal)
        case SignalKind.LEADER_LOST:
            incident.leaders_moved.add(signal)
        case SignalKind.LEADERLESS:
            incident.offline.add(signal)
        case SignalKind.ELECTING:
            incident.electing.add(signal)
        case _:
            return
    incident.topics.update(signal.topics)
