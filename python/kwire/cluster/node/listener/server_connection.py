"""One connection of a listener: frames from received bytes, responses in order, limits on memory and time.

Reading pauses for any of these reasons, and resumes once none of them is left. Meanwhile the client is slowed down by
its own socket; nothing is dropped.

| reason           | begins                                                       | ends                            |
|------------------|--------------------------------------------------------------|---------------------------------|
| `_waits_turn`    | the client is over its quota, or used the loop for a slice   | `Account.call_when_allowed`     |
| too many pending | `Limits.in_flight` requests, or their memory                 | responses are complete          |
| `_unread_since`  | `Limits.unsent` bytes of responses are not sent              | the client has read half        |
| `_refused`       | a request is invalid                                         | never; the connection closes    |

- A response that needs no waiting is sent from `data_received`, without a task, and the responses to all requests of
  one read leave in one write.
- Idle connections, incomplete frames, and clients that stop reading are timed out (`check_timeouts`).
- All time is charged to the account of the client: in `data_received`, in `Account.process`, and in
  `Account.call_when_allowed`.
"""

from __future__ import annotations

import asyncio
from functools import partial
from struct import Struct
from time import perf_counter
from typing import TYPE_CHECKING

from kwire.cluster.node.listener.connection_limits import CloseReason, ConnectedClient, InvalidRequest
from kwire.cluster.node.listener.response_queue import PendingResponse, ResponseQueue
from kwire.cluster.request_quotas import SLICE_SECONDS
from kwire.cluster.security.subjects import ANONYMOUS, normalized_host
from kwire.frame import other_protocol
from kwire.messages.kafka.update_metadata import UpdateMetadataRequest

if TYPE_CHECKING:
    from collections.abc import Awaitable

    from kwire.cluster.node.listener.connection_limits import Frame, RequestHandlers
    from kwire.cluster.node.listener.open_connections import OpenConnections
    from kwire.cluster.request_quotas import Account

UPDATE_METADATA = UpdateMetadataRequest.api_key

BYTE_SECONDS = 0.5e-9
"""Seconds for which the system receives a byte, before `data_received` is called. Measured: 0.1 ms for 256 KB."""
REFUSAL_SECONDS = 0.002
"""Seconds charged for an invalid request, whose connection is closed and logged. Chosen: a few times what it takes."""
TASK_SECONDS = 0.0001
"""Seconds charged for a task: its scheduling, and its turn in the queue of the controller, which no step measures.
Chosen: without it, a client that lists topics got twice its quota."""

DECODED_FACTOR = 4
"""Memory of a request in progress as a multiple of its frame: the frame, and the decoded message."""
ITEM_BYTES = 64
"""Memory in bytes of each element of its arrays in addition: short names take many times their bytes in the frame."""

size_at = Struct(">i").unpack_from
key_at = Struct(">h").unpack_from


class ServerConnection(asyncio.Protocol):
    """One connection: the bytes that do not form a request yet, and the responses that are not sent yet.

    Args:
        connections: the open connections of the listener, which this one joins.
        account: the account of the address, until the user is known.
        handlers: answer the requests.

    Attributes:
        account: the account of the user; of the address, until the user is known.
        client: the facts about the client.
        ip_address: the address of the client.
    """

    __slots__ = (
        "_close_detail",
        "_close_reason",
        "_closing_since",
        "_connections",
        "_finishing",
        "_handlers",
        "_incomplete_since",
        "_limits",
        "_loop",
        "_paused",
        "_received_at",
        "_refused",
        "_responses",
        "_rest",
        "_transport",
        "_unread_since",
        "_waits_turn",
        "account",
        "client",
        "ip_address",
    )

    def __init__(self, connections: OpenConnections, account: Account, handlers: RequestHandlers) -> None:
        self._connections = connections
        self._handlers = handlers
        self._limits = connections.limits
        self._loop = asyncio.get_running_loop()
        self.account = account
        self._transport: asyncio.Transport | None = None
        self._rest = bytearray()
        """Received bytes that are not processed: an incomplete frame, or frames that arrived while reading paused."""
        self._responses = ResponseQueue(self._write, connections.add_buffered_bytes)
        self._received_at = self._loop.time()
        self._incomplete_since: float | None = None
        self._unread_since: float | None = None
        self._closing_since: float | None = None
        self._paused = False
        self._waits_turn = False
        self._refused = False
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
        client = self.client
        if address:
            self.ip_address = address[0]
            client.address = f"{address[0]}:{address[1]}"
            client.host = normalized_host(address[0])
        self._handlers.identify(client, transport)
        self._use_account_of_user()
        # The limit of the tool that opened a connection counts instead.
        client.is_reserved = not client.is_tool and self._connections.exceeded_limit(self.ip_address) is not None
        self._connections.add(self)
        self._connections.observer.opened(client)
        if self.account.is_throttled:
            self._wait_turn()

    def connection_lost(self, exc: Exception | None) -> None:
        del exc  # how a client leaves does not matter; why we close is in _close_reason
        self._transport = None
        self._connections.remove(self)
        self._responses.cancel()
        if self._close_reason is None and self._rest and not self._finishing:
            self._close_reason = CloseReason.DISCONNECTED
            self._close_detail = f"disconnected within a frame, after {len(self._rest)} bytes"
        self._rest.clear()  # an account that is throttled keeps the connection for some seconds
        self._connections.observer.closed(self.client, self._close_reason, self._close_detail)

    def data_received(self, data: bytes) -> None:
        started = perf_counter()
        self.process(data)
        self.account.charge(perf_counter() - started + len(data) * BYTE_SECONDS)
        if not self._paused and self.account.is_throttled:
            self._wait_turn()

    def process(self, data: bytes) -> None:
        """Process received bytes. The caller charges the time."""
        self._received_at = self._loop.time()
        if self._rest or self._paused or self.account.is_throttled:
            self._keep(data)
            if not self._paused:
                self._process_rest()
            return
        processed = self._answer(data)
        if processed < len(data):
            self._keep(data[processed:])
        self._update_incomplete_since()

    def _keep(self, data: bytes) -> None:
        self._rest += data
        self._connections.add_buffered_bytes(len(data))

    def pause_writing(self) -> None:
        self._unread_since = self._loop.time()
        self._pause_reading()

    def resume_writing(self) -> None:
        self._unread_since = None
        self._resume_reading()

    # Requests

    def _process_rest(self) -> None:
        if self.account.is_throttled:
            self._wait_turn()
        elif len(self._rest) >= self._needed_bytes():
            del self._rest[: self._answer(bytes(self._rest))]
        self._update_incomplete_since()

    def _needed_bytes(self) -> int:
        """Return the number of bytes that make the rest worth processing: a frame, or an invalid size."""
        if len(self._rest) < 4:
            return 4
        size: int = size_at(self._rest)[0]
        limit = self._frame_limit(self._rest, 0, size)
        if limit is None:
            return 6
        return 4 + size if 0 <= size <= limit else 4

    def _frame_limit(self, data: bytes | bytearray, position: int, size: int) -> int | None:
        """Return the maximum size of the frame at `position`, or None if that depends on bytes that are missing."""
        if self.client.subject is None and self.client.authentication is not None:
            return min(self._limits.frame, self._limits.unauthenticated_frame)
        if not self._limits.frame < size <= self._limits.broker_frame:
            return self._limits.frame
        if len(data) < position + 6:
            return None
        return self._limits.broker_frame if key_at(data, position + 4)[0] == UPDATE_METADATA else self._limits.frame

    def _answer(self, data: bytes) -> int:
        """Answer complete frames until a limit pauses reading, and return the number of bytes processed."""
        position = 0
        slice_end = perf_counter() + SLICE_SECONDS
        try:
            while not self._paused and not self._finishing:
                if self._connections.memory_check_pending:
                    self._wait_turn()
                    break
                stop = self._answer_next(data, position)
                if stop == position:
                    break
                position = stop
                if position < len(data) and perf_counter() > slice_end:
                    self._wait_turn()
        except InvalidRequest as error:
            self._responses.flush()
            self._refuse(error)
            return len(data)
        except Exception as error:  # noqa: BLE001  # a fault in one response must not affect other connections
            self._responses.flush()
            self._fail(error)
            return len(data)
        self._responses.flush()
        return position

    def _answer_next(self, data: bytes, position: int) -> int:
        """Answer the request at `position`, and with it further ones that are cached.

        Returns:
            The offset behind the answered requests; `position` if the frame is not complete.
        """
        if len(data) - position < 4:
            return position
        cached = self._handlers.cached_responses(data, position, self._responses.room, self.client)
        if cached is not None:
            responses, stop, _ = cached
            self._responses.add(responses)
            return stop
        size: int = size_at(data, position)[0]
        limit = self._frame_limit(data, position, size)
        if limit is None:
            return position
        if not 0 <= size <= limit:
            protocol = other_protocol(size)
            hint = f", looks like {protocol}" if protocol else ""
            detail = f"frame of {size} bytes{hint}: expected 0 to {limit}"
            raise InvalidRequest(detail, CloseReason.INVALID_FRAME)
        stop = position + 4 + size
        if stop > len(data):
            return position
        response = self._handlers.dispatch(data[position + 4 : stop], self.client)
        if isinstance(response, bytes | tuple):
            self._responses.add(response)
        else:
            self._start(response, size)
        if self._has_too_many_pending():
            self._pause_reading()
        return stop

    def _start(self, response: Awaitable[Frame], size: int) -> None:
        """Complete the response to a request of `size` bytes in a task."""
        occupied = size * DECODED_FACTOR + self.client.items * ITEM_BYTES
        pending = PendingResponse(min(occupied, self._limits.memory // 2 + 1))  # one request of the maximum size fits
        self._responses.add_pending(pending)
        self.account.charge(TASK_SECONDS)
        pending.task = self._loop.create_task(self.account.process(self._complete(pending, response)))

    async def _complete(self, pending: PendingResponse, response: Awaitable[Frame]) -> None:
        """Wait for a response, and send the responses up to the first that is still pending."""
        try:
            pending.frame = await response
        except BaseException as error:  # noqa: BLE001  # `_send_complete` closes the connection for it
            pending.error = error
        if self._transport is not None:
            self._send_complete()

    def _send_complete(self) -> None:
        try:
            self._responses.take_complete()
        except InvalidRequest as error:
            self.close(error.reason, error.detail)
        except asyncio.CancelledError:
            self.close(CloseReason.REQUEST_FAILED, "request canceled")
        except Exception as error:  # noqa: BLE001  # a fault in one response must not affect other connections
            self._fail(error)
        else:
            self._responses.flush()
            self._use_account_of_user()
            self._resume_reading()
            self._close_when_finished()

    def _write(self, data: bytes | memoryview) -> None:
        if self._transport is None:
            return
        self._transport.write(data)
        if self._transport.get_write_buffer_size():
            self._connections.add_buffered_bytes(len(data))

    # Limits

    @property
    def occupied(self) -> int:
        """The number of bytes that are received but not answered, or not sent yet."""
        unsent = 0 if self._transport is None else self._transport.get_write_buffer_size()
        return len(self._rest) + self._responses.pending_bytes + unsent

    def _has_too_many_pending(self) -> bool:
        limits, pending_bytes = self._limits, self._responses.pending_bytes
        return len(self._responses) >= limits.in_flight or pending_bytes > min(limits.unsent, limits.memory // 16)

    def _use_account_of_user(self) -> None:
        """Charge the account of the user once it is known."""
        subject = self.client.subject
        if subject is not None and subject.principal != ANONYMOUS:
            self.account = self._connections.quotas.account(self.ip_address, subject.principal)

    def _wait_turn(self) -> None:
        """Continue in a later iteration of the loop, once the client is within its quota."""
        if not self._waits_turn:
            self._waits_turn = True
            self._pause_reading()
            self.account.call_when_allowed(self._continue)

    def _continue(self) -> None:
        self._waits_turn = False
        if self._transport is not None:
            self._resume_reading()

    def _pause_reading(self) -> None:
        if not self._paused:
            self._paused = True
            self._incomplete_since = None  # a client cannot complete a frame while its socket is not read
            if self._transport is not None and not self._transport.is_closing():
                self._transport.pause_reading()

    def _resume_reading(self) -> None:
        """Resume reading unless a reason for the pause is left, and process what has arrived before."""
        if not self._paused or self._waits_turn or self._refused or self._unread_since is not None:
            return
        if self._has_too_many_pending():
            return
        self._paused = False
        self._process_rest()
        if not self._paused and self._transport is not None and not self._transport.is_closing():
            self._transport.resume_reading()

    def _update_incomplete_since(self) -> None:
        """Note when the first byte of an incomplete frame arrived; further bytes do not extend its timeout."""
        if not self._rest or self._paused:
            self._incomplete_since = None
        elif self._incomplete_since is None:
            self._incomplete_since = self._received_at

    def check_timeouts(self, now: float) -> None:
        """Close the connection if one of its timeouts has passed."""
        limits = self._limits
        if self._closing_since is not None:
            if now - self._closing_since > limits.unread_responses:
                self.abort()
        elif self._unread_since is not None and now - self._unread_since > limits.unread_responses:
            self.close(CloseReason.UNREAD_RESPONSES, f"responses not read for {limits.unread_responses:g} s")
        elif self._incomplete_since is not None and now - self._incomplete_since > limits.incomplete_frame:
            detail = f"frame not completed within {limits.incomplete_frame:g} s, after {len(self._rest)} bytes"
            self.close(CloseReason.INCOMPLETE_FRAME, detail)
        elif not self._responses and self._unread_since is None:
            # A reserved connection must not keep others from administration.
            idle = min(limits.idle, limits.incomplete_frame) if self.client.is_reserved else limits.idle
            if now - self._received_at > idle:
                self.close(CloseReason.IDLE, f"idle for {idle:g} s")

    # Closing

    def finish(self) -> None:
        """Answer the requests in progress, then close."""
        self._finishing = True
        self._close_when_finished()

    def _close_when_finished(self) -> None:
        if self._finishing and not self._responses:
            self.close()

    def _refuse(self, error: InvalidRequest) -> None:
        """Read nothing more, and close the connection once the client is within its quota."""
        self._refused = True
        self._pause_reading()
        self.account.charge(REFUSAL_SECONDS)
        self.account.call_when_allowed(partial(self.close, error.reason, error.detail))

    def _fail(self, error: BaseException) -> None:
        self._connections.observer.failed(self.client, error)
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

    def close_for_memory(self, occupied: int) -> None:
        """Free the memory at once."""
        detail = f"occupies {occupied} bytes, more than others, of {self._limits.memory} for all connections"
        self.close(CloseReason.MEMORY, detail)
        self._rest.clear()
        self.abort()

    def abort(self) -> None:
        """Close the connection immediately, and discard unsent responses."""
        if self._transport is not None:
            self._transport.abort()
