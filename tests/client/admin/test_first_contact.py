"""First contact with a cluster: hopeless bootstrap servers fail at once, and brokers of a known cluster are waited for.

Timeouts are an hour: a test that waits for one of them does not end.
"""

from __future__ import annotations

import asyncio
import socket
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import pytest

from kwire.client import ConnectionConfig
from kwire.client.admin import AdminClient
from kwire.client.admin.cluster_router import NOTICE_AFTER_S
from kwire.client.security.tls import TlsConfig
from kwire.messages.kafka.metadata import MetadataRequest, MetadataResponse, MetadataResponseBroker
from kwire.messages.kip4.cluster_metadata import ClusterMetadataResponse
from kwire.messages.kip4.structures import Broker
from kwire.protocol.errors import (
    AdvertisedAddressUnreachable,
    ConnectFailed,
    ConnectionClosed,
    ConnectionFault,
    OversizedFrame,
    TlsHandshakeFailed,
)
from tests.client.admin.client_loops import in_client_loop
from tests.client.admin.scripted_broker import KeepSilent, LoseResponse, scripted_broker
from tests.eventually import eventually

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from kwire.declare import Message


HOUR = 3600.0
TLS = ConnectionConfig(tls=TlsConfig())
NOT_TLS = "the listener does not speak TLS: set security.protocol"


@pytest.fixture
def closed_port() -> int:
    """A port on which nothing listens."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port: int = listener.getsockname()[1]
    return port


@asynccontextmanager
async def peer(answer: bytes | None) -> AsyncIterator[str]:
    """A server of another protocol: it reads a little, answers, and closes; with None, it never answers."""
    open_writers: list[asyncio.StreamWriter] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(1)
        if answer is None:
            open_writers.append(writer)
            return
        writer.write(answer)
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    try:
        yield f"127.0.0.1:{server.sockets[0].getsockname()[1]}"
    finally:
        server.close()
        for writer in open_writers:
            writer.close()


def itself(port: int) -> MetadataResponse:
    broker = MetadataResponseBroker(node_id=1, host="127.0.0.1", port=port)
    return MetadataResponse(brokers=(broker,), controller_id=1, topics=())


async def fault_of(bootstrap: str, config: ConnectionConfig | None = None) -> ConnectionFault:
    async def client() -> None:
        await (await AdminClient.open(bootstrap, timeout=HOUR, config=config)).close()

    with pytest.raises(ConnectionFault) as raised:
        await (client() if config is not None else in_client_loop(client()))  # TLS needs asyncio
    return raised.value


async def test_refused_connections_and_unknown_hosts_fail_at_once(closed_port: int) -> None:
    refused = f"127.0.0.1:{closed_port}"
    for bootstrap in (refused, f"{refused},localhost:{closed_port}"):
        fault = await fault_of(bootstrap)
        assert isinstance(fault, ConnectFailed)
        assert str(fault) == f"{refused}: cannot connect: [Errno 111] Connection refused"
    unknown = await fault_of("no-such-host.invalid:9092")
    assert isinstance(unknown, ConnectFailed)
    assert str(unknown).startswith("no-such-host.invalid:9092: cannot connect: ")


@pytest.mark.parametrize(
    ("answer", "config", "kind", "text"),
    [
        (b"", None, ConnectionClosed, "the listener probably expects TLS: set security.protocol to SSL or SASL_SSL"),
        (b"HTTP/1.1 400 Bad Request\r\n\r\n", None, OversizedFrame, "received HTTP"),
        (b"\x15\x03\x03\x00\x02\x02\x0a", None, OversizedFrame, "received TLS"),
        (b"", TLS, TlsHandshakeFailed, NOT_TLS),
        (b"HTTP/1.1 400 Bad Request\r\n\r\n", TLS, TlsHandshakeFailed, NOT_TLS),
    ],
    ids=["closes", "http", "tls", "closes_handshake", "http_to_handshake"],
)
async def test_another_protocol_fails_at_once(
    answer: bytes, config: ConnectionConfig | None, kind: type[ConnectionFault], text: str
) -> None:
    async with peer(answer) as address:
        fault = await fault_of(address, config)
    assert isinstance(fault, kind)
    assert text in str(fault)


@pytest.mark.parametrize(
    "answer", [b"HTTP/1.1 400 Bad Request\r\n\r\n", b"\x15\x03\x03\x00\x02\x02\x0a", b"SSH-2.0-x\r\n"]
)
async def test_advertised_address_with_another_protocol_fails_at_once(answer: bytes) -> None:
    """In another network, a web server or a proxy can have the address that brokers advertise."""
    async with peer(answer) as address:
        port = int(address.rpartition(":")[2])

        def respond(request: Any) -> Message:
            assert isinstance(request, MetadataRequest)
            return itself(port)

        async def client() -> None:
            async with await AdminClient.open(f"127.0.0.1:{broker.port}", timeout=HOUR) as admin:
                await admin.list_groups()

        async with scripted_broker("kafka", respond) as broker:
            with pytest.raises(AdvertisedAddressUnreachable, match="a broker advertises this address") as raised:
                await in_client_loop(client())
    assert str(raised.value.endpoint) == address


async def test_listener_that_requires_sasl_fails_at_once() -> None:
    def close(_: Any) -> Message:
        raise LoseResponse

    async with scripted_broker("kafka", close) as broker:
        fault = await fault_of(f"127.0.0.1:{broker.port}")
    assert "the listener probably requires SASL" in str(fault)


async def test_node_that_closes_connections_until_it_is_ready_is_waited_for() -> None:
    def respond(_: Any) -> Message:
        if len(broker.received) < 3:
            raise LoseResponse
        node = Broker(node_id=1, host="127.0.0.1", port=broker.port)
        return ClusterMetadataResponse(error_code=0, brokers=(node,), controller=node)

    async with scripted_broker("kip4", respond) as broker:
        admin = await AdminClient.open(f"127.0.0.1:{broker.port}", timeout=HOUR)
        assert admin.dialect == "kip4"
        await admin.close()


async def test_error_names_the_peer_that_was_reached(closed_port: int) -> None:
    async with peer(b"HTTP/1.1 400 Bad Request\r\n\r\n") as address:
        fault = await fault_of(f"127.0.0.1:{closed_port},{address}")
    assert str(fault.endpoint) == address


async def test_one_usable_bootstrap_server_is_enough(closed_port: int) -> None:
    def respond(_: Any) -> Message:
        return itself(broker.port)

    async with peer(b"") as other, scripted_broker("kafka", respond) as broker:
        bootstrap = f"127.0.0.1:{closed_port},{other},127.0.0.1:{broker.port}"
        async with await AdminClient.open(bootstrap, timeout=HOUR) as admin:
            assert [broker.id for broker in (await admin.describe_cluster()).brokers] == [1]


async def test_silent_bootstrap_server_leaves_time_for_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    def respond(_: Any) -> Message:
        return itself(broker.port)

    # Of an hour, the silent server may take half a second instead of a third.
    monkeypatch.setattr("kwire.client.admin.cluster_router.NEXT_SHARE", 0.5 / HOUR)
    async with peer(None) as silent, scripted_broker("kafka", respond) as broker:
        admin = await AdminClient.open(f"{silent},127.0.0.1:{broker.port}", timeout=HOUR)
        assert admin.dialect == "kafka"
        await admin.close()


async def test_broker_of_a_known_cluster_that_restarts_is_waited_for() -> None:
    def respond(_: Any) -> Message:
        return itself(port)

    async with scripted_broker("kafka", respond) as broker:
        port = broker.port
        admin = await AdminClient.open(f"127.0.0.1:{port}", timeout=HOUR)
        [connection] = admin.router._connections._connections.values()
        await connection._close_connection()
    async with admin:
        described = asyncio.create_task(admin.describe_cluster())
        await eventually(lambda: admin.router._failures >= 2, "two refused connections")
        assert not described.done()
        server = await asyncio.start_server(broker.serve, "127.0.0.1", port)
        assert [broker.port for broker in (await described).brokers] == [port]
        server.close()


async def test_waits_are_reported_with_their_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    assert NOTICE_AFTER_S == 1.0
    monkeypatch.setattr("kwire.client.admin.cluster_router.NOTICE_AFTER_S", 0.0)
    sentences: list[str] = []

    def respond(request: Any) -> Message:
        if isinstance(request, MetadataRequest) and not request.topics:
            return itself(broker.port)
        raise KeepSilent

    async with scripted_broker("kafka", respond) as broker:
        address = f"127.0.0.1:{broker.port}"
        async with await AdminClient.open(address, timeout=HOUR, on_wait=sentences.append) as admin:
            assert sentences[:1] == [f"no broker of {address} has answered yet"]
            groups = asyncio.create_task(admin.list_groups())
            await eventually(lambda: sentences[-1].endswith("ListGroupsRequest") and address in sentences[-1])
            groups.cancel()
