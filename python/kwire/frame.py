"""Frames: a size prefix, a header, and a message.

`encode_request` and `encode_response` return whole frames, including the four bytes of the size prefix. `Splitter`
takes a stream apart into payloads, the frames without their size, and `decode_request` and `decode_response` decode
them. The version of the header follows from the message. Offsets in errors count from the start of the payload.

Two cases are special:

- A broker that does not support the version of an ApiVersions request responds in version 0 with error 35
  (UNSUPPORTED_VERSION). `decode_response` accepts that and returns the version it found.
- librdkafka appends three bytes to Metadata requests, which brokers ignore. `decode_request` returns such bytes as
  `surplus`. In responses and in other dialects, trailing bytes are errors.
"""

from __future__ import annotations

from struct import Struct, pack, unpack_from

from kwire._util.light_typing import TYPE_CHECKING, Generic, NamedTuple, TypeVar
from kwire.codec import decode, encode, validate
from kwire.declare.introspect import check_version, describe
from kwire.errors import DecodeError, EncodeError, KwireError, UnsupportedVersion
from kwire.messages import UnknownMessage, every, find
from kwire.messages.headers import RequestHeader, ResponseHeader

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import TypeAlias

    from kwire.declare import Message

    BytesLike: TypeAlias = bytes | bytearray | memoryview

__all__ = [
    "MAX_SIZE",
    "DecodedRequest",
    "DecodedResponse",
    "InvalidFrameSize",
    "Splitter",
    "UnsupportedRequest",
    "decode_request",
    "decode_request_header",
    "decode_response",
    "encode_request",
    "encode_response",
    "other_protocol",
]

M = TypeVar("M", bound="Message")

API_VERSIONS = 18
UNSUPPORTED_VERSION = 35

MAX_SIZE = 100 * 1024 * 1024
"""The largest frame that a broker accepts by default (`socket.request.max.bytes`)."""

size_at = Struct(">i").unpack_from
api_key_at = Struct(">h").unpack_from


class UnsupportedRequest(UnsupportedVersion):
    """The version of a request is not declared, so only its header could be decoded.

    Kafka responds to such ApiVersions requests in version 0 with error 35, and closes the connection otherwise:

        except frame.UnsupportedRequest as error:
            if error.header.request_api_key == 18:
                response = ApiVersionsResponse(error_code=35, api_keys=supported)
                frame.encode_response(response, version=0, correlation_id=error.header.correlation_id)

    Attributes:
        header: the request header, with the correlation id for a response.
    """

    def __init__(self, message: str, version: int, supported: str, header: RequestHeader) -> None:
        super().__init__(message, version, supported)
        self.args = (message, version, supported, header)
        self.header = header


class InvalidFrameSize(KwireError, ValueError):
    """The size of a frame is negative or above the limit.

    Attributes:
        size: the size in the prefix, in bytes.
        max_size: the limit.
    """

    def __init__(self, size: int, max_size: int) -> None:
        super().__init__(size, max_size)
        self.size = size
        self.max_size = max_size

    def __str__(self) -> str:
        if protocol := other_protocol(self.size):
            return f"received {protocol} instead of Kafka's protocol"
        return f"frame of {self.size} bytes, but between 0 and {self.max_size} are allowed"


_HTTP_STARTS = (b"HTTP", b"GET ", b"HEAD", b"POST", b"PUT ", b"PATC", b"DELE", b"OPTI", b"CONN", b"TRAC", b"PRI ")
"""The first four bytes of HTTP responses and requests. `PRI ` starts HTTP/2."""


def other_protocol(size: int) -> str | None:
    """Return `HTTP` or `TLS` if the bytes of a size prefix start a stream of that protocol, else None.

    Clients of the wrong port send such bytes. As a size they are more than a broker accepts by default.
    """
    start = pack(">i", size)
    if start in _HTTP_STARTS:
        return "HTTP"
    # A TLS record: change cipher spec, alert, handshake, or data, of SSL 3.0 to TLS 1.3.
    if 0x14 <= start[0] <= 0x17 and start[1] == 3 and start[2] <= 4:
        return "TLS"
    return None


class DecodedRequest(NamedTuple):
    """A decoded request.

    Attributes:
        header: the request header.
        message: the request.
        surplus: bytes after the message, usually empty.
    """

    header: RequestHeader
    message: Message
    surplus: bytes


class DecodedResponse(NamedTuple, Generic[M]):
    """A decoded response.

    Attributes:
        correlation_id: the id of the request that it belongs to.
        version: the version in which it is encoded.
        message: the response.
    """

    correlation_id: int
    version: int
    message: M


def encode_request(message: Message, *, version: int, correlation_id: int, client_id: str | None = None) -> bytes:
    """Return the frame of a request.

    Args:
        message: the request.
        version: the version to encode it in.
        correlation_id: the id that the response will have.
        client_id: the client id of the header.

    Raises:
        EncodeError: the message cannot be encoded or is not a request.
        UnsupportedVersion: the message has no such version.
    """
    cls = type(message)
    header = RequestHeader(
        request_api_key=cls.api_key,
        request_api_version=version,
        correlation_id=correlation_id,
        client_id=client_id,
    )
    return _frame(header, message, version, "request")


def encode_response(message: Message, *, version: int, correlation_id: int) -> bytes:
    """Return the frame of a response.

    Args:
        message: the response.
        version: the version of the request.
        correlation_id: the correlation id of the request.

    Raises:
        EncodeError: the message cannot be encoded or is not a response.
        UnsupportedVersion: the message has no such version.
    """
    return _frame(ResponseHeader(correlation_id=correlation_id), message, version, "response")


def _frame(header: Message, message: Message, version: int, kind: str) -> bytes:
    facts = describe(type(message))
    if facts.kind != kind:
        raise EncodeError(
            "wrong_type",
            (),
            f"expected a {kind}, but {facts.name} is a {facts.kind}{' message' * (facts.kind == 'data')}",
        )
    check_version(type(message), version)
    header_bytes = encode(header, version=facts.header_version(version))
    body = encode(message, version=version)
    size = len(header_bytes) + len(body)
    if size > 0x7FFF_FFFF:
        raise EncodeError("too_long", (), f"the frame has {size} bytes, and at most {0x7FFF_FFFF} are possible")
    return b"".join((pack(">i", size), header_bytes, body))


def decode_request(payload: BytesLike, dialect: str = "kafka") -> DecodedRequest:
    """Decode a request as a server does.

    Args:
        payload: a frame without its size prefix.
        dialect: `kafka` or `kip4`.

    Raises:
        DecodeError: the payload is malformed.
        UnsupportedRequest: the version is not declared; the error has the header.
        kwire.messages.UnknownMessage: the API key is not declared.
    """
    payload = _octets(payload)
    if len(payload) < 4:
        decode(RequestHeader, payload, version=1)  # raises the DecodeError
    api_key, version = unpack_from(">hh", payload)
    cls = _request_class(dialect, api_key, version)
    if cls is None:
        raise UnknownMessage(dialect, api_key, None, "request")
    header, start = _read_header(RequestHeader, payload, describe(cls).header_version(version))
    if version not in cls.versions:
        raise UnsupportedRequest(cls.__name__, version, _supported(dialect, api_key), header)
    body = memoryview(payload)[start:]
    try:
        return DecodedRequest(header, decode(cls, body, version=version), b"")
    except DecodeError as error:
        if error.kind != "trailing_bytes" or dialect != "kafka":
            raise error.shifted(start) from None
        end = error.offset
    return DecodedRequest(header, decode(cls, body[:end], version=version), bytes(body[end:]))


def decode_request_header(payload: BytesLike, dialect: str = "kafka") -> tuple[RequestHeader, int]:
    """Decode the header of a request, also if its message is not declared.

    Args:
        payload: a frame without its size prefix.
        dialect: `kafka` or `kip4`.

    Returns:
        The header, and the offset at which it ends. For an API that is not declared, the header has the layout of
        version 1, which is the start of version 2: its tagged fields are left to the body.

    Raises:
        DecodeError: the header is malformed.
    """
    payload = _octets(payload)
    header_version = 1
    if len(payload) >= 4:
        api_key, version = unpack_from(">hh", payload)
        cls = _request_class(dialect, api_key, version)
        header_version = 1 if cls is None else describe(cls).header_version(version)
    return _read_header(RequestHeader, payload, header_version)


def decode_response(payload: BytesLike, cls: type[M], *, version: int) -> DecodedResponse[M]:
    """Decode the response to a request.

    Args:
        payload: a frame without its size prefix.
        cls: the class of the response.
        version: the version of the request. The returned version differs from it if a broker does not support the
            version of an ApiVersions request.

    Raises:
        DecodeError: the payload is malformed.
        UnsupportedVersion: the class has no such version.
    """
    payload = _octets(payload)
    if cls.api_key == API_VERSIONS and version not in cls.versions and payload[4:6] == pack(">h", UNSUPPORTED_VERSION):
        version = 0  # kwire does not support the version of the request either
    check_version(cls, version)
    header, start = _read_header(ResponseHeader, payload, describe(cls).header_version(version))
    body = memoryview(payload)[start:]
    try:
        return DecodedResponse(header.correlation_id, version, decode(cls, body, version=version))
    except DecodeError as error:
        fault = error.shifted(start)
    if cls.api_key == API_VERSIONS and version > 0 and body[:2] == pack(">h", UNSUPPORTED_VERSION):
        try:
            return DecodedResponse(header.correlation_id, 0, decode(cls, body, version=0))
        except DecodeError as error:
            fault = error.shifted(start)
    raise fault


def _request_class(dialect: str, api_key: int, version: int) -> type[Message] | None:
    """Return the request of an API, the class that has the version if there is one; None for an unknown API."""
    for candidate in (version, None):
        try:
            return find(dialect, api_key=api_key, version=candidate, kind="request")
        except UnknownMessage:
            pass
    return None


def _octets(payload: BytesLike) -> BytesLike:
    """Return a payload with items of one byte; a memoryview can have larger items, or gaps between them."""
    if not isinstance(payload, memoryview) or (payload.format == "B" and payload.ndim == 1 and payload.c_contiguous):
        return payload
    try:
        return payload.cast("B")
    except TypeError:  # not contiguous, or of a format that has no cast, such as "<i"
        return payload.tobytes()


def _read_header(cls: type[M], payload: BytesLike, version: int) -> tuple[M, int]:
    """Return the header of a payload and the offset at which it ends."""
    try:
        validate(cls, payload, version=version)
    except DecodeError as error:
        if error.kind != "trailing_bytes":
            raise
        end = error.offset
    else:
        end = len(payload)
    return decode(cls, payload[:end], version=version), end


def _supported(dialect: str, api_key: int) -> str:
    """Return the declared versions of a request, newest first."""
    requests = [cls for cls in every(dialect) if cls.api_key == api_key and describe(cls).kind == "request"]
    return ", ".join(str(cls.versions) for cls in requests)


class Splitter:
    """Split a stream that arrives in chunks of any size into payloads.

    A chunk is copied only if it ends within a frame, or if frames before it were not taken. A negative or too large
    size is rejected as soon as its four bytes have arrived; the stream ends there, and everything after it is rejected.

    Args:
        max_size: the largest payload in bytes.
        max_sizes: larger limits by API key, for streams of requests. A size between `max_size` and these is judged by
            the key, the first two bytes of the payload.

    Attributes:
        received: the bytes in which the next frame is looked for.
        start: the offset of the next frame in `received`.
    """

    __slots__ = ("_error", "_incomplete", "max_size", "max_sizes", "received", "start")

    def __init__(self, *, max_size: int = MAX_SIZE, max_sizes: Mapping[int, int] | None = None) -> None:
        self.max_size = max_size
        self.max_sizes = max_sizes or {}
        self.received = b""
        self.start = 0
        self._incomplete = bytearray()
        """The start of a frame that continues in the next chunk; `received` is used up then."""
        self._error: InvalidFrameSize | None = None

    @property
    def partial_bytes(self) -> int:
        """Bytes that were added and not yet returned: of an incomplete frame, including its size prefix."""
        return len(self.received) - self.start + len(self._incomplete)

    def feed(self, chunk: BytesLike) -> Iterator[bytes]:
        """Add a chunk and return an iterator over the completed payloads.

        Payloads that are not consumed are returned by the next iterator.

        Raises:
            InvalidFrameSize: the size of a frame is invalid; raised by the iterator after the payloads before it.
        """
        self.add(chunk)
        return iter(self.next_payload, None)

    def add(self, chunk: BytesLike) -> None:
        """Add a chunk."""
        if self._error is not None:
            return
        if self.start < len(self.received):
            self._keep_rest()
        if self._incomplete:
            self._incomplete += chunk
        else:
            self.received, self.start = bytes(chunk), 0

    def clear(self) -> None:
        """Drop the bytes that were added and not yet returned."""
        self.received, self.start = b"", 0
        self._incomplete.clear()

    def next_payload(self) -> bytes | None:
        """Return the next payload; None until it is complete.

        Raises:
            InvalidFrameSize: the size of the frame is invalid.
        """
        if not self.has_frame():
            return None
        start = self.start + 4
        self.start = start + size_at(self.received, start - 4)[0]
        return self.received[start : self.start]

    def has_frame(self) -> bool:
        """Return whether `received` has a complete frame at `start`.

        Raises:
            InvalidFrameSize: the size of the frame is invalid.
        """
        received, start = self.received, self.start
        left = len(received) - start - 4
        if left >= 0 and 0 <= size_at(received, start)[0] <= min(left, self.max_size):
            return True  # without a call, because this is the usual case
        if self._error is not None:
            raise self._error
        if self._incomplete:
            if self._end_of_frame(self._incomplete, 0) > len(self._incomplete):
                return False
            self.received, self.start = bytes(self._incomplete), 0
            self._incomplete.clear()
            return True
        if self._end_of_frame(received, start) <= len(received):
            return True
        self._keep_rest()
        return False

    def _keep_rest(self) -> None:
        """Copy the bytes that are left in `received`, so that a few of them do not keep a whole chunk."""
        if self.start < len(self.received):
            self._incomplete += memoryview(self.received)[self.start :]
        self.received, self.start = b"", 0

    def _end_of_frame(self, data: bytes | bytearray, start: int) -> int:
        """Return the offset at which a frame ends; before its size is known, an offset behind `data`."""
        if len(data) - start < 4:
            return start + 4
        size: int = size_at(data, start)[0]
        limit = self.max_size
        if limit < size <= max(self.max_sizes.values(), default=0):
            if len(data) - start < 6:
                return start + 6
            limit = self.max_sizes.get(api_key_at(data, start + 4)[0], limit)
        if not 0 <= size <= limit:
            self.clear()
            self._error = InvalidFrameSize(size, limit)
            raise self._error
        return start + 4 + size
