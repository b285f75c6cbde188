"""A connection over a real socket: pipelining, large responses, and every kind of failure."""

from __future__ import annotations

import asyncio
import errno
import gc
import re
import socket
import ssl
import subprocess
import sys
import tracemalloc
from struct import pack
from time import perf_counter
from typing import TYPE_CHECKING, Any

import pytest

from kwire import EncodeError, frame
from kwire.client import Connection, Poller
from kwire.client.connection import MAX_RESPONSE_SIZE
from kwire.messages.kafka.api_versions import ApiVersionsRequest, ApiVersionsResponse
from kwire.messages.kafka.describe_cluster import DescribeClusterRequest
from kwire.messages.kafka.describe_user_scram_credentials import DescribeUserScramCredentialsRequest
from kwire.messages.kafka.metadata import MetadataRequest, MetadataRequestTopic
from kwire.messages.kip4.topic_metadata_v1 import TopicMetadataRequest_V1
from kwire.protocol import (
    ConnectFailed,
    ConnectionClosed,
    ConnectionFault,
    Endpoint,
    InvalidResponse,
    NoCommonVersion,
    OversizedFrame,
    Timeout,
    WrongCorrelation,
)
from kwire.testing import FakeCluster, Misbehavior
from tests.eventually import eventually

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

ALL_TOPICS = MetadataRequest(topics=None)


@pytest.fixture
def cluster() -> Iterator[FakeCluster]:
    with FakeCluster(3, topics=20, partitions=3) as cluster:
        yield cluster


async def test_request_uses_the_highest_common_version(cluster: FakeCluster) -> None:
    async with await Connection.open(cluster.endpoint(1)) as connection:
        assert await connection.send(ALL_TOPICS) == cluster.state.metadata()
    assert [(seen.api_key, seen.version) for seen in cluster.requests(1)] == [(18, 5), (18, 4), (3, 13)]


@pytest.mark.parametrize("version", MetadataRequest.versions)
async def test_request_uses_the_given_version(cluster: FakeCluster, version: int) -> None:
    async with await Connection.open(cluster.endpoint(1)) as connection:
        request = MetadataRequest(topics=() if version == 0 else None)
        answer = await connection.send(request, version=version)
        assert [topic.name for topic in answer.topics] == list(cluster.state.topics)


async def test_kip4_dialect_is_detected() -> None:
    with FakeCluster(2, topics=3, dialect="kip4") as cluster:
        async with await Connection.open(cluster.endpoint(1)) as connection:
            assert connection.negotiated.dialect == "kip4"
            answer = await connection.send(TopicMetadataRequest_V1(topic_names=()))
            assert [topic.topic_name for topic in answer.topics] == list(cluster.state.topics)
            with pytest.raises(NoCommonVersion):
                await connection.send(ALL_TOPICS)


async def test_requests_are_pipelined_and_responses_come_in_order(cluster: FakeCluster) -> None:
    cluster.delay_responses(1, 0.01)
    async with await Connection.open(cluster.endpoint(1)) as connection:
        names = list(cluster.state.topics)
        arrivals = [connection.submit(MetadataRequest(topics=(MetadataRequestTopic(name=name),))) for name in names]
        others = [connection.submit(DescribeClusterRequest(include_cluster_authorized_operations=False))]
        answers = await asyncio.gather(*arrivals)
        assert [arrival.response.decode().topics[0].name for arrival in answers] == names
        assert (await others[0]).response.decode().cluster_id == cluster.state.cluster_id


async def test_response_to_a_cancelled_request_is_ignored(cluster: FakeCluster) -> None:
    cluster.delay_responses(1, 0.05)
    async with await Connection.open(cluster.endpoint(1)) as connection:
        given_up = connection.submit(ALL_TOPICS)
        given_up.cancel()
        assert (await connection.send(ApiVersionsRequest())).error_code == 0


async def test_timed_response_has_time_and_duration(cluster: FakeCluster) -> None:
    async with await Connection.open(cluster.endpoint(1)) as connection:
        began = perf_counter()
        quick = await connection.submit(ALL_TOPICS)
        at_most = (perf_counter() - began) * 1_000_000
        cluster.delay_responses(1, 1.0)
        slow = await connection.submit(ALL_TOPICS)
        assert quick.at < slow.at
        assert quick.at.utcoffset() is not None
        assert 0 < quick.duration_us <= at_most
        assert slow.duration_us >= 1_000_000


async def test_large_response_needs_memory_of_about_its_size() -> None:
    """4.4 MB, several times: one buffer for the socket, and one payload at a time."""
    with FakeCluster(3, topics=5_000, partitions=20) as cluster:
        async with await Connection.open(cluster.endpoint(1)) as connection:
            size = len((await connection.submit(ALL_TOPICS)).response.payload)
            assert size > 4_000_000
            gc.collect()
            tracemalloc.start()
            try:
                for _ in range(5):
                    assert len((await connection.submit(ALL_TOPICS)).response.payload) == size
                _, peak = tracemalloc.get_traced_memory()
            finally:
                tracemalloc.stop()
    assert peak // size < 6  # with a copy or two of the server, which runs in the same process


# Failures


async def fault_of(cluster: FakeCluster, misbehavior: Misbehavior) -> ConnectionFault:
    """Return the fault of a request; the request behind it ends with it, and a third is not even sent."""
    async with await Connection.open(cluster.endpoint(1)) as connection:
        if misbehavior in {Misbehavior.STALL, Misbehavior.NO_RESPONSE}:
            connection.timeout = 1.0
        cluster.misbehave(1, misbehavior, times=None, api_key=None)
        first = connection.send(ALL_TOPICS)
        behind = connection.send(ALL_TOPICS)
        met, met_behind = await asyncio.gather(first, behind, return_exceptions=True)
        assert isinstance(met, ConnectionFault)
        assert isinstance(met_behind, ConnectionFault)
        with pytest.raises(ConnectionFault) as again:
            await connection.send(ALL_TOPICS)
        assert again.value is connection.fault is met
        assert str(met).startswith(cluster.endpoint(1))
        return met


async def test_garbage_is_an_invalid_response(cluster: FakeCluster) -> None:
    fault = await fault_of(cluster, Misbehavior.GARBAGE)
    assert isinstance(fault, InvalidResponse)
    assert (fault.message, fault.version) == ("MetadataResponse", 13)
    assert len(fault.payload) > 4


async def test_response_in_another_version_is_invalid(cluster: FakeCluster) -> None:
    fault = await fault_of(cluster, Misbehavior.WRONG_VERSION)
    assert isinstance(fault, InvalidResponse)


async def test_bytes_of_another_protocol_are_rejected_by_their_size(cluster: FakeCluster) -> None:
    fault = await fault_of(cluster, Misbehavior.NOT_KAFKA)
    assert isinstance(fault, OversizedFrame)
    assert fault.size == int.from_bytes(b"HTTP", "big")


async def fault_of_server(serve: Callable[[socket.socket], None]) -> ConnectionFault:
    """Return the error of connecting to a server that handles one connection in a thread."""
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def accept() -> None:
            with listener.accept()[0] as client:
                serve(client)

        serving = asyncio.get_running_loop().run_in_executor(None, accept)
        with pytest.raises(ConnectionFault) as caught:
            await Connection.open(f"127.0.0.1:{listener.getsockname()[1]}", timeout=10)
        await serving
        return caught.value


async def test_http_server_is_named() -> None:
    def serve(client: socket.socket) -> None:
        client.recv(1000)
        client.sendall(b"HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n")

    fault = await fault_of_server(serve)
    assert isinstance(fault, OversizedFrame)
    assert "received HTTP instead of Kafka's protocol" in str(fault)


def tls_alert() -> bytes:
    """Return what a TLS server sends before it rejects a client: it has no certificate."""
    client_in, client_out, server_in, server_out = (ssl.MemoryBIO() for _ in range(4))
    client = ssl.create_default_context().wrap_bio(client_in, client_out, server_hostname="localhost")
    server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).wrap_bio(server_in, server_out, server_side=True)
    with pytest.raises(ssl.SSLWantReadError):
        client.do_handshake()
    server_in.write(client_out.read())
    with pytest.raises(ssl.SSLError):
        server.do_handshake()
    return server_out.read()


async def test_tls_server_is_named() -> None:
    def serve(client: socket.socket) -> None:
        client.recv(1000)
        client.sendall(tls_alert())

    fault = await fault_of_server(serve)
    assert isinstance(fault, OversizedFrame)
    assert "received TLS instead of Kafka's protocol" in str(fault)


async def test_oversized_frame_is_rejected_at_once(cluster: FakeCluster) -> None:
    fault = await fault_of(cluster, Misbehavior.OVERSIZED_FRAME)
    assert isinstance(fault, OversizedFrame)
    assert (fault.size, fault.max_size) == (0x7FFF_FFFF, MAX_RESPONSE_SIZE)


async def test_truncated_frame_reports_the_received_bytes(cluster: FakeCluster) -> None:
    fault = await fault_of(cluster, Misbehavior.TRUNCATED_FRAME)
    assert isinstance(fault, ConnectionClosed)
    assert fault.received > 500


async def test_stalled_response_times_out_with_the_received_bytes(cluster: FakeCluster) -> None:
    fault = await fault_of(cluster, Misbehavior.STALL)
    assert isinstance(fault, Timeout)
    assert fault.received > 500


async def test_missing_response_times_out(cluster: FakeCluster) -> None:
    fault = await fault_of(cluster, Misbehavior.NO_RESPONSE)
    assert isinstance(fault, Timeout)
    assert (fault.request, fault.timeout, fault.received) == ("MetadataRequest", 1.0, 0)


async def test_wrong_correlation_id_ends_the_connection(cluster: FakeCluster) -> None:
    fault = await fault_of(cluster, Misbehavior.WRONG_CORRELATION)
    assert isinstance(fault, WrongCorrelation)
    assert fault.expected is not None
    assert fault.actual == fault.expected + 1


async def test_closed_connection_is_reported(cluster: FakeCluster) -> None:
    fault = await fault_of(cluster, Misbehavior.CLOSE)
    assert isinstance(fault, ConnectionClosed)
    assert (fault.received, fault.cause) == (0, None)


@pytest.mark.parametrize("misbehavior", [kind for kind in Misbehavior if kind is not Misbehavior.WRONG_VERSION])
async def test_failed_negotiation_is_a_connection_fault(cluster: FakeCluster, misbehavior: Misbehavior) -> None:
    cluster.misbehave(1, misbehavior, times=None, api_key=None)
    with pytest.raises(ConnectionFault):
        await Connection.open(cluster.endpoint(1), timeout=0.2)
    cluster.stop_misbehaving(1)
    await (await Connection.open(cluster.endpoint(1))).close()


async def test_refused_connection_is_reported(cluster: FakeCluster) -> None:
    cluster.stop_broker(1)
    with pytest.raises(ConnectionError, match="refused") as caught:
        await Connection.open(cluster.endpoint(1))
    assert isinstance(caught.value, ConnectFailed)
    assert caught.value.errno == errno.ECONNREFUSED


@pytest.mark.parametrize(
    "host", ["no-such-host.invalid", "a..b", "a" * 64 + ".invalid", ".", "a\0b", "\udcff"], ids=ascii
)
async def test_invalid_host_name_is_reported(host: str) -> None:
    with pytest.raises(ConnectFailed, match="cannot connect"):
        await Connection.open(Endpoint(host, 9092))


@pytest.mark.parametrize("port", [-1, 70_000])
async def test_invalid_port_is_reported(port: int) -> None:
    with pytest.raises(ConnectFailed, match="cannot connect"):
        await Connection.open(Endpoint("127.0.0.1", port))


async def test_full_backlog_times_out() -> None:
    with (
        socket.create_server(("127.0.0.1", 0), backlog=0) as listener,
        socket.create_connection(listener.getsockname()),
    ):
        port = listener.getsockname()[1]
        with pytest.raises((ConnectFailed, Timeout)):
            await Connection.open(f"127.0.0.1:{port}", timeout=0.2)


async def test_unsolicited_response_ends_the_connection() -> None:
    """The meaning of the bytes after it is unknown."""
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def serve() -> None:
            with listener.accept()[0] as client:
                client.recv(100)
                no_apis = ApiVersionsResponse(error_code=0, api_keys=())
                client.sendall(frame.encode_response(no_apis, version=5, correlation_id=0))
                client.sendall(pack(">ii", 4, 77))
                while client.recv(100):  # until the client closes the connection
                    pass

        serving = asyncio.create_task(asyncio.to_thread(serve))
        connection = await Connection.open(f"127.0.0.1:{listener.getsockname()[1]}")
        await connection._lost
        assert isinstance(connection.fault, WrongCorrelation)
        assert (connection.fault.expected, connection.fault.actual) == (None, 77)
        await connection.close()
        await asyncio.gather(serving, return_exceptions=True)  # the server may see a reset connection


async def test_close_fails_requests_in_flight(cluster: FakeCluster) -> None:
    cluster.pause_broker(1)
    with pytest.raises(Timeout):
        await Connection.open(cluster.endpoint(1), timeout=0.1)
    cluster.resume_broker(1)
    connection = await Connection.open(cluster.endpoint(1))
    cluster.pause_broker(1)
    arrival = connection.submit(ALL_TOPICS)
    await connection.close()
    await connection.close()
    with pytest.raises(ConnectionClosed, match="by us"):
        await arrival


async def test_cancelled_open_leaves_no_connection_behind(cluster: FakeCluster) -> None:
    """However far it has come: the broker's first words may be on their way, or already be there."""
    complaints: list[dict[str, Any]] = []
    loop = asyncio.get_running_loop()
    loop.set_exception_handler(lambda _, complaint: complaints.append(complaint))
    for steps in range(40):
        opening = asyncio.ensure_future(Connection.open(cluster.endpoint(1)))
        for _ in range(steps):
            await asyncio.sleep(0)
        await asyncio.to_thread(cluster.requests, 1)  # the broker's thread had its turn
        opening.cancel()
        for connection in await asyncio.gather(opening, return_exceptions=True):
            if isinstance(connection, Connection):
                await connection.close()
    await eventually(lambda: cluster.connection_count(1) == 0)
    assert complaints == []


async def test_encode_error_leaves_the_connection_open(cluster: FakeCluster) -> None:
    async with await Connection.open(cluster.endpoint(1)) as connection:
        with pytest.raises(EncodeError):
            await connection.send(MetadataRequest(topics=None, allow_auto_topic_creation=False), version=1)
        with pytest.raises(NoCommonVersion):
            await connection.send(DescribeUserScramCredentialsRequest(users=None))
        await connection.send(ALL_TOPICS)


async def test_path_in_place_of_a_configuration_is_rejected(cluster: FakeCluster) -> None:
    mistake: Any = {"config": "client.properties"}
    with pytest.raises(TypeError, match=re.escape("must be a ConnectionConfig, not str: use ClientProperties.load(")):
        await Connection.open(cluster.endpoint(1), **mistake)
    with pytest.raises(TypeError, match="must be a ConnectionConfig, not str"):
        Poller(cluster.bootstrap, **mistake)


def test_client_does_not_import_what_only_secured_clusters_need() -> None:
    program = (
        "import sys; from kwire.client import AdminClient, Connection, Poller; "
        "print(*sorted(module for module in sys.modules if 'kwire' in module))"
    )
    loaded = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True, text=True).stdout.split()
    assert "kwire.client.connection" in loaded
    assert not [module for module in loaded if module.startswith(("kwire.client.security", "kwire.protocol.sasl"))]
