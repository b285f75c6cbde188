"""Polls with the time of a wrong clock are kept aside, and polls that are late, rare, or first are not."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import pairwise
from random import Random

import pytest

from kwire.capture import Row
from kwire.capture.rows import RowKind
from kwire.metadata.timestamps import microseconds
from kwire_pipeline.gold.build import _windows
from kwire_pipeline.ingest.clock_faults import ANY_TIME, ClockFaults
from kwire_pipeline.ingest.ingest_report import IngestReport
from kwire_pipeline.ingest.resume_points import BEGINNING

START = datetime(2026, 11, 21, 14, tzinfo=UTC)
YEAR = 365 * 86_400


def poll(second: float) -> Row:
    return Row(
        START + timedelta(seconds=second), 1, "b1:9092", api_key=3, api_version=12, cluster_id="c", kind=RowKind.FULL
    )


def at(second: float) -> int:
    return microseconds(START + timedelta(seconds=second))


def found(
    seconds: list[float], progress: dict[str, object] | None = None, latest: int = ANY_TIME, *, bounded: bool = False
) -> list[float]:
    """Return the seconds of the polls that are kept aside; all others are yielded in order."""
    faults = ClockFaults(progress or {}, latest, is_bounded=bounded)
    kept = [(row.polled_at - START).total_seconds() for row in faults.plausible(map(poll, sorted(seconds)))]
    aside = sorted((row.polled_at - START).total_seconds() for row in faults.found)
    assert kept == sorted(kept)
    assert sorted([*kept, *aside]) == sorted(seconds)
    return aside


def starts(until: int) -> list[dict[str, object]]:
    return [{"after": BEGINNING, "until": until, "state": ""}]


def test_one_wrong_poll_of_a_random_distance_is_kept_aside() -> None:
    chance = Random(40)
    for _ in range(300):
        interval = chance.choice((0.5, 1, 5, 60))
        polls = [number * interval for number in range(chance.randrange(30, 200))]
        distance = max(310, 101 * interval) * chance.uniform(1, 1000)
        wrong = round(chance.choice((-distance, polls[-1] + distance)))
        faults = [wrong + number / 2 for number in range(chance.randrange(1, 4))]

        assert found([*polls, *faults]) == faults


@pytest.mark.parametrize(
    "seconds",
    [
        [0.0],
        [0.0, 86_400.0, 2 * 86_400.0],
        [day * 86_400.0 + second for day in range(12) for second in (0, 60)],
        [*map(float, range(100)), *(86_400.0 + second for second in range(100))],
        [*map(float, range(100)), 250.0],
        [*(3_600.0 * hour for hour in range(100)), 90.0 * 3_600 + 1],
        [0.0, 1.0, 10.0, 600.0, *(3_600.0 + 20 * number for number in range(100))],
        [*(20.0 * number for number in range(100)), *(7_200.0 + 3_600 * number for number in range(5))],
    ],
)
def test_rare_and_interrupted_polls_are_not(seconds: list[float]) -> None:
    assert found(seconds) == []


def test_poll_after_its_arrival_is_kept_aside_while_others_arrive_as_they_are_made() -> None:
    live = {"last": at(0), "starts": starts(at(-60))}
    assert found([86_400.0, 86_401.0], live, at(600), bounded=True) == [86_400.0, 86_401.0]
    assert found([1.0, 2.0, 86_400.0 * 3_650], live, at(600), bounded=True) == [86_400.0 * 3_650]
    # A driver whose clock is behind: nothing arrives as it is made.
    assert found([86_400.0, 86_401.0], {"last": at(86_399), "starts": []}, at(600)) == []


def test_late_poll_of_a_kept_day_is_ingested_and_one_of_long_ago_is_not() -> None:
    live = {"last": at(0), "starts": starts(at(-86_400))}
    new = [float(second) for second in range(1, 30)]
    assert found([-7_200.0, *new], live) == []
    assert found([-160 * 86_400.0, *new], live) == [-160 * 86_400.0]
    assert found([-160 * 86_400.0], live) == []  # nothing shows the interval of its poller


def test_poll_that_was_kept_aside_stays_aside() -> None:
    assert found([0.0, 1.0, 2.0], {"aside": [at(1)]}) == [1.0]


def test_report_names_polls_that_are_kept_aside() -> None:
    text = str(IngestReport(outside=[f"poll {number}" for number in range(12)]))

    assert "kept aside: poll 0\n" in text
    assert text.endswith("and 2 more kept aside")


def test_windows_do_not_depend_on_the_time_without_polls() -> None:
    for years in (0.01, 1, 100):
        later = START + timedelta(seconds=years * YEAR)
        polled = [(START, START + timedelta(hours=1)), (later, later + timedelta(hours=1))]

        windows = _windows(None, START, later + timedelta(hours=1), polled)

        assert len(windows) <= 3
        assert windows[0][0] is None
        assert all(first[1] == second[0] for first, second in pairwise(windows))
        assert windows[-1][1] > later


def test_windows_of_days_with_polls_are_days() -> None:
    days = [START + timedelta(days=day) for day in range(5)]
    polled = [(day - timedelta(hours=14), day + timedelta(hours=10)) for day in days]

    assert [stop for _, stop in _windows(None, days[0], days[4], polled)] == [day + timedelta(days=1) for day in days]
