"""Shares of an event loop: even among active addresses, and among the connections of one address."""

from __future__ import annotations

import asyncio
import gc
import weakref
from time import perf_counter

import pytest

from kwire.cluster import loop_shares
from kwire.cluster.loop_shares import ConnectionShare, LoopShares, Measured
from tests.eventually import eventually


async def work(share: ConnectionShare, seconds: float, until: float) -> float:
    """Use the loop for `seconds` at a time, and return how long it was used."""
    loop = asyncio.get_running_loop()
    used = 0.0
    while loop.time() < until:
        share.arrived(loop.time())
        share.begin_step()
        began = now = perf_counter()
        while now < began + seconds:
            now = perf_counter()
        used += now - began  # longer than `seconds` if the system ran something else
        await share.wait_due()
    return used


async def used(*members: tuple[str, float]) -> list[float]:
    """Return the part of the time that each member gets; members are addresses, with the length of their turns.

    On a busy machine the system may stop one of them for longer than its share, so tests try again: without shares,
    the member with the longest turns or the most connections gets most of the time whenever it is measured.
    """
    shares = LoopShares.of_loop()
    until = asyncio.get_running_loop().time() + 1
    times = await asyncio.gather(*(work(shares.connection(address), seconds, until) for address, seconds in members))
    return [time / sum(times) for time in times]


async def test_address_with_long_turns_gets_no_more_than_others() -> None:
    async def is_fair() -> bool:
        greedy, *others = await used(("10.0.0.1", 0.02), *((f"10.0.0.{number}", 0.001) for number in range(2, 6)))
        return greedy < 0.4 and min(others) > 0.1

    fair: bool = await eventually(is_fair)
    assert fair


async def test_address_with_many_connections_gets_no_more_than_others() -> None:
    async def is_fair() -> bool:
        *greedy, other = await used(*[("10.0.0.1", 0.005)] * 8, ("10.0.0.2", 0.001))
        return sum(greedy) < 0.75 and other > 0.25

    fair: bool = await eventually(is_fair)
    assert fair


async def test_connection_with_long_turns_leaves_time_to_others_of_its_address() -> None:
    async def is_fair() -> bool:
        greedy, *others = await used(("10.0.0.1", 0.02), *[("10.0.0.1", 0.001)] * 3)
        return greedy < 0.5 and min(others) > 0.1

    fair: bool = await eventually(is_fair)
    assert fair


async def test_nothing_waits_without_others() -> None:
    share = LoopShares.of_loop().connection("10.0.0.1")
    share.arrived(asyncio.get_running_loop().time())
    share.used = 1.0
    share.settle(asyncio.get_running_loop().time())
    assert share.is_due(asyncio.get_running_loop().time() + 0.001)


async def test_debts_outlast_connections() -> None:
    shares, now = LoopShares.of_loop(), asyncio.get_running_loop().time()
    others = [shares.connection("10.0.0.2"), shares.connection("10.0.0.1")]
    for other in others:
        other.arrived(now)
    others[1].used = 1.0
    others[1].settle(now)
    del others[1]
    assert not shares.connection("10.0.0.1").is_due(now)
    assert shares.connection("10.0.0.2").is_due(now)


async def test_who_waits_continues_once_the_loop_is_idle(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loop_shares, "LONGEST_WAIT", 1e6)
    shares, now = LoopShares.of_loop(), asyncio.get_running_loop().time()
    greedy, other = shares.connection("10.0.0.1"), shares.connection("10.0.0.2")
    greedy.arrived(now)
    other.arrived(now)
    greedy.used = 1e6
    greedy.settle(now)
    assert not greedy.is_due(now)
    await asyncio.wait_for(greedy.wait_due(), 60)  # the debt alone would last for days


async def test_refusals_of_one_address_are_spaced() -> None:
    shares = LoopShares.of_loop()
    delays = [shares.connection("10.0.0.1").refusal_delay(0.1) for _ in range(3)]
    assert delays == sorted(delays)
    assert delays[0] < shares.connection("10.0.0.2").refusal_delay(0.1) + 0.1 < delays[2]


async def test_steps_of_a_task_are_charged() -> None:
    share = LoopShares.of_loop().connection("10.0.0.1")
    used = 0.0

    async def computing() -> str:
        nonlocal used
        for _ in range(3):
            began = now = perf_counter()
            while now < began + 0.01:
                now = perf_counter()
            used += now - began
            await asyncio.sleep(0.3)
        return "done"

    assert await asyncio.create_task(Measured(computing(), share)) == "done"
    assert used <= share.used < used + 0.3, "pauses are not charged"

    async def failing() -> None:
        await asyncio.sleep(0)
        raise ValueError("expected")

    with pytest.raises(ValueError, match="expected"):
        await asyncio.create_task(Measured(failing(), share))
    waiting = asyncio.create_task(Measured(asyncio.sleep(100), share))
    await asyncio.sleep(0)
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting


async def test_canceled_task_keeps_nothing_alive() -> None:
    """Messages of canceled requests stayed in memory until a collection of garbage."""

    class Request:
        pass

    async def answer(request: Request) -> None:
        await asyncio.sleep(100)
        del request

    request = Request()
    alive = weakref.ref(request)
    task = asyncio.create_task(Measured(answer(request), LoopShares.of_loop().connection("10.0.0.1")))
    del request
    await asyncio.sleep(0)
    gc.disable()
    try:
        task.cancel()
        await asyncio.wait([task])
        del task
        await asyncio.sleep(0)
        assert alive() is None
    finally:
        gc.enable()
