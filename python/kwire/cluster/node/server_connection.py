"""One connection of a listener: frames from received bytes, responses in order, limits on memory and time.

- Responses leave in the order of their requests. A response that needs no waiting is sent from `data_received`, without
  a task, and the responses to all requests of one read leave in one write.
- A connection with much to do takes turns with the others: after some milliseconds it continues in a later iteration
  of the event loop.
- The memory that a client can occupy is bounded by the largest frame, the requests in flight, and the unsent bytes. At
  a bound, reading pauses, so that the client is slowed down by its own socket; nothing is dropped.
- Time is bounded too: connections are closed that are idle, that have not completed a frame, or that do not read their
  responses.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Coroutine
from contextvars import copy_context
from struct import Struct
from typing import TYPE_CHECKING

from kwire.cluster.loop_shares import (
    BYTE_SECONDS,
    SETTLE_SECONDS,
    ConnectionShare,
    Measured,
)
from kwire.cluster.node.connection_limits import (
    CloseReason,
    ConnectedClient,
    InvalidRequest,
)
from kwire.cluster.security.subjects import normalized_host
from kwire.cluster.time_slice import SLICE_SECONDS
from kwire.frame import other_protocol
from kwire.messages.kafka.update_metadata import UpdateMetadataRequest

if TYPE_CHECKING:
    from collections.abc import Awaitable

    from kwire.cluster.node.connection_limits import Frame
    from kwire.cluster.node.connection_owner import ConnectionOwner

MAX_BATCH = 1 << 16
"""Bytes of responses that are collected for one write."""

UPDATE_METADATA = UpdateMetadataRequest.api_key

DECODED_FACTOR = 4
"""Memory of a request that is being processed, in sizes of its frame."""
ITEM_BYTES = 64
"""Memory of each element of its arrays in addition: short names take many times their bytes in the frame."""

size_at = Struct(">i").unpack_from
key_at = Struct(">h").unpack_from


class ServerConnection(asyncio.Protocol):
    """One connection: the bytes that do not form a request yet, and the responses that are not sent yet."""

    __slots__ = (
        "_batch",
        "_batch_size",
        "_cached_responses",
        "_close_detail",
        "_close_reason",
        "_closing_since",
        "_dispatch",
        "_finishing",
        "_incomplete_since",
        "_limits",
        "_listener",
        "_loop",
        "_paused",
        "_pending",
        "_pending_bytes",
        "_pending_sizes",
        "_received_at",
        "_refused",
        "_rest",
        "_share",
        "_transport",
        "_unread_since",
        "_yielded",
        "client",
        "ip_address",
    )

    def __init__(self, listener: ConnectionOwner, share: ConnectionShare) -> None:
        self._listener = listener
        self._dispatch = listener.dispatch
        self._cached_responses = listener.cached_responses
        self._limits = listener.limits
        self._loop = asyncio.get_running_loop()
        self._share = share
        self._transport: asyncio.Transport | None = None
        self._rest = bytearray()
        """Received bytes that are not processed: an incomplete frame, or frames that arrived while reading paused."""
        self._pending: deque[asyncio.Future[Frame]] = deque()
        """Responses in the order of their requests, from the first that is not complete."""
        self._pending_sizes: deque[int] = deque()
        """The memory that each pending response occupies, or its request until it is complete."""
        self._pending_bytes = 0
        self._batch: list[bytes] = []
        """Responses for the next write."""
        self._batch_size = 0
        self._received_at = self._loop.time()
        self._incomplete_since: float | None = None
        self._unread_since: float | None = None
        self._closing_since: float | None = None
        self._paused = False
        self._yielded = False
        """Whether other connections have their turn."""
        self._refused = False
        """Whether an invalid request was received, because of which the connection is going to be closed."""
        self._finishing = False
        self._close_reason: CloseReason | None = None
        self._close_detail = ""
        self.client = ConnectedClient("?")
        self.ip_address = "?"

    # Callbacks of asyncio

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        transport.set_write_buffer_limits(high=self._limits.unsent)
        address = transport.get_extra_info("peername")
        if address:
            self.ip_address = address[0]
            self.client.address = f"{address[0]}:{address[1]}"
            self.client.host = normalized_host(address[0])
        self._listener.identify(self.client, transport)
        self.client.is_reserved = self._listener.exceeded_limit(self.ip_address) is not None
        self._listener.add(self)
        self._listener.observer.opened(self.client)
        if not self._share.is_due(self._loop.time()):
            self._yield_turn()

    def connection_lost(self, exc: Exception | None) -> None:
        del exc  # how a client leaves does not matter; why we close is in _close_reason
        self._listener.remove(self)
        for response in self._pending:
            response.cancel()
        self._pending.clear()
        self._pending_sizes.clear()
        self._pending_bytes = 0
        self._transport = None
        if self._close_reason is None and self._rest and not self._finishing:
            self._close_reason = CloseReason.DISCONNECTED
            self._close_detail = f"disconnected within a frame, after {len(self._rest)} bytes"
        self._rest.clear()  # a callback that waits for the share of this connection keeps it for some seconds
        self._listener.observer.closed(self.client, self._close_reason, self._close_detail)

    def data_received(self, data: bytes) -> None:
        now = self._received_at = self._loop.time()
        share = self._share
        share.arrived(now)
        share.used += len(data) * BYTE_SECONDS
        if share.address.due > now and not self._paused:
            self._yield_turn()
        if self._rest or self._paused:
            self._keep(data)
            share.used += self._loop.time() - now
            if not self._paused:
                self._process_rest()
            return
        processed = self._process(data)
        if processed < len(data):
            self._keep(data[processed:])
        self._update_incomplete_since()

    def _keep(self, data: bytes) -> None:
        self._rest += data
        self._listener.occupied_more(len(data))

    @property
    def occupied(self) -> int:
        """The bytes that are received but not answered, or not sent yet."""
        unsent = 0 if self._transport is None else self._transport.get_write_buffer_size()
        return len(self._rest) + self._pending_bytes + unsent

    def close_for_memory(self, occupied: int) -> None:
        """Free the memory at once."""
        detail = f"occupies {occupied} bytes, more than others, of {self._limits.memory} for all connections"
        self.close(CloseReason.MEMORY, detail)
        self._rest.clear()
        self.abort()

    def pause_writing(self) -> None:
        self._unread_since = self._loop.time()
        self._pause_reading()

    def resume_writing(self) -> None:
        self._unread_since = None
        self._resume_reading()

    # Requests

    def _process_rest(self) -> None:
        began = self._loop.time()
        if len(self._rest) >= self._rest_needed():
            received = bytes(self._rest)
            self._share.used += self._loop.time() - began
            del self._rest[: self._process(received)]
        elif not self._settle(began):
            self._yield_turn()
        self._update_incomplete_since()

    def _rest_needed(self) -> int:
        """Return how many bytes the unprocessed rest must have to be worth processing: a frame, or an invalid size."""
        if len(self._rest) < 4:
            return 4
        size: int = size_at(self._rest)[0]
        limit = self._frame_limit(self._rest, 0, size)
        if limit is None:
            return 6
        return 4 + size if 0 <= size <= limit else 4

    def _frame_limit(self, data: bytes | bytearray, position: int, size: int) -> int | None:
        """Return the largest size of the frame at `position`, or None if that depends on bytes that are missing."""
        if self.client.subject is None and self.client.authentication is not None:
            return min(self._limits.frame, self._limits.unauthenticated_frame)
        if not self._limits.frame < size <= self._limits.broker_frame:
            return self._limits.frame
        if len(data) < position + 6:
            return None
        return self._limits.broker_frame if key_at(data, position + 4)[0] == UPDATE_METADATA else self._limits.frame

    def _process(self, data: bytes) -> int:
        """Answer complete frames until a limit pauses reading, and return the number of bytes processed."""
        position = 0
        started = self._loop.time()
        turn_ends = started + SLICE_SECONDS
        yields = False
        invalid: tuple[CloseReason, str] | None = None
        try:
            while not self._paused and not self._finishing:
                yields = self._listener.is_adding_up
                if yields:
                    break
                stop = self._answer_next(data, position)
                if stop == position:
                    break
                position = stop
                yields = position < len(data) and self._loop.time() > turn_ends
                if yields:
                    break
        except InvalidRequest as error:
            invalid = error.reason, error.detail
        except Exception as error:  # noqa: BLE001  # a fault in one response must not affect other connections
            self._flush()
            self._fail(error)
            return len(data)
        self._flush()
        now = self._loop.time()
        self._share.used += now - started
        if invalid is not None:
            self._refuse(*invalid)
            return len(data)
        if not self._settle(now) or yields:
            self._yield_turn()
        return position

    def _settle(self, now: float) -> bool:
        """Charge what the connection has used, and return whether it may continue."""
        share = self._share
        if share.used < SETTLE_SECONDS:
            return True
        share.settle(now)
        return share.is_due(now)

    def _yield_turn(self) -> None:
        """Continue after the turn of other connections, once this one is due."""
        if self._yielded:
            return
        self._yielded = True
        self._pause_reading()
        if self._share.is_due(self._loop.time()):
            self._loop.call_soon(self._continue)
        else:
            self._share.call_when_due(self._continue)

    def _continue(self) -> None:
        """Continue after the turn of other connections."""
        self._yielded = False
        if self._transport is not None:
            self._resume_reading()

    def _answer_next(self, data: bytes, position: int) -> int:
        """Answer the request at `position`, and with it further ones that are cached.

        Returns:
            The offset behind the answered requests; `position` if the frame is not complete.
        """
        if len(data) - position < 4:
            return position
        client = self.client
        # Each response behind a pending one has to wait as a future of its own.
        cached = self._cached_responses(data, position, 0 if self._pending else MAX_BATCH - self._batch_size, client)
        if cached is not None:
            responses, stop, requests = cached
            client.received += requests
            self._respond(responses, requests, 0)
            return stop
        size: int = size_at(data, position)[0]
        limit = self._frame_limit(data, position, size)
        if limit is None:
            return position
        if not 0 <= size <= limit:
            protocol = other_protocol(size)
            found = f", looks like {protocol}" if protocol else ""
            detail = f"frame of {size} bytes{found}: expected 0 to {limit}"
            raise InvalidRequest(detail, CloseReason.INVALID_FRAME)
        stop = position + 4 + size
        if stop > len(data):
            return position
        client.received += 1
        self._respond(self._dispatch(data[position + 4 : stop], client), 1, size)
        return stop

    # Responses

    def _respond(self, response: Frame | Awaitable[Frame], requests: int, size: int) -> None:
        """Send a response to so many requests of `size` bytes, behind the responses that are pending."""
        if isinstance(response, bytes | tuple):
            if not self._pending:
                self._send(response, requests)
                return
            future: asyncio.Future[Frame] = self._loop.create_future()
            future.set_result(response)
            size = len(response) if isinstance(response, bytes) else sum(map(len, response))
        else:
            future = self._start(response)
            future.add_done_callback(self._send_completed)
            size = size * DECODED_FACTOR + self.client.items * ITEM_BYTES
            size = min(size, self._limits.memory // 2 + 1)  # one request of the largest size is allowed
        self._pending.append(future)
        self._pending_sizes.append(size)
        self._pending_bytes += size
        self._listener.occupied_more(size)
        if self._has_too_many_pending():
            self._pause_reading()

    def _start(self, response: Awaitable[Frame]) -> asyncio.Future[Frame]:
        """Start a task that is charged to this connection."""
        if not isinstance(response, Coroutine):
            return asyncio.ensure_future(response)
        context = copy_context()
        context.run(ConnectionShare.current.set, self._share)
        return self._loop.create_task(Measured(response, self._share), context=context)

    def _has_too_many_pending(self) -> bool:
        limits = self._limits
        return len(self._pending) >= limits.in_flight or self._pending_bytes > min(limits.unsent, limits.memory // 16)

    def _send_completed(self, future: asyncio.Future[Frame]) -> None:
        """Send the pending responses up to the first that is not complete."""
        if self._transport is None:
            if not future.cancelled():
                future.exception()  # the client has disconnected; the dispatcher has logged the error
            return
        began = self._loop.time()
        while self._pending and self._pending[0].done():
            first = self._pending.popleft()
            self._pending_bytes -= self._pending_sizes.popleft()
            error = asyncio.CancelledError() if first.cancelled() else first.exception()
            if error is not None:
                if isinstance(error, InvalidRequest) and error.response is not None:
                    self._send(error.response, 1)
                self._flush()
                if isinstance(error, InvalidRequest):
                    self.close(error.reason, error.detail)
                elif isinstance(error, asyncio.CancelledError):
                    self.close(CloseReason.REQUEST_FAILED, "request canceled")
                else:
                    self._fail(error)
                return
            self._send(first.result(), 1)
        self._flush()
        now = self._loop.time()
        self._share.used += now - began
        if not self._settle(now):
            self._yield_turn()
        self._resume_reading()
        self._close_when_finished()

    def _send(self, response: Frame, requests: int) -> None:
        """Add a response to the batch, or write it if it is large."""
        self.client.sent += requests
        if isinstance(response, bytes) and len(response) <= MAX_BATCH:
            self._batch.append(response)
            self._batch_size += len(response)
            if self._batch_size > MAX_BATCH:
                self._flush()  # this may pause reading, if the client does not read
            return
        self._flush()
        for part in (response,) if isinstance(response, bytes) else response:
            self._write(part)

    def _flush(self) -> None:
        """Write the batch."""
        batch = self._batch
        if not batch:
            return
        self._write(batch[0] if len(batch) == 1 else b"".join(batch))
        batch.clear()
        self._batch_size = 0

    def _write(self, data: bytes | memoryview) -> None:
        if self._transport is None:
            return
        self._transport.write(data)
        if self._transport.get_write_buffer_size():
            self._listener.occupied_more(len(data))

    # Limits

    def _pause_reading(self) -> None:
        if not self._paused:
            self._paused = True
            if self._transport is not None and not self._transport.is_closing():
                self._transport.pause_reading()

    def _resume_reading(self) -> None:
        if not self._paused or self._yielded or self._refused or self._unread_since is not None:
            return
        if self._has_too_many_pending():
            return
        self._paused = False
        self._process_rest()
        if not self._paused and self._transport is not None and not self._transport.is_closing():
            self._transport.resume_reading()

    def _update_incomplete_since(self) -> None:
        """Note when the first byte of an incomplete frame arrived; further bytes do not extend its time."""
        if not self._rest or self._paused:
            self._incomplete_since = None
        elif self._incomplete_since is None:
            self._incomplete_since = self._received_at

    def check_timeouts(self, now: float) -> None:
        """Close the connection if one of its time limits is exceeded."""
        limits = self._limits
        if self._closing_since is not None:
            if now - self._closing_since > limits.unread_responses:
                self.abort()
        elif self._unread_since is not None and now - self._unread_since > limits.unread_responses:
            self.close(CloseReason.UNREAD_RESPONSES, f"responses not read for {limits.unread_responses:g} s")
        elif self._incomplete_since is not None and now - self._incomplete_since > limits.incomplete_frame:
            detail = f"frame not completed within {limits.incomplete_frame:g} s, after {len(self._rest)} bytes"
            self.close(CloseReason.INCOMPLETE_FRAME, detail)
        elif not self._pending and self._unread_since is None:
            # A reserved connection must not keep others from administration.
            idle = min(limits.idle, limits.incomplete_frame) if self.client.is_reserved else limits.idle
            if now - self._received_at > idle:
                self.close(CloseReason.IDLE, f"idle for {idle:g} s")

    # Closing

    def finish(self) -> None:
        """Answer the requests in flight, then close."""
        self._finishing = True
        self._close_when_finished()

    def _close_when_finished(self) -> None:
        if self._finishing and not self._pending:
            self.close()

    def _refuse(self, reason: CloseReason, detail: str) -> None:
        """Close the connection because of an invalid request, after a delay, and read nothing until then."""
        self._refused = True
        self._pause_reading()
        delay = self._share.refusal_delay(self._share.used)
        self._share.settle(self._loop.time())
        self._loop.call_later(delay, self.close, reason, detail)

    def _fail(self, error: BaseException) -> None:
        self._listener.observer.failed(self.client, error)
        self.close(CloseReason.REQUEST_FAILED, f"{type(error).__name__} while answering")

    def close(self, reason: CloseReason | None = None, detail: str = "") -> None:
        """Close the connection after the written responses are sent, if the client reads them."""
        if self._transport is None or self._transport.is_closing():
            return
        self._close_reason = reason
        self._close_detail = detail
        self._closing_since = self._loop.time()
        self._transport.close()
        if self._unread_since is not None and reason is not None:
            self.abort()  # the client does not read

    def abort(self) -> None:
        """Close the connection immediately, and discard unsent responses."""
        if self._transport is not None:
            self._transport.abort()
