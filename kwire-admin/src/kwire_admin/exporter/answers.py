"""Answers of brokers: their kinds, their ages, and the counters of requests.

Values are shown while the answer that they come from is young. An answer counts if it is usable: a response with an
error code confirms nothing, so it does not renew the age of the values before it.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from enum import Enum
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

__all__ = ["AnswerLog", "Source", "Traffic"]

STALE_AFTER_S = 300.0
"""Age in seconds from which an answer is not shown if no intervals are set, as Prometheus does with samples."""
INTERVALS = 3
"""Missed intervals after which an answer is stale. Chosen: one failure and its repetition change nothing."""
SIZE_BYTES = 4
"""Bytes of the size before each frame."""
GRACE_S = 10.0
"""Seconds that a slow answer may take beyond, if they are more than the interval and less than the timeout. Chosen."""


class Source(Enum):
    """The kinds of answers that values come from. The value is the label `answer`."""

    METADATA = "metadata"
    NEWEST = "newest"
    OLDEST = "oldest"
    MAX_TIMESTAMPS = "max_timestamps"
    SIZES = "sizes"
    CONFIGS = "configs"
    GROUPS = "groups"
    OFFSETS = "offsets"
    MEMBERS = "members"
    TRANSACTIONS = "transactions"
    PRODUCERS = "producers"
    QUORUM = "quorum"
    FEATURES = "features"
    TOKENS = "tokens"
    UNREAD = "unread"


SHARED = frozenset({Source.METADATA, Source.CONFIGS, Source.QUORUM, Source.FEATURES, Source.TOKENS})
"""The kinds of answers that one broker gives for all."""


class Traffic(NamedTuple):
    """Frames in one direction, and their bytes."""

    frames: int = 0
    size: int = 0

    def plus(self, payload: bytes | None) -> Traffic:
        """Return the traffic with one more frame; None adds nothing."""
        return self if payload is None else Traffic(self.frames + 1, self.size + SIZE_BYTES + len(payload))


class AnswerLog:
    """The times of answers, by broker.

    Args:
        clock: returns seconds since 1970.

    Attributes:
        requests: answered requests by broker and API key.
        seconds: seconds until their answers.
        failures: requests without a usable answer, by broker, API key, and error.
        sent: the requests.
        received: the responses.
        answered: time of the last response, by broker and API key.
        down: brokers that do not answer.
        has_changed: True after a broker went down or came back, until it is reset.
    """

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._max_ages: dict[Source, float] = {}
        self._usable: dict[tuple[int, Source], float] = {}
        self._dropped: set[tuple[int, Source]] = set()
        self.requests: Counter[tuple[int, int]] = Counter()
        self.seconds: dict[tuple[int, int], float] = defaultdict(float)
        self.failures: Counter[tuple[int, int, str]] = Counter()
        self.sent = self.received = Traffic()
        self.answered: dict[tuple[int, int], float] = {}
        self.down: set[int] = set()
        self.has_changed = False
        self._silent_since: dict[int, float] = {}

    def set_intervals(self, short: float, long: float, timeout: float) -> None:
        """Set the ages from which answers are stale.

        Args:
            short: seconds between two requests for metadata, groups, and ends of logs.
            long: seconds between two requests for the rest.
            timeout: seconds of a request.
        """
        often = (Source.METADATA, Source.NEWEST, Source.GROUPS, Source.OFFSETS)
        for source in Source:
            interval = short if source in often else long
            self._max_ages[source] = INTERVALS * interval + min(timeout, max(interval, GRACE_S))

    def succeed(self, broker: int, api_key: int, seconds: float) -> None:
        """Note a response."""
        self.requests[broker, api_key] += 1
        self.seconds[broker, api_key] += seconds
        self.answered[broker, api_key] = self._clock()
        self._silent_since.pop(broker, None)
        if broker in self.down:
            self.down.discard(broker)
            self.has_changed = True

    def fail(self, broker: int, api_key: int, error: str) -> None:
        """Note a request without a usable answer, with the name of its error."""
        self.failures[broker, api_key, error] += 1

    def miss(self, broker: int, at: float, seconds: float) -> None:
        """Note a request that ended without any response at a time, after some seconds.

        One does not prove that the broker is down: a single API can be slow, and a connection can break. The broker is
        down if a request that was sent later gets no response either. The poller sends one at once.
        """
        since = self._silent_since.setdefault(broker, at)
        if since < at and at - seconds >= since and broker not in self.down:
            self.down.add(broker)
            self.has_changed = True

    def renew(self, broker: int, source: Source) -> None:
        """Note a usable answer."""
        self._usable[broker, source] = self._clock()
        self._dropped.discard((broker, source))

    def is_fresh(self, source: Source) -> bool:
        """Return whether any broker has given an answer that is not stale."""
        oldest = self._clock() - self.max_age(source)
        return any(at >= oldest for (_, of), at in self._usable.items() if of is source)

    def take_stale(self) -> list[tuple[int, Source]]:
        """Return the brokers and kinds of the answers that became stale since the last call: their values go away."""
        now = self._clock()
        stale = [
            (broker, source)
            for (broker, source), at in self._usable.items()
            if now - at > self.max_age(source) and (broker, source) not in self._dropped
        ]
        self._dropped.update(stale)
        return stale

    def max_age(self, source: Source) -> float:
        """Return the age in seconds from which answers are stale."""
        return self._max_ages.get(source, STALE_AFTER_S)

    def lacking(self) -> set[int]:
        """Return the brokers that do not give an answer that each broker gives."""
        return self.down | {broker for broker, source in self._dropped if source not in SHARED}

    def oldest(self) -> dict[Source, float]:
        """Return the time of the oldest answer of each kind that any broker gave last.

        A kind that one broker suffices for has the newest answer. Brokers that are down do not count.
        """
        times: dict[Source, float] = {}
        for (broker, source), at in self._usable.items():
            if source in SHARED:
                times[source] = max(at, times.get(source, at))
            elif broker not in self.down:
                times[source] = min(at, times.get(source, at))
        return times

    def forget(self, polled: Collection[int]) -> set[int]:
        """Forget brokers that are not polled any more, and return their ids."""
        known = {broker for broker, _ in (*self.answered, *self._usable)} | self.down | self._silent_since.keys()
        gone = known.difference(polled)
        by_broker: tuple[dict[tuple[int, Any], Any], ...] = (self._usable, self.answered, self.requests, self.seconds)
        for values in by_broker:
            for key in [key for key in values if key[0] in gone]:
                del values[key]
        self._dropped = {key for key in self._dropped if key[0] not in gone}
        self.down -= gone
        for broker in gone:
            self._silent_since.pop(broker, None)
        return gone

    def forget_values(self) -> None:
        """Forget answers with the values that came from them. Counters go on."""
        self._usable.clear()
        self._dropped.clear()
        self.answered.clear()
        self.down.clear()
        self._silent_since.clear()
