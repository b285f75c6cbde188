"""A connection over a real socket: pipelined, large answers, and every fault by its name."""

from __future__ import annotations

import asyncio
import gc
import socket
import tracemalloc
from struct import pack
from typing import TYPE_CHECKING, Any

import pytest

from kwire import EncodeError, frame
from kwire.client import Connection
from kwire.messages.kafka.api_versions import ApiVersionsRequest, ApiVersionsResponse
from kwire.messages.kafka.describe_cluster import DescribeClusterRequest
from kwire.messages.kafka.list_offsets import ListOffsetsRequest
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
from tests.client.polling import comes_true, run

if TYPE_CHECKING:
    from collections.abc import Iterator

ALL_TOPICS = MetadataRequest(topics=None)


@pytest.fixture
def cluster() -> Iterator[FakeCluster]:
    with FakeCluster(3, topics=20, partitions=3) as cluster:
        yield cluster


def test_a_request_is_answered_in_the_highest_common_version(cluster: FakeCluster) -> None:
    async def work() -> None:
        async with await Connection.open(cluster.endpoint(1)) as connection:
            assert await connection.send(ALL_TOPICS) == cluster.state.metadata()

    run(work())
    assert [(seen.api_key, seen.version) for seen in cluster.requests(1)] == [(18, 5), (18, 4), (3, 13)]


@pytest.mark.parametrize("version", MetadataRequest.versions)
def test_or_in_the_version_that_is_told(cluster: FakeCluster, version: int) -> None:
    async def work() -> None:
        async with await Connection.open(cluster.endpoint(1)) as connection:
            request = MetadataRequest(topics=() if version == 0 else None)
            answer = await connection.send(request, version=version)
            assert [topic.name for topic in answer.topics] == list(cluster.state.topics)

    run(work())


def test_kip_4_is_spoken_where_it_is_understood() -> None:
    async def work(cluster: FakeCluster) -> None:
        async with await Connection.open(cluster.endpoint(1)) as connection:
            assert connection.negotiated.dialect == "kip4"
            answer = await connection.send(TopicMetadataRequest_V1(topic_names=()))
            assert [topic.topic_name for topic in answer.topics] == list(cluster.state.topics)
            with pytest.raises(NoCommonVersion):
                await connection.send(ALL_TOPICS)

    with FakeCluster(2, topics=3, dialect="kip4") as cluster:
        run(work(cluster))


def test_requests_are_pipelined_and_answers_come_in_order(cluster: FakeCluster) -> None:
    async def work() -> None:
        cluster.delay_responses(1, 0.01)
        async with await Connection.open(cluster.endpoint(1)) as connection:
            names = list(cluster.state.topics)
            arrivals = [connection.submit(MetadataRequest(topics=(MetadataRequestTopic(name=name),))) for name in names]
            others = [connection.submit(DescribeClusterRequest(include_cluster_authorized_operations=False))]
            answers = await asyncio.gather(*arrivals)
            assert [arrival.response.decode().topics[0].name for arrival in answers] == names
            assert (await others[0]).response.decode().cluster_id == cluster.state.cluster_id

    run(work())


def test_an_answer_that_nobody_waits_for_any_more_harms_nobody(cluster: FakeCluster) -> None:
    async def work() -> None:
        cluster.delay_responses(1, 0.05)
        async with await Connection.open(cluster.endpoint(1)) as connection:
            given_up = connection.submit(ALL_TOPICS)
            given_up.cancel()
            assert (await connection.send(ApiVersionsRequest())).error_code == 0

    run(work())


def test_an_arrival_says_when_and_how_long(cluster: FakeCluster) -> None:
    async def work() -> None:
        async with await Connection.open(cluster.endpoint(1)) as connection:
            quick = await connection.submit(ALL_TOPICS)
            cluster.delay_responses(1, 1.0)
            slow = await connection.submit(ALL_TOPICS)
            assert quick.at < slow.at
            assert quick.at.utcoffset() is not None
            assert quick.duration_us < 1_000_000 <= slow.duration_us

    run(work())


def test_large_answers_are_read_in_memory_of_their_size() -> None:
    """4.4 MB, several times: one buffer for the socket, one payload at a time."""

    async def work(cluster: FakeCluster) -> int:
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
            return peak // size

    with FakeCluster(3, topics=5_000, partitions=20) as cluster:
        # What the server hands to its socket is in the same process: a copy or two of its own.
        assert run(work(cluster)) < 6


# Faults.


async def fault_of(cluster: FakeCluster, misbehavior: Misbehavior) -> ConnectionFault:
    """What a request meets with; one behind it ends with it, and a third is not even sent."""
    async with await Connection.open(cluster.endpoint(1), timeout=1.0) as connection:
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


def test_garbage_is_a_bad_answer(cluster: FakeCluster) -> None:
    fault = run(fault_of(cluster, Misbehavior.GARBAGE))
    assert isinstance(fault, InvalidResponse)
    assert (fault.message, fault.version) == ("MetadataResponse", 13)
    assert len(fault.payload) > 4


def test_so_is_another_version_than_was_asked_for(cluster: FakeCluster) -> None:
    fault = run(fault_of(cluster, Misbehavior.WRONG_VERSION))
    assert isinstance(fault, InvalidResponse)


def test_what_is_no_frame_at_all_is_refused_by_its_size(cluster: FakeCluster) -> None:
    fault = run(fault_of(cluster, Misbehavior.NOT_KAFKA))
    assert isinstance(fault, OversizedFrame)
    assert fault.size == int.from_bytes(b"HTTP", "big")


def test_two_gigabytes_are_refused_at_once(cluster: FakeCluster) -> None:
    fault = run(fault_of(cluster, Misbehavior.OVERSIZED_FRAME))
    assert isinstance(fault, OversizedFrame)
    assert (fault.size, fault.max_size) == (0x7FFF_FFFF, 100 * 1024 * 1024)


def test_half_a_frame_is_an_end_with_so_many_bytes(cluster: FakeCluster) -> None:
    fault = run(fault_of(cluster, Misbehavior.TRUNCATED_FRAME))
    assert isinstance(fault, ConnectionClosed)
    assert fault.received > 500


def test_a_stalled_answer_is_a_timeout_with_so_many_bytes(cluster: FakeCluster) -> None:
    fault = run(fault_of(cluster, Misbehavior.STALL))
    assert isinstance(fault, Timeout)
    assert fault.received > 500


def test_silence_is_a_timeout(cluster: FakeCluster) -> None:
    fault = run(fault_of(cluster, Misbehavior.NO_RESPONSE))
    assert isinstance(fault, Timeout)
    assert (fault.request, fault.timeout, fault.received) == ("MetadataRequest", 1.0, 0)


def test_the_number_of_another_request_is_a_fault(cluster: FakeCluster) -> None:
    fault = run(fault_of(cluster, Misbehavior.WRONG_CORRELATION))
    assert isinstance(fault, WrongCorrelation)
    assert fault.expected is not None
    assert fault.actual == fault.expected + 1


def test_an_end_without_a_word(cluster: FakeCluster) -> None:
    fault = run(fault_of(cluster, Misbehavior.CLOSE))
    assert isinstance(fault, ConnectionClosed)
    assert (fault.received, fault.cause) == (0, None)


@pytest.mark.parametrize("misbehavior", [each for each in Misbehavior if each is not Misbehavior.WRONG_VERSION])
def test_first_words_that_fail_are_a_fault_too(cluster: FakeCluster, misbehavior: Misbehavior) -> None:
    async def work() -> None:
        cluster.misbehave(1, misbehavior, times=None, api_key=None)
        with pytest.raises(ConnectionFault):
            await Connection.open(cluster.endpoint(1), timeout=0.2)
        cluster.stop_misbehaving(1)
        await (await Connection.open(cluster.endpoint(1))).close()

    run(work())


def test_nobody_listens(cluster: FakeCluster) -> None:
    async def work() -> None:
        cluster.stop_broker(1)
        with pytest.raises(ConnectFailed, match="refused"):
            await Connection.open(cluster.endpoint(1))

    run(work())


@pytest.mark.parametrize(
    "host", ["no-such-host.invalid", "a..b", "a" * 64 + ".invalid", ".", "a\0b", "\udcff"], ids=ascii
)
def test_a_name_that_is_none(host: str) -> None:
    async def work() -> None:
        with pytest.raises(ConnectFailed, match="cannot connect"):
            await Connection.open(Endpoint(host, 9092))

    run(work())


@pytest.mark.parametrize("port", [-1, 70_000])
def test_a_port_that_is_none(port: int) -> None:
    async def work() -> None:
        with pytest.raises(ConnectFailed, match="cannot connect"):
            await Connection.open(Endpoint("127.0.0.1", port))

    run(work())


def test_a_listener_that_takes_no_more_connections_is_not_waited_for_for_ever() -> None:
    async def work(port: int) -> None:
        with pytest.raises((ConnectFailed, Timeout)):
            await Connection.open(f"127.0.0.1:{port}", timeout=0.2)

    with (
        socket.create_server(("127.0.0.1", 0), backlog=0) as listener,
        socket.create_connection(listener.getsockname()),
    ):
        run(work(listener.getsockname()[1]))


def test_what_comes_unasked_ends_the_connection() -> None:
    """As nothing can be made of what follows."""
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def serve() -> None:
            with listener.accept()[0] as client:
                client.recv(100)
                knows_nothing = ApiVersionsResponse(error_code=0, api_keys=())
                client.sendall(frame.encode_response(knows_nothing, version=5, correlation_id=0))
                client.sendall(pack(">ii", 4, 77))
                while client.recv(100):  # until the client ends it
                    pass

        async def work() -> None:
            serving = asyncio.create_task(asyncio.to_thread(serve))
            connection = await Connection.open(f"127.0.0.1:{listener.getsockname()[1]}")
            await connection._lost
            assert isinstance(connection.fault, WrongCorrelation)
            assert (connection.fault.expected, connection.fault.actual) == (None, 77)
            await connection.close()
            await asyncio.gather(serving, return_exceptions=True)  # an abort may reach it as an error

        run(work())


def test_a_closed_connection_leaves_nothing_waiting(cluster: FakeCluster) -> None:
    async def work() -> None:
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

    run(work())


def test_whoever_gives_up_connecting_leaves_nothing_behind(cluster: FakeCluster) -> None:
    """However far it has come: the broker's first words may be on their way, or already be there."""

    async def work() -> None:
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
        await comes_true(lambda: cluster.connection_count(1) == 0)
        assert complaints == []

    run(work())


def test_what_a_version_cannot_say_harms_only_the_request(cluster: FakeCluster) -> None:
    async def work() -> None:
        async with await Connection.open(cluster.endpoint(1)) as connection:
            with pytest.raises(EncodeError):
                await connection.send(MetadataRequest(topics=None, allow_auto_topic_creation=False), version=1)
            with pytest.raises(NoCommonVersion):
                await connection.send(ListOffsetsRequest(replica_id=-1, topics=()))
            await connection.send(ALL_TOPICS)

    run(work())
