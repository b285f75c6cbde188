"""SASL exchanges with real nodes: requests out of order, and sessions that end (KIP-368)."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, Self

import pytest

from kwire import frame
from kwire._util.secret import Secret
from kwire.client.connection import Connection
from kwire.client.security.credentials import ScramCredentials
from kwire.messages.kafka.sasl_authenticate import SaslAuthenticateRequest, SaslAuthenticateResponse
from kwire.messages.kafka.sasl_handshake import SaslHandshakeRequest, SaslHandshakeResponse
from kwire.messages.kip4.cluster_metadata import ClusterMetadataRequest
from kwire.messages.kip4.topic_metadata_v1 import TopicMetadataRequest_V1
from kwire.protocol import AuthenticationFailed
from kwire.protocol.client_connection import response_class
from kwire.protocol.endpoint import Endpoint
from kwire_cluster.node.listener.connection_limits import CloseReason
from kwire_cluster.node.node import Node
from tests.cluster.node.nodes import new_root
from tests.cluster.node.requests.test_error_codes import creation
from tests.cluster.node.secured import (
    ALICE_PASSWORD,
    NODE_PASSWORD,
    PLAIN,
    SCRAM_NODE,
    brokers_seen,
    plain,
    secured,
    set_scram_password,
    with_sasl,
)
from tests.eventually import eventually

if TYPE_CHECKING:
    from kwire.client.connection_config import ConnectionConfig
    from kwire_cluster.zookeeper.embedded_server import EmbeddedZooKeeper


async def exchange(node: Node, *requests: tuple[Any, int]) -> list[Any]:
    """Send requests one after another without reading the responses, and return what arrives before the end."""
    reader, writer = await asyncio.open_connection(node.host, node.port)
    for number, (request, version) in enumerate(requests):
        writer.write(frame.encode_request(request, version=version, correlation_id=number, client_id="tests"))
    received = []
    async with asyncio.timeout(60):
        try:
            while size := await reader.readexactly(4):
                received.append(await reader.readexactly(int.from_bytes(size, "big")))
                if len(received) == len(requests):
                    writer.write_eof()
        except asyncio.IncompleteReadError:
            pass
    writer.close()
    return received


@pytest.mark.parametrize(
    ("request_", "version"),
    [(ClusterMetadataRequest(), 0), (TopicMetadataRequest_V1(topic_names=()), 1), (creation("new"), 2)],
)
async def test_request_before_authentication_closes_the_connection(
    request_: Any, version: int, server: EmbeddedZooKeeper
) -> None:
    """Also if the response to the same request is cached for an authenticated client."""
    async with secured(await new_root(server), PLAIN, 1) as [node]:
        await brokers_seen(node, plain("alice", ALICE_PASSWORD))
        assert await exchange(node, (request_, version)) == []
        handshake = SaslHandshakeRequest(mechanism="PLAIN")
        assert len(await exchange(node, (handshake, 1), (request_, version))) <= 1
        wrong = SaslAuthenticateRequest(auth_bytes=b"\0alice\0wrong")
        assert len(await exchange(node, (handshake, 1), (wrong, 2), (request_, version))) <= 2
        assert node.metrics.closed[CloseReason.UNAUTHENTICATED] >= 2
        assert "new" not in node.metadata.topics


@pytest.mark.parametrize("key", [18, 6])
async def test_large_request_before_authentication_is_not_read(key: int, server: EmbeddedZooKeeper) -> None:
    """A node read 24 MB with the key of UpdateMetadata before it found that the client was not authenticated."""
    async with secured(await new_root(server), PLAIN, 1) as [node]:
        reader, writer = await asyncio.open_connection(node.host, node.port)
        writer.write((512 * 1024 + 1).to_bytes(4, "big") + key.to_bytes(2, "big"))
        assert await reader.read() == b""
        writer.close()
        assert node.metrics.closed[CloseReason.INVALID_FRAME] == 1


async def test_right_password_is_accepted_among_wrong_ones(server: EmbeddedZooKeeper) -> None:
    async def guess() -> None:
        with pytest.raises(AuthenticationFailed, match="Invalid username or password"):
            await brokers_seen(node, plain("alice", "wrong"))

    async with secured(await new_root(server), PLAIN, 1) as [node]:
        await asyncio.gather(*(guess() for _ in range(15)))
        assert node._guesses.wait("127.0.0.1 alice") > 0
        guesses = [asyncio.create_task(guess()) for _ in range(3)]
        assert await brokers_seen(node, plain("alice", ALICE_PASSWORD)) == [1]
        await asyncio.gather(*guesses)


async def test_token_without_handshake_fails(server: EmbeddedZooKeeper) -> None:
    token = SaslAuthenticateRequest(auth_bytes=f"\0alice\0{ALICE_PASSWORD}".encode())
    async with secured(await new_root(server), PLAIN, 1) as [node]:
        [payload] = await exchange(node, (token, 2))
        assert frame.decode_response(payload, SaslAuthenticateResponse, version=2).message.error_code == 58
        await eventually(lambda: node.metrics.closed[CloseReason.AUTHENTICATION_FAILED] == 1)


async def test_tokens_without_header_are_not_supported(server: EmbeddedZooKeeper) -> None:
    async with secured(await new_root(server), PLAIN, 1) as [node]:
        [payload] = await exchange(node, (SaslHandshakeRequest(mechanism="PLAIN"), 0))
        assert frame.decode_response(payload, SaslHandshakeResponse, version=0).message.error_code == 35
        await eventually(lambda: node.metrics.closed[CloseReason.AUTHENTICATION_FAILED] == 1)


async def test_sasl_on_a_listener_without_it_is_answered(server: EmbeddedZooKeeper) -> None:
    async with secured(await new_root(server), {}, 1) as [node]:
        with pytest.raises(AuthenticationFailed, match="the listener has no SASL"):
            await brokers_seen(node, plain("alice", ALICE_PASSWORD))


# Sessions (KIP-368)

SESSION_SECONDS = 10.0
"""Clients authenticate again at the latest after 95% of it: on a busy machine, the rest must be long enough."""
SESSION = {"connections.max.reauth.ms": str(round(SESSION_SECONDS * 1000))}
SCRAM = {
    "listener.security.protocol.map": "ADMIN:SASL_PLAINTEXT",
    "sasl.enabled.mechanisms": "SCRAM-SHA-256",
    "sasl.jaas.config": SCRAM_NODE,
}


async def scram_cluster(server: EmbeddedZooKeeper) -> str:
    """Create a chroot with the users `node` and `alice`, and return its `zookeeper.connect`."""
    zookeeper = await new_root(server)
    await set_scram_password(zookeeper, "node", NODE_PASSWORD, "SCRAM-SHA-256")
    await set_scram_password(zookeeper, "alice", ALICE_PASSWORD, "SCRAM-SHA-256")
    return zookeeper


async def test_clients_authenticate_again_within_their_sessions(server: EmbeddedZooKeeper) -> None:
    async def use(zookeeper: str, properties: dict[str, str], config: ConnectionConfig) -> int:
        """Send requests beyond the end of a session, and return how many connections the node has closed."""
        async with (
            secured(zookeeper, properties | SESSION, 1) as [node],
            await Connection.open(Endpoint(node.host, node.port), config=config) as connection,
        ):
            ends = asyncio.get_running_loop().time() + SESSION_SECONDS + 1
            while asyncio.get_running_loop().time() < ends:
                assert len((await connection.send(ClusterMetadataRequest())).brokers) == 1
                await asyncio.sleep(0.05)
            return node.metrics.closed.total()

    scram = with_sasl(ScramCredentials("alice", Secret(ALICE_PASSWORD), "SCRAM-SHA-256"))
    closed = await asyncio.gather(
        use(await new_root(server), PLAIN, plain("alice", ALICE_PASSWORD)),
        use(await scram_cluster(server), SCRAM, scram),
    )
    assert sum(closed) == 0


async def test_unknown_user_is_shown_the_same_by_all_nodes_and_after_a_restart(server: EmbeddedZooKeeper) -> None:
    """Two nodes showed other salts for an unknown user, and the same for a user that exists."""
    zookeeper = await scram_cluster(server)
    first = SaslAuthenticateRequest(auth_bytes=b"n,,n=stranger,r=abc")
    shown = []
    for _ in range(2):
        async with secured(zookeeper, SCRAM, 1, 2) as both:
            for node in both:
                async with RawClient(node) as client:
                    await client.send(SaslHandshakeRequest(mechanism="SCRAM-SHA-256"), 1)
                    challenge = (await client.send(first, 2)).auth_bytes
                    shown.append(challenge.partition(b",s=")[2])
    assert len(shown) == 4
    assert len(set(shown)) == 1


class RawClient:
    """A client of PLAIN that authenticates when it is called."""

    def __init__(self, node: Node) -> None:
        self._node = node

    async def __aenter__(self) -> Self:
        self._reader, self._writer = await asyncio.open_connection(self._node.host, self._node.port)
        return self

    async def __aexit__(self, *_: object) -> None:
        self._writer.close()

    async def send(self, request: Any, version: int) -> Any:
        self._writer.write(frame.encode_request(request, version=version, correlation_id=1, client_id="tests"))
        payload = await self._reader.readexactly(int.from_bytes(await self._reader.readexactly(4), "big"))
        return frame.decode_response(payload, response_class(type(request)), version=version).message

    async def repeat(self, request: Any, version: int) -> None:
        """Send a request until the node closes the connection."""
        while True:
            await self.send(request, version)
            await asyncio.sleep(0.01)

    async def authenticate(self, user: str, password: str, version: int = 2) -> SaslAuthenticateResponse:
        assert (await self.send(SaslHandshakeRequest(mechanism="PLAIN"), 1)).error_code == 0
        token = SaslAuthenticateRequest(auth_bytes=f"\0{user}\0{password}".encode())
        response: SaslAuthenticateResponse = await self.send(token, version)
        return response


async def test_connection_is_closed_at_the_first_request_after_its_session(server: EmbeddedZooKeeper) -> None:
    """Also if the response is cached, and if the client knows no sessions (SaslAuthenticate version 0)."""
    async with secured(await new_root(server), PLAIN | {"connections.max.reauth.ms": "1000"}, 1) as [node]:
        for version, lifetime in ((2, 1000), (1, 1000), (0, 0)):
            async with RawClient(node) as client:
                response = await client.authenticate("alice", ALICE_PASSWORD, version)
                assert (response.error_code, response.session_lifetime_ms) == (0, lifetime)
                with pytest.raises(asyncio.IncompleteReadError):
                    await client.repeat(ClusterMetadataRequest(), 0)
        await eventually(lambda: node.metrics.closed[CloseReason.SESSION_ENDED] == 3)


async def test_sessions_have_no_limit_by_default(server: EmbeddedZooKeeper) -> None:
    async with secured(await new_root(server), PLAIN, 1) as [node], RawClient(node) as client:
        assert (await client.authenticate("alice", ALICE_PASSWORD)).session_lifetime_ms == 0


async def test_client_authenticates_after_the_end_of_its_session(server: EmbeddedZooKeeper) -> None:
    properties = PLAIN | {"connections.max.reauth.ms": "1000"}
    async with secured(await new_root(server), properties, 1) as [node], RawClient(node) as client:
        await client.authenticate("alice", ALICE_PASSWORD)
        handshake = SaslHandshakeRequest(mechanism="PLAIN")
        assert (await client.send(handshake, 1)).error_code == 34  # another one within a second
        await asyncio.sleep(1.1)
        assert (await client.authenticate("alice", ALICE_PASSWORD)).error_code == 0


async def test_client_cannot_authenticate_again_as_another_user(server: EmbeddedZooKeeper) -> None:
    async with secured(await new_root(server), PLAIN | SESSION, 1) as [node], RawClient(node) as client:
        await client.authenticate("alice", ALICE_PASSWORD)
        await asyncio.sleep(1.1)
        response = await client.authenticate("node", NODE_PASSWORD)
        assert (response.error_code, response.error_message) == (
            58,
            "Cannot change principals during re-authentication",
        )
        with pytest.raises(asyncio.IncompleteReadError):
            await client.send(ClusterMetadataRequest(), 0)
        assert node.metrics.closed[CloseReason.AUTHENTICATION_FAILED] == 1


async def test_client_cannot_authenticate_again_by_another_mechanism(server: EmbeddedZooKeeper) -> None:
    """Even if it is enabled (KIP-368)."""
    properties = {
        **PLAIN,
        **SESSION,
        "sasl.enabled.mechanisms": "PLAIN,SCRAM-SHA-256",
        "sasl.mechanism.inter.broker.protocol": "PLAIN",
    }
    async with secured(await scram_cluster(server), properties, 1) as [node], RawClient(node) as client:
        await client.authenticate("alice", ALICE_PASSWORD)
        await asyncio.sleep(1.1)
        scram = SaslHandshakeRequest(mechanism="SCRAM-SHA-256")
        assert (await client.send(scram, 1)).error_code == 33
        with pytest.raises(asyncio.IncompleteReadError):
            await client.send(ClusterMetadataRequest(), 0)
        assert node.metrics.closed[CloseReason.AUTHENTICATION_FAILED] == 1
        async with RawClient(node) as another:
            assert (await another.send(scram, 1)).error_code == 0
