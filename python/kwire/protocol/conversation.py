"""Requests and responses of captured traffic, paired without I/O.

A response on the wire names neither its API nor its version, so captured traffic can be decoded only in pairs. A
`Conversation` takes the bytes of one connection, both directions in chunks of any size, and returns `Exchange`s:

    conversation = Conversation(Endpoint("broker-1", 9092))
    conversation.receive_from_client(b"...")                  # usually []
    for exchange in conversation.receive_from_server(b"..."):
        exchange.api_name, exchange.version                   # "Metadata", 13
        exchange.decode_request().message                     # a MetadataRequest
        exchange.decode_response().message                    # a MetadataResponse
    conversation.end()                                        # requests without a response

Nothing but headers is decoded before a caller asks, with these exceptions: the responses to ApiVersions, for
`negotiated` and the dialect; Produce requests, which have no response if `acks` is 0; SaslHandshake of version 0. A
malformed or unknown body is therefore an error of its own exchange, and later frames are not affected.

After SaslHandshake of version 0, SASL tokens follow without headers (KIP-43). They become exchanges of the kind
`sasl_token`, which have no message. They end where a valid request follows, as after a handshake that the broker has
rejected, and at the latest after the tokens of the mechanism: PLAIN and OAUTHBEARER have one of the client, SCRAM has
two, and GSSAPI has any number.
"""

from __future__ import annotations

from collections import Counter, deque
from contextlib import suppress
from math import inf
from struct import unpack_from

from kwire import frame
from kwire._util.light_typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias, cast
from kwire.errors import DecodeError, KwireError
from kwire.frame import MAX_SIZE, InvalidFrameSize, Splitter
from kwire.messages import UnknownMessage, api_name, find
from kwire.messages.kafka.api_versions import ApiVersionsResponse
from kwire.protocol.negotiated_versions import NegotiatedVersions

if TYPE_CHECKING:
    from kwire.declare import Message
    from kwire.frame import BytesLike
    from kwire.messages.kafka.produce import ProduceRequest
    from kwire.messages.kafka.sasl_handshake import SaslHandshakeRequest
    from kwire.protocol.endpoint import Endpoint
    from kwire.protocol.negotiated_versions import Dialect

    Kind: TypeAlias = Literal["message", "sasl_token"]
    Outcome: TypeAlias = Literal["answered", "one_way", "unanswered", "dropped", "unrequested"]

MAX_PENDING = 1_000
"""The default number of requests that wait for a response. Clients have 1 to 5 in flight unless configured
otherwise."""

PRODUCE = 0
SASL_HANDSHAKE = 17
TOKENS = {"PLAIN": 1, "OAUTHBEARER": 1, "SCRAM-SHA-256": 2, "SCRAM-SHA-512": 2}
"""Number of tokens that the client sends in a successful authentication (RFC 4616, 7628, and 5802)."""


class NoMessage(KwireError, ValueError):
    """An exchange has no such message, or bytes that are not a message.

    Attributes:
        reason: the reason.
    """

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason

    def __str__(self) -> str:
        return self.reason


class Exchange(NamedTuple):
    """A request and its response, not decoded yet.

    Attributes:
        kind: `message`, or `sasl_token` for a token without a header.
        outcome: `answered`; `one_way` for a request that has no response (Produce with `acks` 0); `unanswered` if the
            connection ended, or answered a later request, without a response; `dropped` if a limit of the conversation
            was exceeded before a response; `unrequested` for a response without a captured request.
        dialect: the dialect of the messages.
        api_key: the API key; None if it is not known.
        version: the version of the request; None if it is not known. `decode_response` knows the response's.
        correlation_id: the correlation id; None for tokens and for frames that are too short for one.
        client_id: the client id of the request; None if it has none or the header is malformed.
        request: the payload of the request, starting at the API key; None if it was not captured.
        response: the payload of the response, starting at the correlation id; None if there is none.
        requested_at: the time given with the chunk that completed the request.
        responded_at: the time given with the chunk that completed the response.
    """

    kind: Kind
    outcome: Outcome
    dialect: Dialect
    api_key: int | None
    version: int | None
    correlation_id: int | None
    client_id: str | None
    request: bytes | None
    response: bytes | None = None
    requested_at: float | None = None
    responded_at: float | None = None

    def __repr__(self) -> str:
        # Payloads can contain secrets.
        values = (
            f"{name}=<{len(value)} bytes>" if isinstance(value, bytes) else f"{name}={value!r}"
            for name, value in self._asdict().items()
        )
        return f"Exchange({', '.join(values)})"

    @property
    def api_name(self) -> str | None:
        """The name of the API, such as `Metadata`; None if it is not declared or not known."""
        cls = self.request_class
        return None if cls is None else api_name(cls)

    @property
    def request_class(self) -> type[Message] | None:
        """The class of the request; None if the API is not declared or not known."""
        return self._class("request")

    @property
    def response_class(self) -> type[Message] | None:
        """The class of the response; None if the API is not declared or not known."""
        return self._class("response")

    @property
    def latency(self) -> float | None:
        """The time from the request to the response, in the unit of the given times; None without both times."""
        if self.requested_at is None or self.responded_at is None:
            return None
        return self.responded_at - self.requested_at

    def decode_request(self) -> frame.DecodedRequest:
        """Decode the request. Bytes after the message are in `surplus`, as librdkafka sends them.

        Raises:
            NoMessage: the request was not captured, or is a SASL token.
            DecodeError: the request is malformed.
            UnsupportedVersion: the version is not declared.
            UnknownMessage: the API is not declared.
        """
        if self.request is None:
            raise NoMessage("the request was not captured")
        self._reject_token()
        return frame.decode_request(self.request, self.dialect)

    def decode_response(self) -> frame.DecodedResponse[Message]:
        """Decode the response. Its version is 0 if the broker does not support the version of an ApiVersions request.

        Raises:
            NoMessage: the request has no response, its request was not captured, or it is a SASL token.
            DecodeError: the response is malformed.
            UnsupportedVersion: the version is not declared.
            UnknownMessage: the API is not declared.
        """
        if self.response is None:
            raise NoMessage("the request has no response")
        self._reject_token()
        if self.api_key is None or self.version is None:
            raise NoMessage("the API and version of the response are not known because its request was not captured")
        cls = self.response_class
        if cls is None:
            raise UnknownMessage(self.dialect, self.api_key, self.version, "response")
        return frame.decode_response(self.response, cls, version=self.version)

    def _reject_token(self) -> None:
        if self.kind == "sasl_token":
            raise NoMessage("a SASL token after SaslHandshake version 0 has no header")

    def _class(self, kind: Literal["request", "response"]) -> type[Message] | None:
        if self.api_key is None:
            return None
        for version in (self.version, None):
            try:
                return find(self.dialect, api_key=self.api_key, version=version, kind=kind)
            except UnknownMessage:
                pass
        return None


class Conversation:
    """Pairs the requests and responses of one connection.

    The capture may start at any frame, and end anywhere. Responses are paired in order, and their correlation ids are
    compared, so that missing frames do not shift the pairs.

    Besides the incomplete frame of each direction, at most `max_pending` requests and `max_pending_bytes` are kept, or
    one request that is larger. The oldest requests beyond that are returned as `dropped`.

    Args:
        endpoint: the broker, for errors.
        dialect: the dialect; None for the dialect in ApiVersions, and `kafka` before its response.
        max_size: the largest payload in bytes. A larger size ends its direction, because it is not a frame.
        max_pending: the number of requests that may wait for a response.
        max_pending_bytes: the bytes of these requests.

    Attributes:
        endpoint: the broker.
        negotiated: the last successful ApiVersions response; None before it.
        client_error: the invalid frame size that ended the direction from the client, such as the start of HTTP or
            TLS; None while it is valid. Later bytes of the direction are ignored.
        server_error: the same for the direction from the broker.
    """

    def __init__(
        self,
        endpoint: Endpoint,
        *,
        dialect: Dialect | None = None,
        max_size: int = MAX_SIZE,
        max_pending: int = MAX_PENDING,
        max_pending_bytes: int = MAX_SIZE,
    ) -> None:
        if max_pending < 1:
            raise ValueError(f"max_pending={max_pending}: at least one request must be allowed to wait")
        self.endpoint = endpoint
        self.negotiated: NegotiatedVersions | None = None
        self.client_error: InvalidFrameSize | None = None
        self.server_error: InvalidFrameSize | None = None
        self._dialect = dialect
        self._max_pending = max_pending
        self._max_pending_bytes = max_pending_bytes
        self._from_client = Splitter(max_size=max_size)
        self._from_server = Splitter(max_size=max_size)
        self._pending: deque[Exchange] = deque()
        self._pending_ids: Counter[int | None] = Counter()
        """Correlation ids of `_pending`: whoever sends responses decides how many have no request."""
        self._pending_bytes = 0
        self._tokens_left = 0.0

    @property
    def dialect(self) -> Dialect:
        """The dialect as given, or as far as it is known."""
        if self._dialect is not None:
            return self._dialect
        return "kafka" if self.negotiated is None else self.negotiated.dialect

    @property
    def pending(self) -> int:
        """The number of requests without a response."""
        return len(self._pending)

    @property
    def pending_bytes(self) -> int:
        """The bytes of requests without a response."""
        return self._pending_bytes

    @property
    def partial_bytes(self) -> tuple[int, int]:
        """The bytes of the incomplete frames from the client and from the broker, including size prefixes."""
        return self._from_client.partial_bytes, self._from_server.partial_bytes

    def receive_from_client(self, data: BytesLike, at: float | None = None) -> list[Exchange]:
        """Process bytes that the client sent.

        Args:
            data: the bytes.
            at: the time of their arrival, of any clock.

        Returns:
            Requests that have no response, and dropped requests.
        """
        if self.client_error is not None:
            return []
        ended: list[Exchange] = []
        try:
            for payload in self._from_client.feed(data):
                ended += self._request(payload, at)
        except InvalidFrameSize as error:
            self.client_error = error
        return ended

    def receive_from_server(self, data: BytesLike, at: float | None = None) -> list[Exchange]:
        """Process bytes that the broker sent.

        Args:
            data: the bytes.
            at: the time of their arrival, of the same clock.

        Returns:
            The exchanges that the bytes complete, and requests that will have no response.
        """
        if self.server_error is not None:
            return []
        ended: list[Exchange] = []
        try:
            for payload in self._from_server.feed(data):
                ended += self._response(payload, at)
        except InvalidFrameSize as error:
            self.server_error = error
        return ended

    def end(self) -> list[Exchange]:
        """Return the requests without a response, at the end of the connection or of the capture."""
        return [self._pop("unanswered") for _ in range(len(self._pending))]

    def _request(self, payload: bytes, at: float | None) -> list[Exchange]:
        exchange = self._sasl_token(payload, at) or self._with_header(payload, at)
        if exchange.outcome == "one_way":
            return [exchange]
        self._pending.append(exchange)
        self._pending_ids[exchange.correlation_id] += 1
        self._pending_bytes += len(payload)
        dropped = []
        while len(self._pending) > self._max_pending or (
            self._pending_bytes > self._max_pending_bytes and len(self._pending) > 1
        ):
            dropped.append(self._pop("dropped"))
        return dropped

    def _sasl_token(self, payload: bytes, at: float | None) -> Exchange | None:
        """Return the exchange of a frame that is a SASL token, None for a request."""
        if self._tokens_left and _is_request(payload):
            self._tokens_left = 0  # the broker has rejected the mechanism, or GSSAPI is complete
        if self._tokens_left == 0:
            return None
        self._tokens_left -= 1
        return Exchange("sasl_token", "unanswered", self.dialect, None, None, None, None, payload, requested_at=at)

    def _with_header(self, payload: bytes, at: float | None) -> Exchange:
        """Return the exchange of a request, and process what changes the frames after it."""
        api_key, version, correlation_id = unpack_from(">hhi", payload) if len(payload) >= 8 else (None, None, None)
        client_id = None
        with suppress(DecodeError):  # the error of this exchange; the first eight bytes are enough to pair it
            client_id = frame.decode_request_header(payload, self.dialect)[0].client_id
        exchange = Exchange(
            "message", "unanswered", self.dialect, api_key, version, correlation_id, client_id, payload, requested_at=at
        )
        if self.dialect == "kafka":
            if api_key == PRODUCE and _has_no_response(exchange):
                return exchange._replace(outcome="one_way")
            if api_key == SASL_HANDSHAKE and version == 0:
                self._tokens_left = _tokens_after(exchange)
        return exchange

    def _response(self, payload: bytes, at: float | None) -> list[Exchange]:
        position = self._position_of(payload)
        if position is None:
            (correlation_id,) = unpack_from(">i", payload) if len(payload) >= 4 else (None,)
            return [
                Exchange(
                    "message", "unrequested", self.dialect, None, None, correlation_id, None, None, payload,
                    responded_at=at,
                )
            ]  # fmt: skip
        skipped = [self._pop("unanswered") for _ in range(position)]
        exchange = self._pop("answered")._replace(response=payload, responded_at=at)
        if exchange.api_key == frame.API_VERSIONS:
            self._negotiate(exchange)
        return [*skipped, exchange._replace(dialect=self.dialect)]

    def _position_of(self, payload: bytes) -> int | None:
        """Return the position of the request of a response in the queue; None if it was not captured."""
        if not self._pending:
            return None
        if self._pending[0].kind == "sasl_token" or len(payload) < 4:
            return 0
        (correlation_id,) = unpack_from(">i", payload)
        if not self._pending_ids[correlation_id]:
            return None
        for position, exchange in enumerate(self._pending):
            if exchange.correlation_id == correlation_id:
                return position
        return None

    def _negotiate(self, exchange: Exchange) -> None:
        try:
            response = exchange._replace(dialect="kafka").decode_response().message
        except KwireError:
            return  # the error of this exchange
        if isinstance(response, ApiVersionsResponse) and response.error_code == 0:
            self.negotiated = NegotiatedVersions(self.endpoint, response, self._dialect)

    def _pop(self, outcome: Outcome) -> Exchange:
        exchange = self._pending.popleft()
        self._pending_ids[exchange.correlation_id] -= 1
        if not self._pending_ids[exchange.correlation_id]:
            del self._pending_ids[exchange.correlation_id]
        self._pending_bytes -= len(exchange.request or b"")
        # The dialect can have become known since the request.
        return exchange._replace(outcome=outcome, dialect=self.dialect)


def _is_request(payload: bytes) -> bool:
    try:
        frame.decode_request(payload)
    except KwireError:
        return False
    return True


def _has_no_response(produce: Exchange) -> bool:
    try:
        return not cast("ProduceRequest", produce.decode_request().message).has_response
    except KwireError:
        return False  # a broker closes the connection


def _tokens_after(handshake: Exchange) -> float:
    """Return the number of tokens that follow a SaslHandshake of version 0; infinity if it is not known."""
    try:
        mechanism: Any = cast("SaslHandshakeRequest", handshake.decode_request().message).mechanism
    except KwireError:
        return 0  # a broker closes the connection
    return TOKENS.get(mechanism, inf)
