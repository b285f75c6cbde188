"""How tests read a poller: until they have seen what they wait for, and never for ever."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, TypeVar

from kwire.client import Poller

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

    from kwire.client import MetadataEvent, Poll
    from kwire.testing import FakeCluster

T = TypeVar("T")

ALL = {1, 2, 3}
"""The brokers of ``cluster``."""
TOPIC = "topic-00003"
INTERVAL = 0.05
TIMEOUT = 1.0
PATIENCE = 30.0
"""Seconds for anything to happen; only a broken program needs them."""


def poller(cluster: FakeCluster, **options: Any) -> Poller[Any]:
    """One that asks often."""
    settings = {"bootstrap": cluster.bootstrap, "interval": INTERVAL, "timeout": TIMEOUT, "longest_pause": 0.2}
    return Poller(**{**settings, **options})


def run(work: Coroutine[Any, Any, T]) -> T:
    """An event loop in debug mode would be slower than what is tested; a deadline it has."""

    async def in_time() -> T:
        async with asyncio.timeout(PATIENCE):
            return await work

    return asyncio.run(in_time())


async def until(poller: Poller[Any], wanted: Callable[[Poll[Any]], bool], count: int = 1) -> list[Poll[Any]]:
    """Read up to the poll that is the ``count``-th ``wanted``; all that were read."""
    polls = []
    async for poll in poller:
        polls.append(poll)
        count -= wanted(poll)
        if count == 0:
            break
    return polls


async def until_all(
    poller: Poller[Any], brokers: set[int], wanted: Callable[[Poll[Any]], bool] = lambda _: True
) -> list[Poll[Any]]:
    """Read until each of these brokers had a ``wanted`` poll; all that were read."""
    polls: list[Poll[Any]] = []
    async for poll in poller:
        polls.append(poll)
        if wanted(poll):
            brokers = brokers - {poll.broker_id}
        if not brokers:
            break
    return polls


async def comes_true(condition: Callable[[], bool]) -> None:
    """Wait for what can only be seen from outside."""
    while not condition():  # noqa: ASYNC110 - as said
        await asyncio.sleep(0.01)


def told(polls: list[Poll[Any]]) -> list[MetadataEvent]:
    """All differences, in order."""
    return [difference for poll in polls for difference in poll.events]


def answered(poll: Poll[Any]) -> bool:
    return poll.error is None


def failed(poll: Poll[Any]) -> bool:
    return poll.error is not None


def differs(poll: Poll[Any]) -> bool:
    return bool(poll.events)
