"""A broker is gone: killed, shut down in order, or frozen; and it comes back.

Signs of an absence, each with its time in ``seen_at``:

- ``silence``: polls to it fail. Refused or closed connections mean that its process ended; connections that stay open
  without an answer mean that it was stopped (SIGSTOP, a long pause of its collector, a hung disk, a lost network);
- ``isr_shrink``: leaders drop it from the ISR (`replica.lag.time.max.ms` after its last fetch);
- ``leaders_moved``, ``leaderless``: its partitions got other leaders, or have none;
- ``electing``: leader -1 under an unchanged leader epoch, a passing thing after a controller's death;
- ``gone_from_brokers``: brokers that answer do not list it any more.

What tells a kill from a shutdown is how soon its leaders leave. A broker that shuts down in order hands them over
before it ends: within a second of its last answer, or while it still answers. A dead one is noticed only when its
session times out, and no session is shorter than four seconds (ZooKeeper: at least two ticks of two seconds; KRaft: 9
seconds unless somebody asks for less). Between three seconds and polls too rare to see the difference, the kind is
`broker_lost`: gone, cause not known.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING

from kwire.spark.gold.diagnosis.incident import Incident

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kwire.spark.gold.diagnosis.signal import Signal, Signals

SECOND = 1_000_000
SHORTEST_SESSION = 3 * SECOND
"""A broker whose leaders leave sooner after its last answer was not waited for: it said good-bye."""

LONGEST_SESSION = 60 * SECOND
"""Longer than followers (30 seconds) and sessions (18 and 9 seconds) are waited for unless configured otherwise."""

KILLED, PAUSED, SHUT_DOWN, LOST = "broker_killed", "broker_paused", "controlled_shutdown", "broker_lost"
RESTARTED, RESUMED, RETURNED = "broker_restarted", "broker_resumed", "broker_returned"


@dataclass(slots=True)
class Silence:
    """Polls that failed in a row."""

    last_answer: int | None
    first_failure: int
    failures: int = 1
    classes: list[str] = field(default_factory=list)
    answered: int | None = None
    last_failure: int | None = None


@dataclass(slots=True)
class Absence:
    """A time in which a broker was not there, by one sign or several."""

    broker: int
    silence: Silence | None = None
    unlisted: tuple[Signal, Signal | None] | None = None
    """Who told first that it is gone, and who told after that it is there."""

    @property
    def start(self) -> int:
        starts = [self.silence.first_failure] if self.silence else []
        if self.unlisted:
            starts.append(self.unlisted[0].at)
        return min(starts)

    @property
    def _ends(self) -> list[int | None]:
        ends = [self.silence.answered] if self.silence else []
        if self.unlisted:
            ends.append(self.unlisted[1].at if self.unlisted[1] else None)
        return ends

    @property
    def back(self) -> int | None:
        """When it was there again: it answers, and is listed."""
        times = [end for end in self._ends if end is not None]
        return max(times) if len(times) == len(self._ends) else None

    @property
    def first_back(self) -> int | None:
        """The first sign that it is there again."""
        return min((end for end in self._ends if end is not None), default=None)


def find(signals: Signals) -> list[Incident]:
    """Absences and returns of all brokers, by time."""
    silences = _silences(signals)
    unlisted = _unlisted(signals, silences)
    found: list[Incident] = []
    for broker in sorted(silences.keys() | unlisted.keys()):
        absences = _joined(broker, silences.get(broker, []), unlisted.get(broker, []), signals.settle)
        found += _Story(broker, signals).tell(absences)
    return sorted(found, key=lambda incident: (incident.began_at, incident.first_sign_at))


def _silences(signals: Signals) -> dict[int, list[Silence]]:
    silences: dict[int, list[Silence]] = {}
    for signal in signals.of("failed", "answered"):
        known = silences.setdefault(signal.broker, [])
        now = known[-1] if known and known[-1].answered is None else None
        if signal.kind == "answered":
            if now is not None:
                now.answered, now.last_failure = signal.at, signal.not_before
        elif now is None:
            known.append(Silence(signal.not_before, signal.at, classes=[signal.detail["failure"]]))
        else:
            now.failures += 1
            now.classes.append(signal.detail["failure"])
    return silences


def _unlisted(signals: Signals, silences: dict[int, list[Silence]]) -> dict[int, list[tuple[Signal, Signal | None]]]:
    """When which broker was missing in the lists of at least half of those who answered."""
    spans: dict[int, list[tuple[Signal, Signal | None]]] = {}
    tellers: set[int] = set()
    missing: dict[int, dict[int, Signal]] = {}
    for signal in signals.of("heard", "unlisted", "listed"):
        tellers.add(signal.reported_by)
        if signal.kind == "heard":
            continue
        votes = missing.setdefault(signal.broker, {})
        votes.pop(signal.reported_by, None)
        if signal.kind == "unlisted":
            votes[signal.reported_by] = signal
        answering = {teller for teller in tellers if not _silent(silences.get(teller, []), signal.at)}
        against = [vote for teller, vote in votes.items() if teller in answering]
        gone = bool(against) and 2 * len(against) >= len(answering)
        known = spans.setdefault(signal.broker, [])
        lasting = bool(known) and known[-1][1] is None
        if gone and not lasting:
            known.append((min(against, key=lambda vote: vote.at), None))
        elif lasting and not gone:
            known[-1] = (known[-1][0], signal)
    return spans


def _silent(silences: Sequence[Silence], at: int) -> bool:
    return any(one.first_failure <= at and (one.answered is None or at < one.answered) for one in silences)


def _joined(
    broker: int, silences: list[Silence], unlisted: list[tuple[Signal, Signal | None]], settle: int
) -> list[Absence]:
    """Silences and gaps in the lists that belong together: they overlap, or follow one another at once."""
    absences: list[Absence] = []
    rest = list(unlisted)
    for silence in silences:
        absence = Absence(broker, silence)
        until = silence.answered
        for span in rest:
            if (until is None or span[0].at <= until + settle) and (
                span[1] is None or span[1].at >= silence.first_failure - settle
            ):
                first = absence.unlisted[0] if absence.unlisted else span[0]
                absence.unlisted = (first, span[1])
        rest = [
            span
            for span in rest
            if absence.unlisted is None or not absence.unlisted[0].at <= span[0].at <= (absence.back or span[0].at)
        ]
        absences.append(absence)
    absences += [Absence(broker, unlisted=span) for span in rest]
    return sorted(absences, key=lambda absence: absence.start)


class _Story:
    """What happened to one broker."""

    def __init__(self, broker: int, signals: Signals) -> None:
        self.broker = broker
        self.signals = signals
        self.about = [signal for signal in signals.all if signal.broker == broker]
        self.lost = [signal for signal in self.about if signal.kind in {"moved", "leaderless", "electing"}]
        self.sick = _levels(self.about)

    def tell(self, absences: list[Absence]) -> list[Incident]:
        told: list[Incident] = []
        absences = [absence for absence in absences if self._real(absence)]
        previous_back = 0
        for absence, following in pairwise([*absences, None]):
            assert absence is not None
            incident = self._absence(absence, previous_back, following)
            told.append(incident)
            if absence.first_back is not None:
                told.append(self._return(absence, incident, following))
            previous_back = absence.back or previous_back
        return told

    def _real(self, absence: Absence) -> bool:
        """One failed poll is no incident; two are, or one with another sign."""
        silence = absence.silence
        if silence is None or silence.failures > 1 or absence.unlisted is not None:
            return True
        start, stop = (
            silence.first_failure - self.signals.settle,
            (silence.answered or self.signals.end) + self.signals.settle,
        )
        return any(
            signal.kind in {"ailing", "moved"} and start <= signal.at <= stop for signal in self.lost + self.about
        )

    def _absence(self, absence: Absence, previous_back: int, following: Absence | None) -> Incident:
        silence = absence.silence
        stop = following.start if following else self.signals.end + 1
        until = min(absence.back + self.signals.settle if absence.back is not None else stop, stop)
        early = self._early(absence, previous_back)
        start = min(absence.start, early.at if early else absence.start)
        within = [signal for signal in self.about if start <= signal.at < until]
        signs = [(name, signal) for signal in within if (name := _SIGNS.get(signal.kind))]
        incident = Incident("", "", start, start, "", broker_id=self.broker)
        for name, signal in signs:
            incident.sign(name, signal.at)
        if silence:
            incident.sign("silence", silence.first_failure)
        if absence.unlisted:
            incident.sign("gone_from_brokers", absence.unlisted[0].at)
        incident.first_sign, incident.first_sign_at = min(incident.seen_at.items(), key=lambda sign: (sign[1], sign[0]))
        incident.began_at = self._began(incident, absence, signs)
        incident.kind, incident.cause = self._kind(absence, incident, within)
        for signal in within:
            _count(incident, signal)
        incident.ended_at = self._well_again(absence, following)
        if silence:
            incident.attributes["failures"] = ", ".join(dict.fromkeys(silence.classes))
        return incident

    def _early(self, absence: Absence, previous_back: int) -> Signal | None:
        """The first sign of an absence before it went silent or off the lists.

        That is the first leader that it gave up while it still answered, never to be in sync again before it went. Of a
        broker that is not polled nobody can say when it fell silent: there, the first ISR that it left.
        """
        well = max((at for at, level in self.sick if at < absence.start and level <= 0), default=0)
        since = max(well, previous_back)
        given_up = [signal for signal in self.lost if since <= signal.at < absence.start and signal.kind != "electing"]
        if absence.silence is None:
            missed = (signal for signal in self.about if signal.kind in {"isr_left", "ailing"})
            since = max(since, absence.start - LONGEST_SESSION)
            given_up += [signal for signal in missed if since <= signal.at < absence.start]
        return min(given_up, key=lambda signal: signal.at, default=None)

    def _began(self, incident: Incident, absence: Absence, signs: list[tuple[str, Signal]]) -> int:
        first = incident.first_sign_at
        bounds = [signal.not_before for _, signal in signs if signal.at == first]
        if absence.silence and absence.silence.first_failure == first:
            bounds.append(absence.silence.last_answer)
        if absence.unlisted and absence.unlisted[0].at == first:
            bounds.append(absence.unlisted[0].not_before)
        began = max((bound for bound in bounds if bound is not None), default=first)
        if absence.silence and absence.silence.last_answer and absence.silence.last_answer < first:
            # It answered until then; that others saw something first does not make it older.
            began = max(began, absence.silence.last_answer) if absence.silence.first_failure >= first else began
        return min(began, first)

    def _kind(self, absence: Absence, incident: Incident, within: list[Signal]) -> tuple[str, str]:
        silence = absence.silence
        handed_over = [signal for signal in within if signal in self.lost and signal.kind != "electing"]
        left = handed_over[0] if handed_over else (absence.unlisted[0] if absence.unlisted else None)
        if silence is None:
            assert absence.unlisted is not None
            if handed_over and handed_over[0].at < absence.unlisted[0].at:
                return SHUT_DOWN, "its leaders were handed over while it was still listed: shut down in order"
            return LOST, "others do not list it any more; it was not polled itself, so that how it went is not known"
        if not {"refused", "closed", "unanswered"} & set(silence.classes):
            return LOST, "polls to it fail, in a way that does not say whether it is there"
        if silence.classes[0] == "unanswered":
            more = "" if "refused" not in silence.classes else "; later its process ended"
            return PAUSED, f"its connections stay open but nothing answers: process stopped, or machine cut off{more}"
        if silence.last_answer is None and (left is None or left.at - silence.first_failure < SHORTEST_SESSION):
            return LOST, "it was gone already when polls began"
        answered = silence.last_answer if silence.last_answer is not None else silence.first_failure
        if left is None and silence.first_failure - answered > SHORTEST_SESSION:
            return LOST, "its process ended; polls are too far apart to tell a kill from a shutdown"
        if left is None:
            return KILLED, "its process ended, and was back before anybody else noticed"
        after = left.not_before if left.not_before is not None else left.at
        soonest, latest = after - silence.first_failure, left.at - answered
        if left.at <= answered or latest <= SHORTEST_SESSION:
            return SHUT_DOWN, "its leaders were handed over before anybody could have missed it: shut down in order"
        if soonest >= SHORTEST_SESSION:
            return KILLED, "its process ended, and its leaders stayed until its session timed out: killed or crashed"
        if latest - soonest <= 2 * SHORTEST_SESSION:
            if soonest + latest <= 2 * SHORTEST_SESSION:
                return SHUT_DOWN, "its leaders were handed over as it ended: shut down in order"
            return KILLED, "its process ended, and its leaders stayed until its session timed out: killed or crashed"
        shrunk = incident.seen_at.get("isr_shrink")
        if shrunk is not None and shrunk < left.at:
            return KILLED, "its process ended, followers were missed before its leaders moved: killed or crashed"
        return LOST, "its process ended; polls are too far apart to tell a kill from a shutdown"

    def _well_again(self, absence: Absence, following: Absence | None) -> int | None:
        """When it was back and in sync everywhere; None when that did not happen before it went again, or at all."""
        back = absence.back
        if back is None:
            return None
        until = following.start if following else self.signals.end + 1
        before = [level for at, level in self.sick if at < absence.start - self.signals.settle]
        base = max(before[-1] if before else 0, 0)
        level = max([value for at, value in self.sick if at <= back][-1:], default=0)
        if level <= base:
            return back
        healed = (at for at, value in self.sick if back < at < until and value <= base)
        return next(healed, following.start if following else None)

    def _return(self, absence: Absence, gone: Incident, following: Absence | None) -> Incident:
        back = absence.first_back
        assert back is not None
        kind, cause = {
            PAUSED: (RESUMED, "it answers again, and its process is the same"),
            LOST: (RETURNED, "it is listed again"),
        }.get(gone.kind, (RESTARTED, "its process was started again"))
        silence = absence.silence
        if silence and gone.kind == PAUSED and "refused" in silence.classes:
            kind, cause = RESTARTED, "its process was started again"
        began = back
        if silence and silence.answered == back:
            began = silence.last_failure if silence.last_failure is not None else back
        elif absence.unlisted and absence.unlisted[1]:
            began = absence.unlisted[1].not_before or back
        incident = Incident(kind, cause, began, back, "", broker_id=self.broker)
        if silence and silence.answered is not None:
            incident.sign("answers", silence.answered)
        if absence.unlisted and absence.unlisted[1] is not None:
            incident.sign("back_in_brokers", absence.unlisted[1].at)
        until = following.start if following else self.signals.end + 1
        ended = gone.ended_at if gone.ended_at is None or gone.ended_at < until else None
        last = ended if ended is not None else until
        for signal in self.about:
            if back <= signal.at <= last and signal.kind in {"isr_joined", "healed"}:
                incident.sign("isr_growth", signal.at)
                incident.topics.update(signal.topics)
                incident.partitions += signal.partitions if signal.kind == "isr_joined" else 0
        incident.first_sign, incident.first_sign_at = min(incident.seen_at.items(), key=lambda sign: (sign[1], sign[0]))
        incident.ended_at = gone.ended_at
        return incident


_SIGNS = {
    "isr_left": "isr_shrink",
    "moved": "leaders_moved",
    "leaderless": "leaderless",
    "electing": "electing",
    "replica_offline": "offline_replicas",
}


def _levels(about: list[Signal]) -> list[tuple[int, int]]:
    """How many partitions miss the broker as a replica, after each change of that number."""
    level = 0
    levels: list[tuple[int, int]] = []
    for signal in about:
        if signal.kind in {"ailing", "healed"}:
            level += signal.partitions if signal.kind == "ailing" else -signal.partitions
            levels.append((signal.at, level))
    return levels


def _count(incident: Incident, signal: Signal) -> None:
    match signal.kind:
        case "ailing":
            incident.under_replicated += signal.partitions
            incident.partitions += signal.partitions
        case "moved":
            incident.leaders_moved += signal.partitions
        case "leaderless":
            incident.offline += signal.partitions
        case "electing":
            incident.electing += signal.partitions
        case _:
            return
    incident.topics.update(signal.topics)
