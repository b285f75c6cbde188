"""Each option of security acts beside every other one: none is dropped without a word."""

from __future__ import annotations

import asyncio
import itertools
import socket
import ssl
from typing import TYPE_CHECKING

import pytest

from kwire.client import AdminClient, Connection, ConnectionConfig, Poller, TlsHandshakeFailed
from kwire.client.security import (
    ClientCertificate,
    PlainCredentials,
    SaslCredentials,
    ScramCredentials,
    Secret,
    TlsConfig,
)
from kwire.messages.kafka.metadata import MetadataRequest
from kwire.protocol import ConnectFailed, ConnectionFault, Endpoint
from kwire.testing import FakeCluster
from tests.client.secured_broker import SecuredListener, secured_listener
from tests.real_kafka.certificates import CertificateAuthority, IssuedCertificate

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterator
    from pathlib import Path

ALL_TOPICS = MetadataRequest(topics=None)
PASSWORD = "wonderland"
BROKER = "broker-1.kafka.test"


@pytest.fixture(scope="module")
def authority() -> CertificateAuthority:
    return CertificateAuthority()


@pytest.fixture(scope="module")
def client_certificate(authority: CertificateAuthority) -> ClientCertificate:
    issued = authority.issue("alice")
    return ClientCertificate(issued.chain, Secret(issued.key))


@pytest.fixture(scope="module")
def broker_certificate(authority: CertificateAuthority) -> IssuedCertificate:
    return authority.issue("broker", hosts=[BROKER, "127.0.0.1"])


@pytest.fixture
def cluster() -> Iterator[FakeCluster]:
    with FakeCluster(1, topics=["orders"]) as cluster:
        yield cluster


def server_context(certificate: IssuedCertificate, folder: Path, authority: CertificateAuthority) -> ssl.SSLContext:
    file = folder / "server.pem"
    file.write_text(certificate.chain + certificate.key)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(file)
    context.load_verify_locations(cadata=authority.certificate)
    context.verify_mode = ssl.CERT_OPTIONAL
    return context


class Tunnel:
    """Opens sockets to one address, whatever broker is asked for."""

    def __init__(self, address: str) -> None:
        self.target = Endpoint.parse(address)
        self.opened: list[Endpoint] = []

    async def __call__(self, endpoint: Endpoint) -> socket.socket:
        self.opened.append(endpoint)
        # Blocking, as sockets of proxy libraries are.
        return await asyncio.to_thread(socket.create_connection, self.target)


TLS = ("none", "verified", "name not verified", "client certificate")
PROTOCOLS = {
    (False, False): "PLAINTEXT",
    (True, False): "SSL",
    (False, True): "SASL_PLAINTEXT",
    (True, True): "SASL_SSL",
}


@pytest.mark.parametrize(("tunneled", "tls", "sasl"), [*itertools.product((False, True), TLS, (False, True))])
async def test_every_combination_acts(
    cluster: FakeCluster,
    authority: CertificateAuthority,
    broker_certificate: IssuedCertificate,
    client_certificate: ClientCertificate,
    tmp_path: Path,
    tunneled: bool,
    tls: str,
    sasl: bool,
) -> None:
    listener = SecuredListener(
        context=None if tls == "none" else server_context(broker_certificate, tmp_path, authority),
        mechanisms=("PLAIN",) if sasl else (),
    )
    async with secured_listener(cluster, listener):
        tunnel = Tunnel(listener.address)
        port = listener.address.partition(":")[2]
        # A tunnel reaches names that only its other end resolves.
        address = f"{BROKER}:{port}" if tunneled else listener.address
        config = ConnectionConfig(
            open_socket=tunnel if tunneled else None,
            tls=None
            if tls == "none"
            else TlsConfig(
                ca=authority.certificate,
                check_hostname=tls != "name not verified",
                certificate=client_certificate if tls == "client certificate" else None,
            ),
            sasl=PlainCredentials("alice", Secret(PASSWORD)) if sasl else None,
        )
        async with await Connection.open(address, config=config) as connection:
            response = await connection.send(ALL_TOPICS)

    assert [topic.name for topic in response.topics] == ["orders"]
    assert config.security_protocol == PROTOCOLS[tls != "none", sasl]
    assert tunnel.opened == ([Endpoint.parse(address)] if tunneled else [])
    # SNI has names only (RFC 6066), with verification and without.
    assert listener.server_names == ([] if tls == "none" else [BROKER if tunneled else None])
    assert listener.tokens == ([f"\0alice\0{PASSWORD}".encode()] if sasl else [])
    assert len(listener.client_certificates) == (tls == "client certificate")


@pytest.mark.parametrize(
    "sasl", [None, PlainCredentials("alice", Secret(PASSWORD)), ScramCredentials("a", Secret("b"))]
)
async def test_nothing_is_sent_in_clear_text_when_tls_is_configured(sasl: SaslCredentials | None) -> None:
    received = bytearray()

    async def on_connect(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        received.extend(await reader.read(1))
        writer.close()

    async with await asyncio.start_server(on_connect, "127.0.0.1", 0) as server:
        tunnel = Tunnel(f"127.0.0.1:{server.sockets[0].getsockname()[1]}")
        config = ConnectionConfig(open_socket=tunnel, tls=TlsConfig(), sasl=sasl)
        with pytest.raises(TlsHandshakeFailed):
            await Connection.open(f"{BROKER}:9093", timeout=10, config=config)

    assert received == b"\x16", "the first byte of a TLS handshake"


@pytest.mark.parametrize("name", ["broker-2.kafka.test", "127.0.0.2"])
async def test_name_is_verified_inside_a_tunnel(
    cluster: FakeCluster,
    authority: CertificateAuthority,
    broker_certificate: IssuedCertificate,
    tmp_path: Path,
    name: str,
) -> None:
    listener = SecuredListener(context=server_context(broker_certificate, tmp_path, authority))
    async with secured_listener(cluster, listener):
        tls = TlsConfig(ca=authority.certificate)
        config = ConnectionConfig(open_socket=Tunnel(listener.address), tls=tls)
        with pytest.raises(TlsHandshakeFailed, match=f"not valid for {name}"):
            await Connection.open(f"{name}:9093", config=config)


@pytest.mark.parametrize(
    ("host", "server_name"),
    [
        (BROKER, BROKER),
        (f"{BROKER}.", BROKER),  # absolute names of DNS, as brokers on Kubernetes advertise them
        (BROKER.upper(), BROKER.upper()),
        ("127.0.0.1", None),
    ],
)
@pytest.mark.parametrize("check_hostname", [True, False])
async def test_server_name_has_no_final_dot(
    cluster: FakeCluster,
    authority: CertificateAuthority,
    broker_certificate: IssuedCertificate,
    tmp_path: Path,
    host: str,
    server_name: str | None,
    check_hostname: bool,
) -> None:
    listener = SecuredListener(context=server_context(broker_certificate, tmp_path, authority))
    async with secured_listener(cluster, listener):
        tunnel = Tunnel(listener.address)
        tls = TlsConfig(ca=authority.certificate, check_hostname=check_hostname)
        async with await Connection.open(f"{host}:9093", config=ConnectionConfig(open_socket=tunnel, tls=tls)):
            pass

    assert [name and name.lower() for name in listener.server_names] == [server_name and server_name.lower()]
    assert tunnel.opened == [Endpoint(host, 9093)], "the resolver gets the name as it was given"


def failing(error: Exception) -> Callable[[Endpoint], Awaitable[socket.socket]]:
    async def open_socket(endpoint: Endpoint) -> socket.socket:
        raise error

    return open_socket


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (OSError("proxy is away"), "proxy is away"),
        (ConnectionRefusedError(111, "refused"), "refused"),
        (RuntimeError("the proxy said 403"), "open_socket failed: RuntimeError: the proxy said 403"),
    ],
)
async def test_failure_of_a_tunnel_is_a_fault_of_the_connection(error: Exception, reason: str) -> None:
    config = ConnectionConfig(open_socket=failing(error), tls=TlsConfig())

    with pytest.raises(ConnectFailed, match=reason):
        await Connection.open("broker:9093", config=config)
    with pytest.raises(ConnectionFault, match=reason):
        await AdminClient.open("broker:9093", timeout=5, config=config)
    async with Poller("broker:9093", interval=0.05, config=config) as poller:
        poll = await anext(poller)
    assert isinstance(poll.error, ConnectFailed)
