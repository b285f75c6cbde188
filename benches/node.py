"""CPU time of a node's listener, compared with a bare asyncio server that sends responses of the same sizes.

    python -m benches.node [--quick]

Each server runs in its own process, and the benchmark compares the CPU time of the processes, as requests per second of
one core. The bare server splits the received bytes into frames, as any server must, does not read them, and sends a
prepared response of the right length for each, in one write. Both servers get the same requests in turns.

TopicMetadata of 100,000 partitions is compared with copying its bytes once and sending them through the same kind of
socket.
"""

from __future__ import annotations

import asyncio
import multiprocessing
import os
import socket
import struct
from statistics import median
from time import process_time
from typing import TYPE_CHECKING, Any

from benches.figure import Figure
from benches.program import print_figures
from kwire import frame
from kwire.messages.kafka.update_metadata import (
    UpdateMetadataBroker,
    UpdateMetadataEndpoint,
    UpdateMetadataPartitionState,
    UpdateMetadataRequest,
    UpdateMetadataTopicState,
)
from kwire.messages.kip4.cluster_metadata import ClusterMetadataRequest
from kwire.messages.kip4.topic_metadata_v1 import TopicMetadataRequest_V1
from kwire.messages.kip584.api_versions import ApiVersionsRequest

if TYPE_CHECKING:
    from collections.abc import Callable
    from multiprocessing.connection import Connection

    from kwire.declare import Message

CONNECTIONS = 8
DEPTHS = (1, 16)
"""Requests that a client sends before it reads: one, as most clients do, or as many as a pipelining client."""
TOPICS, PARTITIONS = 5_000, 20


def run(quick: bool) -> list[Figure]:
    rounds, requests = (3, 4_000) if quick else (7, 20_000)
    figures = []
    for name, message, version in (
        ("ApiVersions", ApiVersionsRequest(client_software_name="bench", client_software_version="1"), 3),
        ("ClusterMetadata", ClusterMetadataRequest(), 0),
    ):
        for depth in DEPTHS:
            ratio, node_us, bare_us = compared(message, version, depth, rounds, requests)
            how = "one at a time" if depth == 1 else f"{depth} at a time"
            detail = f"{node_us:.1f} us a request against {bare_us:.1f}"
            figures.append(
                Figure(f"{name} a second and core, {how}, of a bare server's", ratio, "x", 0.5, 0.8, True, detail)
            )
    figures.append(large(rounds))
    return figures


# Servers, each in its own process


def serve_node(pipe: Connection) -> None:
    from kwire.client.connection_pool import ConnectionPool
    from kwire_cluster.config.live_config import LiveConfig
    from kwire_cluster.config.node_settings import NodeSettings
    from kwire_cluster.node.listener.listener import Listener
    from kwire_cluster.node.metadata.metadata_cache import MetadataCache
    from kwire_cluster.node.metadata.metadata_updates import MetadataUpdates
    from kwire_cluster.node.metrics import Metrics
    from kwire_cluster.node.requests.request_context import NodeServices
    from kwire_cluster.node.requests.request_dispatcher import RequestDispatcher
    from kwire_cluster.node.settings.finalized_features import FeatureCache
    from kwire_cluster.node.tools import ProcessRights, ToolRunner

    class NoObserver:
        def opened(self, client: Any) -> None: ...
        def closed(self, client: Any, reason: Any, detail: str) -> None: ...
        def failed(self, client: Any, error: BaseException) -> None:
            raise RuntimeError(client) from error

    def no_tool_connections(caller: Any) -> Any:
        raise RuntimeError(f"{caller} runs a tool")

    async def main() -> None:
        metadata = MetadataCache()
        metadata.update(cluster())
        services = NodeServices(
            LiveConfig(NodeSettings(id=1, zookeeper="none")),
            metadata,
            FeatureCache({}, metadata.mark_changed),
            MetadataUpdates(metadata),
            ToolRunner(ProcessRights("none", ()), no_tool_connections),
            ConnectionPool(client_id="node-1", timeout=10.0),
        )
        dispatcher = RequestDispatcher(services, Metrics(1))
        listener = Listener(dispatcher.dispatch, NoObserver(), cached_responses=dispatcher.cached_responses)
        await listener.start("127.0.0.1")
        await report_cpu_time(pipe, listener.port)

    asyncio.run(main())


def serve_bare(pipe: Connection) -> None:
    response = pipe.recv()

    class Bare(asyncio.Protocol):
        def connection_made(self, transport: asyncio.BaseTransport) -> None:
            self.transport: Any = transport
            self.rest = b""

        def data_received(self, data: bytes) -> None:
            data = self.rest + data
            position, responses = 0, []
            while len(data) - position >= 4:
                stop = position + 4 + struct.unpack_from(">i", data, position)[0]
                if stop > len(data):
                    break
                position = stop
                responses.append(response)
            self.rest = data[position:]
            self.transport.write(b"".join(responses))

    async def main() -> None:
        server = await asyncio.get_running_loop().create_server(Bare, "127.0.0.1", 0)
        await report_cpu_time(pipe, server.sockets[0].getsockname()[1])

    asyncio.run(main())


async def report_cpu_time(pipe: Connection, port: int) -> None:
    """Send the port, then the CPU seconds so far for each message received, until the pipe is closed."""
    pipe.send(port)
    stopped = asyncio.Event()

    def on_message() -> None:
        try:
            pipe.recv()
            pipe.send(process_time())
        except (EOFError, OSError):
            stopped.set()

    asyncio.get_running_loop().add_reader(pipe.fileno(), on_message)
    await stopped.wait()
    os._exit(0)


class Server:
    def __init__(self, target: Any, *first: Any) -> None:
        context = multiprocessing.get_context("spawn")
        self.pipe, child_end = context.Pipe()
        self.process = context.Process(target=target, args=(child_end,), daemon=True)
        self.process.start()
        child_end.close()
        for task in first:
            self.pipe.send(task)
        self.port: int = self.pipe.recv()

    def cpu(self) -> float:
        self.pipe.send(None)
        seconds: float = self.pipe.recv()
        return seconds

    def close(self) -> None:
        self.pipe.close()
        self.process.join()


# Clients


def compared(message: Message, version: int, depth: int, rounds: int, requests: int) -> tuple[float, float, float]:
    """Return the ratio, and the CPU microseconds per request of node and bare server: medians of the rounds."""
    request = frame.encode_request(message, version=version, correlation_id=7, client_id="bench")
    node_s, bare_s, _ = in_turns(
        request, rounds, requests, lambda port, size: drive(port, request, size, depth, requests)
    )
    ratios = [bare / node for node, bare in zip(node_s, bare_s, strict=True)]
    return median(ratios), median(node_s) * 1e6, median(bare_s) * 1e6


def in_turns(
    request: bytes, rounds: int, requests: int, send: Callable[[int, int], None]
) -> tuple[list[float], list[float], bytes]:
    """Return the CPU seconds per request of node and bare server in each round, and the response.

    Args:
        send: sends `requests` requests to a port, and receives responses of a size.
    """
    node = Server(serve_node)
    response = request_once(node.port, request)
    bare = Server(serve_bare, response)
    node_s: list[float] = []
    bare_s: list[float] = []
    try:
        for turn in range(rounds):
            pair = [(node, node_s), (bare, bare_s)]
            for server, seconds in pair if turn % 2 else reversed(pair):
                before = server.cpu()
                send(server.port, len(response))
                seconds.append((server.cpu() - before) / requests)
    finally:
        node.close()
        bare.close()
    return node_s, bare_s, response


def drive(port: int, request: bytes, response_size: int, depth: int, requests: int) -> None:
    clients = [socket.create_connection(("127.0.0.1", port)) for _ in range(CONNECTIONS)]
    for client in clients:
        client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    burst, want = request * depth, response_size * depth
    try:
        for _ in range(requests // (depth * CONNECTIONS)):
            for client in clients:
                client.sendall(burst)
            for client in clients:
                receive(client, want)
    finally:
        for client in clients:
            client.close()


def receive(client: socket.socket, want: int) -> None:
    while want:
        got = len(client.recv(min(want, 1 << 20)))
        if not got:
            raise ConnectionError("the server closed the connection")
        want -= got


def request_once(port: int, request: bytes) -> bytes:
    with socket.create_connection(("127.0.0.1", port)) as client:
        client.sendall(request)
        head = client.recv(4, socket.MSG_WAITALL)
        return head + client.recv(struct.unpack(">i", head)[0], socket.MSG_WAITALL)


# TopicMetadata of all topics


def cluster() -> UpdateMetadataRequest:
    return UpdateMetadataRequest(
        controller_id=1,
        controller_epoch=1,
        type=2,
        topic_states=tuple(
            UpdateMetadataTopicState(
                topic_name=f"topic-with-a-name-of-some-length-{topic:05}",
                partition_states=tuple(state(topic, partition) for partition in range(PARTITIONS)),
            )
            for topic in range(TOPICS)
        ),
        live_brokers=tuple(
            UpdateMetadataBroker(
                id=node_id, endpoints=(UpdateMetadataEndpoint(port=9092, host=f"node-{node_id}", security_protocol=0),)
            )
            for node_id in range(1, 31)
        ),
    )


def state(topic: int, partition: int) -> UpdateMetadataPartitionState:
    replicas = tuple((topic + partition + step) % 30 + 1 for step in range(3))
    return UpdateMetadataPartitionState(
        partition_index=partition,
        controller_epoch=1,
        leader=replicas[0],
        leader_epoch=0,
        isr=replicas,
        zk_version=0,
        replicas=replicas,
    )


def large(rounds: int) -> Figure:
    """Measure the node's CPU time for a response beyond the bare server's, in copies of the bytes."""
    request = frame.encode_request(TopicMetadataRequest_V1(topic_names=()), version=1, correlation_id=7, client_id="b")
    times = 10

    def send(port: int, size: int) -> None:
        for _ in range(times):
            assert len(request_once(port, request)) == size

    node_s, bare_s, response = in_turns(request, 3 * rounds, times, send)
    copies = []
    for _ in node_s:
        started = process_time()
        for _ in range(times):
            bytearray(response)
        copies.append((process_time() - started) / times)
    copy = median(copies)
    # The difference is smaller than the drift of either server, so only values of the same round are subtracted.
    beyond = median(node - bare for node, bare in zip(node_s, bare_s, strict=True))
    detail = (
        f"{len(response) / 1e6:.1f} MB: {median(node_s) * 1e3:.2f} ms; a bare socket {median(bare_s) * 1e3:.2f} ms, "
        f"one copy {copy * 1e3:.2f} ms"
    )
    return Figure(
        "TopicMetadata of 100,000 partitions, beyond the socket",
        beyond / copy,
        " copies",
        2,
        1,
        False,
        detail,
    )


if __name__ == "__main__":
    print_figures(run, "node", "Measure the listener of a node.", "few rounds, for a first impression")
