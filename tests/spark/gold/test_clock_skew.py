"""Comparison and correction of the clocks of pollers. Times are seconds, except in tests of `corrections`.

`test_incidents_of_recordings` checks the incidents of a skewed recording.
"""

from __future__ import annotations

import logging
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import pytest

from kwire.spark.gold.clock_skew import (
    PROPAGATION,
    Clocks,
    Difference,
    PollerClock,
    PollTimes,
    clocks_of_rows,
    compare,
    corrections,
    has_several_clocks,
)
from kwire.spark.store.record import reporter_key

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

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


def test_clocks_are_read_from_table() -> None:
    clocks = Clocks({clock(2): 3 * MINUTES, clock(-1, "a"): -MINUTES, clock(-1, "b"): 20 * MINUTES})
    columns = ("cluster_id", "broker_id", "at", "skew_ms", "corrected", "poller_id")
    rows = [dict(zip(columns, row, strict=True)) for row in clocks.rows(datetime(2026, 11, 21, tzinfo=UTC))]

    assert clocks_of_rows(rows).skew == {clock(2): 3 * MINUTES, clock(-1, "a"): -MINUTES}


def test_skew_beyond_bound_is_warned_about_and_not_corrected(caplog: pytest.LogCaptureFixture) -> None:
    clocks = Clocks({clock(2): -20 * MINUTES, clock(-1, "a"): 11 * MINUTES})

    with caplog.at_level(logging.WARNING):
        clocks.warn()

    assert not clocks.is_skewed
    assert "polls broker 2 of cluster 'c' is 1200 s behind the clock of most pollers, and at most 600 s" in caplog.text
    assert "the clock of poller 'a' of cluster 'c' is 660 s ahead" in caplog.text


@pytest.mark.parametrize(
    ("now", "before", "seconds"),
    [
        (180, 180, [-181, -179, 0, 1]),  # one correction for all rows
        (180, 0, [-181, 0.001, 0.18, 1]),  # rows of the window stay in the window, in their order
        (0, 180, [-1, -0.179, 180, 181]),  # and rows before it, before it
    ],
)
@pytest.mark.parametrize("poller", [None, "a"])
def test_every_row_is_in_one_window(
    now: int, before: int, seconds: list[float], poller: str | None, spark: SparkSession
) -> None:
    start = datetime(2026, 11, 21, 5, tzinfo=UTC)
    own = clock(2, poller)
    clocks = Clocks({own: now * SECOND}, {own: before * SECOND}, start)
    given = [start + timedelta(seconds=each) for each in (-1, 1, 180, 181)]
    others = [("c", 3, given[0], "", None), ("d", 2, given[0], "", poller), ("c", 2, given[0], "", "b")]
    rows = spark.createDataFrame(
        [*(("c", 2, at, "", poller) for at in given), *others],
        "cluster_id string, broker_id int, at timestamp, date string, poller_id string",
    )

    all_corrected = [row["at"].astimezone(UTC) for row in clocks.correct(rows, "at").collect()]
    corrected, of_others = all_corrected[: len(given)], all_corrected[len(given) :]

    assert of_others == [given[0]] * len(others)
    assert corrected == [start + timedelta(seconds=second) for second in seconds]
    assert [at >= start for at in corrected] == [at - timedelta(seconds=before) >= start for at in given]
