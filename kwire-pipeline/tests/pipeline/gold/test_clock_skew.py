"""Comparison and correction of the clocks of pollers. Times are seconds, except in tests of `corrections`.

`test_incidents_of_recordings` checks the incidents of a skewed recording.
"""

from __future__ import annotations

import pytest

from kwire_pipeline.gold.clock_skew import (
    PROPAGATION,
    Difference,
    PollTimes,
    compare,
    corrections,
    has_several_clocks,
)
from kwire_pipeline.gold.poller_clocks import PollerClock
from kwire_pipeline.store.record import reporter_key

SECOND = 1_000_000
MINUTES = 60 * SECOND
CHANGES = (11, 32, 54, 78)
"""Times of changes."""


def polled(interval: float, *, skew: float = 0, phase: float = 0, failed: tuple[float, ...] = ()) -> dict[float, bool]:
    """Return the polls of a broker by the clock of its poller, and whether they failed."""
    times = [phase + interval * number for number in range(round(200 / interval))]
    return {time + skew: time in failed for time in times}


def clock(broker: int, poller: str | None = None, cluster: str = "c") -> PollerClock:
    return PollerClock.of(cluster, poller, broker)


def found(*brokers: dict[float, bool], pollers: tuple[str | None, str | None] = (None, None)) -> list[Difference]:
    """Return the differences of brokers 1 and 2, which are polled so; the second is ahead by what its polls say."""
    polls = [
        (pollers[number - 1], number, round(time * SECOND), failed)
        for number, each in enumerate(brokers, 1)
        for time, failed in each.items()
    ]
    skew = min(brokers[1]) // 60 * 60
    states = {
        number: {
            (pollers[broker - 1], broker): round(
                min(time for time in each if time - (skew if broker == 2 else 0) >= at) * SECOND
            )
            for broker, each in enumerate(brokers, 1)
        }
        for number, at in enumerate(CHANGES)
    }
    return compare("c", states, PollTimes(polls))


def test_skew_is_what_most_changes_have_in_common() -> None:
    [difference] = found(polled(2), polled(2, skew=180, phase=0.5))

    assert (difference.reference, difference.clock, difference.changes) == (clock(1), clock(2), 4)
    assert abs(difference.skew - 180 * SECOND) < SECOND
    assert difference.uncertainty == 2 * SECOND + PROPAGATION


def test_phase_of_rare_polls_is_not_a_skew() -> None:
    [difference] = found(polled(20), polled(20, phase=15))

    assert difference.skew == -5 * SECOND
    assert corrections([difference], {}) == {}


def test_response_after_failed_poll_is_not_compared() -> None:
    failed = tuple(float(time) for time in range(0, 60, 2))

    assert found(polled(2), polled(2, failed=failed)) == []  # one change is left


def test_broker_polled_by_known_poller_has_clock_of_poller() -> None:
    [difference] = found(polled(2), polled(2, skew=180, phase=0.5), pollers=("a", "b"))

    assert (difference.reference, difference.clock) == (clock(-1, "a"), clock(-1, "b"))
    assert abs(difference.skew - 180 * SECOND) < SECOND
    assert found(polled(2), polled(2, skew=180), pollers=("a", "a")) == []  # one clock cannot differ from itself


def difference(reference: int, broker: int, skew: int, *, changes: int = 9) -> Difference:
    return Difference(clock(reference), clock(broker), skew, 3 * SECOND, changes)


def test_clock_of_most_brokers_is_right() -> None:
    ahead = [difference(1, 2, -3 * MINUTES), difference(1, 3, -3 * MINUTES + SECOND)]

    assert corrections(ahead, {}) == {clock(1): 3 * MINUTES}


def test_cluster_has_several_clocks_if_pollers_differ_or_are_unknown() -> None:
    def reporters(*pollers: str | None, cluster: str = "c") -> list[str]:
        return [reporter_key(cluster, number, "", poller) for number, poller in enumerate(pollers)]

    assert not has_several_clocks([*reporters("a", "a"), *reporters("b", "b", cluster="d")])
    assert not has_several_clocks(reporters(None))
    assert has_several_clocks(reporters("a", "b"))
    assert has_several_clocks(reporters(None, None))
    assert has_several_clocks(reporters("a", None))
    assert not has_several_clocks(reporters(None, None, cluster=""))  # has reported no changes


@pytest.mark.parametrize("middle", [1, 2, 3])
def test_median_is_right_if_all_clocks_differ(middle: int) -> None:
    first, last = sorted({1, 2, 3} - {middle})
    offsets = {first: 5 * MINUTES, middle: 0, last: -5 * MINUTES}
    measured = [difference(1, broker, offsets[broker] - offsets[1]) for broker in (2, 3)]

    assert corrections(measured, {}) == {clock(first): 5 * MINUTES, clock(last): -5 * MINUTES}


def test_of_two_pollers_the_more_frequent_is_right() -> None:
    rare, frequent = polled(5), polled(0.5, skew=60)

    measured = found(rare, frequent, pollers=("a", "b"))

    assert list(corrections(measured, {})) == [clock(-1, "a")]


def test_brokers_are_compared_through_others() -> None:
    chain = [difference(1, 2, SECOND), difference(2, 3, 3 * MINUTES), difference(3, 4, -3 * MINUTES)]

    assert corrections(chain, {}) == {clock(3): 3 * MINUTES + SECOND}


def test_skew_holds_until_it_is_contradicted() -> None:
    other = PollerClock("other", "poller", -1)
    known = {clock(2): 3 * MINUTES, other: 5 * MINUTES}

    assert corrections([], known) == known
    assert corrections([difference(1, 2, 3 * MINUTES + SECOND)], known) == known
    assert corrections([difference(1, 2, SECOND)], known) == {other: 5 * MINUTES}


def test_known_skew_decides_between_two_brokers() -> None:
    known = {clock(1): -3 * MINUTES}

    assert corrections([difference(1, 2, 3 * MINUTES)], known) == known


def test_difference_is_the_same_after_it_was_sent_to_the_driver() -> None:
    measured = Difference(clock(1), clock(-1, "a"), -7, 3, 4)

    assert Difference.of(measured.to_row()) == measured
