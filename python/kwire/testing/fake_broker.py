"""One broker of a fake cluster: its socket, its connections, its answers, its misbehavior.

Rules of this file: everything here runs in the thread of the cluster's event loop. A broker answers as Kafka does where
it matters to a client: in order, one request of a connection after the other; an unknown key or version ends the
connection, but for ApiVersions, which is answered in version 0 with error 35.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
from collections import deque
from struct import pack
from typing import TYPE_CHECKING, Any, NamedTuple

import kwire
from kwire.declare.introspect import describe, fields, structs_in
from kwire.errors import DecodeError
from kwire.frame import InvalidFrameSize, Splitter, UnsupportedRequest, decode_request
from kwire.messages import UnknownMessage, find
from kwire.protocol.server_shutdown import close_server
from kwire.testing import response_cache
from kwire.testing.misbehavior import Misbehavior

if TYPE_CHECKING:
    from collections.abc import Callable

    from kwire.declare import Message
    from kwire.frame import Request
    from kwire.testing.cluster_state import ClusterState
    from kwire.testing.response_cache import ResponseCache

__all__ = ["VERSIONS", "FakeBroker", "PlannedMisbehavior", "ReceivedRequest"]

API_VERSIONS = 18
UNSUPPORTED_VERSION = 35
ONE_WRITE = 64 * 1024
"""Bytes up to which pieces are put together first; copying more would cost more than another system call."""
SEEN = 10_000
"""Requests that a broker remembers having seen."""

VERSIONS = {
    "kafka": {3: (0, 13), 18: (0, 4), 32: (1, 4), 60: (0, 2)},
    "kip4": {3: (1, 1), 18: (0, 3), 1000: (0, 0)},
}
"""What is answered, by dialect and API key: the lowest and the highest version."""


class ReceivedRequest(NamedTuple):
    """A request that came in, whether it was answered or not."""

    api_key: int
    version: int
    client_id: str | None
    message: Message | None
    """None where it could not be read."""


class PlannedMisbehavior(NamedTuple):
    """A misbehavior to come."""

    what: Misbehavior
    api_key: int | None


class FakeBroker:
    """A listener on 127.0.0.1. ``view`` gives the state to tell, ``controller`` the controller id of one answer."""

    def __init__(
        self,
        node_id: int,
        dialect: str,
        answers: ResponseCache,
        view: Callable[[int], ClusterState],
        controller: Callable[[ClusterState], int],
        features: tuple[tuple[str, int, int], ...],
    ) -> None:
        self.node_id = node_id
        self.dialect = dialect
        self.versions = dict(VERSIONS[dialect])
        self.seen: deque[ReceivedRequest] = deque(maxlen=SEEN)
        self.misbehaviors: deque[PlannedMisbehavior] = deque()
        self.always: PlannedMisbehavior | None = None
        self.paused = False
        self.delay = 0.0
        self.connections: set[_Connection] = set()
        self._answers = answers
        self._view = view
        self._controller = controller
        self._features = features
        self._server: asyncio.Server | None = None
        self._socket = _bound(0)
        self.port: int = self._socket.getsockname()[1]

    @property
    def running(self) -> bool:
        """Whether it takes connections."""
        return self._server is not None

    async def start(self) -> None:
        """Take connections at its port."""
        if self._server is None:
            loop = asyncio.get_running_loop()
            self._server = await loop.create_server(lambda: _Connection(self), sock=self._socket)

    async def stop(self) -> None:
        """End all connections and refuse new ones. The port stays ours: it is bound, and nobody listens."""
        if self._server is not None:
            await close_server(self._server)
            self._server = None
            for connection in tuple(self.connections):
                connection.abort()
            self._socket = _bound(self.port)
        self.paused = False

    def give_port_back(self) -> None:
        """Of a broker that is stopped, or was never started; it cannot be started again."""
        self._socket.close()

    def resume(self) -> None:
        """Answer what has come in meanwhile, then go on."""
        self.paused = False
        for connection in tuple(self.connections):
            connection.answer_all()

    def drop_connections(self) -> None:
        """End all connections; new ones are welcome."""
        for connection in tuple(self.connections):
            connection.abort()

    def next_misbehavior(self, api_key: int) -> Misbehavior | None:
        """What to do wrong with this request, if anything; a planned one is then used up."""
        for plan in self.misbehaviors:
            if plan.api_key is None or plan.api_key == api_key:
                self.misbehaviors.remove(plan)
                return plan.what
        if self.always is not None and self.always.api_key in {None, api_key}:
            return self.always.what
        return None

    def answer(self, request: Request, version: int) -> tuple[bytes, ...]:
        """The pieces of a body, in ``version``. Raises UnknownMessage for what a fake cluster has no answer to."""
        state = self._view(self.node_id)
        return self._body(request, version, state, self._controller(state))

    def answer_in_another_version(self, request: Request, version: int) -> tuple[bytes, ...]:
        """The same as the nearest version with other bytes has it. Raises UnknownMessage.

        Where no such version is declared, as one to come may have it: with a field more behind all others.
        """
        state = self._view(self.node_id)
        controller_id = self._controller(state)
        right = b"".join(self._body(request, version, state, controller_id))
        for other in sorted(request.message.versions, key=lambda each: abs(each - version)):
            body = b"".join(self._body(request, other, state, controller_id))
            if body != right:
                return (body,)
        return (right, bytes(4))

    def _body(self, request: Request, version: int, state: ClusterState, controller_id: int) -> tuple[bytes, ...]:
        message: Any = request.message
        match (self.dialect, message.api_key):
            case (_, 18):
                return (self.api_versions(version),)
            case ("kafka", 3):
                return self._answers.metadata(state, message, version, controller_id)
            case ("kafka", 32):
                return (kwire.encode(response_cache.describe_configs(state, message, self.node_id), version=version),)
            case ("kafka", 60):
                return (kwire.encode(response_cache.describe_cluster(state, message, controller_id), version=version),)
            case ("kip4", 3):
                return self._answers.topic_metadata(state, message)
            case ("kip4", 1000):
                return (kwire.encode(response_cache.cluster_metadata(state, controller_id), version=version),)
            case _:
                raise UnknownMessage(self.dialect, message.api_key, version, "response")

    def api_versions(self, version: int, *, error_code: int = 0) -> bytes:
        """With an error only the entry of ApiVersions itself, as Kafka has it."""
        cls: Any = find(self.dialect, name="ApiVersionsResponse")
        structs: dict[str, Any] = {f.name: struct for f in fields(cls) for struct in structs_in(f.type)}
        told = {API_VERSIONS: self.versions[API_VERSIONS]} if error_code else self.versions
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
                    for key, (low, high) in told.items()
                ],
                **features,
            ),
            version=version,
        )


class _Connection(asyncio.Protocol):
    """One client."""

    def __init__(self, broker: FakeBroker) -> None:
        self._broker = broker
        self._splitter = Splitter()
        self._waiting: deque[bytes] = deque()
        self._transport: asyncio.Transport | None = None
        self._delayed: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        self._broker.connections.add(self)

    def connection_lost(self, exc: Exception | None) -> None:
        del exc  # a client that goes away is nothing to a server
        self._broker.connections.discard(self)
        self._transport = None
        if self._delayed is not None:
            self._delayed.cancel()

    def data_received(self, data: bytes) -> None:
        try:
            self._waiting.extend(self._splitter.feed(data))
        except InvalidFrameSize:
            self.abort()
            return
        self.answer_all()

    def abort(self) -> None:
        """End the connection without a word."""
        if self._transport is not None:
            self._transport.abort()

    def answer_all(self) -> None:
        """Answer what waits, unless this broker sleeps or takes its time."""
        broker = self._broker
        if broker.delay and self._waiting and self._delayed is None and not broker.paused:
            self._delayed = asyncio.get_running_loop().call_later(broker.delay, self._answer_late)
        elif not broker.delay:
            while self._waiting and not broker.paused and self._transport is not None:
                self._answer_next()

    def _answer_late(self) -> None:
        self._delayed = None
        if self._transport is not None and not self._broker.paused:
            self._answer_next()
        self.answer_all()

    def _answer_next(self) -> None:
        payload = self._waiting.popleft()
        try:
            self._answer(payload)
        except (DecodeError, UnknownMessage):  # what Kafka does with a request that it cannot read
            self._close()

    def _answer(self, payload: bytes) -> None:
        broker = self._broker
        try:
            request = decode_request(payload, broker.dialect)
        except UnsupportedRequest as error:
            header = error.header
            broker.seen.append(
                ReceivedRequest(header.request_api_key, header.request_api_version, header.client_id, None)
            )
            if header.request_api_key == API_VERSIONS:
                self._refuse_version(header.correlation_id)
            else:
                self._close()
            return
        header = request.header
        key, version = header.request_api_key, header.request_api_version
        broker.seen.append(ReceivedRequest(key, version, header.client_id, request.message))
        misbehavior = broker.next_misbehavior(key)
        lowest, highest = broker.versions.get(key, (0, -1))
        if misbehavior is None and not lowest <= version <= highest:
            if key == API_VERSIONS:
                self._refuse_version(header.correlation_id)
            else:
                self._close()
            return
        if misbehavior is Misbehavior.WRONG_VERSION:
            body = broker.answer_in_another_version(request, version)
            self._write(header.correlation_id, request, version, body)
        elif misbehavior is None:
            self._write(header.correlation_id, request, version, broker.answer(request, version))
        else:
            self._misbehave(misbehavior, request, version)

    def _refuse_version(self, correlation_id: int) -> None:
        body = self._broker.api_versions(0, error_code=UNSUPPORTED_VERSION)
        self._send(pack(">ii", 4 + len(body), correlation_id), body)

    def _write(self, correlation_id: int, request: Request, version: int, body: tuple[bytes, ...]) -> None:
        self._send(*_framed(correlation_id, self._header(request, version), body))

    def _header(self, request: Request, version: int) -> bytes:
        """What stands between the correlation id and the body."""
        name = describe(type(request.message)).response
        assert name is not None
        cls = find(self._broker.dialect, name=name)
        return b"\0" if describe(cls).header_version(version) else b""

    def _misbehave(self, misbehavior: Misbehavior, request: Request, version: int) -> None:
        correlation_id = request.header.correlation_id
        match misbehavior:
            case Misbehavior.GARBAGE:
                garbage = bytes(range(0x80, 0x100)) * 8
                self._send(pack(">ii", 4 + len(garbage), correlation_id), garbage)
            case Misbehavior.NOT_KAFKA:
                self._send(b"HTTP/1.1 400 Bad Request\r\nServer: none\r\n\r\n")
            case Misbehavior.OVERSIZED_FRAME:
                self._send(pack(">ii", 0x7FFF_FFFF, correlation_id), bytes(100))
            case Misbehavior.WRONG_CORRELATION:
                body = self._broker.answer(request, version)
                self._write((correlation_id + 1) & 0x7FFF_FFFF, request, version, body)
            case Misbehavior.TRUNCATED_FRAME | Misbehavior.STALL:
                body = self._broker.answer(request, version)
                whole = b"".join(_framed(correlation_id, self._header(request, version), body))
                self._send(whole[: len(whole) // 2])
                if misbehavior is Misbehavior.TRUNCATED_FRAME:
                    self._close()
            case Misbehavior.CLOSE:
                self._close()
            case Misbehavior.NO_RESPONSE | Misbehavior.WRONG_VERSION:
                pass

    def _send(self, *pieces: bytes) -> None:
        if self._transport is None:
            return
        if sum(map(len, pieces)) <= ONE_WRITE:
            pieces = (b"".join(pieces),)
        for piece in pieces:
            self._transport.write(piece)

    def _close(self) -> None:
        self._waiting.clear()
        if self._transport is not None:
            self._transport.close()


def _framed(correlation_id: int, header: bytes, body: tuple[bytes, ...]) -> tuple[bytes, ...]:
    size = 4 + len(header) + sum(map(len, body))
    return (pack(">ii", size, correlation_id) + header + body[0], *body[1:])


def _bound(port: int) -> socket.socket:
    """A socket at a port, or at a free one. Until somebody listens at it, connections are refused."""
    bound = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    with contextlib.ExitStack() as on_failure:
        on_failure.callback(bound.close)
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        bound.bind(("127.0.0.1", port))
        on_failure.pop_all()
    bound.setblocking(False)
    return bound
