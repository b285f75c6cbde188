"""The result of one poll, and the clock and the counters of a poller."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from time import monotonic

from kwire._util.light_typing import TYPE_CHECKING, Generic, NamedTuple, TypeVar
from kwire.declare.representation import short_value

if TYPE_CHECKING:
    from collections.abc import Callable

    from kwire.decoder import Changes
    from kwire.errors import KwireError
    from kwire.metadata.events import MetadataEvent

M = TypeVar("M")


class Poll(NamedTuple, Generic[M]):
    """One request to one broker, and its response or error.

    Attributes:
        cluster_id: None until a response contains it.
        broker_id: the polled broker; -1 for a bootstrap server that no response lists as a broker.
        endpoint: `host:port` of the broker.
        polled_at: the time at which the response was complete or the poll failed, in UTC.
        duration_us: microseconds since the request was sent; of a failed poll, since the connection attempt.
        message: the response; None with an error. What did not change since the last response is the same object.
        events: changes since the last plausible response of this broker.
        changed: changes since the last response, as `kwire.Decoder.changed` reports them.
        error: the reason why the poll failed; None if it succeeded.
        same: True if only orders and the controller id differ from the last response.
        payload: the bytes of the response from the correlation id on; also of one that cannot be decoded.
        suspect: True if the response lists no topics or no brokers and is not confirmed yet. It has no events.
        dialect: `kafka` or `kip4`.
        api_key: the API key of the request.
        api_version: the version of the request; -1 if none was negotiated.
        request: the bytes of the request from the API key on.
        controller_id: the controller that the response names; None if it names none.
        clock_step_us: microseconds by which the system's clock was set since the poller's poll before; None if it was
            not. `polled_at` hardly ever goes back: see `PollClock`.
    """

    cluster_id: str | None
    broker_id: int
    endpoint: str
    polled_at: datetime
    duration_us: int
    message: M | None = None
    events: tuple[MetadataEvent, ...] = ()
    changed: Changes | None = None
    error: KwireError | None = None
    same: bool = False
    payload: bytes | None = None
    suspect: bool = False
    dialect: str = "kafka"
    api_key: int = 3
    api_version: int = -1
    request: bytes | None = None
    controller_id: int | None = None
    clock_step_us: int | None = None

    def __repr__(self) -> str:
        """Return the fields with shortened messages, events, and bytes."""
        return short_value(self)


SMALLEST_STEP = timedelta(seconds=0.5)
"""Smallest change of the system's clock that counts as a step.

ntpd steps from 0.128 s and chrony from 1 s on; below that, they slew. A reading of both clocks can be interrupted for
some 10 ms on a busy machine. Chosen, not measured.
"""


LONGEST_SLEW = timedelta(seconds=150)
"""Maximum time by which polls are ahead of the system's clock after it was set back.

Without it, polls after a clock was a day ahead would have wrong times for two days. Chosen, not measured: longer than
the steps of a host whose NTP works.
"""


class PollClock:
    """Times of polls that go back only after a great fault, and the steps of the system's clock.

    If the system's clock is set back, polls that follow would seem to precede polls that have been made, and a broker
    would seem to return to its old state. So the time of polls then advances at half the speed until the system's clock
    has caught up, as `adjtime` does. A clock that is set forward is followed at once: that is a gap between two polls.
    A clock that is set back by more than `LONGEST_SLEW` is followed at once, too: the polls before had wrong times, and
    an ingest keeps them aside (`kwire_pipeline.ingest.clock_faults`).

    Args:
        wall: returns the time of the system's clock.
        steady: returns seconds of a clock that is never set.
    """

    def __init__(
        self, wall: Callable[[], datetime] = lambda: datetime.now(UTC), steady: Callable[[], float] = monotonic
    ) -> None:
        self._wall_clock, self._steady_clock = wall, steady
        self._wall, self._steady = wall(), steady()
        self._time = self._wall

    def read(self, at: datetime | None = None) -> tuple[datetime, int | None]:
        """Return the time, and the microseconds by which the system's clock was set since the last call, or None.

        Args:
            at: a recent time of the system's clock to convert; None is now.
        """
        wall, steady = self._wall_clock(), self._steady_clock()
        elapsed = timedelta(seconds=steady - self._steady)
        step = wall - self._wall - elapsed
        self._wall, self._steady = wall, steady
        slewed = self._time + elapsed / 2
        self._time = wall if slewed - wall > LONGEST_SLEW else max(wall, slewed)
        time = self._time if at is None else self._time - (wall - at)
        return time, step // timedelta(microseconds=1) if abs(step) >= SMALLEST_STEP else None


@dataclass(slots=True)
class Statistics:
    """Counters since the start of a poller.

    Attributes:
        polls: all polls.
        same: polls that reported nothing new.
        errors: failed polls.
        bytes: the size of all responses.
        late: polls that started late, because the one before took longer than the interval or its reader was slow.
        dropped: polls that left the queue unread (`overflow="drop"`). A capture has them.
        longest_queue: the highest number of polls that waited to be read.
        unpolled: listed brokers that are not polled, because too many others have never responded.
    """

    polls: int = 0
    same: int = 0
    errors: int = 0
    bytes: int = 0
    late: int = 0
    dropped: int = 0
    longest_queue: int = 0
    unpolled: int = 0
