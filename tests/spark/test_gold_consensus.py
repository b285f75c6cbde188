"""Which of several brokers is believed, told one word after the other. Times are seconds here."""

from __future__ import annotations

from dataclasses import dataclass, field

from kwire.spark.gold.consensus import CARRIED, VIEW, WORD, Belief, Electorate, Rows, believe

GONE = "gone"


@dataclass
class Told:
    """One word of a broker about partition t-0."""

    at: int
    broker: int
    leader: int | str = 1
    epoch: int = 0
    isr: list[int] = field(default_factory=lambda: [1, 2, 3])
    replicas: list[int] = field(default_factory=lambda: [1, 2, 3])
    topic_id: str | None = "A"
    role: int = WORD
    offline: list[int] = field(default_factory=list)

    @property
    def state(self) -> int:
        if self.leader == GONE:
            return 0
        return hash(
            (self.topic_id, self.leader, self.epoch, tuple(self.replicas), frozenset(self.isr), tuple(self.offline))
        )


ALWAYS = [(broker, 0, 1000) for broker in (1, 2, 3)]


def beliefs(
    *told: Told, periods: list[tuple[int, int, int]] = ALWAYS, end: int = 999, carried: Belief | None = None
) -> list[Belief]:
    rows = Rows(
        topic=["t"] * len(told),
        partition=[0] * len(told),
        role=[word.role for word in told],
        at=[word.at for word in told],
        broker_id=[word.broker for word in told],
        present=[word.leader != GONE for word in told],
        topic_id=[word.topic_id for word in told],
        leader=[word.leader if isinstance(word.leader, int) else -1 for word in told],
        epoch=[word.epoch for word in told],
        replicas=[word.replicas for word in told],
        isr=[word.isr for word in told],
        offline=[word.offline for word in told],
        state=[word.state for word in told],
        carried=[carried] * len(told),
    )
    return believe(rows, Electorate(periods, end), end)


def all_tell(at: int, **state: object) -> list[Told]:
    return [Told(at, broker, **state) for broker in (1, 2, 3)]  # type: ignore[arg-type] # fields of Told


def rows_of(found: list[Belief]) -> list[int]:
    return [belief.row for belief in found]


def test_what_all_tell_is_believed_since_most_of_them_told_it() -> None:
    (only,) = beliefs(Told(10, 1), Told(11, 2), Told(12, 3))
    assert (only.first_reported_at, only.reported_by, only.since, only.until) == (10, 1, 11, None)
    assert only.told == [(1, 10), (2, 11), (3, 12)]


def test_a_higher_leader_epoch_wins_against_a_majority() -> None:
    *_, last = beliefs(*all_tell(10), Told(20, 2, leader=3, epoch=1))
    assert (last.row, last.since) == (3, 20)


def test_a_woken_broker_that_repeats_an_older_epoch_is_not_believed() -> None:
    awake = [(1, 0, 1000), (3, 0, 1000), (2, 0, 15), (2, 40, 1000)]
    told = [*all_tell(10, leader=2), Told(20, 1, leader=1, epoch=1), Told(21, 3, leader=1, epoch=1)]
    found = beliefs(*told, Told(40, 2, leader=2, isr=[1, 2]), periods=awake)
    assert rows_of(found) == [0, 3]


def test_a_silent_broker_has_no_vote() -> None:
    silent = [(1, 0, 1000), (2, 0, 15), (3, 0, 15)]
    *_, last = beliefs(*all_tell(10), Told(20, 1, isr=[1]), periods=silent)
    assert (last.row, last.since) == (3, 20)


def test_the_last_words_of_a_silent_broker_keep_the_epoch_from_going_down() -> None:
    periods = [(1, 0, 25), (2, 0, 1000), (3, 0, 1000)]
    found = beliefs(*all_tell(10), Told(20, 1, leader=2, epoch=1), Told(30, 2, isr=[1, 2]), periods=periods)
    assert rows_of(found) == [0, 3]


def test_between_two_equals_the_newest_word_wins() -> None:
    two = [(1, 0, 1000), (2, 0, 1000)]
    found = beliefs(Told(10, 1), Told(10, 2), Told(20, 1, isr=[1, 2]), Told(30, 2, leader=GONE), periods=two)
    assert [(belief.row, belief.since) for belief in found] == [(0, 10), (2, 20), (3, 30)]


def test_a_topic_that_one_of_three_does_not_know_yet_is_there() -> None:
    found = beliefs(Told(10, 1), Told(11, 2), Told(12, 3, leader=GONE))
    assert rows_of(found) == [0]


def test_a_topic_made_anew_is_believed_though_its_epochs_begin_again() -> None:
    told = [*all_tell(10, epoch=7), *all_tell(20, leader=GONE), *all_tell(30, topic_id="B")]
    *_, gone, last = beliefs(*told)
    assert gone.since == 20
    assert (last.since, last.was_known, last.was_known_id, last.known_id) == (30, True, "A", "B")


def test_without_ids_a_lower_epoch_is_believed_when_most_tell_it() -> None:
    *_, last = beliefs(*all_tell(10, epoch=7, topic_id=None), *all_tell(30, topic_id=None))
    assert last.since == 30


def test_opinions_that_differ_are_voted_on_again_when_somebody_falls_silent() -> None:
    periods = [(1, 0, 50), (2, 0, 50), (3, 0, 1000)]
    *_, last = beliefs(*all_tell(10), Told(20, 3, isr=[1, 3]), periods=periods)
    assert (last.row, last.since) == (3, 50)


def test_replicas_that_are_being_added_are_not_missed() -> None:
    moving = {"replicas": [4, 5, 1, 2, 3], "epoch": 1}
    told = [*all_tell(10), *all_tell(20, **moving), *all_tell(30, isr=[1, 2, 3, 4], **moving)]
    done = all_tell(40, replicas=[4, 5], isr=[4, 5], leader=4, epoch=2)
    _, begun, one_there, over = beliefs(*told, *done)
    assert (begun.adding, begun.ailing, begun.grown) == ((4, 5), (), True)
    assert (one_there.adding, one_there.ailing) == ((5,), ())
    assert (over.adding, over.was_grown, over.grown) == ((), True, False)


def test_a_replica_that_fails_while_others_are_added_is_missed() -> None:
    moving = {"replicas": [4, 1, 2, 3], "epoch": 1}
    *_, last = beliefs(*all_tell(10), *all_tell(20, **moving), *all_tell(30, isr=[1, 2], **moving))
    assert (last.adding, last.ailing) == ((4,), (3,))


def test_no_leader_under_the_same_epoch_is_an_election_and_under_a_new_one_an_outage() -> None:
    told = [*all_tell(10), *all_tell(20, leader=-1), *all_tell(25, leader=-1, offline=[1])]
    _, first, second, third = beliefs(*told, *all_tell(30, leader=-1, epoch=1, offline=[1]))
    assert [belief.electing for belief in (first, second, third)] == [True, True, False]
    assert [belief.previous_leader for belief in (first, second, third)] == [1, 1, 1]


def test_a_walk_goes_on_from_what_was_believed() -> None:
    told = [*all_tell(10), *all_tell(20, isr=[1, 2]), *all_tell(30, isr=[1])]
    whole = beliefs(*told)
    views = [Told(20, broker, isr=[1, 2], role=VIEW) for broker in (1, 2, 3)]
    before = Belief(
        0, 20, first_reported_at=20, reported_by=1, told=[(1, 20)], last_leader=1, ailing=(3,), carried=True
    )
    rest = beliefs(Told(20, -1, isr=[1, 2], role=CARRIED), *views, *told[6:], carried=before)
    assert [(belief.since, belief.until, belief.ailing) for belief in rest] == [
        (belief.since, belief.until, belief.ailing) for belief in whole[1:]
    ]
    assert [belief.carried for belief in rest] == [True, False]


def test_who_was_silent_when_it_was_told_is_no_witness_of_how_fast_it_spread() -> None:
    periods = [(1, 0, 1000), (2, 0, 1000), (3, 0, 15), (3, 60, 1000)]
    told = [*all_tell(10), Told(20, 1, isr=[1, 2]), Told(21, 2, isr=[1, 2]), Told(60, 3, isr=[1, 2])]
    *_, last = beliefs(*told, periods=periods)
    assert last.told == [(1, 20), (2, 21)]
