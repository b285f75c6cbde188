"""One broker of a fake cluster: its socket, connections, responses, and misbehavior.

Everything runs in the thread of the cluster's event loop. A broker behaves like Kafka where clients can observe it: it
processes the requests of a connection in order, closes the connection on an unsupported API key or version, and
responds to an unsupported version of ApiVersions in version 0 with error 35.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
import sys
from collections import deque
from enum import StrEnum
from struct import pack
from typing import TYPE_CHECKING, Any, NamedTuple

import kwire
from kwire.declare.introspect import describe, fields, structs_in
from kwire.errors import DecodeError
from kwire.frame import InvalidFrameSize, UnsupportedRequest
from kwire.messages import UnknownMessage, find
from kwire.protocol import PendingRequest, ServerConnection
from kwire.protocol.negotiated_versions import KIP4_VERSIONS
from kwire.protocol.server_shutdown import close_server
from kwire.testing import fake_changes, fake_offsets, response_cache

if TYPE_CHECKING:
    from collections.abc import Callable

    from kwire.declare import Message
    from kwire.frame import DecodedRequest
    from kwire.messages.headers import RequestHeader
    from kwire.protocol.server_connection import Frame
    from kwire.testing.cluster_state import ClusterState
    from kwire.testing.fake_offsets import FakeOffsets
    from kwire.testing.response_cache import ResponseCache

__all__ = ["VERSIONS", "FakeBroker", "Misbehavior", "PlannedMisbehavior", "ReceivedRequest"]

METADATA, API_VERSIONS = 3, 18
UNSUPPORTED_VERSION = 35
THROTTLED_SINCE = 3
"""The first version of Metadata with a throttle time, which is the first field."""
KEPT_REQUESTS = 10_000
"""The number of received requests that a broker keeps."""

VERSIONS = {
    "kafka": {3: (0, 13), 18: (0, 4), 32: (1, 4), 60: (0, 2), **fake_offsets.SERVED, **fake_changes.SERVED},
    # Nodes list all of their APIs, and clients know them by that. Fake ones close the connection at the others.
    "kip4": {3: (1, 1), 18: (0, 3), **KIP4_VERSIONS},
}
"""The lowest and highest listed version by dialect and API key."""


class ReceivedRequest(NamedTuple):
    """A request that a fake broker received, whether or not it responded.

    Attributes:
        api_key: the API key.
        version: the version.
        client_id: the client id of the header.
        message: the request; None if its version is not declared.
    """

    api_key: int
    version: int
    client_id: str | None
    message: Message | None


class Misbehavior(StrEnum):
    """A wrong reaction to a request. The connection stays open unless stated otherwise."""

    GARBAGE = "garbage"
    """A response with the right correlation id and a body that cannot be decoded."""
    NOT_KAFKA = "not kafka"
    """An HTTP response instead of a frame."""
    TRUNCATED_FRAME = "truncated frame"
    """The first half of the right response, then the connection is closed."""
    STALL = "stall"
    """The first half of the right response, then nothing."""
    OVERSIZED_FRAME = "oversized frame"
    """A frame size of 2,147,483,647 bytes, followed by a few bytes."""
    WRONG_CORRELATION = "wrong correlation id"
    """The right response with the correlation id of another request."""
    NO_RESPONSE = "no response"
    """Nothing."""
    WRONG_VERSION = "wrong version"
    """The right response in another version: the nearest one with different bytes."""
    CLOSE = "close"
    """The connection is closed without a response."""


class PlannedMisbehavior(NamedTuple):
    """A misbehavior for a later request; `api_key` None for requests of any API."""

    misbehavior: Misbehavior
    api_key: int | None


class FakeBroker:
    """A broker that listens on 127.0.0.1.

    Args:
        broker_id: the broker id.
        dialect: `kafka` or `kip4`.
        responses: encodes responses.
        state: returns the state that a broker reports.
        controller: returns the controller id for one response.
        features: name, lowest, and highest version of each feature.
        offsets: the ends of logs and the groups.
    """

    def __init__(
        self,
        broker_id: int,
        dialect: str,
        responses: ResponseCache,
        state: Callable[[int], ClusterState],
        controller: Callable[[ClusterState], int],
        features: tuple[tuple[str, int, int], ...],
        offsets: FakeOffsets,
    ) -> None:
        self.broker_id = broker_id
        self.dialect = dialect
        self.versions = dict(VERSIONS[dialect])
        self.received: deque[ReceivedRequest] = deque(maxlen=KEPT_REQUESTS)
        self.received_count = 0
        self._misbehaviors: deque[PlannedMisbehavior] = deque()
        self._permanent: PlannedMisbehavior | None = None
        self.paused = False
        self.delay = 0.0
        self.throttle_ms = 0
        self.connections: set[_Connection] = set()
        self._responses = responses
        self._state = state
        self._controller = controller
        self._features = features
        self._offsets = offsets
        self._server: asyncio.Server | None = None
        self._socket = _bound(0)
        self.port: int = self._socket.getsockname()[1]

    async def start(self) -> None:
        """Start to accept connections."""
        if self._server is None:
            loop = asyncio.get_running_loop()
            self._server = await loop.create_server(lambda: _Connection(self), sock=self._socket)

    async def stop(self) -> None:
        """Close all connections and refuse new ones. The port stays bound but does not listen."""
        if self._server is not None:
            await close_server(self._server)
            self._server = None
            for connection in tuple(self.connections):
                connection.abort()
            self._socket = _bound(self.port)
        self.paused = False

    def release_port(self) -> None:
        """Release the port of a stopped broker, which cannot be started again."""
        self._socket.close()

    def accept(self) -> asyncio.Protocol:
        """Return the protocol of a new connection, for a network without sockets."""
        return _Connection(self)

    def resume(self) -> None:
        """Respond to the requests that have arrived in the meantime, and continue."""
        self.paused = False
        for connection in tuple(self.connections):
            connection.process()

    def drop_connections(self) -> None:
        """Close all connections; new ones are accepted."""
        for connection in tuple(self.connections):
            connection.abort()

    def plan(self, misbehavior: PlannedMisbehavior, times: int | None) -> None:
        """Plan a misbehavior for `times` requests, or, with None, for all until `cancel_misbehaviors`."""
        if times is None:
            self._permanent = misbehavior
        else:
            self._misbehaviors.extend([misbehavior] * times)

    def cancel_misbehaviors(self) -> None:
        """Cancel every planned misbehavior."""
        self._permanent = None
        self._misbehaviors.clear()

    def next_misbehavior(self, api_key: int) -> Misbehavior | None:
        """Return the misbehavior for a request, if any, and consume it if it was planned."""
        for planned in self._misbehaviors:
            if planned.api_key is None or planned.api_key == api_key:
                self._misbehaviors.remove(planned)
                return planned.misbehavior
        if self._permanent is not None and self._permanent.api_key in {None, api_key}:
            return self._permanent.misbehavior
        return None

    def serves(self, api_key: int, version: int) -> bool:
        """Return whether the broker serves a version of an API."""
        lowest, highest = self.versions.get(api_key, (0, -1))
        return lowest <= version <= highest

    def respond(self, request: DecodedRequest, version: int) -> bytes:
        """Return the response body.

        Raises:
            UnknownMessage: fake brokers do not serve the API.
        """
        state = self._state(self.broker_id)
        return self._body(request, version, state, self._controller(state))

    def respond_in_another_version(self, request: DecodedRequest, version: int) -> bytes:
        """Return the response body in the nearest version with different bytes.

        If that version does not exist, an additional field is appended, as a later version might have it.

        Raises:
            UnknownMessage: fake brokers do not serve the API.
        """
        state = self._state(self.broker_id)
        controller_id = self._controller(state)
        expected = self._body(request, version, state, controller_id)
        for other in sorted(request.message.versions, key=lambda candidate: abs(candidate - version)):
            body = self._body(request, other, state, controller_id)
            if body != expected:
                return body
        return expected + bytes(4)

    def _body(self, request: DecodedRequest, version: int, state: ClusterState, controller_id: int) -> bytes:
        message: Any = request.message
        response: Message | None
        match (self.dialect, message.api_key):
            case (_, 18):
                return self.api_versions(version)
            case ("kafka", 3):
                body = self._responses.metadata(state, message, version, controller_id)
                if self.throttle_ms and version >= THROTTLED_SINCE:
                    body = pack(">i", self.throttle_ms) + body[4:]
                return body
            case ("kip4", 3):
                return self._responses.topic_metadata(state, message)
            case ("kafka", 32):
                response = response_cache.describe_configs(state, message, self.broker_id)
            case ("kafka", 60):
                response = response_cache.describe_cluster(state, message, controller_id)
            case ("kip4", 1000):
                response = response_cache.cluster_metadata(state, controller_id)
            case _:
                response = self._offsets.respond(state, self.broker_id, message, version)
                if response is None:
                    response = fake_changes.change(self._offsets, state, self.broker_id, message)
        if response is None:
            raise UnknownMessage(self.dialect, message.api_key, version, "response")
        return kwire.encode(response, version=version)

    def api_versions(self, version: int, *, error_code: int = 0) -> bytes:
        """Return the body of the ApiVersions response; with an error, only the entry of ApiVersions, as Kafka does."""
        cls: Any = find(self.dialect, name="ApiVersionsResponse")
        structs: dict[str, Any] = {f.name: struct for f in fields(cls) for struct in structs_in(f.type)}
        served = {API_VERSIONS: self.versions[API_VERSIONS]} if error_code else self.versions
        features: dict[str, Any] = {}
        if version >= 3 and self._features:
            features = {
                "supported_features": [
                    structs["supported_features"](name=name, min_version=low, max_version=high)
                    for name, low, high in self._features
                ],
                "finalized_features_epoch": 1,
                "finalized_features": [
                    structs["finalized_features"](name=name, max_version_level=high, min_version_level=high)
                    for name, _, high in self._features
                ],
            }
        return kwire.encode(
            cls(
                error_code=error_code,
                api_keys=[
                    structs["api_keys"](api_key=key, min_version=low, max_version=high)
                    for key, (low, high) in served.items()
                ],
                **features,
            ),
            version=version,
        )


class _Connection(asyncio.Protocol):
    """The connection of one client."""

    def __init__(self, broker: FakeBroker) -> None:
        self._broker = broker
        self._protocol = ServerConnection()
        self._waiting: deque[PendingRequest] = deque()
        self._transport: asyncio.Transport | None = None
        self._timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        self._broker.connections.add(self)

    def connection_lost(self, exc: Exception | None) -> None:
        del exc  # the reason does not matter
        self._broker.connections.discard(self)
        self._transport = None
        if self._timer is not None:
            self._timer.cancel()

    def data_received(self, data: bytes) -> None:
        self._protocol.receive_data(data)
        try:
            self._waiting.extend(iter(self._protocol.next_request, None))
        except InvalidFrameSize:
            self.abort()
            return
        self.process()

    def abort(self) -> None:
        """Close the connection immediately."""
        if self._transport is not None:
            self._transport.abort()

    def process(self) -> None:
        """Process waiting requests, unless the broker is paused or delays its responses."""
        broker = self._broker
        if broker.delay and self._waiting and self._timer is None and not broker.paused:
            self._timer = asyncio.get_running_loop().call_later(broker.delay, self._process_delayed)
        elif not broker.delay:
            while self._waiting and not broker.paused and self._transport is not None and self._timer is None:
                self._process_next()

    def _process_delayed(self) -> None:
        self._timer = None
        if self._transport is not None and not self._broker.paused:
            self._process_next()
        self.process()

    def _process_next(self) -> None:
        broker = self._broker
        pending = self._waiting.popleft()
        try:
            request = pending.decode(broker.dialect)
            self._record(request.header, request.message)
            response = self._response(request)
        except UnsupportedRequest as error:
            self._record(error.header, None)
            response = self._rejection(error.header)
        except (DecodeError, UnknownMessage):
            response = None
        if response is None:  # Kafka closes the connection, too
            self._close()
            return
        self._protocol.respond(pending, response)
        self._write(*self._protocol.data_to_send())
        if broker.throttle_ms and broker.received[-1].api_key == METADATA:  # Kafka mutes the connection (KIP-219)
            self._timer = asyncio.get_running_loop().call_later(broker.throttle_ms / 1000, self._unmute)

    def _unmute(self) -> None:
        self._timer = None
        self.process()

    def _record(self, header: RequestHeader, message: Message | None) -> None:
        received = ReceivedRequest(header.request_api_key, header.request_api_version, header.client_id, message)
        self._broker.received.append(received)
        self._broker.received_count += 1

    def _response(self, request: DecodedRequest) -> Frame | None:
        """Return what to send for a request; None to close the connection."""
        header = request.header
        key, version = header.request_api_key, header.request_api_version
        misbehavior = self._broker.next_misbehavior(key)
        if misbehavior is not None:
            return self._misbehavior(misbehavior, request, version)
        if self._broker.serves(key, version):
            return self._framed(header.correlation_id, request, version, self._broker.respond(request, version))
        return self._rejection(header)

    def _rejection(self, header: RequestHeader) -> Frame | None:
        """Return error 35 in version 0 for ApiVersions; None for other requests."""
        if header.request_api_key != API_VERSIONS:
            return None
        body = self._broker.api_versions(0, error_code=UNSUPPORTED_VERSION)
        return pack(">ii", 4 + len(body), header.correlation_id) + body

    def _framed(self, correlation_id: int, request: DecodedRequest, version: int, body: bytes) -> tuple[bytes, bytes]:
        name = describe(type(request.message)).response
        assert name is not None
        cls = find(self._broker.dialect, name=name)
        header = b"\0" if describe(cls).header_version(version) else b""
        size = 4 + len(header) + len(body)
        return pack(">ii", size, correlation_id) + header, body

    def _misbehavior(self, misbehavior: Misbehavior, request: DecodedRequest, version: int) -> Frame | None:
        correlation_id = request.header.correlation_id
        match misbehavior:
            case Misbehavior.GARBAGE:
                garbage = bytes(range(0x80, 0x100)) * 8
                return pack(">ii", 4 + len(garbage), correlation_id) + garbage
            case Misbehavior.NOT_KAFKA:
                return b"HTTP/1.1 400 Bad Request\r\nServer: none\r\n\r\n"
            case Misbehavior.OVERSIZED_FRAME:
                return pack(">ii", 0x7FFF_FFFF, correlation_id) + bytes(100)
            case Misbehavior.WRONG_CORRELATION:
                body = self._broker.respond(request, version)
                return self._framed((correlation_id + 1) & 0x7FFF_FFFF, request, version, body)
            case Misbehavior.TRUNCATED_FRAME | Misbehavior.STALL:
                body = self._broker.respond(request, version)
                whole = b"".join(self._framed(correlation_id, request, version, body))
                half = whole[: len(whole) // 2]
                if misbehavior is Misbehavior.STALL:
                    return half
                self._write(half)
                return None
            case Misbehavior.WRONG_VERSION:
                body = self._broker.respond_in_another_version(request, version)
                return self._framed(correlation_id, request, version, body)
            case Misbehavior.CLOSE:
                return None
            case Misbehavior.NO_RESPONSE:
                return b""

    def _write(self, *chunks: bytes | memoryview) -> None:
        for chunk in chunks:
            if self._transport is not None:
                self._transport.write(chunk)

    def _close(self) -> None:
        self._waiting.clear()
        if self._transport is not None:
            self._transport.close()


def _bound(port: int) -> socket.socket:
    """Return a socket bound to a port, or to a free one for 0. It refuses connections until it listens."""
    # asyncio sets TCP_NODELAY for sockets with an explicit protocol only.
    bound = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    with contextlib.ExitStack() as on_failure:
        on_failure.callback(bound.close)
        if sys.platform != "win32":  # on Windows other processes could bind the port, too
            bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        bound.bind(("127.0.0.1", port))
        on_failure.pop_all()
    bound.setblocking(False)
    return bound
