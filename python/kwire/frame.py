"""Frames: a message together with the header before it and the size before both.

Rules of this file: ``encode_*`` make whole frames, the four bytes of size included; ``Splitter`` takes them out of a
stream and ``decode_*`` take what it gives, the bytes behind the size. Which version the header has follows from the
message. Offsets in errors count from the start of the payload, header included.

Two things are special. A broker that does not know the version of an ApiVersions request answers in version 0, with
error 35; ``decode_response`` takes that for an answer and says which version it was. And one real client writes three
bytes too many behind a Metadata request, which brokers do not mind: ``decode_request`` hands such bytes over as
``surplus``. Answers, and requests of other dialects than Kafka's, must end where they end.
"""

from __future__ import annotations

from struct import pack, unpack_from
from typing import TYPE_CHECKING, Generic, NamedTuple, TypeVar

from kwire.codec import decode, encode, validate
from kwire.declare.introspect import check_version, describe
from kwire.errors import DecodeError, EncodeError, KwireError, UnsupportedVersion
from kwire.messages import UnknownMessage, every, find
from kwire.messages.headers import RequestHeader, ResponseHeader

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import TypeAlias

    from kwire.declare import Message

    BytesLike: TypeAlias = bytes | bytearray | memoryview

M = TypeVar("M", bound="Message")

API_VERSIONS = 18
UNSUPPORTED_VERSION = 35

MAX_SIZE = 100 * 1024 * 1024
"""What a broker takes by default (``socket.request.max.bytes``)."""


class UnsupportedRequest(UnsupportedVersion):
    """A request whose header can be read and whose body cannot: its version is not declared here.

    ``header`` has the correlation id, so that a server can answer. Kafka answers an ApiVersions request only, in
    version 0 and with error 35; of a client that asks for something else it closes the connection.

        except frame.UnsupportedRequest as error:
            if error.header.request_api_key == 18:
                answer = ApiVersionsResponse(error_code=35, api_keys=supported)
                frame.encode_response(answer, version=0, correlation_id=error.header.correlation_id)
    """

    def __init__(self, message: str, version: int, supported: str, header: RequestHeader) -> None:
        super().__init__(message, version, supported)
        self.args = (message, version, supported, header)
        self.header = header


class InvalidFrameSize(KwireError, ValueError):
    """A frame that says it is negative in size, or larger than allowed. ``size``, ``max_size``: in bytes."""

    def __init__(self, size: int, max_size: int) -> None:
        super().__init__(size, max_size)
        self.size = size
        self.max_size = max_size

    def __str__(self) -> str:
        return f"a frame of {self.size} bytes: between 0 and {self.max_size} are allowed"


class Request(NamedTuple):
    """A request as a server reads it. ``surplus``: bytes behind it that belong to nothing; nearly always none."""

    header: RequestHeader
    message: Message
    surplus: bytes


class Response(NamedTuple, Generic[M]):
    """An answer as a client reads it. ``version``: the one it is written in."""

    correlation_id: int
    version: int
    message: M


def encode_request(message: Message, *, version: int, correlation_id: int, client_id: str | None = None) -> bytes:
    """The frame of a request. Raises EncodeError, UnsupportedVersion."""
    cls = type(message)
    header = RequestHeader(
        request_api_key=cls.api_key,
        request_api_version=version,
        correlation_id=correlation_id,
        client_id=client_id,
    )
    return _frame(header, message, version, "request")


def encode_response(message: Message, *, version: int, correlation_id: int) -> bytes:
    """The frame of an answer. Raises EncodeError, UnsupportedVersion."""
    return _frame(ResponseHeader(correlation_id=correlation_id), message, version, "response")


def _frame(header: Message, message: Message, version: int, kind: str) -> bytes:
    facts = describe(type(message))
    if facts.kind != kind:
        raise EncodeError("wrong_type", (), f"a {kind} is wanted, and {facts.name} is a {facts.kind}")
    check_version(type(message), version)
    before = encode(header, version=facts.header_version(version))
    body = encode(message, version=version)
    size = len(before) + len(body)
    if size > 0x7FFF_FFFF:
        raise EncodeError("too_long", (), f"no frame can say that it has {size} bytes")
    return b"".join((pack(">i", size), before, body))


def decode_request(payload: BytesLike, dialect: str = "kafka") -> Request:
    """Read a request, as a server that speaks ``dialect`` does.

    Raises DecodeError; UnsupportedRequest, with the header, for a version that is not declared;
    ``kwire.messages.UnknownMessage`` for a key that is not.
    """
    if len(payload) < 4:
        decode(RequestHeader, payload, version=1)  # says what is missing
    api_key, version = unpack_from(">hh", payload)
    try:
        cls = find(dialect, api_key=api_key, version=version, kind="request")
    except UnknownMessage:
        cls = find(dialect, api_key=api_key, kind="request")
    header, start = _read_header(RequestHeader, payload, describe(cls).header_version(version))
    if version not in cls.versions:
        raise UnsupportedRequest(cls.__name__, version, _supported(dialect, api_key), header)
    body = memoryview(payload)[start:]
    try:
        return Request(header, decode(cls, body, version=version), b"")
    except DecodeError as error:
        if error.kind != "trailing_bytes" or dialect != "kafka":
            raise _moved(error, start) from None
        end = error.offset
    return Request(header, decode(cls, body[:end], version=version), bytes(body[end:]))


def decode_response(payload: BytesLike, cls: type[M], *, version: int) -> Response[M]:
    """Read the answer to a request that was sent in ``version``. Raises DecodeError, UnsupportedVersion."""
    check_version(cls, version)
    header, start = _read_header(ResponseHeader, payload, describe(cls).header_version(version))
    body = memoryview(payload)[start:]
    try:
        return Response(header.correlation_id, version, decode(cls, body, version=version))
    except DecodeError as error:
        fault = _moved(error, start)
    if cls.api_key == API_VERSIONS and version > 0 and body[:2] == pack(">h", UNSUPPORTED_VERSION):
        try:
            return Response(header.correlation_id, 0, decode(cls, body, version=0))
        except DecodeError as error:
            fault = _moved(error, start)
    raise fault


def _read_header(cls: type[M], payload: BytesLike, version: int) -> tuple[M, int]:
    """The header at the start of a payload, and where it ends."""
    try:
        validate(cls, payload, version=version)
    except DecodeError as error:
        if error.kind != "trailing_bytes":
            raise
        end = error.offset
    else:
        end = len(payload)
    return decode(cls, payload[:end], version=version), end


def _moved(error: DecodeError, start: int) -> DecodeError:
    """An error of a body that begins at ``start``."""
    return DecodeError(error.kind, error.offset + start, error.path, error.wanted, error.left)


def _supported(dialect: str, api_key: int) -> str:
    """The declared versions of a request, the newest first."""
    requests = [cls for cls in every(dialect) if cls.api_key == api_key and describe(cls).kind == "request"]
    return ", ".join(str(cls.versions) for cls in requests)


class Splitter:
    """Takes payloads out of a stream that arrives in chunks of any size.

    It holds what has arrived and is not yet handed out: never more than one unfinished frame, hence ``max_size`` and
    four bytes, beside the chunk at hand. A size that is negative or larger than ``max_size`` is refused as soon as
    its four bytes are there; after that the stream has no meaning any more, and the splitter refuses all that follows.
    """

    __slots__ = ("_arrived", "_refusal", "max_size")

    def __init__(self, *, max_size: int = MAX_SIZE) -> None:
        self.max_size = max_size
        self._arrived = bytearray()
        self._refusal: InvalidFrameSize | None = None

    def feed(self, chunk: BytesLike) -> Iterator[bytes]:
        """The payloads that ``chunk`` completes; those that are not taken now, the next iterator gives.

        Raises InvalidFrameSize, behind the payloads that came before the refused one.
        """
        if self._refusal is None:
            self._arrived += chunk
        return self._complete()

    def _complete(self) -> Iterator[bytes]:
        arrived = self._arrived
        while True:
            if self._refusal is not None:
                raise self._refusal
            if len(arrived) < 4:
                return
            (size,) = unpack_from(">i", arrived)
            if not 0 <= size <= self.max_size:
                self._refusal = InvalidFrameSize(size, self.max_size)
                arrived.clear()
            elif len(arrived) < 4 + size:
                return
            else:
                with memoryview(arrived) as view:
                    payload = bytes(view[4 : 4 + size])
                del arrived[: 4 + size]
                yield payload
