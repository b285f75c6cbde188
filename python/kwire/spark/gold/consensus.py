"""What is believed of a partition when several brokers tell different things: a vote, walked through in time.

Each broker tells its own view, some late and some wrong. At any instant the state of a partition is that which

1. is told by a broker that answers just now: who is silent, or answers emptily for the first time, has no vote
   (`answering`);
2. is of the topic that most of them tell; absence is a state like the others, and in a tie the newest word wins;
3. has the highest leader epoch under that topic id, which a broker that slept or starts anew cannot have; the last
   words of silent brokers count here: an epoch once told does not go down because its witness died;
4. is told by most of those; in a tie the newest word wins.

Two more things can only be known by walking: which replicas are being *added* (by a reassignment: not in sync yet, and
never were), and whether a partition without a leader is merely *electing* (leader -1 under an epoch that had a leader:
what Kafka 3.9 shows for up to two seconds after its controller died).

Pure Python over columns, one call for many partitions; times are microseconds since 1970.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple, Protocol, TypeVar

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

T_co = TypeVar("T_co", covariant=True)

CARRIED, VIEW, WORD = 0, 1, 2
"""What a row is: the state believed before the first word, what a broker told last before it, or a word: a change."""

NEVER = -(2**63)


class Word(NamedTuple):
    """What one broker tells of a partition since some time."""

    row: int
    since: int
    present: bool
    topic_id: str | None
    epoch: int
    state: int
    """The fingerprint of the whole state: equal numbers are equal states."""


_SILENCE = Word(-1, NEVER, present=False, topic_id=None, epoch=-1, state=0)


@dataclass(slots=True)
class Belief:
    """A state of a partition while it was believed."""

    row: int
    """A row that tells it."""
    since: int
    until: int | None = None
    first_reported_at: int = 0
    """When the first broker told it; `since` is when it was believed."""
    reported_by: int = -1
    told: list[tuple[int, int]] = field(default_factory=list)
    """Who told it, and when, in that order: of those who answered when it was told first."""
    before: int = -1
    """The row of the state before; -1 when there was none."""
    last_leader: int = -1
    """Who led the topic's partition last, this state included."""
    previous_leader: int = -1
    """Who led it last before this state."""
    adding: tuple[int, ...] = ()
    electing: bool = False
    was_electing: bool = False
    ailing: tuple[int, ...] = ()
    """Replicas out of sync or offline, without those that are being added."""
    was_ailing: tuple[int, ...] = ()
    was_adding: tuple[int, ...] = ()
    grown: bool = False
    """Its replicas changed last by growing: if some go next, that is the end of the same reassignment."""
    was_grown: bool = False
    known_id: str | None = None
    """The id of the topic that was there last, this state included; absence does not blot it out."""
    known: bool = False
    """Whether the partition was ever there, this state included."""
    was_known_id: str | None = None
    was_known: bool = False
    carried: bool = False


class Column(Protocol[T_co]):
    """What can be asked for its value in a row."""

    def __getitem__(self, row: int, /) -> T_co: ...


class Rows(NamedTuple):
    """The columns of what was told, sorted by topic, partition, role, time and broker."""

    topic: Sequence[str]
    partition: Sequence[int]
    role: Sequence[int]
    at: Sequence[int]
    broker_id: Sequence[int]
    present: Sequence[bool]
    topic_id: Sequence[str | None]
    leader: Sequence[int]
    epoch: Sequence[int]
    replicas: Column[Sequence[int]]
    isr: Column[Sequence[int]]
    offline: Column[Sequence[int]]
    state: Sequence[int]
    carried: Column[Belief | None]


class Electorate:
    """Who has a vote at which time: brokers while they answer."""

    def __init__(self, periods: Iterable[tuple[int, int, int]], end: int) -> None:
        """Takes (broker, from, to) of each period of answering, and the time of the last poll."""
        periods = list(periods)
        bounds = {time for _, start, stop in periods for time in (start, stop) if time <= end}
        self.bounds = sorted(bounds)
        """When somebody begins or ceases to answer."""
        self._voters = [
            tuple(sorted({broker for broker, start, stop in periods if start <= time < stop})) for time in self.bounds
        ]

    def voters(self, time: int) -> tuple[int, ...]:
        position = bisect_right(self.bounds, time) - 1
        return self._voters[position] if position >= 0 else ()

    def between(self, after: int, until: int) -> list[int]:
        """The bounds in ``(after, until)``: times for another vote where opinions differ."""
        return self.bounds[bisect_right(self.bounds, after) : bisect_right(self.bounds, until - 1)]


def vote(words: dict[int, Word], voters: Sequence[int]) -> Word | None:
    """The word that is believed, by the rules above; None when nobody can tell."""
    if len(words) == len(voters) == 1 and voters[0] in words:
        return words[voters[0]]  # one broker is polled: there is nothing to vote on
    heard = [words.get(broker, _SILENCE) for broker in voters]
    if not heard:
        return None
    first = heard[0]
    if any(word.topic_id != first.topic_id or word.present != first.present for word in heard):
        topics = Counter((word.present, word.topic_id) for word in heard)
        newest = {(word.present, word.topic_id): word.since for word in sorted(heard, key=_since)}
        present, topic_id = max(topics, key=lambda topic: (topics[topic], newest[topic]))
        heard = [word for word in heard if word.present == present and word.topic_id == topic_id]
        first = heard[0]
    if not first.present:
        return min(heard, key=_since)
    top = max(word.epoch for word in heard)
    if first.topic_id is not None and len(words) > len(heard):
        same_topic = (word for word in words.values() if word.present and word.topic_id == first.topic_id)
        top = max([top, *(word.epoch for word in same_topic)])
    heard = [word for word in heard if word.epoch == top]
    if len(heard) < 2:
        return heard[0] if heard else None
    if any(word.state != heard[0].state for word in heard):
        states = Counter(word.state for word in heard)
        latest = {word.state: word.since for word in sorted(heard, key=_since)}
        best = max(states, key=lambda state: (states[state], latest[state]))
        heard = [word for word in heard if word.state == best]
    return min(heard, key=_since)


def _since(word: Word) -> int:
    return word.since


def believe(rows: Rows, electorate: Electorate, end: int) -> list[Belief]:
    """Every state that was believed, in order, each with a row that tells it; the states of absence among them.

    ``end`` is the time of the last poll: opinions that differ are voted on anew until then.
    """
    beliefs: list[Belief] = []
    walk: _Walk | None = None
    key: tuple[str, int] | None = None
    for row, (topic, partition, role) in enumerate(zip(rows.topic, rows.partition, rows.role, strict=True)):
        if key is None or partition != key[1] or topic != key[0]:
            if walk is not None:
                walk.finish(end)
            key = (topic, partition)
            walk = _Walk(rows, electorate, beliefs)
        assert walk is not None
        if role == WORD:
            walk.hear(row)
        elif role == VIEW:
            walk.remember(row)
        else:
            walk.carry(row)
    if walk is not None:
        walk.finish(end)
    return beliefs


class _Walk:
    """One partition through time."""

    __slots__ = ("beliefs", "differ", "electorate", "last", "now", "rows", "words")

    def __init__(self, rows: Rows, electorate: Electorate, beliefs: list[Belief]) -> None:
        self.rows = rows
        self.electorate = electorate
        self.beliefs = beliefs
        self.words: dict[int, Word] = {}
        self.now: Belief | None = None
        self.differ = False
        self.last = NEVER

    def carry(self, row: int) -> None:
        carried = self.rows.carried[row]
        assert carried is not None
        self.now = carried
        self.beliefs.append(carried)

    def remember(self, row: int) -> None:
        rows = self.rows
        self.words[rows.broker_id[row]] = Word(
            row,
            rows.at[row],
            rows.present[row],
            rows.topic_id[row] if rows.present[row] else None,
            rows.epoch[row],
            rows.state[row],
        )
        self.last = max(self.last, rows.at[row])
        self.differ = self._differ()

    def hear(self, row: int) -> None:
        rows = self.rows
        time = rows.at[row]
        if self.differ:
            self._vote_between(time)
        broker = rows.broker_id[row]
        present = rows.present[row]
        self.words[broker] = Word(
            row, time, present, rows.topic_id[row] if present else None, rows.epoch[row], rows.state[row]
        )
        self.last = time
        self.differ = self._differ()
        self._vote(time)
        now = self.now
        if now is None or not present or now.since == time or rows.state[now.row] != rows.state[row]:
            return
        # Who was silent when it was told first learned it in its own time: that says nothing about propagation.
        if all(broker != teller for teller, _ in now.told) and broker in self.electorate.voters(now.first_reported_at):
            now.told.append((broker, time))

    def finish(self, end: int) -> None:
        if self.differ:
            self._vote_between(end + 1)

    def _differ(self) -> bool:
        words = self.words
        return len(words) > 1 and len({word.state for word in words.values()}) > 1

    def _vote_between(self, until: int) -> None:
        for time in self.electorate.between(self.last, until):
            self._vote(time)

    def _vote(self, time: int) -> None:
        word = vote(self.words, self.electorate.voters(time))
        now = self.now
        if word is None or word.row < 0:
            return
        rows = self.rows
        if now is None:
            if not word.present:
                return
        elif rows.present[now.row] == word.present and (not word.present or rows.state[now.row] == word.state):
            return
        self.now = self._next(word, time)
        self.beliefs.append(self.now)

    def _told(self, word: Word, before: Belief | None) -> list[tuple[int, int]]:
        """Who tells it just now, and since when, the first first."""
        # A broker that slept may have told long ago what has become true again: that was not about this time.
        floor = before.first_reported_at if before is not None else NEVER
        tellings = [
            (broker, other.since)
            for broker, other in self.words.items()
            if other.state == word.state and other.present == word.present and other.since >= floor
        ]
        return sorted(tellings, key=lambda telling: telling[1]) or [(self.rows.broker_id[word.row], word.since)]

    def _next(self, word: Word, time: int) -> Belief:
        rows, row, before = self.rows, word.row, self.now
        told = self._told(word, before) if len(self.words) > 1 else [(rows.broker_id[row], word.since)]
        belief = Belief(row, time, first_reported_at=told[0][1], reported_by=told[0][0], told=told)
        if before is None:
            old = -1
        else:
            before.until = time
            old = belief.before = before.row
            belief.was_ailing, belief.was_adding = before.ailing, before.adding
            belief.was_electing, belief.was_grown = before.electing, before.grown
            belief.was_known, belief.was_known_id = before.known, before.known_id
            belief.known, belief.known_id = before.known, before.known_id
        if not word.present:
            return belief
        belief.known, belief.known_id = True, rows.topic_id[row]
        same = old >= 0 and rows.present[old] and rows.topic_id[old] == rows.topic_id[row]
        replicas, isr = rows.replicas[row], rows.isr[row]
        adding: tuple[int, ...] = ()
        if same:
            assert before is not None
            belief.previous_leader = before.last_leader
            adding, belief.grown = before.adding, before.grown
            was = rows.replicas[old]
            if was != replicas:
                added = [replica for replica in replicas if replica not in was]
                adding = (*adding, *added)
                belief.grown = bool(added)
            if adding:
                adding = tuple(replica for replica in adding if replica in replicas and replica not in isr)
        belief.adding = adding
        leader = rows.leader[row]
        belief.last_leader = leader if leader >= 0 else belief.previous_leader
        if leader < 0 and same and rows.epoch[row] >= 0:
            assert before is not None
            led = rows.leader[old] >= 0 or before.electing
            belief.electing = led and rows.epoch[row] == rows.epoch[old]
        offline = rows.offline[row]
        if len(isr) < len(replicas) or offline:
            belief.ailing = tuple(
                replica for replica in replicas if replica in offline or (replica not in isr and replica not in adding)
            )
        return belief
