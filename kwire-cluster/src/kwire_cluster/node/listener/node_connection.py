"""One connection of a listener: moves the bytes of a `ServerConnection`, with limits on memory and time.

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
from time import perf_counter
from typing import TYPE_CHECKING

from kwire.authorization.subjects import ANONYMOUS, normalized_host
from kwire.frame import InvalidFrameSize
from kwire.messages.kafka.update_metadata import UpdateMetadataRequest
from kwire.protocol.server_connection import MAX_BATCH, ServerConnection
from kwire_cluster.node.listener.connection_limits import CloseReason, ConnectedClient, InvalidRequest
from kwire_cluster.request_quotas import SLICE_SECONDS

if TYPE_CHECKING:
    from collections.abc import Awaitable

    from kwire.protocol.server_connection import Frame, PendingRequest
    from kwire_cluster.node.listener.connection_limits import RequestHandlers
    from kwire_cluster.node.listener.open_connections import OpenConnections
    from kwire_cluster.request_quotas import Account

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


class NodeConnection(asyncio.Protocol):
    """A connection to a client.

    Args:
        connections: the open connections of the listener, which this one joins.
        account: the account of the address, until the user is known.
        handlers: answer the requests.

    Attributes:
        account: the account of the user; of the address, until the user is known.
        client: the facts about the client.
        ip_address: the address of the client.
    """

    def __init__(self, connections: OpenConnections, account: Account, handlers: RequestHandlers) -> None:
        self._connections = connections
        self._handlers = handlers
        self._limits = connections.limits
        self._loop = asyncio.get_running_loop()
        self.account = account
        self._transport: asyncio.Transport | None = None
        self._protocol = ServerConnection()
        self._tasks: set[asyncio.Task[None]] = set()
        self._in_progress_bytes = 0
        """Estimated memory of the requests that tasks complete."""
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
        self._find_cached = partial(handlers.cached_responses, self.client)
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
        self._use_limits_of_user()
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
        for task in self._tasks:
            task.cancel()
        received = self._protocol.received_bytes
        if self._close_reason is None and received and not self._finishing:
            self._close_reason = CloseReason.DISCONNECTED
            self._close_detail = f"disconnected within a frame, after {received} bytes"
        self._protocol.close()  # an account that is throttled keeps the connection for some seconds
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
        self._protocol.receive_data(data)
        rest = len(data) if self._paused else self._answer()
        if rest:
            self._connections.add_buffered_bytes(min(rest, len(data)))

    def pause_writing(self) -> None:
        self._unread_since = self._loop.time()
        self._pause_reading()

    def resume_writing(self) -> None:
        self._unread_since = None
        self._resume_reading()

    # Requests

    def _answer(self) -> int:
        """Answer the requests that are received, until a limit pauses reading. Return the bytes that are left."""
        protocol = self._protocol
        slice_end = perf_counter() + SLICE_SECONDS
        try:
            if self.account.is_throttled:
                self._wait_turn()
            while not self._paused and not self._finishing:
                if self._connections.memory_check_pending:
                    self._wait_turn()
                elif not self._answer_next() or not protocol.received_bytes:
                    break
                elif perf_counter() > slice_end:
                    self._wait_turn()
        except InvalidFrameSize as error:
            self._refuse(InvalidRequest(str(error), CloseReason.INVALID_FRAME))
        except InvalidRequest as error:
            self._refuse(error)
        except Exception as error:  # noqa: BLE001  # a fault in one response must not affect other connections
            self._flush()
            self._fail(error)
        if protocol.unsent_bytes:
            self._flush()
        rest = protocol.received_bytes
        # The timeout of an incomplete frame starts with its first byte; further bytes do not extend it.
        if not rest or self._paused:
            self._incomplete_since = None
        elif self._incomplete_since is None:
            self._incomplete_since = self._received_at
        return rest

    def _answer_next(self) -> bool:
        """Answer the next request, and with it further ones that are cached. Return False if it is not complete."""
        protocol = self._protocol
        if protocol.answer_run(self._find_cached):
            if protocol.unsent_bytes > MAX_BATCH:
                self._flush()  # this pauses reading, if the client does not read
            return True
        request = protocol.next_request()
        if request is None:
            return False
        size = len(request.payload)
        response = self._handlers.dispatch(request.payload, self.client)
        if isinstance(response, bytes | tuple):
            self._respond(request, response)
        else:
            self._start(request, response, size)
        if self._has_too_many_pending():
            self._pause_reading()
        return True

    def _start(self, request: PendingRequest, response: Awaitable[Frame], size: int) -> None:
        """Complete the response to a request of `size` bytes in a task."""
        occupied = size * DECODED_FACTOR + self.client.items * ITEM_BYTES
        occupied = min(occupied, self._limits.memory // 2 + 1)  # one request of the maximum size fits
        self._in_progress_bytes += occupied
        self._connections.add_buffered_bytes(occupied)
        self.account.charge(TASK_SECONDS)
        task = self._loop.create_task(self.account.process(self._complete(request, response, occupied)))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _complete(self, request: PendingRequest, response: Awaitable[Frame], occupied: int) -> None:
        """Wait for a response, and send the responses up to the first that is still pending."""
        frame: Frame | None = None
        error: BaseException | None = None
        try:
            frame = await response
        except InvalidRequest as invalid:
            frame, error = invalid.response, invalid
        except BaseException as fault:  # noqa: BLE001  # the connection closes for it
            error = fault
        self._in_progress_bytes -= occupied
        if self._transport is None or self._transport.is_closing():
            return
        self._respond(request, frame, error)
        self._flush()
        match self._protocol.error:
            case None:
                self._use_limits_of_user()
                self._resume_reading()
                self._close_when_finished()
            case InvalidRequest() as error:
                self.close(error.reason, error.detail)
            case asyncio.CancelledError():
                self.close(CloseReason.REQUEST_FAILED, "request canceled")
            case error:
                self._fail(error)

    def _respond(self, request: PendingRequest, response: Frame | None, error: BaseException | None = None) -> None:
        protocol = self._protocol
        waiting_bytes = protocol.waiting_bytes
        protocol.respond(request, response, error=error)
        if protocol.waiting_bytes > waiting_bytes:
            self._connections.add_buffered_bytes(protocol.waiting_bytes - waiting_bytes)
        if protocol.unsent_bytes > MAX_BATCH:
            self._flush()

    def _flush(self) -> None:
        """Write the responses whose turn has come."""
        for chunk in self._protocol.data_to_send():
            if self._transport is None:
                return
            self._transport.write(chunk)
            if self._transport.get_write_buffer_size():
                self._connections.add_buffered_bytes(len(chunk))

    # Limits

    @property
    def occupied(self) -> int:
        """The number of bytes that are received but not answered, or not sent yet."""
        unsent = 0 if self._transport is None else self._transport.get_write_buffer_size()
        return self._protocol.received_bytes + self._pending_bytes + unsent

    @property
    def _pending_bytes(self) -> int:
        return self._in_progress_bytes + self._protocol.waiting_bytes

    def _has_too_many_pending(self) -> bool:
        limits = self._limits
        if self._protocol.in_flight >= limits.in_flight:
            return True
        return self._pending_bytes > min(limits.unsent, limits.memory // 16)

    def _use_limits_of_user(self) -> None:
        """Accept larger frames, and charge the account of the user, once it is known."""
        limits, subject = self._limits, self.client.subject
        if subject is None and self.client.authentication is not None:
            self._protocol.limit(min(limits.frame, limits.unauthenticated_frame))
        else:
            self._protocol.limit(limits.frame, {UpdateMetadataRequest.api_key: limits.broker_frame})
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
        self._answer()
        if not self._paused and self._transport is not None and not self._transport.is_closing():
            self._transport.resume_reading()

    def check_timeouts(self, now: float) -> None:
        """Close the connection if one of its timeouts has passed."""
        limits = self._limits
        if self._closing_since is not None:
            if now - self._closing_since > limits.unread_responses:
                self.abort()
        elif self._unread_since is not None and now - self._unread_since > limits.unread_responses:
            self.close(CloseReason.UNREAD_RESPONSES, f"responses not read for {limits.unread_responses:g} s")
        elif self._incomplete_since is not None and now - self._incomplete_since > limits.incomplete_frame:
            detail = (
                f"frame not completed within {limits.incomplete_frame:g} s, after {self._protocol.received_bytes} bytes"
            )
            self.close(CloseReason.INCOMPLETE_FRAME, detail)
        elif not self._protocol.in_flight and self._unread_since is None:
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
        if self._finishing and not self._protocol.in_flight:
            self.close()

    def _refuse(self, error: InvalidRequest) -> None:
        """Read nothing more, and close the connection once the client is within its quota."""
        self._flush()
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
        self._protocol.close()
        self.abort()

    def abort(self) -> None:
        """Close the connection immediately, and discard unsent responses."""
        if self._transport is not None:
            self._transport.abort()
