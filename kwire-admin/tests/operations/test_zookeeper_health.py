"""Health of clusters without KRaft: ZooKeeper servers that serve, and servers that are dead, silent, or alone."""

from __future__ import annotations

import asyncio
import random
from contextlib import AsyncExitStack
from typing import TYPE_CHECKING

import pytest

from kwire.client.admin import AdminClient
from kwire.testing import FakeCluster
from kwire_admin.operations.cluster_health.checks import NOT_CHECKED
from kwire_admin.operations.cluster_health.sources import ask_all_brokers
from kwire_admin.operations.cluster_health.zookeeper_servers import zookeeper_problems
from tests.free_ports import free_ports
from tests.stream_server import stream_server

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

SILENCE = b""
"""The answer of a server that reads and sends nothing."""
SERVERS = {
    "leader": (b"Zookeeper version: 3.8.4\nMode: leader\nNode count: 5\n", None),
    "standalone": (b"Zookeeper version: 3.4.14\nMode: standalone\n", None),
    "old": (b"srvr is not executed because it is not in the whitelist.\n", NOT_CHECKED),
    "alone": (b"This ZooKeeper instance is not currently serving requests\n", "zookeeper-unreachable"),
    "silent": (SILENCE, "zookeeper-unreachable"),
    "dead": (None, "zookeeper-unreachable"),
}
"""By kind, the answer to `srvr`, None for a port without a server, and the problem."""


def answering(answer: bytes) -> Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        assert await reader.readexactly(4) == b"srvr"
        if answer == SILENCE:
            await reader.read()
        writer.write(answer)
        writer.close()

    return serve


async def problems_of(kinds: list[str]) -> list[str | None]:
    """Return the problem of each server of a cluster."""
    async with AsyncExitStack() as stack:
        ports: list[int] = []
        for kind in kinds:
            answer = SERVERS[kind][0]
            server = None if answer is None else stream_server(answering(answer))
            ports.append(free_ports(1)[0] if server is None else await stack.enter_async_context(server))
        cluster = stack.enter_context(FakeCluster(brokers=2, topics=["orders"]))
        connect = ",".join(f"127.0.0.1:{port}" for port in ports)
        for broker in (1, 2):
            cluster.set_config("zookeeper.connect", f"{connect}/kafka", broker=broker)
        async with await AdminClient.open(cluster.bootstrap) as admin:
            problems = await zookeeper_problems(admin, await ask_all_brokers(admin), 0.5)
    found = {
        port: problem.problem for port in ports for problem in problems if f"127.0.0.1:{port}: " in problem.details
    }
    assert len(found) == len(problems)
    return [found.get(port) for port in ports]


@pytest.mark.parametrize("seed", range(4))
async def test_every_server_that_does_not_serve_is_named(seed: int) -> None:
    source = random.Random(seed)
    kinds = source.choices(list(SERVERS), k=source.choice([1, 3, 5]))
    assert await problems_of(kinds) == [SERVERS[kind][1] for kind in kinds]
