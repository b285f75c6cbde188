"""Nodes in the process of the test, on a real ZooKeeper, with requests over real sockets."""

from __future__ import annotations

import asyncio
import itertools
import os
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

from kwire import frame
from kwire._util.products import find_part
from kwire.protocol.client_connection import response_class
from kwire_cluster.config.node_settings import NodeSettings
from kwire_cluster.node.node import Node
from kwire_cluster.zookeeper import connect
from kwire_cluster.zookeeper.store import make_path
from tests.eventually import eventually

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable, Iterable, Sequence
    from contextlib import AbstractAsyncContextManager

    from kwire_cluster.node.requests.request_context import NodeServices
    from kwire_cluster.node.tools import NodeTool
    from kwire_cluster.zookeeper import Store
    from kwire_cluster.zookeeper.embedded_server import EmbeddedZooKeeper

_roots = itertools.count()


@asynccontextmanager
async def session(hosts: str) -> AsyncGenerator[Store]:
    """Open a ZooKeeper session."""
    store = await connect(hosts)
    try:
        yield store
    finally:
        await store.close()


async def new_root(server: EmbeddedZooKeeper) -> str:
    """Create a chroot, and return its `zookeeper.connect`."""
    root = f"/{os.getpid()}-{next(_roots)}"
    async with session(server.hosts) as store:
        await make_path(store, root)
    return server.hosts + root


def node_tools() -> Callable[[NodeServices], Sequence[NodeTool]]:
    """Return what a node is started with: the tools of an installed product."""
    part = find_part("node-tools")
    assert part is not None
    tools: Callable[[NodeServices], Sequence[NodeTool]] = part()
    return tools


def settings(zookeeper: str, node_id: int = 1, **others: Any) -> NodeSettings:
    return NodeSettings(**{"id": node_id, "zookeeper": zookeeper, "zookeeper_session_timeout_ms": 10_000, **others})


def nodes(zookeeper: str, *ids: int, **others: Any) -> AbstractAsyncContextManager[list[Node]]:
    """Start nodes that know each other. The first one is the controller."""
    return started_nodes(settings(zookeeper, node_id, **others) for node_id in ids)


@asynccontextmanager
async def started_nodes(settings_of_nodes: Iterable[NodeSettings]) -> AsyncGenerator[list[Node]]:
    """Start nodes one after another, each as soon as the nodes before it know each other."""
    started: list[Node] = []
    try:
        for settings_of_node in settings_of_nodes:
            node = Node(settings_of_node, node_tools())
            await node.start()
            started.append(node)
            await eventually(lambda: all(knows_cluster(other, len(started)) for other in started))
        yield started
    finally:
        for node in started:
            await node.stop(grace=0.5)


def knows_cluster(node: Node, brokers: int) -> bool:
    """Return whether the node is ready, and knows this number of brokers and the controller among them."""
    return (
        node.is_ready and len(node.metadata.brokers) == brokers and node.metadata.controller_id in node.metadata.brokers
    )


async def send(
    node: Node,
    *requests: Any,
    version: int | None = None,
    client_id: str | None = "tests",
    from_host: str | None = None,
) -> Any:
    """Send requests in one write, and return the response to the last one.

    Args:
        from_host: the loopback address to connect from.
    """
    version = max(requests[0].versions) if version is None else version
    frames = b"".join(
        frame.encode_request(request, version=version, correlation_id=number, client_id=client_id)
        for number, request in enumerate(requests)
    )
    async with asyncio.timeout(300):  # the largest requests take half a minute on a busy machine
        local = (from_host, 0) if from_host is not None else None
        reader, writer = await asyncio.open_connection(node.host, node.port, local_addr=local)
        try:
            writer.write(frames)
            responses = []
            for number, request in enumerate(requests):
                payload = await reader.readexactly(int.from_bytes(await reader.readexactly(4), "big"))
                responses.append(frame.decode_response(payload, response_class(type(request)), version=version))
                assert responses[-1].correlation_id == number
        finally:
            writer.close()
    return responses[-1].message
