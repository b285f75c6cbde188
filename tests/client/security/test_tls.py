"""TLS over a real socket, without Kafka: a relay that speaks TLS stands before a fake cluster."""

from __future__ import annotations

import asyncio
import socket
import ssl
import threading
from contextlib import asynccontextmanager, contextmanager, suppress
from datetime import timedelta
from typing import TYPE_CHECKING

import pytest

from kwire.client import Connection, ConnectionConfig, TlsHandshakeFailed
from kwire.client.security import ClientCertificate, ClientProperties, Secret, SecurityConfigError, TlsConfig
from kwire.messages.kafka.metadata import MetadataRequest
from kwire.protocol import ConnectionClosed, ConnectionFault
from kwire.testing import FakeCluster
from tests.real_kafka.certificates import CertificateAuthority, IssuedCertificate

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator, Sequence
    from pathlib import Path
    from typing import Any

ALL_TOPICS = MetadataRequest(topics=None)


@pytest.fixture(scope="module")
def authority() -> CertificateAuthority:
    return CertificateAuthority()


@pytest.fixture
def cluster() -> Iterator[FakeCluster]:
    with FakeCluster(1, topics=300, partitions=20) as cluster:
        yield cluster


def server_context(certificate: IssuedCertificate, folder: Path, *, clients: str | None = None) -> ssl.SSLContext:
    """Return the context of a server.

    Args:
        clients: the authority of client certificates, which the server then requires.
    """
    file = folder / "server.pem"
    file.write_text(certificate.chain + certificate.key)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(file)
    if clients is not None:
        context.load_verify_locations(cadata=clients)
        context.verify_mode = ssl.CERT_REQUIRED
    return context


@asynccontextmanager
async def relay(target: str, context: ssl.SSLContext, host: str = "127.0.0.1") -> AsyncIterator[str]:
    """Accept TLS and forward what it carries. Yields the address."""

    async def copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while data := await reader.read(1 << 16):
                writer.write(data)
                await writer.drain()
        except OSError:
            pass  # the other side has gone
        finally:
            writer.close()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        broker_host, _, port = target.partition(":")
        upstream_reader, upstream_writer = await asyncio.open_connection(broker_host, int(port))
        await asyncio.gather(copy(reader, upstream_writer), copy(upstream_reader, writer))

    server = await asyncio.start_server(serve, host, 0, ssl=context)
    async with server:
        yield f"{host}:{server.sockets[0].getsockname()[1]}"


async def test_requests_and_large_responses_pass(
    cluster: FakeCluster, authority: CertificateAuthority, tmp_path: Path
) -> None:
    context = server_context(authority.issue("broker"), tmp_path)
    config = ConnectionConfig(tls=TlsConfig(ca=authority.certificate))
    async with (
        relay(cluster.endpoint(1), context) as address,
        await Connection.open(address, config=config) as connection,
    ):
        responses = await asyncio.gather(*(connection.send(ALL_TOPICS) for _ in range(5)))

    assert all(response == cluster.state.metadata() for response in responses)


@pytest.mark.parametrize("version", ["TLSv1.2", "TLSv1.3"])
@pytest.mark.parametrize("password", [None, "secret"])
async def test_client_certificate_is_sent(
    cluster: FakeCluster, authority: CertificateAuthority, tmp_path: Path, version: str, password: str | None
) -> None:
    client = authority.issue("alice")
    (tmp_path / "ca.pem").write_text(authority.certificate)
    (tmp_path / "client.pem").write_text(client.chain)
    (tmp_path / "client.key").write_text(client.encrypted_key(password))
    files = TlsConfig.from_files(
        ca=tmp_path / "ca.pem",
        certificate=tmp_path / "client.pem",
        key=tmp_path / "client.key",
        key_password=None if password is None else Secret(password),
    )
    config = ConnectionConfig(tls=TlsConfig(ca=files.ca, certificate=files.certificate, versions=(version,)))
    context = server_context(authority.issue("broker"), tmp_path, clients=authority.certificate)

    async with (
        relay(cluster.endpoint(1), context) as address,
        await Connection.open(address, config=config) as connection,
    ):
        assert await connection.send(ALL_TOPICS) == cluster.state.metadata()


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "latin-1"])
def test_pem_files_may_have_comments_and_any_encoding(
    authority: CertificateAuthority, tmp_path: Path, encoding: str
) -> None:
    (tmp_path / "ca.pem").write_bytes(f"# Autorité de démonstration\r\n{authority.certificate}".encode(encoding))

    tls = TlsConfig.from_files(ca=tmp_path / "ca.pem")

    assert len(tls.context.get_ca_certs()) == 1


def test_certificate_in_der_is_named(tmp_path: Path) -> None:
    (tmp_path / "ca.der").write_bytes(b"\x30\x82\x01\x00\x00")

    with pytest.raises(SecurityConfigError, match=r"ca\.der: expected PEM"):
        TlsConfig.from_files(ca=tmp_path / "ca.der")


@contextmanager
def rejecting_server(context: ssl.SSLContext) -> Iterator[str]:
    """Shake hands with one client and send the alert that asyncio's servers do not send. Yields the address."""

    def serve() -> None:
        connection, _ = listening.accept()
        with connection, suppress(OSError), context.wrap_socket(connection, server_side=True) as secured:
            secured.recv(1)

    with socket.create_server(("127.0.0.1", 0)) as listening:
        thread = threading.Thread(target=serve)
        thread.start()
        yield f"127.0.0.1:{listening.getsockname()[1]}"
        thread.join()


async def fault_of(address: str, config: ConnectionConfig) -> ConnectionFault:
    with pytest.raises(ConnectionFault) as caught:
        async with await Connection.open(address, config=config) as connection:
            await connection.send(ALL_TOPICS)
    return caught.value


@pytest.mark.parametrize("version", ["TLSv1.2", "TLSv1.3"])
async def test_required_client_certificate_is_named(
    authority: CertificateAuthority, tmp_path: Path, version: str
) -> None:
    context = server_context(authority.issue("broker"), tmp_path, clients=authority.certificate)
    config = ConnectionConfig(tls=TlsConfig(ca=authority.certificate, versions=(version,)))

    with rejecting_server(context) as address:
        fault = await fault_of(address, config)

    assert isinstance(fault, TlsHandshakeFailed)
    assert "the broker requires a client certificate" in fault.cause
    assert "ssl.keystore.location" in fault.cause


@pytest.mark.parametrize(
    ("hosts", "expires", "cause"),
    [
        (["127.0.0.1"], timedelta(days=-1), "the broker's certificate has expired"),
        (["other.example.com"], timedelta(days=1), "the broker's certificate is not valid for 127.0.0.1"),
    ],
)
async def test_bad_certificate_is_named(
    cluster: FakeCluster,
    authority: CertificateAuthority,
    tmp_path: Path,
    hosts: list[str],
    expires: timedelta,
    cause: str,
) -> None:
    context = server_context(authority.issue("broker", hosts=hosts, expires=expires), tmp_path)

    async with relay(cluster.endpoint(1), context) as address:
        fault = await fault_of(address, ConnectionConfig(tls=TlsConfig(ca=authority.certificate)))

    assert isinstance(fault, TlsHandshakeFailed)
    assert fault.cause.startswith(cause)
    assert not fault.retriable


ADDRESSES = ("127.0.0.2", "127.0.0.3")


@asynccontextmanager
async def name_of_two_services(
    cluster: FakeCluster, contexts: Sequence[ssl.SSLContext], stranger: str, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[str]:
    """Serve another service, or none, at the first address of a name, and TLS at the second. Yields `name:port`.

    Args:
        contexts: the TLS of the service at the first address, if it speaks TLS, and of the broker.
        stranger: the behavior of the service at the first address: tls, http, silent, or closes.
    """

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if stranger != "closes":
            with suppress(OSError):
                await reader.read(1)
        if stranger == "silent":
            await finished.wait()
        if stranger == "http":
            writer.write(b"HTTP/1.1 400 Bad Request\r\n\r\n")
        writer.close()

    async def getaddrinfo(*_: object, **__: object) -> list[Any]:
        kind = (socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
        return [(*kind, "", (address, port)) for address in ADDRESSES]

    finished = asyncio.Event()
    async with relay(cluster.endpoint(1), contexts[-1], ADDRESSES[1]) as address:
        port = int(address.partition(":")[2])
        context = contexts[0] if stranger == "tls" else None
        async with await asyncio.start_server(serve, ADDRESSES[0], port, ssl=context):
            monkeypatch.setattr(asyncio.get_running_loop(), "getaddrinfo", getaddrinfo)
            yield f"broker:{port}"
            finished.set()


@pytest.mark.parametrize("stranger", ["tls", "http", "silent", "closes"])
async def test_next_address_is_tried_if_tls_fails_at_the_first(
    cluster: FakeCluster,
    authority: CertificateAuthority,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    stranger: str,
) -> None:
    contexts = [server_context(authority.issue(host, hosts=[host]), tmp_path) for host in ("proxy", "broker")]
    config = ConnectionConfig(tls=TlsConfig(ca=authority.certificate))

    async with (
        name_of_two_services(cluster, contexts, stranger, monkeypatch) as address,
        await Connection.open(address, config=config, timeout=2 if stranger == "silent" else 30) as connection,
    ):
        assert len((await connection.send(ALL_TOPICS)).topics) == 300


async def test_wrong_certificate_at_every_address_is_named(
    cluster: FakeCluster, authority: CertificateAuthority, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    contexts = [server_context(authority.issue("proxy", hosts=["proxy"]), tmp_path)]

    async with name_of_two_services(cluster, contexts, "tls", monkeypatch) as address:
        fault = await fault_of(address, ConnectionConfig(tls=TlsConfig(ca=authority.certificate)))

    assert isinstance(fault, TlsHandshakeFailed)
    assert "the broker's certificate is not valid for broker" in str(fault)


async def test_silence_during_the_handshake_is_named(authority: CertificateAuthority) -> None:
    config = ConnectionConfig(tls=TlsConfig(ca=authority.certificate))

    with socket.create_server(("127.0.0.1", 0)) as server:
        address = f"127.0.0.1:{server.getsockname()[1]}"
        with pytest.raises(ConnectionFault, match="no TLS handshake within"):
            await Connection.open(address, config=config, timeout=0.1)


async def test_no_common_version_is_named(authority: CertificateAuthority, tmp_path: Path) -> None:
    context = server_context(authority.issue("broker"), tmp_path)
    context.minimum_version = ssl.TLSVersion.TLSv1_3
    config = ConnectionConfig(tls=TlsConfig(ca=authority.certificate, versions=("TLSv1.2",)))

    with rejecting_server(context) as address:
        fault = await fault_of(address, config)

    assert isinstance(fault, TlsHandshakeFailed)
    assert fault.cause.startswith("client and broker have no TLS version or cipher suite in common")


async def test_server_that_closes_during_the_handshake_may_be_tried_again(authority: CertificateAuthority) -> None:
    async def close(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(1)
        writer.close()

    async with await asyncio.start_server(close, "127.0.0.1", 0) as server:
        address = f"127.0.0.1:{server.sockets[0].getsockname()[1]}"
        fault = await fault_of(address, ConnectionConfig(tls=TlsConfig(ca=authority.certificate)))

    assert isinstance(fault, TlsHandshakeFailed)
    assert fault.cause.startswith("the broker closed the connection; probably the listener does not speak TLS")
    assert fault.retriable


def test_configuration_shows_no_key(authority: CertificateAuthority) -> None:
    issued = authority.issue("alice")
    config = ConnectionConfig(
        tls=TlsConfig(certificate=ClientCertificate(issued.chain, Secret(issued.key), Secret("password-1")))
    )

    assert "BEGIN" not in repr(config)
    assert "password-1" not in repr(config)


@pytest.mark.parametrize(
    ("tls", "key"),
    [
        (TlsConfig(ca="nonsense"), "ssl.truststore.certificates"),
        (TlsConfig(certificate=ClientCertificate("nonsense", Secret("nonsense"))), "ssl.keystore.certificate.chain"),
        (TlsConfig(ciphers="nonsense"), "ssl.cipher.suites"),
    ],
)
def test_unusable_configuration_is_an_error(tls: TlsConfig, key: str) -> None:
    with pytest.raises(SecurityConfigError) as caught:
        _ = tls.context

    assert caught.value.key == key


async def test_plaintext_client_learns_that_the_listener_closes_before_anything_is_said() -> None:
    async def close(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(1 << 16)
        writer.close()

    async with await asyncio.start_server(close, "127.0.0.1", 0) as server:
        address = f"127.0.0.1:{server.sockets[0].getsockname()[1]}"
        fault = await fault_of(address, ConnectionConfig())

    assert isinstance(fault, ConnectionClosed)
    assert fault.hint == "the listener probably expects TLS: set security.protocol to SSL or SASL_SSL"


async def test_new_connections_use_replaced_files(cluster: FakeCluster, tmp_path: Path) -> None:
    """A truststore and a client certificate are renewed while the process runs."""
    old, new = CertificateAuthority("old"), CertificateAuthority("new")
    ca, store, own = tmp_path / "ca.pem", tmp_path / "trust.pem", tmp_path / "client.pem"
    properties = {"security.protocol": "SSL", "ssl.truststore.location": str(store), "ssl.keystore.location": str(own)}

    def write(authority: CertificateAuthority) -> None:
        certificate = authority.issue("client")
        for file in (ca, store):
            file.write_text(authority.certificate)
        own.write_text(certificate.chain + certificate.key)

    write(old)
    by_files = ConnectionConfig(tls=TlsConfig.from_files(ca=ca, certificate=own))
    by_properties = ClientProperties.parse(properties).connection
    assert by_properties is not None
    for authority in (old, new):
        write(authority)
        context = server_context(authority.issue("server"), tmp_path, clients=authority.certificate)
        async with relay(cluster.bootstrap, context) as address:
            for config in (by_files, by_properties):
                async with await Connection.open(address, config=config, timeout=30) as connection:
                    assert (await connection.send(MetadataRequest(topics=()))).brokers
    own.write_text("half a file")
    ca.unlink()
    context = server_context(new.issue("server"), tmp_path, clients=new.certificate)
    async with relay(cluster.bootstrap, context) as address:
        for config in (by_files, by_properties):
            async with await Connection.open(address, config=config, timeout=30) as connection:
                assert (await connection.send(MetadataRequest(topics=()))).brokers
