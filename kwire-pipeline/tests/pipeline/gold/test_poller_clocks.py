"""The clocks of pollers, and rows of silver at the times of the right clock."""

from __future__ import annotations

import logging
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import pytest

from kwire_pipeline.gold.poller_clocks import Clocks, PollerClock, clocks_of_rows

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.nightly

SECOND = 1_000_000
MINUTES = 60 * SECOND


def clock(broker: int, poller: str | None = None) -> PollerClock:
    return PollerClock.of("c", poller, broker)


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
