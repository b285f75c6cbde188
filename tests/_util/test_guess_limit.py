"""The limit on wrong secrets, with a clock of its own."""

from __future__ import annotations

import asyncio

from kwire._util.guess_limit import NAMES, GuessLimit


class Clock:
    """A clock that tests advance."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def test_wrong_secrets_are_forgotten_one_by_one() -> None:
    clock = Clock()
    limit = GuessLimit(burst=3, seconds=2.0, clock=clock)
    for _ in range(3):
        assert limit.wait("a") == 0
        limit.add("a")
    assert (limit.wait("a"), limit.wait("b")) == (2, 0)
    clock.now += 2.0
    assert limit.wait("a") == 0
    limit.add("a")
    assert limit.wait("a") == 2
    clock.now += 100.0
    for _ in range(3):
        limit.add("a")
    assert limit.wait("a") == 2


def test_number_of_names_is_limited() -> None:
    limit = GuessLimit(burst=1, seconds=60.0, clock=Clock())
    for number in range(NAMES + 1):
        limit.add(str(number))
    assert (limit.wait("0"), limit.wait("1")) == (0, 60)


async def test_results_take_turns_in_order_and_who_leaves_has_none() -> None:
    clock = Clock()
    limit = GuessLimit(burst=2, seconds=1.0, clock=clock, turn_seconds=0.001)
    revealed: list[str] = []

    async def reveal(name: str, result: str) -> None:
        await limit.turn(name)
        revealed.append(result)

    for _ in range(2):
        await limit.turn("a")
        limit.add("a")
    turns = [asyncio.create_task(reveal("a", result)) for result in ("wrong", "left", "right", "last")]
    await asyncio.sleep(0)
    await reveal("b", "elsewhere")
    assert revealed == ["elsewhere"], "another name does not wait"
    turns[1].cancel()
    await asyncio.gather(*turns, return_exceptions=True)
    assert revealed == ["elsewhere", "wrong", "right", "last"]
    clock.now += 1.0
    await reveal("a", "at once")
