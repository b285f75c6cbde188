"""One connection to one broker, on asyncio.

`kwire.protocol` interprets the bytes; this module moves them and measures time. Any number of requests may be in
flight; the broker responds in order. The first error ends the connection and all requests in flight. Callers get a
ConnectionFault, never another OSError.

A connection is open once TLS is established, API versions are negotiated, and the client is authenticated. If the
broker limits the session (KIP-368), the connection authenticates again before the limit. Requests that are submitted
meanwhile are sent afterwards, because the broker accepts nothing else during the exchange.
"""

from __future__ import annotations

import sys

from kwire._util.concurrency import current_task, running_loop, timeout_at, wait_first
from kwire._util.light_typing import TYPE_CHECKING, Any, Self, TypeVar, cast
from kwire._util.stream_callbacks import StreamCallbacks
from kwire.client.connection_config import ConnectionConfig
from kwire.client.pending_requests import PendingRequests, TimedResponse, set_exception
from kwire.client.race import first_success
from kwire.client.stream import ResolvedAddress, certificate_expiry, is_tls_error, open_stream, resolve, tls_failed
from kwire.client.version_fallback import ClosedAtVersions, open_with_fallback
from kwire.frame import MAX_SIZE
from kwire.messages.kafka.api_versions import ApiVersionsRequest
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
    Timeout,
)
from kwire.protocol.client_connection import api_versions_request

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable, Coroutine, Sequence
    from types import TracebackType

    from kwire.client.security.credentials import SaslCredentials
    from kwire.declare import Message, Request
    from kwire.decoder import Decoder
    from kwire.protocol import SentRequest
    from kwire.protocol.sasl import SaslMechanism

__all__ = ["MAX_RESPONSE_SIZE", "Connection", "TimedResponse"]

R = TypeVar("R", bound="Message")

TIMEOUT = 30.0
"""Seconds to wait for a response: the default of `request.timeout.ms` in Kafka's clients."""
MAX_RESPONSE_SIZE = 1 << 30
"""Default of the largest response to accept, in bytes. Kafka's clients have no limit; memory grows with the bytes that
have arrived, not with the size that a frame claims. A gigabyte is below the first four bytes of HTTP as a size."""
MOST_ADDRESSES = 4
"""Maximum number of addresses of one name to which connections are opened at the same time. Chosen, not measured."""
SILENT_ADDRESS_SHARE = 0.1
"""Part of the timeout after which another address is asked as well, if the first has accepted the connection and does
not answer. Chosen: a fraction of what callers wait, and a multiple of what an answer takes."""
REAUTHENTICATE_AT = (0.85, 0.95)
"""The part of the session lifetime after which to authenticate again, random in this range as in Kafka's clients."""
MIN_SESSION = 1.1
"""Seconds between two authentications: brokers reject another one within a second."""
EXPECTS_TLS = "the listener probably expects TLS: set security.protocol to SSL or SASL_SSL"
REFUSED_SILENTLY = "a broker before Kafka 1.0 closes the connection when it refuses user and password"
EXPECTS_SASL = "the listener probably requires SASL: set security.protocol to SASL_SSL or SASL_PLAINTEXT"


class Connection:
    """An open connection. Use `async with await Connection.open(...)`, or `close` it."""

    def __init__(
        self,
        endpoint: Endpoint,
        *,
        client_id: str | None,
        timeout: float,
        max_size: int,
        config: ConnectionConfig,
        first_version: int,
    ) -> None:
        self.endpoint = endpoint
        self.timeout = timeout
        self._config = config
        self._loop = running_loop()
        self._first_version = first_version
        self._protocol = ClientConnection(endpoint, client_id=client_id, dialect=config.dialect)
        self._max_size = max_size
        self._receiver = FrameReceiver(max_size=min(max_size, MAX_SIZE))  # until a broker is known to speak Kafka
        self._pending = PendingRequests(timeout, self._write, self._time_out)
        self._transport: asyncio.Transport | None = None
        self._negotiated: asyncio.Future[None] = self._loop.create_future()
        self._lost: asyncio.Future[None] = self._loop.create_future()
        self._fault: ConnectionFault | None = None
        self._received_at = self._loop.time()
        self._authentications = 0
        self._serves_requests = False
        self._token_answer: asyncio.Future[bytes] | None = None
        self._is_closed_at_versions = False
        self._session_timer: asyncio.TimerHandle | None = None
        self._reauthentication: asyncio.Task[None] | None = None

    @classmethod
    async def open(
        cls,
        endpoint: Endpoint | str,
        *,
        client_id: str | None = "kwire",
        timeout: float = TIMEOUT,
        max_size: int = MAX_RESPONSE_SIZE,
        config: ConnectionConfig | None = None,
    ) -> Self:
        """Connect, negotiate dialect and versions, and authenticate.

        Args:
            endpoint: the broker, as `host:port` or Endpoint.
            client_id: the client id of all requests.
            timeout: seconds to open the connection in all its steps, and seconds to wait for each response.
            max_size: the largest response to accept, in bytes.
            config: TLS and SASL, such as `ClientProperties.load("client.properties").connection`; None for plaintext.

        Raises:
            ConnectFailed: no connection could be made.
            TlsHandshakeFailed: broker and client do not trust each other, or one of them does not speak TLS.
            AuthenticationFailed: the broker rejects the credential, or cannot prove that it knows it.
            ConnectionFault: the broker closed the connection, did not respond, or sent an invalid response.
            SecurityConfigError: a certificate, a key, or its password is invalid.
        """
        config = ConnectionConfig.check(config)
        if isinstance(endpoint, str):
            endpoint = Endpoint.parse(endpoint, config.security_protocol)
        deadline = running_loop().time() + timeout
        addresses = [] if config.open_socket is not None else await resolve(endpoint, timeout)
        connected: set[ResolvedAddress] = set()
        options: dict[str, Any] = {"client_id": client_id, "timeout": timeout, "max_size": max_size, "config": config}

        async def attempt() -> Self:
            """Open a connection to an address to which no other attempt is connected, or was."""
            own: list[ResolvedAddress] = []  # after a close, another version is tried at the same address

            def remember(address: ResolvedAddress) -> None:
                own[:] = [address]
                connected.add(address)  # also if TLS fails: the next attempt must not meet the same certificate

            async def begin(first_version: int) -> Self:
                connection = cls(endpoint, **options, first_version=first_version)
                others = [address for address in addresses if address not in connected]
                await connection._connect(own or others, deadline, remember)
                await connection._open(deadline)
                return connection

            return await open_with_fallback(config.api_versions, begin)

        # An address may accept connections and be silent then, such as one node of a load balancer.
        return await first_success(
            [attempt] * max(1, min(len(addresses), MOST_ADDRESSES)),
            timeout * SILENT_ADDRESS_SHARE,
            is_final=lambda error: isinstance(error, AuthenticationFailed),
            discard=cls.abort,
        )

    async def _open(self, deadline: float) -> None:
        """Negotiate and log in. Raises the errors of `open`."""
        try:
            await self._negotiate(deadline)
            if self._config.sasl is not None:
                await self._log_in(self._config.sasl, deadline)
        except BaseException as error:
            self.abort()
            if self._is_closed_at_versions and isinstance(error, ConnectionFault):
                raise ClosedAtVersions(error) from None
            raise

    async def _connect(
        self, addresses: Sequence[ResolvedAddress], deadline: float, on_connected: Callable[[ResolvedAddress], None]
    ) -> None:
        """Connect to one of the addresses."""
        callbacks = StreamCallbacks(
            on_made=self._connection_made,
            buffer=self._receiver.get_buffer,
            on_updated=self._buffer_updated,
            on_paused=self._pending.pause,
            on_resumed=self._pending.resume,
            on_lost=self._connection_lost,
        )
        await open_stream(self.endpoint, addresses, self._config, self._left(deadline), callbacks, on_connected)

    def _left(self, deadline: float) -> float:
        """Return the seconds until a time of the loop's clock."""
        return max(0.0, deadline - self._loop.time())

    async def _negotiate(self, deadline: float) -> None:
        """Wait until the versions are negotiated."""
        # Not awaited itself: cancellation would cancel it, and later frames would be taken for responses.
        await self._in_time(deadline, "ApiVersionsRequest", wait_first([self._negotiated]))
        self._negotiated.result()

    async def _log_in(self, credentials: SaslCredentials, deadline: float) -> None:
        """Authenticate for the first time."""
        mechanism = await self._start_mechanism(credentials, self._left(deadline))
        await self._in_time(deadline, "the SASL authentication", self._authenticate(mechanism))

    async def _in_time(self, deadline: float, name: str, work: Coroutine[Any, Any, object]) -> None:
        """Wait for a step of the opening. Raises Timeout at the deadline."""
        try:
            async with timeout_at(deadline):
                await work
        except ConnectionFault:
            raise
        except TimeoutError:
            self._time_out(name)
            raise self._fault or self._closed(None) from None

    async def _start_mechanism(self, credentials: SaslCredentials, seconds: float) -> SaslMechanism:
        """Return a mechanism with everything it needs within some seconds. Raises AuthenticationFailed."""
        from kwire.client.authentication import start_mechanism

        return await start_mechanism(self.endpoint, credentials, self.negotiated.versions, seconds)

    async def _authenticate(self, mechanism: SaslMechanism) -> None:
        """Authenticate, and plan the next authentication if the session is limited.

        Raises:
            ConnectionFault: the broker rejects the credential, does not respond, or closes the connection.
        """
        from kwire.client.authentication import exchange_tokens

        async def send(request: Request[Any], version: int | None) -> Any:
            timed = await self._submit(request, version, authenticates=True)
            assert timed is not None, "the requests of an authentication have responses"
            return timed.response.decode()

        versions = self.negotiated.versions
        session_ms = await exchange_tokens(self.endpoint, mechanism, versions, send, self._send_token)
        self._authentications += 1
        if session_ms > 0 and self._fault is None:
            from random import uniform

            pause = session_ms / 1000 * uniform(*REAUTHENTICATE_AT)
            self._session_timer = self._loop.call_later(max(pause, MIN_SESSION), self._start_reauthentication)

    async def _send_token(self, token: bytes, has_answer: bool) -> bytes:
        """Send a token of SASL as a frame, and return the frame that answers it."""
        if self._fault is not None:
            raise self._fault
        assert self._transport is not None
        self._token_answer = self._loop.create_future() if has_answer else None
        self._transport.write(len(token).to_bytes(4, "big") + token)
        return b"" if self._token_answer is None else await self._token_answer

    def _start_reauthentication(self) -> None:
        self._reauthentication = self._loop.create_task(self._reauthenticate())

    async def _reauthenticate(self) -> None:
        """Authenticate again (KIP-368), then send the requests that were submitted meanwhile."""
        credentials = self._config.sasl
        assert credentials is not None, "only a session with SASL is limited"
        try:
            mechanism = await self._start_mechanism(credentials, self.timeout)
            self._pending.begin_authentication()
            await self._authenticate(mechanism)
        except ConnectionFault as fault:
            self.fail(fault)
            return
        except Exception as error:  # noqa: BLE001  # the token callback is the caller's
            reason = f"the credential could not be renewed ({type(error).__name__})"
            self.fail(AuthenticationFailed(self.endpoint, credentials.sasl_mechanism, None, reason))
            return
        if self._fault is None:
            self._pending.end_authentication()

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
    def received_at(self) -> float:
        """The time at which the last bytes were received, in seconds of the event loop's clock."""
        return self._received_at

    @property
    def is_awaited(self) -> bool:
        """True while a caller waits for a response."""
        return self._pending.is_awaited

    @property
    def throttled_until(self) -> float:
        """The time until which the broker throttles this client (KIP-219), in seconds of the event loop's clock.

        Requests that are submitted before are sent then, and their timeouts begin then.
        """
        return self._pending.throttled_until

    def throttle_until(self, until: float) -> None:
        """Send no further requests until a time of the event loop's clock."""
        self._pending.throttle_until(until)

    async def ask_versions(self) -> None:
        """Request the API versions again, to find out whether the broker responds. Raises ConnectionFault."""
        # Nodes of the drafts serve it too, although it is a message of Kafka.
        _, served = self.negotiated.versions.get(ApiVersionsRequest.api_key, (0, 0))
        await self._submit(api_versions_request(), min(served, ApiVersionsRequest.versions.highest))

    @property
    def authentications(self) -> int:
        """Number of authentications: one, and again before each end of a limited session (KIP-368)."""
        return self._authentications

    @property
    def certificate_expiry(self) -> float | None:
        """The end of the broker's verified certificate in seconds since 1970; None without TLS or verification."""
        return None if self._transport is None else certificate_expiry(self._transport)

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
        return cast("asyncio.Future[TimedResponse[R]]", self._submit(request, version))

    def _submit(
        self, request: Request[R], version: int | None, *, authenticates: bool = False
    ) -> asyncio.Future[TimedResponse[R] | None]:
        if self._fault is not None:
            raise self._fault
        return self._pending.submit(self._protocol.encode(request, version=version), authenticates=authenticates)

    def _write(self, sent: SentRequest[Any]) -> None:
        assert self._transport is not None
        self._protocol.expect(sent)
        self._transport.write(sent.frame)

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
        timed = await self._submit(request, version)
        if timed is None:
            return cast("R", None)  # a type cannot depend on the value of `acks`
        try:
            return timed.response.decode(decoder)
        except InvalidResponse as fault:
            self.fail(fault)
            raise

    def release_buffer(self) -> None:
        """Release the memory for received bytes until the next bytes arrive."""
        self._receiver.release()

    def fail(self, fault: ConnectionFault) -> None:
        """End the connection because of an error that the caller found in a response."""
        if self._fault is None:
            if (logging := sys.modules.get("logging")) is not None:  # else nothing handles it, and the import is slow
                logging.getLogger("kwire.client").debug("%s", fault)
            self._end(fault)

    def abort(self) -> None:
        """End the connection without waiting."""
        if self._fault is None:
            self._end(self._closed("by us"))

    async def close(self) -> None:
        """End the connection and wait until the transport is closed. Requests in flight fail with ConnectionClosed."""
        self.abort()
        await wait_first([self._lost])  # not awaited itself: cancellation would cancel it

    # Callbacks of the stream protocol

    def _connection_made(self, transport: asyncio.Transport) -> None:
        self._transport = transport
        transport.write(self._protocol.request_api_versions(self._first_version).frame)

    def _buffer_updated(self, count: int) -> None:
        if self._fault is not None:
            return
        self._received_at = self._loop.time()
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
                self._pending.throttle(self._protocol.handshake_throttle_ms)
                self._receiver.max_size = self._max_size
                self._negotiated.set_result(None)
            elif self._transport is not None:
                self._transport.write(next_request.frame)
            return
        if self._token_answer is not None:
            token, self._token_answer = self._token_answer, None
            if not token.done():  # it may be cancelled
                token.set_result(payload)
            return
        response = self._protocol.receive(payload)
        self._serves_requests = True
        self._pending.receive(response)

    def _time_out(self, name: str) -> None:
        self.fail(Timeout(self.endpoint, name, self.timeout, self._receiver.partial_bytes))

    def _connection_lost(self, error: Exception | None) -> None:
        if self._fault is None:
            self._end(self._lost_fault(error))
        if not self._lost.done():
            self._lost.set_result(None)

    def _lost_fault(self, error: Exception | None) -> ConnectionFault:
        """Return the fault for the end of the stream, with its usual cause before the first response."""
        if not self._serves_requests and is_tls_error(error):
            # With TLS 1.3 a broker rejects the client's certificate after the handshake.
            return tls_failed(self.endpoint, self._config.tls, error)
        hint = None
        # A peer that closes with our request unread resets the connection.
        if isinstance(error, ConnectionResetError | None) and self._receiver.partial_bytes == 0:
            if not self._negotiated.done():
                self._is_closed_at_versions = True
                hint = EXPECTS_TLS if self._config.tls is None else None
            elif self._token_answer is not None:
                hint = REFUSED_SILENTLY
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
        if self._reauthentication is not None and self._reauthentication is not current_task():
            self._reauthentication.cancel()
        if not self._negotiated.done():
            set_exception(self._negotiated, fault)
        if self._token_answer is not None and not self._token_answer.done():
            set_exception(self._token_answer, fault)
        later = (
            fault if isinstance(fault, ConnectionClosed) else self._closed("by us, after an earlier response failed")
        )
        self._pending.end(fault, later)
