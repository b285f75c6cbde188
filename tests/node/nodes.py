"""Nodes in the test's own process, on a real ZooKeeper, asked over real sockets."""

from __future__ import annotations

import asyncio
import itertools
import os
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

from kwire.client.connection import Connection
from kwire.node.node import Node
from kwire.node.settings import NodeSettings
from kwire.zookeeper import connect
from kwire.zookeeper.store import make_path

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable, Coroutine

    from kwire.zookeeper import Store
    from kwire.zookeeper.embedded import Embedded

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


async def new_root(server: Embedded) -> str:
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


@asynccontextmanager
async def connection(node: Node, client_id: str | None = "tests") -> AsyncGenerator[Connection]:
    opened = await Connection.open(f"{node.host}:{node.port}", client_id=client_id)
    try:
        yield opened
    finally:
        await opened.close()


async def ask(node: Node, *requests: Any, version: int | None = None, client_id: str | None = "tests") -> Any:
    """The answer; of several requests, which are sent at once, the last one's."""
    async with connection(node, client_id) as opened:
        pending = [opened.begin(request, version=version) for request in requests]
        *_, last = [await each for each in pending]
    return last.answer.decode()
