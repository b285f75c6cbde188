"""The trend of a lag, and its picture."""

from __future__ import annotations

import pytest

from kwire_admin.cli.shell.lag_history import KEPT, CommittedPartition, LagHistory, LagTrend, Offsets
from kwire_admin.cli.shell.lag_picture import BARS, PLAIN_BARS, lag_lines, readable_time, trend_bars

ORDERS = CommittedPartition("billing", "orders", 0, "brokers")


def trend(*samples: tuple[int | None, int | None], every: float = 1.0) -> LagTrend:
    """Return the trend after samples of committed offset and log end."""
    history = LagHistory()
    for index, sample in enumerate(samples):
        history.add(index * every, {ORDERS: Offsets(*sample)})
    [found] = history.trends()
    return found


def test_a_group_that_is_faster_than_the_producer_catches_up() -> None:
    found = trend((0, 100), (20, 110), (40, 120), every=2.0)
    assert (found.committed, found.end, found.lag) == (40, 120, 80)
    assert (found.consumed, found.change, found.catch_up) == (10.0, -5.0, 16.0)
    assert found.lags == (100, 90, 80)


@pytest.mark.parametrize(
    ("samples", "text"),
    [
        ([(0, 10), (1, 30)], "grows"),
        ([(0, 10), (20, 30)], "steady"),
        ([(0, 10), (30, 30)], "now"),
        ([(40, 30)], "now"),
        ([(0, 10)], "-"),
        ([(5, None), (6, None)], "-"),
        ([(None, 10), (None, 11)], "-"),
        ([(0, 600), (5, 600)], "2 min"),
    ],
)
def test_the_picture_says_when_a_group_has_caught_up(samples: list[tuple[int | None, int | None]], text: str) -> None:
    heading, line = lag_lines([trend(*samples)], BARS)
    assert line[heading.index("CAUGHT UP IN") :] == text


def test_a_reset_offset_begins_a_new_trend() -> None:
    found = trend((100, 200), (110, 200), (0, 200))
    assert (found.lag, found.change, found.catch_up, found.lags) == (200, None, None, (200,))


def test_partitions_that_are_gone_are_forgotten() -> None:
    history = LagHistory()
    other = ORDERS._replace(partition=1)
    history.add(0, {ORDERS: Offsets(1, 2), other: Offsets(1, 2)})
    history.add(1, {other: Offsets(1, 2)})
    assert [trend.partition for trend in history.trends()] == [1]


def test_a_trend_is_about_the_last_samples() -> None:
    found = trend(*((0, 1000) for _ in range(KEPT)), *((index, 1000) for index in range(KEPT)))
    assert len(found.lags) == KEPT
    assert found.change == -1.0


def test_bars_show_the_last_lags() -> None:
    assert trend_bars([0, 7, 14], BARS) == "▁▄█"
    assert trend_bars([0, 0], PLAIN_BARS) == "__"
    assert trend_bars([1000, 1050, 1100], BARS) == "▁▄█", "a lag that grows by a tenth is not flat"
    assert trend_bars([1000, 1000], BARS) == "██"
    assert trend_bars([], BARS) == ""
    assert trend_bars(range(100), PLAIN_BARS)[-1] == PLAIN_BARS[-1]
    assert len(trend_bars(range(100), BARS)) == 16


def test_the_picture_has_a_line_for_each_partition_and_their_sum() -> None:
    history = LagHistory()
    for index in range(2):
        unknown = ORDERS._replace(group="old", store="zookeeper")
        history.add(
            index, {ORDERS: Offsets(1000, 3000), ORDERS._replace(partition=1): Offsets(5, 6), unknown: Offsets(7, None)}
        )
    assert lag_lines(history.trends(), PLAIN_BARS) == [
        "GROUP    TOPIC   PART  COMMITTED  LOG END    LAG  TREND  LAG/S  CAUGHT UP IN  STORE",
        "billing  orders     0      1,000    3,000  2,000  @@      +0.0  steady        brokers",
        "billing  orders     1          5        6      1  @@      +0.0  steady        brokers",
        "old      orders     0          7        -      -             -  -             zookeeper",
        "",
        "2,001 messages behind in 2 partitions",
    ]


def test_times_are_readable() -> None:
    assert [readable_time(seconds) for seconds in (0.4, 59, 90, 7200, 200_000)] == [
        "0 s",
        "59 s",
        "2 min",
        "2 h",
        "2 d",
    ]
