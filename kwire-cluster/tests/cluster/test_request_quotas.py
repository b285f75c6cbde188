"""Request-time quotas: an even share of the loop for each active client, on a clock of the test."""

from __future__ import annotations

import asyncio
import gc
import weakref
from functools import partial
from typing import TYPE_CHECKING

import pytest

from kwire_cluster import request_quotas
from kwire_cluster.request_quotas import Account, RequestQuotas, current_account
from tests.eventually import eventually

if TYPE_CHECKING:
    from collections.abc import Mapping


class Clock:
    """A clock that only moves when something is said to take time."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def never_idle(monkeypatch: pytest.MonkeyPatch) -> None:
    """A client over its quota is throttled even if the loop is idle."""
    monkeypatch.setattr(request_quotas, "IDLE_LOAD", 0.0)


def usage(clock: Clock, request_seconds: Mapping[str, float], seconds: float = 20.0) -> dict[str, float]:
    """Return the fraction of the loop that each client gets if all send one request after another.

    Args:
        clock: the clock of the test.
        request_seconds: the time that one request of each client takes.
        seconds: the time to simulate.
    """
    quotas = RequestQuotas(clock)
    used = dict.fromkeys(request_seconds, 0.0)
    accounts = {client: quotas.account(client) for client in request_seconds}
    end = clock.now + seconds
    while clock.now < end:
        clock.now += 0.0001  # an iteration of the loop
        for client, duration in request_seconds.items():
            if not accounts[client].is_throttled:
                clock.now += duration
                accounts[client].charge(duration)
                used[client] += duration
    total = sum(used.values())
    return {client: time / total for client, time in used.items()}


def test_client_with_long_requests_gets_no_more_than_others(clock: Clock) -> None:
    for long_request in (0.005, 0.05, 0.3, 1.0):
        shares = usage(clock, {"long": long_request, "a": 0.001, "b": 0.001, "c": 0.001, "d": 0.001})
        assert shares["long"] < 0.3, f"requests of {long_request} s"
        assert min(shares.values()) > 0.1


def test_client_that_is_alone_is_never_throttled(clock: Clock) -> None:
    account = RequestQuotas(clock).account("10.0.0.1")
    for _ in range(1000):
        clock.now += 0.1
        account.charge(0.3)  # with estimates, for example of opening a connection
        assert not account.is_throttled


def test_quota_is_an_even_share_of_the_active_clients(clock: Clock, never_idle: None) -> None:
    del never_idle
    for others in (1, 2, 4, 15):
        quotas = RequestQuotas(clock)
        for number in range(others):
            quotas.account(f"10.0.1.{number}").charge(0.001)
        account = quotas.account("10.0.0.1")
        clock.now += 0.1
        account.charge(0.1)
        throttle = account.throttled_until - clock.now
        # KIP-124: usage / (usage + throttle time) is the quota, but for the burst.
        assert throttle + request_quotas.BURST_SECONDS == pytest.approx(others * 0.1)
        clock.now += throttle + 0.001
        assert not account.is_throttled


def test_clients_that_were_active_before_a_long_request_count(clock: Clock) -> None:
    """While one request occupies the loop, others cannot be charged."""
    quotas = RequestQuotas(clock)
    quotas.account("10.0.0.2").charge(0.001)
    account = quotas.account("10.0.0.1")
    clock.now += 10 * request_quotas.ACTIVE_SECONDS
    account.charge(10 * request_quotas.ACTIVE_SECONDS)
    assert account.throttled_until > clock.now


def test_short_peaks_are_within_the_burst_allowance(clock: Clock, never_idle: None) -> None:
    del never_idle
    quotas = RequestQuotas(clock)
    quotas.account("10.0.0.2").charge(0.001)
    account = quotas.account("10.0.0.1")
    clock.now += request_quotas.BURST_SECONDS / 2
    account.charge(request_quotas.BURST_SECONDS / 2)
    assert not account.is_throttled


def test_throttled_client_continues_once_the_loop_is_idle(clock: Clock) -> None:
    quotas = RequestQuotas(clock)
    other, account = quotas.account("10.0.0.2"), quotas.account("10.0.0.1")
    other.charge(0.001)
    clock.now += 1.0
    account.charge(1.0)
    assert account.is_throttled
    clock.now += 2 * request_quotas.CHECK_SECONDS
    other.charge(request_quotas.CHECK_SECONDS)
    assert account.is_throttled, "the loop is busy"
    clock.now += 2 * request_quotas.CHECK_SECONDS
    assert not account.is_throttled, "the loop was idle"


def test_usage_outlasts_connections(clock: Clock) -> None:
    quotas = RequestQuotas(clock)
    quotas.account("10.0.0.2").charge(0.001)
    clock.now += 1.0
    quotas.account("10.0.0.1").charge(1.0)
    gc.collect()
    assert quotas.account("10.0.0.1").throttled_until > clock.now
    assert quotas.account("10.0.0.2").throttled_until <= clock.now
    assert quotas.account("10.0.0.1", "User:other").throttled_until <= clock.now, "users of an address"


def test_accounts_without_connections_are_forgotten(clock: Clock) -> None:
    """An attacker with many addresses must not fill the memory."""
    quotas = RequestQuotas(clock)
    first = weakref.ref(quotas.account("first"))
    for number in range(request_quotas.MAX_ACCOUNTS + 1):
        quotas.account(str(number)).charge(0.001)
    account = first()
    if account is not None:
        account.charge(0.001)
    del account
    for number in range(request_quotas.MAX_ACCOUNTS + 1):
        quotas.account(str(number)).charge(0.001)
    gc.collect()
    assert first() is None


async def test_waiting_work_of_a_client_resumes_one_by_one(never_idle: None) -> None:
    """A client with 1,000 connections would otherwise resume 1,000 requests at once."""
    del never_idle
    clock = Clock()
    quotas = RequestQuotas(clock)
    other, account = quotas.account("10.0.0.2"), quotas.account("10.0.0.1")
    resumed: list[int] = []

    def work(number: int) -> None:
        resumed.append(number)
        other.charge(0.001)
        clock.now += 0.1  # `call_when_allowed` charges it

    def has_resumed(count: int) -> bool:
        return len(resumed) == count

    other.charge(0.001)
    clock.now += 0.1
    account.charge(0.1)
    for number in range(3):
        account.call_when_allowed(partial(work, number))
    for count in (1, 2, 3):
        await asyncio.sleep(2 * request_quotas.CHECK_SECONDS)
        assert len(resumed) == count - 1
        clock.now = account.throttled_until + 0.001
        await eventually(partial(has_resumed, count))
    assert resumed == [0, 1, 2], "the work that waited longest is first"


async def test_steps_of_a_task_are_charged_without_its_pauses() -> None:
    clock = Clock()
    charged: list[float] = []

    class Recorded(Account):
        def charge(self, seconds: float) -> None:
            charged.append(seconds)

    recorded = Recorded(RequestQuotas(clock))

    async def computing() -> str:
        assert current_account.get() is recorded
        for _ in range(3):
            clock.now += 0.01
            await asyncio.sleep(0)
            clock.now += 0.02
        return "done"

    assert await asyncio.create_task(recorded.process(computing())) == "done"
    assert sum(charged) == pytest.approx(0.09)

    async def failing() -> None:
        await asyncio.sleep(0)
        raise ValueError("expected")

    with pytest.raises(ValueError, match="expected"):
        await asyncio.create_task(recorded.process(failing()))


async def test_canceled_task_keeps_nothing_alive() -> None:
    """Messages of canceled requests stayed in memory until a collection of garbage."""

    class Request:
        pass

    async def answer(request: Request) -> None:
        await asyncio.sleep(100)
        del request

    request = Request()
    alive = weakref.ref(request)
    task = asyncio.create_task(RequestQuotas().account("10.0.0.1").process(answer(request)))
    del request
    await asyncio.sleep(0)
    gc.disable()
    try:
        task.cancel()
        await asyncio.wait([task])
        assert task.cancelled()
        del task
        await asyncio.sleep(0)
        assert alive() is None
    finally:
        gc.enable()


async def test_error_of_one_piece_of_work_does_not_stop_the_others(clock: Clock) -> None:
    account = RequestQuotas(clock).account("10.0.0.1")
    reported: list[object] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: reported.append(context["exception"]))
    done: list[str] = []
    error = ValueError("a bug")

    def fail() -> None:
        raise error

    account.call_when_allowed(fail)
    account.call_when_allowed(partial(done.append, "second"))

    await eventually(lambda: done == ["second"])
    assert reported == [error]
