"""The times of polls while the system's clock is set. Times are seconds since `START`."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from random import Random

from kwire.client.poll import LONGEST_SLEW, PollClock

START = datetime(2026, 11, 21, 14, tzinfo=UTC)


class Clocks:
    """A system's clock that can be set, and a steady one."""

    def __init__(self) -> None:
        self.wall, self.steady = START, 1000.0

    def advance(self, seconds: float, *, step: float = 0) -> None:
        self.steady += seconds
        self.wall += timedelta(seconds=seconds + step)

    def poll_clock(self) -> PollClock:
        return PollClock(lambda: self.wall, lambda: self.steady)


def read(clock: PollClock) -> tuple[float, float | None]:
    time, step = clock.read()
    return (time - START).total_seconds(), None if step is None else step / 1e6


def test_time_comes_from_the_system_clock() -> None:
    clocks = Clocks()
    clock = clocks.poll_clock()

    for seconds in (1, 3, 3.1):
        clocks.advance(seconds - (clocks.wall - START).total_seconds())
        assert read(clock) == (seconds, None)


def test_clock_that_is_set_back_is_reported_once_and_waited_for() -> None:
    clocks = Clocks()
    clock = clocks.poll_clock()
    clocks.advance(100)
    assert read(clock) == (100, None)

    times = []
    for number in range(12):
        clocks.advance(2, step=-10 if number == 0 else 0)
        times.append(read(clock))

    assert [step for _, step in times] == [-10] + [None] * 11
    # At half the speed until the system's clock has caught up, 20 seconds later.
    assert [time for time, _ in times] == [101, 102, 103, 104, 105, 106, 107, 108, 109, 110, 112, 114]


def test_clock_that_is_set_forward_is_followed() -> None:
    clocks = Clocks()
    clock = clocks.poll_clock()

    clocks.advance(1, step=60)

    assert read(clock) == (61, 60)
    clocks.advance(1)
    assert read(clock) == (62, None)


def test_drift_is_not_a_step() -> None:
    clocks = Clocks()
    clock = clocks.poll_clock()

    for _ in range(100):
        clocks.advance(1, step=-0.2)
        assert read(clock)[1] is None


def test_time_of_an_earlier_moment_is_as_long_before() -> None:
    clocks = Clocks()
    clock = clocks.poll_clock()
    clocks.advance(10)
    clock.read()
    clocks.advance(1, step=-5)
    received = clocks.wall - timedelta(seconds=0.25)

    time, _ = clock.read(received)

    assert time == START + timedelta(seconds=10.5 - 0.25)


def test_times_never_go_back_and_are_right_in_the_end_for_random_steps() -> None:
    chance = Random(21)
    for _ in range(100):
        clocks = Clocks()
        clock = clocks.poll_clock()
        last = clock.read()[0]
        for _ in range(100):
            clocks.advance(chance.expovariate(1), step=chance.choice((0, 0, 0, chance.uniform(-20, 20))))
            time = clock.read()[0]
            assert time >= max(last, clocks.wall)
            last = time
        clocks.advance(5000)
        assert clock.read()[0] == clocks.wall


def test_clock_that_was_far_ahead_is_followed_back_at_once() -> None:
    for ahead in (200, 3_600, 86_400, 3_650 * 86_400):
        clocks = Clocks()
        clock = clocks.poll_clock()
        clocks.advance(1, step=ahead)
        assert read(clock) == (1 + ahead, ahead)

        clocks.advance(60, step=-ahead)

        assert read(clock) == (61, -ahead)
        clocks.advance(1)
        assert read(clock) == (62, None)


def test_polls_are_never_far_ahead_of_the_system_clock() -> None:
    chance = Random(22)
    clocks = Clocks()
    clock = clocks.poll_clock()
    for _ in range(1000):
        clocks.advance(
            chance.expovariate(1), step=chance.choice((0, 0, chance.uniform(-1, 1) * 10 ** chance.uniform(0, 6)))
        )

        assert timedelta(0) <= clock.read()[0] - clocks.wall <= LONGEST_SLEW
