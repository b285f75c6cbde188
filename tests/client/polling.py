"""Pollers for tests, and how tests read them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kwire.client import Poller

if TYPE_CHECKING:
    from collections.abc import Callable

    from kwire.client import MetadataEvent, Poll
    from kwire.testing import FakeCluster

ALL = {1, 2, 3}
"""The brokers of the fixture `cluster`."""
TOPIC = "topic-00003"
INTERVAL = 0.05
TIMEOUT = 20.0
"""Longer than a busy machine keeps a broker from responding."""
SHORT_TIMEOUT = 1.0
"""For brokers that do not respond."""


def poller(cluster: FakeCluster, **options: Any) -> Poller[Any]:
    """Return a poller with short intervals."""
    defaults = {"bootstrap": cluster.bootstrap, "interval": INTERVAL, "timeout": TIMEOUT, "longest_pause": 0.2}
    return Poller(**{**defaults, **options})


async def until(poller: Poller[Any], wanted: Callable[[Poll[Any]], bool], count: int = 1) -> list[Poll[Any]]:
    """Read up to the `count`-th wanted poll and return all polls that were read."""
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
    """Read until each of the brokers has a wanted poll, and return all polls that were read."""
    polls: list[Poll[Any]] = []
    async for poll in poller:
        polls.append(poll)
        if wanted(poll):
            brokers = brokers - {poll.broker_id}
        if not brokers:
            break
    return polls


def events_of(polls: list[Poll[Any]]) -> list[MetadataEvent]:
    """Return all events of polls in order."""
    return [event for poll in polls for event in poll.events]


def succeeded(poll: Poll[Any]) -> bool:
    return poll.error is None


def failed(poll: Poll[Any]) -> bool:
    return poll.error is not None


def has_events(poll: Poll[Any]) -> bool:
    return bool(poll.events)
