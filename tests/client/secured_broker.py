"""A secured listener before a broker of a fake cluster: TLS, and SASL as real brokers and their imitations answer it.

ApiVersions passes, with the versions that the fake broker lists; so do all requests after the authentication. Before
it, the connection is closed at them.
"""

from __future__ import annotations

import asyncio
import ssl
import struct
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from kwire import frame
from kwire.frame import decode_request_header
from kwire.messages.kafka.sasl_authenticate import SaslAuthenticateRequest, SaslAuthenticateResponse
from kwire.messages.kafka.sasl_handshake import SaslHandshakeRequest, SaslHandshakeResponse
from kwire.testing import FakeCluster

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

API_VERSIONS, SASL_HANDSHAKE, SASL_AUTHENTICATE = 18, 17, 36
Reply = tuple[int, bytes]
"""Error code and bytes of a SaslAuthenticate response."""


@dataclass
class SecuredListener:
    """Behavior of a listener, and its requests so far.

    Attributes:
        context: the server's TLS; None for plaintext.
        mechanisms: the SASL mechanisms; empty for a listener without SASL.
        respond: returns the response to each token.
        steps: number of tokens of an authentication.
        handshake: lowest and highest version of SaslHandshake; None if the broker does not list it.
        authenticate: lowest and highest version of SaslAuthenticate; None if the broker does not list it.
        closes_above: the highest version of ApiVersions at which the connection is not closed.
        address: the address.
        first_bytes: the first byte of each connection.
        server_names: the server name of each TLS handshake; None without one.
        tokens: the tokens of SASL.
        versions_asked: versions of the ApiVersions requests.
        handshakes: versions of the SaslHandshake requests.
        client_certificates: the subjects of the clients' certificates.
    """

    context: ssl.SSLContext | None = None
    mechanisms: tuple[str, ...] = ()
    respond: Callable[[bytes], Reply] = lambda _: (0, b"")
    steps: int = 1
    handshake: tuple[int, int] | None = (0, 1)
    authenticate: tuple[int, int] | None = (0, 2)
    closes_above: int = 100
    address: str = ""
    first_bytes: list[bytes] = field(default_factory=list)
    server_names: list[str | None] = field(default_factory=list)
    tokens: list[bytes] = field(default_factory=list)
    versions_asked: list[int] = field(default_factory=list)
    handshakes: list[int] = field(default_factory=list)
    client_certificates: list[Any] = field(default_factory=list)


@asynccontextmanager
async def secured_listener(cluster: FakeCluster, listener: SecuredListener) -> AsyncIterator[SecuredListener]:
    """Serve the first broker of a cluster behind a listener."""
    broker_id = cluster.state.brokers[0].node_id
    for key, versions in ((SASL_HANDSHAKE, listener.handshake), (SASL_AUTHENTICATE, listener.authenticate)):
        if versions is not None:
            cluster.set_api_versions(key, *versions, broker_id=broker_id)
    if listener.context is not None:

        def remember(_socket: Any, name: str | None, _context: Any) -> None:
            listener.server_names.append(name)

        listener.context.sni_callback = remember

    async def on_connect(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        host, _, port = cluster.endpoint(broker_id).partition(":")
        upstream = await asyncio.open_connection(host, int(port))
        try:
            await _serve(listener, (reader, writer), upstream)
        except (asyncio.IncompleteReadError, OSError):
            pass  # a side has gone
        finally:
            writer.close()
            upstream[1].close()

    server = await asyncio.start_server(on_connect, "127.0.0.1", 0, ssl=listener.context)
    async with server:
        listener.address = f"127.0.0.1:{server.sockets[0].getsockname()[1]}"
        yield listener


Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]


async def _serve(listener: SecuredListener, client: Streams, broker: Streams) -> None:
    reader, writer = client
    certificate = writer.get_extra_info("peercert")
    if certificate:
        listener.client_certificates.append(certificate["subject"])
    steps = listener.steps if listener.mechanisms else 0
    raw = False
    while True:
        payload = await _read(reader)
        if not listener.first_bytes or not steps:
            listener.first_bytes.append(payload[:1])
        if raw and steps:
            listener.tokens.append(payload)
            steps -= 1
            code, challenge = listener.respond(payload)
            if code:
                return
            writer.write(_sized(challenge))
            continue
        key, version, correlation_id = struct.unpack_from(">hhi", payload)
        if key == API_VERSIONS:
            listener.versions_asked.append(version)
            if version > listener.closes_above:
                return
            writer.write(_sized(await _forward(payload, broker)))
        elif key == SASL_HANDSHAKE:
            listener.handshakes.append(version)
            raw = version == 0
            body = frame.decode_request(payload).message
            assert isinstance(body, SaslHandshakeRequest)
            code = 0 if body.mechanism in listener.mechanisms else 33
            response = SaslHandshakeResponse(error_code=code, mechanisms=listener.mechanisms)
            writer.write(frame.encode_response(response, version=version, correlation_id=correlation_id))
        elif key == SASL_AUTHENTICATE and steps:
            request = frame.decode_request(payload).message
            assert isinstance(request, SaslAuthenticateRequest)
            listener.tokens.append(request.auth_bytes)
            steps -= 1
            code, challenge = listener.respond(request.auth_bytes)
            reply = SaslAuthenticateResponse(error_code=code, error_message=None, auth_bytes=challenge)
            writer.write(frame.encode_response(reply, version=version, correlation_id=correlation_id))
        elif steps:
            assert decode_request_header(payload), "a request before the authentication"
            return
        else:
            writer.write(_sized(await _forward(payload, broker)))
        await writer.drain()


async def _forward(payload: bytes, broker: Streams) -> bytes:
    broker[1].write(_sized(payload))
    return await _read(broker[0])


async def _read(reader: asyncio.StreamReader) -> bytes:
    (size,) = struct.unpack(">i", await reader.readexactly(4))
    return await reader.readexactly(size)


def _sized(payload: bytes) -> bytes:
    return struct.pack(">i", len(payload)) + payload
