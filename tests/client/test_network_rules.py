"""Rules of the network that every caller obeys: throttle times, idle times, moves of brokers, and dead connections."""

from __future__ import annotations

import asyncio
import socket
from contextlib import closing, suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kwire.client import AdminClient, ClientProperties, Connection, ConnectionConfig, Poller
from kwire.client.admin.advertised_addresses import UNKNOWN_NAME_AFTER_S, UNREACHABLE_AFTER_S
from kwire.client.connection_pool import PooledConnection
from kwire.client.pending_requests import LONGEST_THROTTLE_S
from kwire.client.polled_requests import RESOURCES_PER_REQUEST, stable_parts
from kwire.client.security import SecurityConfigError
from kwire.messages.kafka.metadata import MetadataRequest, MetadataResponseBroker
from kwire.protocol import AdvertisedAddressUnreachable, Endpoint, OversizedFrame, WrongBroker
from kwire.testing import FakeCluster, NetworkFault, SimulatedNetwork

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kwire.client import Poll

PORT = 9092
ALL_TOPICS = MetadataRequest(topics=None)
BROKER_1, BROKER_2 = (MetadataResponseBroker(node_id=id, host=f"10.0.0.{id}", port=PORT) for id in (1, 2))


class Simulated:
    """A cluster in a simulated network, with broker N at 10.0.0.N."""

    def __init__(self, cluster: FakeCluster) -> None:
        self.cluster = cluster
        self.network = SimulatedNetwork()
        for broker in cluster.state.brokers:
            self.network.listen(f"10.0.0.{broker.node_id}", PORT, cluster.broker(broker.node_id).accept)
        self.report(1, BROKER_1, BROKER_2)
        self.report(2, BROKER_1, BROKER_2)

    def report(self, id: int, *brokers: MetadataResponseBroker, cluster_id: str = "c") -> None:
        """Let a broker report these brokers."""
        state = replace(self.cluster.state, brokers=brokers, cluster_id=cluster_id, controller_id=brokers[0].node_id)
        self.cluster.freeze_metadata(id, state)

    def requests(self, id: int) -> int:
        return sum(request.api_key == ALL_TOPICS.api_key for request in self.cluster.broker(id).received)

    def poll(self, seconds: float, bootstrap: str = "10.0.0.1", **options: Any) -> list[Poll[Any]]:
        """Return the polls of some seconds."""
        polls: list[Poll[Any]] = []

        async def read() -> None:
            async with Poller(f"{bootstrap}:{PORT}", **{"interval": 1.0, "timeout": 2.0, **options}) as poller:
                with suppress(TimeoutError):
                    async with asyncio.timeout(seconds):
                        while True:
                            polls.append(await anext(poller))

        self.network.run(read())
        return polls


@pytest.fixture
def simulated() -> Iterator[Simulated]:
    with closing(FakeCluster(2, topics=["orders"], partitions=2)) as cluster:
        yield Simulated(cluster)


@pytest.mark.parametrize("throttle_s", [6.0, 30.0])
def test_poller_sends_nothing_while_it_is_throttled(simulated: Simulated, throttle_s: float) -> None:
    simulated.report(1, BROKER_1)
    simulated.cluster.broker(1).throttle_ms = int(throttle_s * 1000)
    polls = simulated.poll(3 * throttle_s + 1, brokers="one")
    assert [poll.error for poll in polls if poll.error] == []
    assert 3 <= simulated.requests(1) <= 4, "one for each throttle time"


def test_every_caller_of_a_connection_waits_for_the_throttle_time(simulated: Simulated) -> None:
    simulated.cluster.broker(1).throttle_ms = 5000

    async def send() -> tuple[float, float]:
        async with await Connection.open(f"10.0.0.1:{PORT}", timeout=2) as connection:
            begun = simulated.network.loop.time()
            first = connection.submit(ALL_TOPICS)
            second = connection.submit(ALL_TOPICS)  # in flight while the broker mutes the connection
            await first
            third = connection.submit(ALL_TOPICS)
            await second
            seconds = simulated.network.loop.time() - begun
            await third
            return seconds, simulated.network.loop.time() - begun

    second, third = simulated.network.run(send())
    assert 5 <= second < 5.1
    assert 10 <= third < 10.1


def test_damaged_throttle_time_is_bounded(simulated: Simulated) -> None:
    simulated.cluster.broker(1).throttle_ms = 2**31 - 1

    async def throttled() -> float:
        async with await Connection.open(f"10.0.0.1:{PORT}") as connection:
            await connection.send(ALL_TOPICS)
            return connection.throttled_until - simulated.network.loop.time()

    assert simulated.network.run(throttled()) <= LONGEST_THROTTLE_S


def test_quota_outlives_a_connection(simulated: Simulated) -> None:
    async def reconnect() -> tuple[float, float]:
        pooled = PooledConnection(Endpoint("10.0.0.1", PORT), client_id=None, timeout=2)
        connection = await pooled.get()
        connection.throttle_until(simulated.network.loop.time() + 60)
        connection.abort()
        another = await pooled.get()
        await pooled.close()
        return connection.throttled_until, another.throttled_until

    before, after = simulated.network.run(reconnect())
    assert after == before


def test_idle_connection_is_closed_and_opened_again(simulated: Simulated) -> None:
    address = simulated.network.address("10.0.0.1")

    async def use() -> list[tuple[bool, int]]:
        config = ConnectionConfig(max_idle=30)
        pooled = PooledConnection(Endpoint("10.0.0.1", PORT), client_id=None, timeout=2, config=config)
        states = []
        for pause in (29, 29, 31):
            await (await pooled.get()).send(ALL_TOPICS)
            await asyncio.sleep(pause)
            states.append((pooled.is_open, address.connections))
        await (await pooled.get()).send(ALL_TOPICS)
        states.append((pooled.is_open, address.connections))
        await pooled.close()
        return states

    assert simulated.network.run(use()) == [(True, 1), (True, 1), (False, 1), (True, 2)]


def test_idle_time_comes_from_the_properties() -> None:
    def max_idle(value: str) -> float | None:
        return ClientProperties.parse({"connections.max.idle.ms": value}).connection.max_idle

    assert (max_idle("180000"), max_idle("-1"), ClientProperties.parse({}).connection.max_idle) == (180.0, None, 540.0)
    with pytest.raises(SecurityConfigError, match=r"connections\.max\.idle\.ms"):
        max_idle("0")
    with pytest.raises(ValueError, match="max_idle"):
        ConnectionConfig(max_idle=0.0)


def test_request_that_must_not_be_sent_twice_gets_a_living_connection(simulated: Simulated) -> None:
    simulated.network.address("10.0.0.1").idle_limit = 5

    async def use() -> tuple[bool, bool]:
        pooled = PooledConnection(Endpoint("10.0.0.1", PORT), client_id=None, timeout=10)
        first = await pooled.get()
        same = await pooled.get_verified()
        await asyncio.sleep(20)
        another = await pooled.get_verified()
        await another.send(ALL_TOPICS)
        await pooled.close()
        return first is same, first is another

    assert simulated.network.run(use()) == (True, False)


def test_broker_is_polled_where_it_moves_to(simulated: Simulated) -> None:
    moved = replace_address(BROKER_2, "10.0.0.3")
    simulated.network.listen("10.0.0.3", PORT, simulated.cluster.broker(2).accept)

    async def move() -> None:
        await asyncio.sleep(5)
        simulated.report(1, BROKER_1, moved)
        simulated.report(2, BROKER_1, moved)

    polls = polls_meanwhile(simulated, move())
    late = [poll for poll in polls if poll.broker_id == 2][-5:]
    assert {poll.endpoint for poll in late} == {f"10.0.0.3:{PORT}"}
    assert [poll.error for poll in polls if poll.error] == []


@pytest.mark.parametrize("cluster_id", ["c", "another"])
def test_other_broker_at_an_address_does_not_count(simulated: Simulated, cluster_id: str) -> None:
    foreign = replace_address(BROKER_2, "10.0.0.2" if cluster_id == "c" else "10.9.9.9", node_id=7)

    async def exchange() -> None:
        await asyncio.sleep(5)
        simulated.report(2, foreign, cluster_id=cluster_id)

    polls = polls_meanwhile(simulated, exchange())
    errors = [poll for poll in polls if poll.error is not None]
    assert {type(poll.error) for poll in errors} == {WrongBroker}
    assert {poll.broker_id for poll in errors} == {2}
    assert "instead of broker 2" in str(errors[0].error)
    assert {poll.broker_id for poll in polls} == {1, 2}, "the other broker is not polled"
    assert polls[-1].cluster_id == "c"


def test_cluster_that_is_created_again_is_polled_on(simulated: Simulated) -> None:
    async def create_again() -> None:
        await asyncio.sleep(5)
        for id in (1, 2):
            simulated.report(id, BROKER_1, BROKER_2, cluster_id="new")

    polls = polls_meanwhile(simulated, create_again())
    last = {poll.broker_id: poll for poll in polls}
    assert {id: (poll.error, poll.cluster_id) for id, poll in last.items()} == {1: (None, "new"), 2: (None, "new")}


def polls_meanwhile(simulated: Simulated, change: Any) -> list[Poll[Any]]:
    """Return the polls of 20 seconds in which something changes."""
    loop = simulated.network.loop
    loop.call_soon(lambda: tasks.append(loop.create_task(change)))
    tasks: list[asyncio.Task[None]] = []
    return simulated.poll(20)


def replace_address(broker: MetadataResponseBroker, host: str, node_id: int | None = None) -> MetadataResponseBroker:
    id = broker.node_id if node_id is None else node_id
    return MetadataResponseBroker(node_id=id, host=host, port=broker.port)


@pytest.mark.parametrize(
    ("host", "fault", "limit"),
    [
        ("kafka-1.internal", None, UNKNOWN_NAME_AFTER_S),
        ("10.0.0.9", None, UNREACHABLE_AFTER_S),
        ("10.0.0.9", NetworkFault.SILENT, UNREACHABLE_AFTER_S),
    ],
    ids=["unknown name", "refused", "silent"],
)
def test_unreachable_advertised_address_is_named(
    simulated: Simulated, host: str, fault: NetworkFault | None, limit: float
) -> None:
    simulated.report(1, replace_address(BROKER_1, host))
    simulated.network.address("10.0.0.9").fault = fault

    async def call() -> tuple[Any, str, float]:
        async with await AdminClient.open(f"10.0.0.1:{PORT}", timeout=60) as admin:
            assert await admin.list_topics() == ["orders"], "any broker can answer"
            begun = simulated.network.loop.time()
            with pytest.raises(AdvertisedAddressUnreachable) as raised:
                await admin.list_groups()
            return raised.value.endpoint, str(raised.value), simulated.network.loop.time() - begun

    endpoint, text, seconds = simulated.network.run(call())
    assert endpoint == Endpoint(host, PORT)
    assert "a broker advertises this address (advertised.listeners)" in text
    assert seconds <= limit + 3


def test_size_of_responses_is_a_setting(simulated: Simulated) -> None:
    polls = simulated.poll(3, max_size=50)
    assert {type(poll.error) for poll in polls} == {OversizedFrame}


async def test_keep_alive_is_set(cluster: FakeCluster) -> None:
    async with await Connection.open(cluster.endpoint(1)) as connection:
        assert connection._transport is not None
        sock = connection._transport.get_extra_info("socket")
        assert sock.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE)


NAMES = st.sets(st.integers(0, 400).map(lambda number: f"topic-{number:03}"), max_size=400)


@given(st.lists(NAMES, min_size=1, max_size=4))
def test_topics_stay_in_their_request(series: list[set[str]]) -> None:
    parts: list[list[str]] = []
    for names in series:
        before = {name: number for number, part in enumerate(parts) for name in part}
        survivors = [number for number, part in enumerate(parts) if set(part) & names]
        parts = stable_parts(parts, names)
        assert sorted(name for part in parts for name in part) == sorted(names)
        assert all(0 < len(part) <= RESOURCES_PER_REQUEST for part in parts)
        for number, old in enumerate(survivors):
            assert {name for name in names if before.get(name) == old} <= set(parts[number])


class Stranger(asyncio.Protocol):
    """Another service at the port of a broker, such as the proxy of a container at `::1`.

    Args:
        waits: true to end the connection after the first bytes, false to end it at once.
        answer: the bytes to send before.
    """

    def __init__(self, waits: bool, answer: bytes) -> None:
        self._waits = waits
        self._answer = answer
        self._transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        if not self._waits:
            self._end()

    def data_received(self, data: bytes) -> None:
        del data
        self._end()

    def _end(self) -> None:
        assert self._transport is not None
        self._transport.write(self._answer)
        self._transport.close()


@pytest.mark.parametrize("waits", [False, True])
@pytest.mark.parametrize("answer", [b"", b"\0", b"HTTP/1.1 400 Bad Request\r\n\r\n", b"SSH-2.0-OpenSSH_9.6\r\n"])
def test_next_address_is_tried_if_another_service_answers_at_the_first(
    simulated: Simulated, waits: bool, answer: bytes
) -> None:
    network = simulated.network
    network.add_name("localhost", ["10.0.0.9", "10.0.0.1"])
    network.listen("10.0.0.9", PORT, lambda: Stranger(waits, answer))

    async def connect() -> list[str | None]:
        async with await Connection.open(f"localhost:{PORT}", timeout=10) as connection:
            begun = network.loop.time()
            response = await connection.send(ALL_TOPICS)
            assert network.loop.time() - begun < 1
            return [topic.name for topic in response.topics]

    assert network.run(connect()) == ["orders"]


def test_name_is_resolved_again_for_each_connection(simulated: Simulated) -> None:
    network = simulated.network
    network.add_name("broker-1", ["10.0.0.1"])
    network.listen("10.0.0.3", PORT, simulated.cluster.broker(1).accept)
    named = replace(BROKER_1, host="broker-1")
    simulated.report(1, named)

    async def work() -> None:
        async with await AdminClient.open(f"broker-1:{PORT}", timeout=10) as admin:
            assert await admin.list_topics() == ["orders"]
            network.address("10.0.0.1").fault = NetworkFault.SILENT
            network.add_name("broker-1", ["10.0.0.3"])
            begun = network.loop.time()
            assert await admin.list_topics() == ["orders"]
            assert network.loop.time() - begun < 2.5

    network.run(work())
