"""How clocks of pollers are compared and corrected. Times are seconds, except in tests of `settle`.

`test_incidents_of_recordings` checks the incidents of a skewed recording.
"""

from __future__ import annotations

import logging
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import pytest

from kwire.spark.gold.clock_skew import PROPAGATION, Clocks, Difference, Responses, compare, settle

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SECOND = 1_000_000
MINUTES = 60 * SECOND
CHANGES = (11, 32, 54, 78)
"""When something changed."""


def polled(interval: float, *, skew: float = 0, phase: float = 0, failed: tuple[float, ...] = ()) -> dict[float, bool]:
    """Return the polls of a broker by the clock of its poller, and whether they failed."""
    times = [phase + interval * number for number in range(round(200 / interval))]
    return {time + skew: time in failed for time in times}


def found(*brokers: dict[float, bool]) -> list[Difference]:
    """Return the differences of brokers 1 and 2, which are polled so; the second is ahead by what its polls say."""
    polls = [
        (number, round(time * SECOND), failed)
        for number, each in enumerate(brokers, 1)
        for time, failed in each.items()
    ]
    skew = min(brokers[1]) // 60 * 60
    states = {
        number: {
            broker: round(min(time for time in each if time - (skew if broker == 2 else 0) >= at) * SECOND)
            for broker, each in enumerate(brokers, 1)
        }
        for number, at in enumerate(CHANGES)
    }
    return compare("c", states, Responses(polls))


def test_skew_is_what_most_changes_have_in_common() -> None:
    [difference] = found(polled(2), polled(2, skew=180, phase=0.5))

    assert (difference.reference, difference.broker_id, difference.changes) == (1, 2, 4)
    assert abs(difference.skew - 180 * SECOND) < SECOND
    assert difference.uncertainty == 2 * SECOND + PROPAGATION


def test_phase_of_rare_polls_is_not_a_skew() -> None:
    [difference] = found(polled(20), polled(20, phase=15))

    assert difference.skew == -5 * SECOND
    assert settle([difference], {}) == {}


def test_response_after_failed_poll_is_not_compared() -> None:
    failed = tuple(float(time) for time in range(0, 60, 2))

    assert found(polled(2), polled(2, failed=failed)) == []  # one change is left


def difference(reference: int, broker: int, skew: int, *, changes: int = 9) -> Difference:
    return Difference("c", reference, broker, skew, 3 * SECOND, changes)


def test_clock_of_most_brokers_is_right() -> None:
    ahead = [difference(1, 2, -3 * MINUTES), difference(1, 3, -3 * MINUTES + SECOND)]

    assert settle(ahead, {}) == {("c", 1): 3 * MINUTES}


def test_brokers_are_compared_through_others() -> None:
    chain = [difference(1, 2, SECOND), difference(2, 3, 3 * MINUTES), difference(3, 4, -3 * MINUTES)]

    assert settle(chain, {}) == {("c", 3): 3 * MINUTES + SECOND}


def test_skew_holds_until_it_is_contradicted() -> None:
    known = {("c", 2): 3 * MINUTES, ("other", 1): 5 * MINUTES}

    assert settle([], known) == known
    assert settle([difference(1, 2, 3 * MINUTES + SECOND)], known) == known
    assert settle([difference(1, 2, SECOND)], known) == {("other", 1): 5 * MINUTES}


def test_known_skew_decides_between_two_brokers() -> None:
    assert settle([difference(1, 2, 3 * MINUTES)], {("c", 1): -3 * MINUTES}) == {("c", 1): -3 * MINUTES}


def test_skew_beyond_bound_is_warned_about_and_not_corrected(caplog: pytest.LogCaptureFixture) -> None:
    clocks = Clocks({("c", 2): -20 * MINUTES})

    with caplog.at_level(logging.WARNING):
        clocks.warn()

    assert not clocks.is_skewed
    assert "broker 2 of cluster 'c' is 1200 s behind that of most brokers, and at most 600 s" in caplog.text


@pytest.mark.parametrize(
    ("now", "before", "seconds"),
    [
        (180, 180, [-181, -179, 0, 1]),  # one correction for all rows
        (180, 0, [-181, 0, 0, 1]),  # rows of the window stay in the window
        (0, 180, [-1, -1e-6, 180, 181]),  # and rows before it, before it
    ],
)
def test_every_row_is_in_one_window(now: int, before: int, seconds: list[float], spark: SparkSession) -> None:
    start = datetime(2026, 11, 21, 5, tzinfo=UTC)
    clocks = Clocks({("c", 2): now * SECOND}, {("c", 2): before * SECOND}, start)
    given = [start + timedelta(seconds=each) for each in (-1, 1, 180, 181)]
    rows = spark.createDataFrame(
        [("c", 2, at, "") for at in given], "cluster_id string, broker_id int, at timestamp, date string"
    )

    corrected = [row["at"].astimezone(UTC) for row in clocks.correct(spark, rows, "at").collect()]

    assert corrected == [start + timedelta(seconds=each) for each in seconds]
    assert [at >= start for at in corrected] == [at - timedelta(seconds=before) >= start for at in given]
