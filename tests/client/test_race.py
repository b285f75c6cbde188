"""Attempts that start one after the other: the first that succeeds counts, and nothing of the others is left."""

from __future__ import annotations

import asyncio
from functools import partial
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kwire.client.race import first_success
from kwire.testing import SimulatedNetwork

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

DELAY = 1.0


class Racers:
    """Attempts that end after some seconds, with their number or an error.

    Attributes:
        ended: the number of attempts that have ended, were cancelled, or were discarded.
    """

    def __init__(self, plans: list[tuple[float, bool]]) -> None:
        self.plans = plans
        self.started: dict[int, float] = {}
        self.ended = 0

    async def run(self, number: int) -> int:
        self.started[number] = asyncio.get_running_loop().time()
        seconds, succeeds = self.plans[number]
        try:
            await asyncio.sleep(seconds)
        finally:
            self.ended += 1
        if not succeeds:
            raise LookupError(number)
        return number

    @property
    def attempts(self) -> list[Callable[[], Coroutine[None, None, int]]]:
        return [partial(self.run, number) for number in range(len(self.plans))]


PLANS = st.lists(st.tuples(st.sampled_from([0.0, 0.3, 0.9, 1.7, 50.0]), st.booleans()), min_size=1, max_size=5)


@given(PLANS)
def test_first_result_counts_and_arrives_as_early_as_it_can(plans: list[tuple[float, bool]]) -> None:
    network, racers = SimulatedNetwork(), Racers(plans)

    async def race() -> tuple[int | LookupError, float]:
        begun = network.loop.time()
        try:
            result: int | LookupError = await first_success(racers.attempts, DELAY)
        except LookupError as error:
            result = error
        return result, network.loop.time() - begun

    winner, seconds = network.run(race())
    assert racers.ended == len(racers.started), "every attempt that was started has ended"
    possible = [number for number, (_, succeeds) in enumerate(plans) if succeeds]
    if isinstance(winner, LookupError):
        assert winner.args == (0,), "the preferred attempt says why"
        assert not possible
    else:
        # Each attempt before it costs the delay at most, as long as it is silent.
        assert seconds <= min(number * DELAY + plans[number][0] for number in possible) + 0.01


def test_final_error_ends_the_race_and_progress_delays_the_next_attempt() -> None:
    network = SimulatedNetwork()
    final, slow = Racers([(0.1, False), (0.0, True)]), Racers([(2.5, True), (0.0, True)])
    with pytest.raises(LookupError):
        network.run(first_success(final.attempts, DELAY, is_final=lambda _: True))
    assert list(final.started) == [0]
    network = SimulatedNetwork()
    assert network.run(first_success(slow.attempts, DELAY, is_progressing=lambda: True)) == 0
    assert list(slow.started) == [0]


def test_second_result_is_discarded_and_no_attempt_is_an_error() -> None:
    discarded: list[int] = []
    racers = Racers([(1.5, True), (0.5, True)])  # both end at the same time
    winner = SimulatedNetwork().run(first_success(racers.attempts, DELAY, discard=discarded.append))
    assert sorted([winner, *discarded]) == [0, 1]
    with pytest.raises(ValueError, match="needs an attempt"):
        SimulatedNetwork().run(first_success([], DELAY))
