"""The options of a poller, checked before the first request is sent, and the state that its broker pollers share."""

from __future__ import annotations

import asyncio
import math
from dataclasses import dataclass, field, replace
from random import Random
from typing import TypedDict

from kwire._util.light_typing import TYPE_CHECKING, Any, Literal
from kwire.client.connection import MAX_RESPONSE_SIZE
from kwire.client.connection_config import ConnectionConfig
from kwire.client.poll import Poll, PollClock, Statistics

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Collection

    from kwire.capture import Capture
    from kwire.client.polled_requests import PolledRequest
    from kwire.protocol import Endpoint
    from kwire.protocol.negotiated_versions import Dialect

SECOND_ATTEMPT_S = 0.25
"""Seconds between the first failure of a broker and the next attempt. Chosen, not measured."""


class PollerKeywords(TypedDict, total=False):
    """The keyword arguments of `kwire.client.Poller` that do not affect the type of its polls."""

    interval: float
    brokers: Literal["all", "one"]
    topics: Literal["all", "one"]
    capture: Capture | None
    timeout: float
    longest_pause: float
    forget_after: float
    queue_size: int
    overflow: Literal["wait", "drop"]
    client_id: str | None
    cluster_id: str | None
    max_size: int
    config: ConnectionConfig | None


@dataclass(frozen=True, slots=True, kw_only=True)
class PollerOptions:
    """The options of `kwire.client.Poller`, which documents them.

    Raises:
        TypeError: an option has the wrong type.
        ValueError: an option has a value out of range.
    """

    bootstrap: tuple[Endpoint, ...]
    interval: float = 1.0
    dialect: Dialect | None = None
    brokers: Literal["all", "one"] = "all"
    topics: Literal["all", "one"] = "all"
    requests: tuple[PolledRequest, ...] = ()
    timeout: float = 5.0
    longest_pause: float = 5.0
    forget_after: float = 3600.0
    queue_size: int = 32
    overflow: Literal["wait", "drop"] = "wait"
    client_id: str | None = "kwire-poller"
    max_size: int = MAX_RESPONSE_SIZE
    config: ConnectionConfig | None = None

    def __post_init__(self) -> None:
        _check_seconds("interval", self.interval)
        _check_seconds("timeout", self.timeout)
        _check_seconds("longest_pause", self.longest_pause)
        _check_seconds("forget_after", self.forget_after, allow_infinity=True)
        ConnectionConfig.check(self.config)
        _check_count("queue_size", self.queue_size)
        _check_count("max_size", self.max_size)
        _check_choice("overflow", self.overflow, ("wait", "drop"))
        _check_choice("dialect", self.dialect, (None, "kafka", "kip4"))
        _check_choice("brokers", self.brokers, ("all", "one"))
        _check_choice("topics", self.topics, ("all", "one"))
        if self.dialect and self.config and self.config.dialect not in (None, self.dialect):
            raise ValueError(f"dialect is {self.dialect!r}, and config has dialect={self.config.dialect!r}")
        for request in self.requests:
            _check_seconds("interval of a request", request.interval)
            _check_choice("brokers of a request", request.brokers, ("all", "one"))

    @property
    def connection(self) -> ConnectionConfig:
        """The configuration of connections, with the dialect of the poller."""
        config = ConnectionConfig.check(self.config)
        return config if self.dialect is None else replace(config, dialect=self.dialect)


def _check_seconds(option: str, value: object, *, allow_infinity: bool = False) -> None:
    if not isinstance(value, int | float):
        raise TypeError(f"{option} is {value!r}: it must be a number of seconds")
    if not value > 0 or (math.isinf(value) and not allow_infinity):
        raise ValueError(f"{option} is {value!r}: it must be a number of seconds above 0")


def _check_count(option: str, value: object) -> None:
    if not isinstance(value, int):
        raise TypeError(f"{option} is {value!r}: it must be an integer")
    if value < 1:
        raise ValueError(f"{option} is {value!r}: it must be at least 1")


def _check_choice(option: str, value: object, choices: Collection[object]) -> None:
    if value not in choices:
        raise ValueError(f"{option} is {value!r}: it must be one of {', '.join(map(repr, choices))}")


@dataclass(slots=True)
class PollerContext:
    """The context that the broker pollers of one poller share.

    Attributes:
        deliver: takes every poll.
        sends_for_all: returns whether the broker with this id gets the requests that one broker suffices for.
        is_foreign: returns whether another broker than the one with this id knows the cluster by another id.
        cluster_id: the cluster id of the last response that has one.
        clock: the time of polls.
        has_topics: event, set after the first response with topics.
        first_round: the time of the first further request to any broker, in seconds of the loop; None before it.
    """

    options: PollerOptions
    deliver: Callable[[Poll[Any]], Awaitable[None]]
    sends_for_all: Callable[[int], bool]
    is_foreign: Callable[[int, str], bool]
    cluster_id: str | None
    statistics: Statistics = field(default_factory=Statistics)
    random: Random = field(default_factory=Random)
    clock: PollClock = field(default_factory=PollClock)
    has_topics: asyncio.Event = field(default_factory=asyncio.Event)
    first_round: float | None = None

    def nearest_round(self, time: float, interval: float) -> float:
        """Return the round of an interval that is nearest to a time.

        All brokers are asked in the same rounds, so that their responses describe the cluster at about the same time.
        """
        if self.first_round is None:
            self.first_round = time
        return self.first_round + round((time - self.first_round) / interval) * interval

    def pause(self, failures: int) -> float:
        """Return the seconds to wait after this many consecutive failures: exponential backoff with jitter.

        The second attempt follows soon: a connection that broke says little, and one that is refused says it all.
        """
        options = self.options
        longest = max(options.longest_pause, options.interval)
        pause: float = min(longest, max(options.interval, 0.1) * 2.0 ** min(max(failures - 2, 0), 30))
        if failures == 1:
            pause = min(pause, SECOND_ATTEMPT_S)
        return pause * self.random.uniform(0.75, 1.0)
