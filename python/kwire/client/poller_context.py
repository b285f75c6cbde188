"""State that the broker pollers of one poller share: options, the clock, rounds of requests, pauses after failures."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from random import Random

from kwire._util.light_typing import TYPE_CHECKING, Any
from kwire.client.poll import Poll, PollClock, Statistics

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from kwire.client.poller_options import PollerOptions

__all__ = ["PollerContext"]

SECOND_ATTEMPT_S = 0.25
"""Seconds between the first failure of a broker and the next attempt. Chosen, not measured."""


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
