"""Pooled connections over real sockets."""

from __future__ import annotations

import asyncio

import pytest

from kwire.client.connection_pool import ConnectionPool, PooledConnection
from kwire.messages.kafka.api_versions import ApiVersionsRequest
from kwire.messages.kafka.metadata import MetadataRequest
from kwire.protocol import ConnectFailed, ConnectionClosed, Endpoint, InvalidResponse
from kwire.testing import FakeCluster, Misbehavior
from tests.eventually import eventually

ALL_TOPICS = MetadataRequest(topics=None)
TIMEOUT = 60.0


def endpoint(cluster: FakeCluster, broker_id: int) -> Endpoint:
    return Endpoint.parse(cluster.endpoint(broker_id))


def pool() -> ConnectionPool:
    return ConnectionPool(client_id="pool", timeout=TIMEOUT)


def handshakes(cluster: FakeCluster, broker_id: int) -> int:
    """Count the connections that a broker has accepted: each sends ApiVersions of version 4 once."""
    return sum(seen.api_key == ApiVersionsRequest.api_key and seen.version == 4 for seen in cluster.requests(broker_id))


async def test_connection_is_opened_on_first_use_and_then_shared(cluster: FakeCluster) -> None:
    connection = PooledConnection(endpoint(cluster, 1), client_id=None, timeout=TIMEOUT)
    first, second = await asyncio.gather(connection.get(), connection.get())
    assert first is second is await connection.get()
    assert handshakes(cluster, 1) == 1
    await connection.close()


async def test_connection_reports_whether_it_is_open(cluster: FakeCluster) -> None:
    connection = PooledConnection(endpoint(cluster, 1), client_id=None, timeout=TIMEOUT)
    states = [connection.is_open]
    await connection.get()
    states.append(connection.is_open)
    await connection.close()
    assert [*states, connection.is_open] == [False, True, False]


async def test_failed_connection_is_closed_and_replaced(cluster: FakeCluster) -> None:
    connection = PooledConnection(endpoint(cluster, 1), client_id=None, timeout=TIMEOUT)
    first = await connection.get()
    cluster.drop_connections(1)
    await eventually(lambda: not connection.is_open)
    second = await connection.get()
    assert second is not first
    assert await second.send(ALL_TOPICS) == cluster.state.metadata()
    assert cluster.connection_count(1) == 1
    await connection.close()


async def test_new_endpoint_replaces_the_connection_to_the_old_one(cluster: FakeCluster) -> None:
    connection = PooledConnection(endpoint(cluster, 1), client_id=None, timeout=TIMEOUT)
    assert (await connection.get()).endpoint == endpoint(cluster, 1)
    connection.endpoint = endpoint(cluster, 2)
    assert (await connection.get()).endpoint == endpoint(cluster, 2)
    await eventually(lambda: cluster.connection_count(1) == 0)
    await connection.close()


async def test_unreachable_broker_is_connected_to_once_it_is_back(cluster: FakeCluster) -> None:
    cluster.stop_broker(1)
    connection = PooledConnection(endpoint(cluster, 1), client_id=None, timeout=TIMEOUT)
    for _ in range(2):
        with pytest.raises(ConnectFailed):
            await connection.get()
    cluster.start_broker(1)
    assert (await connection.get()).fault is None
    await connection.close()


async def test_closed_connection_is_not_reopened(cluster: FakeCluster) -> None:
    connection = PooledConnection(endpoint(cluster, 1), client_id=None, timeout=TIMEOUT)
    opened = await connection.get()
    await connection.close()
    assert isinstance(opened.fault, ConnectionClosed)
    with pytest.raises(ConnectionClosed):
        await connection.get()
    assert handshakes(cluster, 1) == 1


async def test_close_while_connecting_leaves_no_connection_behind(cluster: FakeCluster) -> None:
    cluster.pause_broker(1)
    connection = PooledConnection(endpoint(cluster, 1), client_id=None, timeout=TIMEOUT)
    connecting = asyncio.ensure_future(connection.get())
    await eventually(lambda: cluster.connection_count(1))
    await connection.close()
    cluster.resume_broker(1)
    with pytest.raises(ConnectionClosed):
        await connecting
    await eventually(lambda: not cluster.connection_count(1))


async def test_pool_keeps_one_connection_per_endpoint(cluster: FakeCluster) -> None:
    connections = pool()
    endpoints = [endpoint(cluster, broker_id) for broker_id in (1, 2, 3, 1, 2, 3)]
    responses = await asyncio.gather(*(connections.send(endpoint, ALL_TOPICS) for endpoint in endpoints))
    assert responses == [cluster.state.metadata()] * 6
    assert [cluster.connection_count(broker_id) for broker_id in (1, 2, 3)] == [1, 1, 1]
    assert (await connections.get(endpoints[0])).endpoint == endpoints[0]
    await connections.close()


async def test_pool_sends_in_the_requested_version(cluster: FakeCluster) -> None:
    connections = pool()
    await connections.send(endpoint(cluster, 1), ALL_TOPICS, version=7)
    assert [(seen.api_key, seen.version, seen.client_id) for seen in cluster.requests(1)][-1] == (3, 7, "pool")
    await connections.close()


async def test_slow_endpoint_does_not_delay_other_endpoints(cluster: FakeCluster) -> None:
    cluster.pause_broker(1)
    connections = pool()
    slow = asyncio.ensure_future(connections.send(endpoint(cluster, 1), ALL_TOPICS))
    await eventually(lambda: cluster.connection_count(1))
    assert await connections.send(endpoint(cluster, 2), ALL_TOPICS) == cluster.state.metadata()
    assert not slow.done()
    cluster.resume_broker(1)
    assert await slow == cluster.state.metadata()
    await connections.close()


async def test_pool_reopens_a_connection_after_an_invalid_response(cluster: FakeCluster) -> None:
    connections = pool()
    cluster.misbehave(1, Misbehavior.GARBAGE)
    with pytest.raises(InvalidResponse):
        await connections.send(endpoint(cluster, 1), ALL_TOPICS)
    assert await connections.send(endpoint(cluster, 1), ALL_TOPICS) == cluster.state.metadata()
    assert cluster.connection_count(1) == 1
    await connections.close()


async def test_closing_the_pool_closes_all_connections(cluster: FakeCluster) -> None:
    connections = pool()
    opened = [await connections.get(endpoint(cluster, broker_id)) for broker_id in (1, 2, 3)]
    cluster.pause_broker(1)
    in_flight = asyncio.ensure_future(connections.send(endpoint(cluster, 1), ALL_TOPICS))
    await asyncio.sleep(0)
    await connections.close()
    assert all(isinstance(connection.fault, ConnectionClosed) for connection in opened)
    with pytest.raises(ConnectionClosed):
        await in_flight
    for broker_id in (1, 2, 3):
        with pytest.raises(ConnectionClosed):
            await connections.get(endpoint(cluster, broker_id))
    await eventually(lambda: not any(cluster.connection_count(broker_id) for broker_id in (1, 2, 3)))
