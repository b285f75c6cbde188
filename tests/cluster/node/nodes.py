"""Nodes in the test's own process, on a real ZooKeeper, asked over real sockets."""

from __future__ import annotations

import asyncio
import itertools
import os
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

from kwire import frame
from kwire.cluster.node.node import Node
from kwire.cluster.node.settings import NodeSettings
from kwire.cluster.zookeeper import connect
from kwire.cluster.zookeeper.store import make_path
from kwire.protocol.client_connection import response_class

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable, Coroutine

    from kwire.cluster.zookeeper import Store
    from kwire.cluster.zookeeper.embedded_server import EmbeddedZooKeeper

_roots = itertools.count()


def run(work: Coroutine[Any, Any, None]) -> None:
    async def bounded() -> None:
        async with asyncio.timeout(60):
            await work

    asyncio.run(bounded())


async def until(condition: Callable[[], object], what: str, patience: float = 20.0) -> None:
    deadline = asyncio.get_running_loop().time() + patience
    while not condition():
        assert asyncio.get_running_loop().time() < deadline, f"it has not come about that {what}"
        await asyncio.sleep(0.01)


@asynccontextmanager
async def session(hosts: str) -> AsyncGenerator[Store]:
    store = await connect(hosts)
    try:
        yield store
    finally:
        await store.close()


async def new_root(server: EmbeddedZooKeeper) -> str:
    """``zookeeper.connect`` for a cluster of its own on this server."""
    root = f"/{os.getpid()}-{next(_roots)}"
    async with session(server.hosts) as store:
        await make_path(store, root)
    return server.hosts + root


def settings(zookeeper: str, node_id: int = 1, **others: Any) -> NodeSettings:
    return NodeSettings(**{"id": node_id, "zookeeper": zookeeper, "zookeeper_session_timeout_ms": 2_000, **others})


@asynccontextmanager
async def nodes(zookeeper: str, *ids: int, **others: Any) -> AsyncGenerator[list[Node]]:
    """The first of them is the controller, and all know all."""
    made: list[Node] = []
    try:
        for node_id in ids:
            node = Node(settings(zookeeper, node_id, **others))
            await node.start()
            made.append(node)
            await until(lambda: all(known(each, len(made)) for each in made), "all know all")
        yield made
    finally:
        for node in made:
            await node.stop(grace=0.5)


def known(node: Node, count: int) -> bool:
    return len(node.metadata.brokers) == count and node.metadata.controller_id in node.metadata.brokers


async def ask(node: Node, *requests: Any, version: int | None = None, client_id: str | None = "tests") -> Any:
    """The answer; of several requests, which arrive together, the last one's."""
    version = max(requests[0].versions) if version is None else version
    frames = b"".join(
        frame.encode_request(request, version=version, correlation_id=number, client_id=client_id)
        for number, request in enumerate(requests)
    )
    async with asyncio.timeout(20):
        reader, writer = await asyncio.open_connection(node.host, node.port)
        try:
            writer.write(frames)
            answers = []
            for number, request in enumerate(requests):
                payload = await reader.readexactly(int.from_bytes(await reader.readexactly(4), "big"))
                answers.append(frame.decode_response(payload, response_class(type(request)), version=version))
                assert answers[-1].correlation_id == number
        finally:
            writer.close()
    return answers[-1].message
