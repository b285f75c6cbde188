"""One connection to one broker, on asyncio.

`kwire.protocol` interprets the bytes; this module moves them and measures time. Any number of requests may be in
flight; the broker responds in order. The first error ends the connection and all requests in flight. Callers get a
ConnectionFault, never another OSError.

A connection is open once TLS is established, API versions are negotiated, and the client is authenticated. If the
broker limits the session (KIP-368), the connection authenticates again before the limit. Requests that are submitted
meanwhile are sent afterwards, because the broker accepts nothing else during the exchange.
"""

from __future__ import annotations

import asyncio
import logging
import ssl
from collections import deque
from datetime import UTC, datetime
from time import perf_counter_ns
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, Self, TypeVar, cast

from kwire.client.connection_config import ConnectionConfig
from kwire.client.stream import StreamProtocol, open_stream, tls_failed
from kwire.frame import MAX_SIZE
from kwire.protocol import (
    AuthenticationFailed,
    ClientConnection,
    ConnectionClosed,
    ConnectionFault,
    Endpoint,
    FrameReceiver,
    InvalidResponse,
    NegotiatedVersions,
    OversizedFrame,
    ReceivedResponse,
    SentRequest,
    Timeout,
)

if TYPE_CHECKING:
    from types import TracebackType

    from kwire.client.security.credentials import SaslCredentials
    from kwire.declare import Message, Request
    from kwire.decoder import Decoder
    from kwire.protocol.sasl import SaslMechanism

__all__ = ["Connection", "TimedResponse"]

R = TypeVar("R", bound="Message")
log = logging.getLogger("kwire.client")

TIMEOUT = 30.0
"""Seconds to wait for a response: the default of `request.timeout.ms` in Kafka's clients."""
SASL_HANDSHAKE = 17
REAUTHENTICATE_AT = (0.85, 0.95)
"""The part of the session lifetime after which to authenticate again, random in this range as in Kafka's clients."""
MIN_SESSION = 1.1
"""Seconds between two authentications: brokers reject another one within a second."""
EXPECTS_TLS = "the listener probably expects TLS: set security.protocol to SSL or SASL_SSL"
EXPECTS_SASL = "the listener probably requires SASL: set security.protocol to SASL_SSL or SASL_PLAINTEXT"


class TimedResponse(NamedTuple, Generic[R]):
    """A response that is not decoded yet.

    Attributes:
        response: the response.
        at: the time at which it was complete, in UTC.
        duration_us: microseconds since the request was sent.
    """

    response: ReceivedResponse[R]
    at: datetime
    duration_us: int


class _RequestInFlight(NamedTuple):
    """A request that is not complete yet.

    Attributes:
        sent: the request.
        result: the response; None for a request without one, which is complete once the transport has room again.
        sent_at: nanoseconds of `perf_counter_ns`.
        timer: ends the connection if the request is not complete in time.
    """

    sent: SentRequest[Any]
    result: asyncio.Future[TimedResponse[Any] | None]
    sent_at: int
    timer: asyncio.TimerHandle


class Connection:
    """An open connection. Use `async with await Connection.open(...)`, or `close` it."""

    def __init__(
        self, endpoint: Endpoint, *, client_id: str | None, timeout: float, max_size: int, config: ConnectionConfig
    ) -> None:
        self.endpoint = endpoint
        self.timeout = timeout
        self._config = config
        self._loop = asyncio.get_running_loop()
        self._protocol = ClientConnection(endpoint, client_id=client_id, dialect=config.dialect)
        self._receiver = FrameReceiver(max_size=max_size)
        self._in_flight: deque[_RequestInFlight] = deque()
        self._is_paused = False
        self._waiting_for_room: list[_RequestInFlight] = []
        self._transport: asyncio.Transport | None = None
        self._negotiated: asyncio.Future[None] = self._loop.create_future()
        self._lost: asyncio.Future[None] = self._loop.create_future()
        self._fault: ConnectionFault | None = None
        self._authentications = 0
        self._serves_requests = False
        self._held: list[_RequestInFlight] | None = None
        self._session_timer: asyncio.TimerHandle | None = None
        self._reauthentication: asyncio.Task[None] | None = None

    @classmethod
    async def open(
        cls,
        endpoint: Endpoint | str,
        *,
        client_id: str | None = "kwire",
        timeout: float = TIMEOUT,
        max_size: int = MAX_SIZE,
        config: ConnectionConfig | None = None,
    ) -> Self:
        """Connect, negotiate dialect and versions, and authenticate.

        Args:
            endpoint: the broker, as `host:port` or Endpoint.
            client_id: the client id of all requests.
            timeout: seconds to connect, to negotiate, and to wait for each response.
            max_size: the largest response to accept, in bytes.
            config: TLS and SASL, such as `ClientProperties.load("client.properties").connection`; None for plaintext.

        Raises:
            ConnectFailed: no connection could be made.
            TlsHandshakeFailed: broker and client do not trust each other, or one of them does not speak TLS.
            AuthenticationFailed: the broker rejects the credential, or cannot prove that it knows it.
            ConnectionFault: the broker closed the connection, did not respond, or sent an invalid response.
            SecurityConfigError: a certificate, a key, or its password is invalid.
        """
        if isinstance(endpoint, str):
            endpoint = Endpoint.parse(endpoint)
        config = ConnectionConfig.check(config)
        self = cls(endpoint, client_id=client_id, timeout=timeout, max_size=max_size, config=config)
        await self._connect()
        await self._negotiate()
        if config.sasl is not None:
            try:
                await self._authenticate(await self._start_mechanism(config.sasl))
            except BaseException:
                await self.close()
                raise
        return self

    async def _connect(self) -> None:
        def make_protocol() -> StreamProtocol:
            return StreamProtocol(
                self._connection_made,
                self._receiver.get_buffer,
                self._buffer_updated,
                self._pause_writing,
                self._resume_writing,
                self._connection_lost,
            )

        await open_stream(self.endpoint, self._config, self.timeout, make_protocol)

    async def _negotiate(self) -> None:
        """Wait until the versions are negotiated."""
        try:
            async with asyncio.timeout(self.timeout):
                # Not awaited itself: cancellation would cancel it, and later frames would be taken for responses.
                await asyncio.wait([self._negotiated])
            self._negotiated.result()
        except TimeoutError:
            self.fail(Timeout(self.endpoint, "ApiVersionsRequest", self.timeout, self._receiver.partial_bytes))
            raise self._fault or ConnectionClosed(self.endpoint, 0) from None
        except BaseException:
            self.abort()
            raise

    async def _start_mechanism(self, credentials: SaslCredentials) -> SaslMechanism:
        """Return a mechanism with everything it needs, such as a token.

        Raises:
            AuthenticationFailed: a token or ticket is missing, or the broker is too old.
        """
        from kwire.protocol.sasl import SaslError
        from kwire.protocol.sasl.exchange import HANDSHAKE_VERSION

        mechanism_name = credentials.sasl_mechanism
        served = self.negotiated.versions.get(SASL_HANDSHAKE, (0, -1))
        if not served[0] <= HANDSHAKE_VERSION <= served[1]:
            reason = "the broker does not support SaslAuthenticate, which Kafka has since 1.0"
            raise AuthenticationFailed(self.endpoint, mechanism_name, None, reason)
        try:
            async with asyncio.timeout(self.timeout):
                return await credentials.start(self.endpoint)
        except SaslError as error:
            raise AuthenticationFailed(self.endpoint, mechanism_name, None, error.reason) from None
        except TimeoutError:
            reason = f"no credential within {self.timeout:g} s"
            raise AuthenticationFailed(self.endpoint, mechanism_name, None, reason) from None

    async def _authenticate(self, mechanism: SaslMechanism) -> None:
        """Authenticate, and plan the next authentication if the session is limited.

        Raises:
            ConnectionFault: the broker rejects the credential, does not respond, or closes the connection.
        """
        from kwire.protocol.sasl.exchange import HANDSHAKE_VERSION, SaslExchange

        exchange = SaslExchange(self.endpoint, mechanism)
        request: Request[Any] | None = exchange.start()
        version: int | None = HANDSHAKE_VERSION
        while request is not None:
            timed = await self._submit(request, version)
            assert timed is not None, "the requests of an authentication have responses"
            request, version = exchange.receive(timed.response.decode()), None
        self._authentications += 1
        if exchange.session_lifetime_ms > 0 and self._fault is None:
            from random import uniform

            pause = exchange.session_lifetime_ms / 1000 * uniform(*REAUTHENTICATE_AT)
            self._session_timer = self._loop.call_later(max(pause, MIN_SESSION), self._start_reauthentication)

    def _start_reauthentication(self) -> None:
        self._reauthentication = self._loop.create_task(self._reauthenticate())

    async def _reauthenticate(self) -> None:
        """Authenticate again (KIP-368), then send the requests that were submitted meanwhile."""
        credentials = self._config.sasl
        assert credentials is not None, "only a session with SASL is limited"
        try:
            mechanism = await self._start_mechanism(credentials)
            self._held = []
            await self._authenticate(mechanism)
        except ConnectionFault as fault:
            self.fail(fault)
            return
        except Exception as error:  # noqa: BLE001  # the token callback is the caller's
            reason = f"the credential could not be renewed ({type(error).__name__})"
            self.fail(AuthenticationFailed(self.endpoint, credentials.sasl_mechanism, None, reason))
            return
        held, self._held = self._held or [], None
        if self._fault is None:
            for request in held:
                self._write(request)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, type: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self.close()

    @property
    def negotiated(self) -> NegotiatedVersions:
        """The dialect and versions of the broker."""
        negotiated = self._protocol.negotiated
        assert negotiated is not None, "an open connection has negotiated versions"
        return negotiated

    @property
    def fault(self) -> ConnectionFault | None:
        """The error that ended the connection; None while it is open."""
        return self._fault

    @property
    def authentications(self) -> int:
        """Number of authentications: one, and again before each end of a limited session (KIP-368)."""
        return self._authentications

    @property
    def certificate_expiry(self) -> float | None:
        """The end of the broker's verified certificate in seconds since 1970; None without TLS or verification."""
        tls = None if self._transport is None else self._transport.get_extra_info("ssl_object")
        certificate = tls.getpeercert() if tls is not None else None
        return ssl.cert_time_to_seconds(certificate["notAfter"]) if certificate else None

    def submit(self, request: Request[R], *, version: int | None = None) -> asyncio.Future[TimedResponse[R]]:
        """Send a request and return a future of its response.

        Args:
            version: the API version; by default the highest one that client and broker have in common.

        Raises:
            ValueError: the request has no response: `send` it. The connection stays open.
            NoCommonVersion: client and broker have no version in common. The connection stays open.
            EncodeError: the request cannot be encoded in this version. The connection stays open.
            ConnectionFault: the connection has ended.
        """
        if not request.has_response:
            raise ValueError(f"{type(request).__name__} has no response: use send() instead of submit()")
        # Only requests without a response have the result None.
        return cast("asyncio.Future[TimedResponse[R]]", self._submit(request, version, hold=self._held))

    def _submit(
        self, request: Request[R], version: int | None, *, hold: list[_RequestInFlight] | None = None
    ) -> asyncio.Future[TimedResponse[R] | None]:
        """Send a request, or append it to `hold`."""
        if self._fault is not None:
            raise self._fault
        sent = self._protocol.encode(request, version=version)
        result: asyncio.Future[TimedResponse[Any] | None] = self._loop.create_future()
        timer = self._loop.call_later(self.timeout, self._time_out, type(request).__name__)
        pending = _RequestInFlight(sent, result, perf_counter_ns(), timer)
        if hold is None:
            self._write(pending)
        else:
            hold.append(pending)
        return result

    def _write(self, request: _RequestInFlight) -> None:
        assert self._transport is not None
        self._protocol.expect(request.sent)
        if request.sent.has_response:
            self._in_flight.append(request)
        self._transport.write(request.sent.frame)
        if not request.sent.has_response:
            self._waiting_for_room.append(request)
            if not self._is_paused:
                self._complete_written()

    async def send(self, request: Request[R], *, version: int | None = None, decoder: Decoder[R] | None = None) -> R:
        """Send a request and return its decoded response.

        For a request without a response (Produce with `acks` 0), return None as soon as the request is written and few
        bytes wait for the network, as Kafka's clients do. The broker reports no errors then, but closes the connection.

        Args:
            version: the API version; by default the highest one that client and broker have in common.
            decoder: a decoder of the response in this version, which reuses what did not change since its last one.

        Raises:
            ConnectionFault: the connection has ended, or ends before the response is complete.
            InvalidResponse: the response cannot be decoded. This ends the connection.
            NoCommonVersion: see `submit`.
            EncodeError: see `submit`.
        """
        timed = await self._submit(request, version, hold=self._held)
        if timed is None:
            return cast("R", None)  # a type cannot depend on the value of `acks`
        try:
            return timed.response.decode(decoder)
        except InvalidResponse as fault:
            self.fail(fault)
            raise

    def fail(self, fault: ConnectionFault) -> None:
        """End the connection because of an error that the caller found in a response."""
        if self._fault is None:
            log.debug("%s", fault)
            self._end(fault)

    def abort(self) -> None:
        """End the connection without waiting."""
        if self._fault is None:
            self._end(self._closed("by us"))

    async def close(self) -> None:
        """End the connection and wait until the transport is closed. Requests in flight fail with ConnectionClosed."""
        self.abort()
        await asyncio.shield(self._lost)

    def _complete_written(self) -> None:
        """Complete the requests without a response."""
        for request in self._waiting_for_room:
            request.timer.cancel()
            if not request.result.done():  # it may be cancelled
                request.result.set_result(None)
        self._waiting_for_room.clear()

    # Callbacks of the stream protocol

    def _connection_made(self, transport: asyncio.Transport) -> None:
        self._transport = transport
        transport.write(self._protocol.request_api_versions().frame)

    def _buffer_updated(self, count: int) -> None:
        if self._fault is not None:
            return
        try:
            for payload in self._receiver.buffer_updated(count):
                self._receive(payload)
        except ConnectionFault as fault:
            self.fail(fault)
            return
        error = self._receiver.error
        if error is not None:
            self.fail(OversizedFrame(self.endpoint, error.size, error.max_size))

    def _receive(self, payload: bytes) -> None:
        if not self._negotiated.done():
            next_request = self._protocol.receive_api_versions(payload)
            if next_request is None:
                self._negotiated.set_result(None)
            elif self._transport is not None:
                self._transport.write(next_request.frame)
            return
        now = perf_counter_ns()
        response = self._protocol.receive(payload)
        self._serves_requests = True
        request = self._in_flight.popleft()
        request.timer.cancel()
        if not request.result.done():  # it may be cancelled
            request.result.set_result(TimedResponse(response, datetime.now(UTC), (now - request.sent_at) // 1000))

    def _pause_writing(self) -> None:
        self._is_paused = True

    def _resume_writing(self) -> None:
        self._is_paused = False
        self._complete_written()

    def _time_out(self, name: str) -> None:
        self.fail(Timeout(self.endpoint, name, self.timeout, self._receiver.partial_bytes))

    def _connection_lost(self, error: Exception | None) -> None:
        if self._fault is None:
            self._end(self._lost_fault(error))
        if not self._lost.done():
            self._lost.set_result(None)

    def _lost_fault(self, error: Exception | None) -> ConnectionFault:
        """Return the fault for the end of the stream, with its usual cause before the first response."""
        if isinstance(error, ssl.SSLError) and not self._serves_requests:
            # With TLS 1.3 a broker rejects the client's certificate after the handshake.
            return tls_failed(self.endpoint, self._config.tls, error)
        hint = None
        # A peer that closes with our request unread resets the connection.
        if isinstance(error, ConnectionResetError | None) and self._receiver.partial_bytes == 0:
            if not self._negotiated.done():
                hint = EXPECTS_TLS if self._config.tls is None else None
            elif not self._serves_requests:
                hint = EXPECTS_SASL if self._config.sasl is None else None
        why = None if error is None else str(error)
        return ConnectionClosed(self.endpoint, self._receiver.partial_bytes, why, hint)

    def _closed(self, why: str | None) -> ConnectionClosed:
        return ConnectionClosed(self.endpoint, self._receiver.partial_bytes, why)

    def _end(self, fault: ConnectionFault) -> None:
        """End the connection: the oldest request fails with `fault`, later ones because the connection is closed."""
        self._fault = fault
        if self._transport is not None:
            self._transport.abort()
        if self._session_timer is not None:
            self._session_timer.cancel()
        if self._reauthentication is not None and self._reauthentication is not asyncio.current_task(self._loop):
            self._reauthentication.cancel()
        if not self._negotiated.done():
            _set_exception(self._negotiated, fault)
        later = (
            fault if isinstance(fault, ConnectionClosed) else self._closed("by us, after an earlier response failed")
        )
        for request in (*self._in_flight, *self._waiting_for_room, *(self._held or ())):
            request.timer.cancel()
            if not request.result.done():
                _set_exception(request.result, fault)
            fault = later
        self._in_flight.clear()
        self._waiting_for_room.clear()
        self._held = None


def _set_exception(future: asyncio.Future[Any], error: Exception) -> None:
    """Set an exception and mark it as retrieved: the caller may be gone."""
    future.set_exception(error)
    future.exception()
