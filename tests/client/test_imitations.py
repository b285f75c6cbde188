"""Servers that imitate Kafka in part, and Kafka before 1.0: how a connection to them is opened."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from kwire.client import AdminClient, Connection, ConnectionConfig, Poller
from kwire.client.authentication import choose_handshake
from kwire.client.security import PlainCredentials, ScramCredentials, Secret
from kwire.messages.kafka.metadata import MetadataRequest
from kwire.protocol import AuthenticationFailed, ConnectionClosed, ConnectionFault
from kwire.protocol.sasl_server import ScramCredential, ScramServer
from kwire.testing import FakeCluster
from tests.client.secured_broker import SecuredListener, secured_listener
from tests.for_rows import for_rows

if TYPE_CHECKING:
    from collections.abc import Iterator

ALL_TOPICS = MetadataRequest(topics=None)
PLAIN = PlainCredentials("alice", Secret("wonderland"))


@pytest.fixture
def cluster() -> Iterator[FakeCluster]:
    with FakeCluster(1, topics=["orders"]) as cluster:
        yield cluster


# Closed at high versions of ApiVersions


@pytest.mark.parametrize(
    ("highest", "given", "asked"),
    [
        (5, None, [5]),
        (4, None, [5, 3]),
        (3, None, [5, 3]),
        (2, None, [5, 3, 0]),
        (0, None, [5, 3, 0]),
        (3, 3, [3]),
        (0, 2, [2, 0]),
        (1, 1, [1]),
    ],
)
async def test_lower_version_follows_a_close(
    cluster: FakeCluster, highest: int, given: int | None, asked: list[int]
) -> None:
    cluster.set_api_versions(18, 0, highest)
    async with secured_listener(cluster, SecuredListener(closes_above=highest)) as listener:
        config = ConnectionConfig(api_versions=given)
        async with await Connection.open(listener.address, config=config) as connection:
            response = await connection.send(ALL_TOPICS)

    assert [topic.name for topic in response.topics] == ["orders"]
    assert [version for version in listener.versions_asked if version <= 5] == asked[: len(listener.versions_asked)]


async def test_poller_and_admin_client_find_the_version(cluster: FakeCluster) -> None:
    async with secured_listener(cluster, SecuredListener(closes_above=3)) as listener:
        async with Poller(listener.address, interval=0.05, brokers="one") as poller:
            poll = await anext(poller)
            assert poll.error is None
        async with await AdminClient.open(listener.address, timeout=10) as admin:
            assert admin.dialect == "kafka"


async def test_server_that_closes_always_is_an_error_with_its_probable_cause(cluster: FakeCluster) -> None:
    async with secured_listener(cluster, SecuredListener(closes_above=-1)) as listener:
        with pytest.raises(ConnectionClosed, match="probably expects TLS"):
            await Connection.open(listener.address, timeout=10)

    assert listener.versions_asked == [5, 3, 0]


@pytest.mark.parametrize("version", [-1, 6, 100])
def test_unknown_version_is_refused(version: int) -> None:
    with pytest.raises(ValueError, match="api_versions is"):
        ConnectionConfig(api_versions=version)


# SaslHandshake of version 0


@for_rows(
    ("versions", "handshake"),
    [
        ({17: (0, 1), 36: (0, 2)}, 1),
        ({17: (1, 1), 36: (0, 0)}, 1),
        ({17: (0, 0)}, 0),
        ({17: (0, 0), 36: (0, 1)}, 0),
        ({17: (0, 1)}, 0),  # tokens of version 1 would need SaslAuthenticate
        ({17: (1, 1)}, None),
        ({17: (2, 3), 36: (0, 2)}, None),
        ({36: (0, 2)}, None),
        ({}, None),
    ],
)
def test_versions_decide_how_tokens_travel(versions: dict[int, tuple[int, int]], handshake: int | None) -> None:
    assert choose_handshake(versions) == handshake


@pytest.mark.parametrize("rest", [b"", b"welcome"])
async def test_plain_token_travels_alone(cluster: FakeCluster, rest: bytes) -> None:
    listener = SecuredListener(mechanisms=("PLAIN",), respond=lambda _: (0, rest), handshake=(0, 0), authenticate=None)
    async with secured_listener(cluster, listener) as server:
        connection = await Connection.open(server.address, config=ConnectionConfig(sasl=PLAIN))
        response = await connection.send(ALL_TOPICS)
        await connection.close()

    assert [topic.name for topic in response.topics] == ["orders"]
    assert (listener.handshakes, listener.tokens) == ([0], [b"\0alice\0wonderland"])


@pytest.mark.parametrize(("handshake", "authenticate"), [((0, 0), None), ((0, 1), (0, 2))])
async def test_scram_tokens_travel_both_ways(
    cluster: FakeCluster, handshake: tuple[int, int], authenticate: tuple[int, int] | None
) -> None:
    credential = ScramCredential.of_password("SCRAM-SHA-256", Secret("wonderland"), b"salt of sixteen!")
    server = ScramServer("SCRAM-SHA-256", lambda _: credential)
    listener = SecuredListener(
        mechanisms=("SCRAM-SHA-256",),
        respond=lambda token: (0, server.respond(token)),
        steps=2,
        handshake=handshake,
        authenticate=authenticate,
    )
    async with secured_listener(cluster, listener):
        sasl = ScramCredentials("alice", Secret("wonderland"), mechanism="SCRAM-SHA-256")
        async with await Connection.open(listener.address, config=ConnectionConfig(sasl=sasl)) as connection:
            await connection.send(ALL_TOPICS)

    assert len(listener.tokens) == 2


async def test_refusal_without_a_reason_is_named(cluster: FakeCluster) -> None:
    listener = SecuredListener(mechanisms=("PLAIN",), respond=lambda _: (58, b""), handshake=(0, 0), authenticate=None)
    async with secured_listener(cluster, listener):
        with pytest.raises(ConnectionFault, match="closes the connection when it refuses user and password") as caught:
            await Connection.open(listener.address, config=ConnectionConfig(sasl=PLAIN))

    assert "wonderland" not in str(caught.value)


async def test_mechanism_that_the_listener_lacks_is_named(cluster: FakeCluster) -> None:
    listener = SecuredListener(mechanisms=("SCRAM-SHA-512",), handshake=(0, 0), authenticate=None)
    async with secured_listener(cluster, listener):
        with pytest.raises(AuthenticationFailed, match="it has SCRAM-SHA-512"):
            await Connection.open(listener.address, config=ConnectionConfig(sasl=PLAIN))


async def test_listener_without_a_handshake_is_named(cluster: FakeCluster) -> None:
    async with secured_listener(cluster, SecuredListener(handshake=None, authenticate=None)) as listener:
        with pytest.raises(AuthenticationFailed, match="lists no version of SaslHandshake"):
            await Connection.open(listener.address, config=ConnectionConfig(sasl=PLAIN))
