"""The server's side of one connection, without I/O.

Requests may be answered in any order and at any time. Clients expect responses in the order of their requests, so a
response waits for the ones before it.

    connection = ServerConnection()
    connection.receive_data(data)                           # read from the socket
    while (pending := connection.next_request()) is not None:
        request = pending.decode()                          # a header and a MetadataRequest
        connection.respond(pending, MetadataResponse(...))
    for chunk in connection.data_to_send():
        ...                                                 # write chunk
    if connection.error is not None:
        ...                                                 # close the connection

| a request is | from                               | until                                                 |
|--------------|------------------------------------|-------------------------------------------------------|
| received     | `receive_data`                     | `next_request` returns it, or `answer_run` answers it |
| pending      | `next_request`                     | `respond`                                             |
| answered     | `respond`                          | no request before it is pending                       |
| unsent       | all requests before it are answered| `data_to_send`                                        |

A response with an error is the last one: `error` is set once all requests before it are answered.
"""

from __future__ import annotations

from collections import deque
from struct import unpack_from

from kwire import frame
from kwire._util.light_typing import TYPE_CHECKING
from kwire.declare import Message

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import TypeAlias

    Frame: TypeAlias = bytes | tuple[bytes | memoryview, ...]
    """A frame, or the parts of a large one, which are written one after another instead of being joined."""

MAX_BATCH = 1 << 16
"""Maximum number of bytes of responses joined for one write; copying a larger one costs more than a system call."""
HEADER_BYTES = 8
"""Bytes of the API key, the version, and the correlation id, with which every request begins."""


class PendingRequest:
    """A request that waits for its response, or whose response waits for the ones before it.

    Attributes:
        payload: the frame without its size prefix; empty once there is a response.
        response: the response; None until `respond` is called.
        error: the error given with the response, if any.
    """

    __slots__ = ("_owner", "error", "payload", "response")

    def __init__(self, payload: bytes, owner: object, response: Frame | None = None) -> None:
        self.payload = payload
        self.response = response
        self.error: BaseException | None = None
        self._owner = owner

    def is_of(self, owner: object) -> bool:
        """Return whether the request has no response yet and belongs to a connection, whose mark is `owner`."""
        return self.response is None and self._owner is owner

    def decode(self, dialect: str = "kafka") -> frame.DecodedRequest:
        """Return the header and the message.

        Args:
            dialect: `kafka` or `kip4`.

        Raises:
            DecodeError: the request is malformed. Close the connection, as Kafka does.
            UnsupportedRequest: the version is not declared. Respond to ApiVersions in version 0 with error 35.
            UnknownMessage: the API is not declared.
        """
        return frame.decode_request(self.payload, dialect)


class ServerConnection:
    """Split received bytes into requests, and bring responses into their order.

    Args:
        max_size: the largest request in bytes.

    Attributes:
        error: the error of the last response; None while the connection is usable.
        waiting_bytes: bytes of responses that wait for a response before them.
        unsent_bytes: bytes that `data_to_send` returns next.
    """

    def __init__(self, *, max_size: int = frame.MAX_SIZE) -> None:
        self.error: BaseException | None = None
        self.waiting_bytes = 0
        self.unsent_bytes = 0
        self._splitter = frame.Splitter(max_size=max_size)
        self._pending: deque[PendingRequest] = deque()
        self._mark = object()
        """Marks the requests that are pending here: a client decides how many, so none is looked up among them."""
        self._unsent: list[bytes | memoryview] = []
        """Responses, or parts of them, whose turn has come."""

    @property
    def received_bytes(self) -> int:
        """Bytes that were received and not taken as a request."""
        return self._splitter.partial_bytes

    @property
    def in_flight(self) -> int:
        """The number of requests that are pending or wait for a pending one."""
        return len(self._pending)

    def limit(self, max_size: int, max_sizes: Mapping[int, int] | None = None) -> None:
        """Change the limits of requests that are not taken yet.

        Args:
            max_size: the largest request in bytes.
            max_sizes: larger limits by API key.
        """
        self._splitter.max_size = max_size
        self._splitter.max_sizes = max_sizes or {}

    def receive_data(self, data: bytes) -> None:
        """Add received bytes."""
        self._splitter.add(data)

    def next_request(self) -> PendingRequest | None:
        """Return the next request; None until it is complete, and after the last response.

        Raises:
            InvalidFrameSize: the size of the request is invalid. Nothing can be received any more.
        """
        if self.error is not None:
            return None
        payload = self._splitter.next_payload()
        if payload is None:
            return None
        request = PendingRequest(payload, self._mark)
        self._pending.append(request)
        return request

    def answer_run(self, find_responses: Callable[[bytes, int, int], tuple[bytes, int] | None]) -> bool:
        """Answer the next requests by their bytes, without taking them one by one.

        Args:
            find_responses: takes received bytes, the offset of a request, and the maximum number of bytes to return
                after the first response. Returns response frames and the offset behind the last answered request, or
                None if it has no response to the first one.

        Returns:
            True if a request was answered.

        Raises:
            InvalidFrameSize: the size of the request is invalid.
        """
        splitter = self._splitter
        if self.error is not None or not splitter.has_frame():
            return False
        # A response that waits must not be joined with others: it is sent by itself.
        run = find_responses(splitter.received, splitter.start, 0 if self._pending else MAX_BATCH - self.unsent_bytes)
        if run is None:
            return False
        responses, splitter.start = run
        if self._pending:
            self._pending.append(PendingRequest(b"", self._mark, responses))
            self.waiting_bytes += len(responses)
        else:
            self._unsent.append(responses)
            self.unsent_bytes += len(responses)
        return True

    def respond(
        self,
        request: PendingRequest,
        response: Message | Frame | None,
        *,
        version: int | None = None,
        error: BaseException | None = None,
    ) -> None:
        """Respond to a pending request.

        Args:
            request: the request.
            response: the message, or its frame; None for a request without a response (Produce with `acks` 0), or to
                end the connection without a response.
            version: the version of the message; by default, the version of the request.
            error: makes this response the last one, so that the connection can be closed.

        Raises:
            ValueError: the request is not pending on this connection, or too short for a message as its response.
            EncodeError: the message cannot be encoded. The request is still pending.
            UnsupportedVersion: the message has no such version. The request is still pending.
        """
        if not request.is_of(self._mark):
            raise ValueError("the request is not pending on this connection: respond to each request once")
        if isinstance(response, Message):
            if len(request.payload) < HEADER_BYTES:
                raise ValueError("the request is shorter than its header: respond with None and an error")
            request_version, correlation_id = unpack_from(">hi", request.payload, 2)
            version = request_version if version is None else version
            response = frame.encode_response(response, version=version, correlation_id=correlation_id)
        request.payload = b""
        request.response = b"" if response is None else response
        request.error = error
        if self._pending[0] is not request:
            self.waiting_bytes += size_of(request.response)
            return
        self._pending.popleft()
        self._finish(request)
        while self._pending and self._pending[0].response is not None:
            waiting = self._pending.popleft()
            self.waiting_bytes -= size_of(self._finish(waiting))

    def data_to_send(self) -> list[bytes | memoryview]:
        """Return the bytes to write next, in chunks."""
        unsent, self._unsent = self._unsent, []
        self.unsent_bytes = 0
        return _joined(unsent) if len(unsent) > 1 else unsent

    def close(self) -> None:
        """Drop everything that is received, pending, or unsent."""
        self._splitter.clear()
        self._pending.clear()
        self._mark = object()
        self._unsent.clear()
        self.waiting_bytes = self.unsent_bytes = 0

    def _finish(self, request: PendingRequest) -> Frame:
        """Add the response to the unsent bytes, unless an earlier one was the last, and return it."""
        response = request.response
        assert response is not None, "only answered requests are finished"
        if self.error is None:
            self.error = request.error
            self._send(response)
        return response

    def _send(self, response: Frame) -> None:
        if isinstance(response, bytes):
            self._unsent.append(response)
        else:
            self._unsent += response
        self.unsent_bytes += size_of(response)


def _joined(parts: Sequence[bytes | memoryview]) -> list[bytes | memoryview]:
    """Join neighbors to chunks of at most `MAX_BATCH` bytes; larger parts are chunks of their own."""
    chunks: list[bytes | memoryview] = []
    first, size = 0, 0
    for index, part in enumerate(parts):
        if size + len(part) > MAX_BATCH and size:
            chunks.append(b"".join(parts[first:index]))
            first, size = index, 0
        if len(part) > MAX_BATCH:
            chunks.append(part)
            first = index + 1
        else:
            size += len(part)
    if size:
        chunks.append(b"".join(parts[first:]))
    return chunks


def size_of(response: Frame) -> int:
    """Return the number of bytes of a response."""
    return len(response) if isinstance(response, bytes) else sum(map(len, response))
