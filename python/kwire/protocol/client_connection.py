"""A client's side of one connection: what to send, and what an answer belongs to.

Rules of this file: no I/O. Requests may be sent before earlier ones are answered; answers come in the order of the
requests, and the correlation id proves it. The first words are ApiVersions in our newest version; a broker that does
not know it says in version 0 (error 35) which it knows, and is asked again.

    connection = ClientConnection(endpoint)
    sent = connection.request_api_versions()                       # write sent.frame
    while (sent := connection.receive_api_versions(payload)):    # for each answer, until it is None
        ...                                         # write sent.frame
    sent = connection.request(MetadataRequest(topics=None))
    answer = connection.receive(payload)             # answer.sent is sent; answer.decode() is a MetadataResponse
"""

from __future__ import annotations

import sys
from collections import deque
from struct import unpack_from
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, TypeVar, cast

from kwire import frame
from kwire.codec import decode, validate
from kwire.declare.introspect import describe
from kwire.errors import DecodeError
from kwire.messages import find
from kwire.messages.headers import ResponseHeader
from kwire.messages.kafka.api_versions import ApiVersionsRequest, ApiVersionsResponse
from kwire.protocol.errors import InvalidResponse, NegotiationFailed, NoCommonVersion, WrongCorrelation
from kwire.protocol.negotiated_versions import NegotiatedVersions

if TYPE_CHECKING:
    from kwire.declare import Message, Request
    from kwire.protocol.endpoint import Endpoint

__all__ = ["ClientConnection", "ReceivedResponse", "SentRequest", "find_body_start"]

R = TypeVar("R", bound="Message")

SOFTWARE_NAME = "kwire"
UNSUPPORTED_VERSION = 35
LARGEST_CORRELATION_ID = 0x7FFF_FFFF


class SentRequest(NamedTuple, Generic[R]):
    """A request on its way. ``frame``: its bytes, the size included; ``response``: the class of its answer."""

    correlation_id: int
    request: Request[R]
    response: type[R]
    version: int
    frame: bytes

    @property
    def payload(self) -> bytes:
        """Its bytes behind the size."""
        return self.frame[4:]


class ReceivedResponse(NamedTuple, Generic[R]):
    """An answer that belongs to ``sent``. ``payload``: its bytes from the correlation id; ``start``: of the body."""

    endpoint: Endpoint
    sent: SentRequest[R]
    payload: bytes
    start: int

    @property
    def body(self) -> memoryview:
        """Its bytes behind the header."""
        return memoryview(self.payload)[self.start :]

    def decode(self) -> R:
        """Raises InvalidResponse, after which the connection should not be trusted."""
        try:
            return decode(self.sent.response, self.body, version=self.sent.version)
        except DecodeError as error:
            raise self.fault(error) from error

    def fault(self, error: DecodeError) -> InvalidResponse:
        """What a decoder found in the body, as a fault of the connection."""
        moved = DecodeError(error.kind, error.offset + self.start, error.path, error.wanted, error.left)
        return _bad_answer(self.endpoint, self.sent, moved, self.payload)


class ClientConnection:
    """``client_id``: who we say we are, for logs, metrics and quotas. ``negotiated``: None until it is known."""

    def __init__(self, endpoint: Endpoint, *, client_id: str | None = "kwire") -> None:
        self.endpoint = endpoint
        self.client_id = client_id
        self.negotiated: NegotiatedVersions | None = None
        self._due: deque[SentRequest[Any]] = deque()
        self._next_id = 0

    @property
    def in_flight(self) -> int:
        """How many requests are unanswered."""
        return len(self._due)

    def request_api_versions(self, version: int | None = None) -> SentRequest[ApiVersionsResponse]:
        """The first request. ``version``: our newest unless told."""
        from kwire import __version__

        request = ApiVersionsRequest(client_software_name=SOFTWARE_NAME, client_software_version=__version__)
        return self.request(request, version=request.versions.highest if version is None else version)

    def receive_api_versions(self, payload: bytes) -> SentRequest[ApiVersionsResponse] | None:
        """Take the answer to ``hello``; None when all is known, else the next request.

        Raises WrongCorrelation, InvalidResponse, NegotiationFailed, NoCommonVersion.
        """
        answer = self.receive(payload)
        asked = answer.sent.version
        try:
            told = frame.decode_response(payload, ApiVersionsResponse, version=asked).message
        except DecodeError as error:
            raise _bad_answer(self.endpoint, answer.sent, error, payload) from error
        if told.error_code == UNSUPPORTED_VERSION and asked > 0:
            # Before KIP-511 brokers did not say which versions they know; all know version 0.
            known = NegotiatedVersions(self.endpoint, told).versions.get(ApiVersionsRequest.api_key, (0, 0))
            if known[0] >= asked:
                raise NoCommonVersion(self.endpoint, "ApiVersionsRequest", str(ApiVersionsRequest.versions), known)
            return self.request_api_versions(min(known[1], asked - 1))
        if told.error_code:
            raise NegotiationFailed(self.endpoint, told.error_code)
        self.negotiated = NegotiatedVersions(self.endpoint, told)
        return None

    def version_of(self, request: type[Message]) -> int:
        """The version to send a request in. Raises NoCommonVersion; ValueError before the versions are known."""
        if self.negotiated is None:
            raise ValueError("the versions of the broker are not known yet")
        return self.negotiated.version_of(request)

    def request(self, message: Request[R], *, version: int | None = None) -> SentRequest[R]:
        """The next request. Raises NoCommonVersion, EncodeError; nothing is then to be sent."""
        cls = type(message)
        if version is None:
            version = self.version_of(cls)
        correlation_id = self._next_id
        made = frame.encode_request(message, version=version, correlation_id=correlation_id, client_id=self.client_id)
        sent = SentRequest(correlation_id, message, cast("type[R]", response_class(cls)), version, made)
        self._next_id = correlation_id + 1 if correlation_id < LARGEST_CORRELATION_ID else 0
        self._due.append(sent)
        return sent

    def receive(self, payload: bytes) -> ReceivedResponse[Any]:
        """What a payload answers: the oldest request. Its body is not read. Raises WrongCorrelation, InvalidResponse."""
        sent = self._due[0] if self._due else None
        if len(payload) < 4:
            missing = DecodeError("truncated", 0, ("correlation_id",), 4, len(payload))
            raise _bad_answer(self.endpoint, sent, missing, payload)
        (got,) = unpack_from(">i", payload)
        if sent is None or got != sent.correlation_id:
            raise WrongCorrelation(self.endpoint, None if sent is None else sent.correlation_id, got)
        try:
            start = find_body_start(payload, describe(sent.response).header_version(sent.version))
        except DecodeError as error:
            raise _bad_answer(self.endpoint, sent, error, payload) from error
        self._due.popleft()
        return ReceivedResponse(self.endpoint, sent, payload, start)


def _bad_answer(
    endpoint: Endpoint, sent: SentRequest[Any] | None, error: DecodeError, payload: bytes
) -> InvalidResponse:
    if sent is None:
        return InvalidResponse(endpoint, "ResponseHeader", 0, error, payload)
    return InvalidResponse(endpoint, sent.response.__name__, sent.version, error, payload, sent.payload)


def response_class(request: type[Message]) -> type[Message]:
    """The class that answers a request: it stands beside it, or where its dialect's messages are."""
    name = request.__kwire_response__
    if name is None:
        raise TypeError(f"{request.__name__} is no request")
    beside = getattr(sys.modules[request.__module__], name, None)
    return beside if beside is not None else find(describe(request).dialects[0], name=name)


def find_body_start(payload: bytes, header_version: int) -> int:
    """Where the header of an answer ends."""
    if header_version == 0:
        return 4
    if payload[4:5] == b"\0":  # no tags: what every broker sends
        return 5
    try:
        validate(ResponseHeader, payload, version=header_version)
    except DecodeError as error:
        if error.kind != "trailing_bytes":
            raise
        return error.offset
    return len(payload)
