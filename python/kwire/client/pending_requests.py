"""The requests of one connection that have no response yet, and the times at which they may be sent.

| a request is | until                                                                                          |
|--------------|------------------------------------------------------------------------------------------------|
| held         | the broker no longer throttles the client (KIP-219), and no authentication is going on (KIP-368) |
| in flight    | its response arrives, the oldest request first                                                 |
| being sent   | few bytes wait for the network; only a request without a response                              |

A broker that throttles responds at once, names a time, and reads nothing from the connection until it has passed. So
this time does not count for the timeouts of requests, neither of held requests nor of requests in flight.
"""

from __future__ import annotations

from collections import deque
from time import perf_counter_ns, time_ns

from kwire._util.concurrency import running_loop
from kwire._util.light_typing import TYPE_CHECKING, Any, Generic, NamedTuple, TypeVar

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable, Iterator
    from datetime import datetime

    from kwire.declare import Message
    from kwire.protocol import ConnectionFault, ReceivedResponse, SentRequest

R = TypeVar("R", bound="Message")

LONGEST_THROTTLE_S = 3600.0
"""Maximum throttle time in seconds that is obeyed: a damaged response must not silence a client for 24 days. Kafka's
quotas are averages over seconds. Chosen, not measured."""


class TimedResponse(NamedTuple, Generic[R]):
    """A response that is not decoded yet.

    Attributes:
        response: the response.
        at_ns: the time at which it was complete, in nanoseconds since 1970.
        duration_us: microseconds since the request was sent.
    """

    response: ReceivedResponse[R]
    at_ns: int
    duration_us: int

    @property
    def at(self) -> datetime:
        """The time at which the response was complete, in UTC."""
        from datetime import UTC, datetime  # a small command asks for no time

        return datetime.fromtimestamp(self.at_ns / 1e9, UTC)


class _PendingRequest:
    """A request that is not complete yet.

    Attributes:
        sent: the request.
        result: the response; None for a request without one, which is complete once the transport has room again.
        sent_at: nanoseconds of `perf_counter_ns`.
        timer: ends the connection if the request is not complete in time.
    """

    __slots__ = ("result", "sent", "sent_at", "timer")

    def __init__(
        self, sent: SentRequest[Any], result: asyncio.Future[TimedResponse[Any] | None], timer: asyncio.TimerHandle
    ) -> None:
        self.sent = sent
        self.result = result
        self.sent_at = perf_counter_ns()
        self.timer = timer


class PendingRequests:
    """The requests of one connection.

    Args:
        timeout: seconds to wait for a response.
        write: sends an encoded request, and expects its response if it has one.
        time_out: called with the name of a request that has no response in time.

    Attributes:
        throttled_until: the end of the throttle time in seconds of the loop's clock; 0 if the broker named none.
    """

    def __init__(
        self, timeout: float, write: Callable[[SentRequest[Any]], None], time_out: Callable[[str], None]
    ) -> None:
        self._loop = running_loop()
        self._timeout = timeout
        self._write = write
        self._time_out = time_out
        self._held: deque[_PendingRequest] = deque()
        self._in_flight: deque[_PendingRequest] = deque()
        self._being_sent: list[_PendingRequest] = []
        self._has_room = True
        self._is_authenticating = False
        self._throttle_timer: asyncio.TimerHandle | None = None
        self.throttled_until = 0.0

    @property
    def is_awaited(self) -> bool:
        """True if a caller waits for one of the requests."""
        return any(not request.result.done() for request in self._all())

    def submit(
        self, sent: SentRequest[Any], *, authenticates: bool = False
    ) -> asyncio.Future[TimedResponse[Any] | None]:
        """Send a request, or hold it until it may be sent.

        Args:
            authenticates: True for a request of the authentication that the other requests wait for.
        """
        result: asyncio.Future[TimedResponse[Any] | None] = self._loop.create_future()
        pending = _PendingRequest(sent, result, self._new_timer(sent))
        if self._may_send() or authenticates:
            self._send(pending)
        else:
            self._held.append(pending)
        return result

    def begin_authentication(self) -> None:
        """Hold requests until `end_authentication`: the broker accepts nothing else during the exchange."""
        self._is_authenticating = True

    def end_authentication(self) -> None:
        """Send the requests that were submitted meanwhile."""
        self._is_authenticating = False
        self._send_held()

    def receive(self, response: ReceivedResponse[Any]) -> None:
        """Complete the oldest request in flight."""
        now = perf_counter_ns()
        request = self._in_flight.popleft()
        request.timer.cancel()
        self.throttle(response.throttle_time_ms)
        if not request.result.done():  # it may be cancelled
            request.result.set_result(TimedResponse(response, time_ns(), (now - request.sent_at) // 1000))

    def throttle(self, milliseconds: int) -> None:
        """Obey the throttle time of a response; 0 if it has none."""
        if milliseconds > 0:
            self.throttle_until(self._loop.time() + min(milliseconds / 1000, LONGEST_THROTTLE_S))

    def throttle_until(self, until: float) -> None:
        """Send no further requests until a time of the loop's clock."""
        if until <= max(self.throttled_until, self._loop.time()):
            return
        self.throttled_until = until
        for request in self._all():
            request.timer.cancel()
            request.timer = self._new_timer(request.sent)
        if self._throttle_timer is not None:
            self._throttle_timer.cancel()
        self._throttle_timer = self._loop.call_at(until, self._end_throttle)

    def pause(self) -> None:
        """Note that many bytes wait for the network."""
        self._has_room = False

    def resume(self) -> None:
        """Complete the requests without a response: few bytes wait for the network."""
        self._has_room = True
        for request in self._being_sent:
            request.timer.cancel()
            if not request.result.done():  # it may be cancelled
                request.result.set_result(None)
        self._being_sent.clear()

    def end(self, fault: ConnectionFault, later: ConnectionFault) -> None:
        """Fail the oldest request with `fault`, and the others with `later`."""
        if self._throttle_timer is not None:
            self._throttle_timer.cancel()
        for request in self._all():
            request.timer.cancel()
            if not request.result.done():
                set_exception(request.result, fault)
            fault = later
        self._held.clear()
        self._in_flight.clear()
        self._being_sent.clear()

    def _all(self) -> Iterator[_PendingRequest]:
        """Return all requests, the oldest first."""
        yield from self._in_flight
        yield from self._being_sent
        yield from self._held

    def _new_timer(self, sent: SentRequest[Any]) -> asyncio.TimerHandle:
        begin = max(self._loop.time(), self.throttled_until)
        return self._loop.call_at(begin + self._timeout, self._time_out, type(sent.request).__name__)

    def _may_send(self) -> bool:
        return not self._is_authenticating and self._throttle_timer is None

    def _end_throttle(self) -> None:
        self._throttle_timer = None
        self._send_held()

    def _send_held(self) -> None:
        while self._held and self._may_send():
            self._send(self._held.popleft())

    def _send(self, request: _PendingRequest) -> None:
        request.sent_at = perf_counter_ns()
        self._write(request.sent)
        if request.sent.has_response:
            self._in_flight.append(request)
            return
        self._being_sent.append(request)
        if self._has_room:
            self.resume()


def set_exception(future: asyncio.Future[Any], error: Exception) -> None:
    """Set an exception and mark it as retrieved: the caller may be gone."""
    future.set_exception(error)
    future.exception()
