"""The client side of one connection, without I/O.

Requests may be sent before earlier ones are answered. Responses arrive in the order of the requests, and the
correlation id is checked. The first request is ApiVersions in kwire's highest version. A broker that does not support
that version responds in version 0 with error 35 (UNSUPPORTED_VERSION) and the versions it supports, and the request is
sent again.

    connection = ClientConnection(endpoint)
    handshake = connection.request_api_versions()               # write handshake.frame, read a payload
    while (again := connection.receive_api_versions(payload)) is not None:
        ...                                                     # write again.frame, read a payload
    sent = connection.request(MetadataRequest(topics=None))     # write sent.frame, read a payload
    message = connection.receive(payload, sent).decode()        # a MetadataResponse

| a request is | from                   | until                                                                   |
|--------------|------------------------|-------------------------------------------------------------------------|
| encoded      | `encode`, or `request` | `expect`; `request` calls it                                            |
| in flight    | `expect`               | `receive` returns its response, the oldest request first                |
| answered     | `receive`              | the caller decodes the response, which `receive` does not               |

A request without a response (Produce with `acks` 0) is only sent: it is never in flight.
"""

from __future__ import annotations

import sys
from collections import deque
from functools import cache
from struct import unpack_from

from kwire import frame
from kwire._util.light_typing import TYPE_CHECKING, Any, Generic, NamedTuple, TypeVar, cast, overload
from kwire.codec import decode, validate
from kwire.declare.introspect import describe, fields
from kwire.declare.sensitive_fields import has_sensitive_fields
from kwire.errors import DecodeError
from kwire.messages import find
from kwire.messages.headers import ResponseHeader
from kwire.messages.kafka.api_versions import ApiVersionsRequest, ApiVersionsResponse
from kwire.protocol.errors import InvalidResponse, NegotiationFailed, NoCommonVersion, WrongCorrelation
from kwire.protocol.negotiated_versions import NegotiatedVersions

if TYPE_CHECKING:
    from kwire.declare import Message, Request
    from kwire.decoder import Decoder
    from kwire.protocol.endpoint import Endpoint
    from kwire.protocol.negotiated_versions import Dialect

R = TypeVar("R", bound="Message")

SOFTWARE_NAME = "kwire"
UNSUPPORTED_VERSION = 35
LARGEST_CORRELATION_ID = 0x7FFF_FFFF


class SentRequest(NamedTuple, Generic[R]):
    """An encoded request.

    Attributes:
        correlation_id: the id that its response must have.
        request: the message.
        response: the class of the response.
        version: the version of request and response.
        frame: the encoded request, including the size prefix.
    """

    correlation_id: int
    request: Request[R]
    response: type[R]
    version: int
    frame: bytes

    @property
    def payload(self) -> bytes:
        """The frame without its size prefix."""
        return self.frame[4:]

    @property
    def has_response(self) -> bool:
        """True if the broker responds: always, except to Produce with `acks` 0."""
        return self.request.has_response

    @property
    def may_have_secrets(self) -> bool:
        """True if the request may carry a secret, such as a password or the value of a config."""
        return has_sensitive_fields(type(self.request))

    def __repr__(self) -> str:
        """Name the request without its content, which may have secrets."""
        return f"<{type(self.request).__name__} v{self.version}, correlation id {self.correlation_id}>"


class ReceivedResponse(NamedTuple, Generic[R]):
    """A response matched to its request, not decoded yet.

    Attributes:
        endpoint: the broker.
        sent: the request.
        payload: the frame without its size prefix; starts with the correlation id.
        start: the offset of the body in `payload`.
    """

    endpoint: Endpoint
    sent: SentRequest[R]
    payload: bytes
    start: int

    @property
    def body(self) -> memoryview:
        """The payload without the response header."""
        return memoryview(self.payload)[self.start :]

    @property
    def throttle_time_ms(self) -> int:
        """Milliseconds for which a client must not send anything to the broker (KIP-219); 0 without a quota."""
        response: Any = self.sent.response  # mypy takes a class of messages for one without a hash
        match _throttle_offset(response, self.sent.version):
            case None:
                return 0
            case -1:  # behind fields of any size, in a few small responses
                try:
                    return int(getattr(self.decode(), "throttle_time_ms", 0))
                except InvalidResponse:
                    return 0
            case offset if len(self.payload) >= self.start + offset + 4:
                return int(unpack_from(">i", self.payload, self.start + offset)[0])
        return 0

    def decode(self, decoder: Decoder[R] | None = None) -> R:
        """Return the decoded message.

        Args:
            decoder: a decoder of this message and version, which reuses what did not change.

        Raises:
            InvalidResponse: the body is malformed; the connection should be closed.
        """
        try:
            if decoder is not None:
                return decoder.decode(self.body)
            return decode(self.sent.response, self.body, version=self.sent.version)
        except DecodeError as error:
            raise self.fault(error) from error

    def fault(self, error: DecodeError) -> InvalidResponse:
        """Return the fault for a decode error found in the body."""
        in_payload = DecodeError(error.kind, error.offset + self.start, error.path, error.wanted, error.left)
        return _invalid_response(self.endpoint, self.sent, in_payload, self.payload)


class ClientConnection:
    """Encode requests and match responses to them.

    Args:
        endpoint: the broker.
        client_id: the client id of request headers, which brokers use for logs, metrics, and quotas.
        dialect: the dialect that the caller requires; None for the dialect that the broker shows.

    Attributes:
        negotiated: the API versions of the broker; None until the handshake is complete.
        handshake_throttle_ms: the throttle time of the handshake, as in `ReceivedResponse.throttle_time_ms`.
    """

    def __init__(self, endpoint: Endpoint, *, client_id: str | None = "kwire", dialect: Dialect | None = None) -> None:
        self.endpoint = endpoint
        self.client_id = client_id
        self._dialect = dialect
        self.negotiated: NegotiatedVersions | None = None
        self.handshake_throttle_ms = 0
        self._in_flight: deque[SentRequest[Any]] = deque()
        self._next_id = 0

    @property
    def in_flight(self) -> int:
        """The number of requests that wait for a response."""
        return len(self._in_flight)

    def request_api_versions(self, version: int | None = None) -> SentRequest[ApiVersionsResponse]:
        """Start the handshake: return the first request.

        Args:
            version: the version to send; kwire's highest by default.
        """
        request = api_versions_request()
        return self.request(request, version=request.versions.highest if version is None else version)

    def receive_api_versions(self, payload: bytes) -> SentRequest[ApiVersionsResponse] | None:
        """Process the response to `request_api_versions`.

        Returns:
            The request to send next, or None when the handshake is complete.

        Raises:
            WrongCorrelation: the response belongs to another request.
            InvalidResponse: the response is malformed.
            NegotiationFailed: the broker responded with an error.
            NoCommonVersion: broker and client have no common version of ApiVersions.
        """
        response = self.receive(payload)
        version = response.sent.version
        try:
            message = frame.decode_response(payload, ApiVersionsResponse, version=version).message
        except DecodeError as error:
            raise _invalid_response(self.endpoint, response.sent, error, payload) from error
        if message.error_code == UNSUPPORTED_VERSION and version > 0:
            # Brokers older than KIP-511 do not list their versions here; all of them support version 0.
            supported = NegotiatedVersions(self.endpoint, message).versions.get(ApiVersionsRequest.api_key, (0, 0))
            if supported[0] >= version:
                raise NoCommonVersion(self.endpoint, "ApiVersionsRequest", str(ApiVersionsRequest.versions), supported)
            return self.request_api_versions(min(supported[1], version - 1))
        if message.error_code:
            raise NegotiationFailed(self.endpoint, message.error_code)
        self.handshake_throttle_ms = message.throttle_time_ms
        self.negotiated = NegotiatedVersions(self.endpoint, message, self._dialect)
        return None

    def version_of(self, request: type[Message]) -> int:
        """Return the version to send a request in.

        Raises:
            NoCommonVersion: broker and client have no common version.
            ValueError: the handshake is not complete.
        """
        if self.negotiated is None:
            raise ValueError("API versions are not negotiated yet: complete the handshake first")
        return self.negotiated.version_of(request)

    def request(self, message: Request[R], *, version: int | None = None) -> SentRequest[R]:
        """Encode a request and expect its response, if it has one.

        Args:
            message: the request.
            version: its version; the highest common one by default.

        Raises:
            NoCommonVersion: broker and client have no common version.
            EncodeError: the message cannot be encoded.
        """
        sent = self.encode(message, version=version)
        self.expect(sent)
        return sent

    def encode(self, message: Request[R], *, version: int | None = None) -> SentRequest[R]:
        """Encode a request that is sent later. Call `expect` when it is sent. Raises the errors of `request`."""
        cls = type(message)
        if version is None:
            version = self.version_of(cls)
        correlation_id = self._next_id
        encoded = frame.encode_request(
            message, version=version, correlation_id=correlation_id, client_id=self.client_id
        )
        sent = SentRequest(correlation_id, message, cast("type[R]", response_class(cls)), version, encoded)
        self._next_id = correlation_id + 1 if correlation_id < LARGEST_CORRELATION_ID else 0
        return sent

    def expect(self, sent: SentRequest[Any]) -> None:
        """Expect the response to an encoded request, if it has one, after the responses to all earlier requests.

        Raises:
            ValueError: the response is expected already: `request` calls this method.
        """
        if not sent.has_response:
            return
        if self._in_flight and self._in_flight[-1] is sent:
            raise ValueError(f"the response to {sent!r} is expected already: `request` has called `expect`")
        self._in_flight.append(sent)

    @overload
    def receive(self, payload: bytes) -> ReceivedResponse[Any]: ...

    @overload
    def receive(self, payload: bytes, expected: SentRequest[R]) -> ReceivedResponse[R]: ...

    def receive(self, payload: bytes, expected: SentRequest[Any] | None = None) -> ReceivedResponse[Any]:
        """Match a payload to the oldest request in flight. The body is not decoded.

        Args:
            payload: a frame without its size prefix.
            expected: the oldest request in flight, from which type checkers infer the response.

        Raises:
            ValueError: `expected` is not the oldest request in flight.
            WrongCorrelation: the correlation id differs from the oldest request's.
            InvalidResponse: the response header is malformed.
        """
        sent = self._in_flight[0] if self._in_flight else None
        if expected is not None and expected is not sent:
            raise ValueError(f"{expected!r} is not the oldest request in flight, {sent!r}")
        if len(payload) < 4:
            missing = DecodeError("truncated", 0, ("correlation_id",), 4, len(payload))
            raise _invalid_response(self.endpoint, sent, missing, payload)
        (correlation_id,) = unpack_from(">i", payload)
        if sent is None or correlation_id != sent.correlation_id:
            raise WrongCorrelation(self.endpoint, None if sent is None else sent.correlation_id, correlation_id)
        try:
            start = find_body_start(payload, describe(sent.response).header_version(sent.version))
        except DecodeError as error:
            raise _invalid_response(self.endpoint, sent, error, payload) from error
        self._in_flight.popleft()
        return ReceivedResponse(self.endpoint, sent, payload, start)


def api_versions_request() -> ApiVersionsRequest:
    """Return the request for the versions of a broker, which names the client (KIP-511)."""
    from kwire import __version__

    return ApiVersionsRequest(client_software_name=SOFTWARE_NAME, client_software_version=__version__)


def _invalid_response(
    endpoint: Endpoint, sent: SentRequest[Any] | None, error: DecodeError, payload: bytes
) -> InvalidResponse:
    if sent is None:
        return InvalidResponse(endpoint, "ResponseHeader", 0, error, payload)
    request = None if sent.may_have_secrets else sent.payload
    return InvalidResponse(endpoint, sent.response.__name__, sent.version, error, payload, request)


@cache
def _throttle_offset(response: type[Message], version: int) -> int | None:
    """Return the offset of the throttle time in the body; -1 if it is not the first field, None if there is none."""
    present = [field.name for field in fields(response) if field.in_version(version)]
    if "throttle_time_ms" not in present:
        return None
    return 0 if present[0] == "throttle_time_ms" else -1


def response_class(request: type[Message]) -> type[Message]:
    """Return the class of the response to a request.

    It is looked up in the module of the request first, then among the messages of the request's dialect.

    Raises:
        TypeError: the class is not a request.
    """
    name = request.__kwire_response__
    if name is None:
        raise TypeError(f"{request.__name__} is not a request")
    in_module = getattr(sys.modules[request.__module__], name, None)
    return in_module if in_module is not None else find(describe(request).dialects[0], name=name)


def find_body_start(payload: bytes, header_version: int) -> int:
    """Return the offset at which the response header ends."""
    if header_version == 0:
        return 4
    if payload[4:5] == b"\0":  # no tags, as every known broker sends it
        return 5
    try:
        validate(ResponseHeader, payload, version=header_version)
    except DecodeError as error:
        if error.kind != "trailing_bytes":
            raise
        return error.offset
    return len(payload)
