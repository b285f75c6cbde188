"""Requests of other clients that a cluster serves while one client sends the worst legal and illegal traffic.

    python -m benches.fairness [--quick]

Four clients send small requests in a closed loop, in turns without and with the attacker: a process with eight
connections that sends, as fast as the node lets it, batches of 10,000 creations, changes, and deletions, requests for
10,000 unknown topics, requests that list too many topics, frames that are too large, that end early, or that are
garbage. Every kind is measured by itself, and the figure is the worst one.
"""

from __future__ import annotations

import argparse
import asyncio
import multiprocessing
import os
import time
from contextlib import suppress
from itertools import count
from statistics import median
from typing import TYPE_CHECKING

from benches.figure import Figure
from kwire import frame
from kwire.client import Connection
from kwire.client.admin import AdminClient, NewTopic
from kwire.messages.kip4.alter_topic_v2 import AlterTopicRequest_V2, TopicAlteration
from kwire.messages.kip4.cluster_metadata import ClusterMetadataRequest
from kwire.messages.kip4.create_topic_v2 import CreateTopicRequest_V2, TopicCreation
from kwire.messages.kip4.delete_topic_v2 import DeleteTopicRequest_V2
from kwire.messages.kip4.topic_metadata_v1 import TopicMetadataRequest_V1
from kwire.testing.local_cluster import LocalCluster

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from multiprocessing.synchronize import Event
    from typing import Any

    from kwire.declare import Message, Request

ITEMS = 10_000
"""The topics that a request may list (`admin.request.max.items`)."""
CONNECTIONS, CLIENTS = 8, 4
TOPIC = "orders"

_numbers = count()


def create() -> bytes:
    """Return a batch of creations, which fail one by one: it is as long as a batch may be, and leaves nothing."""
    number = next(_numbers)
    new = (TopicCreation(topic_name=f"t-{number}-{each}", partitions=1, replication_factor=99) for each in range(ITEMS))
    return _encoded(CreateTopicRequest_V2(topics=tuple(new)), 2)


def alter() -> bytes:
    changes = (TopicAlteration(topic_name=f"unknown-{each}", partitions=3) for each in range(ITEMS))
    return _encoded(AlterTopicRequest_V2(topics=tuple(changes)), 2)


def delete() -> bytes:
    return _encoded(DeleteTopicRequest_V2(topic_names=tuple(f"unknown-{each}" for each in range(ITEMS))), 2)


def unknown_topics() -> bytes:
    number = next(_numbers)
    names = tuple(f"unknown-{number}-{each}" for each in range(ITEMS))
    return _encoded(TopicMetadataRequest_V1(topic_names=names), 1)


def too_many_topics() -> bytes:
    return _encoded(TopicMetadataRequest_V1(topic_names=tuple(map(str, range(ITEMS + 1)))), 1)


def too_large() -> bytes:
    return (100 << 20).to_bytes(4, "big") + bytes(1 << 20)


def unfinished() -> bytes:
    return (3 << 20).to_bytes(4, "big") + b"\0\3\0\1" + bytes(2 << 20)


def garbage() -> bytes:
    return b"\0\0\x40\0" + os.urandom(0x4000)


def _encoded(request: Message, version: int) -> bytes:
    return frame.encode_request(request, version=version, correlation_id=1, client_id="attacker")


ATTACKS: Mapping[str, Callable[[], bytes]] = {
    each.__name__: each
    for each in (create, alter, delete, unknown_topics, too_many_topics, too_large, unfinished, garbage)
}


def attack(addresses: list[tuple[str, int]], kind: str, running: Event) -> None:
    """Send requests of a kind on several connections until the event is cleared."""
    asyncio.run(_attack(addresses, kind, running))


async def _attack(addresses: list[tuple[str, int]], kind: str, running: Event) -> None:
    prepared = ATTACKS[kind]()

    async def one(address: tuple[str, int]) -> None:
        while running.is_set():
            with suppress(OSError, asyncio.IncompleteReadError):
                reader, writer = await asyncio.open_connection(*address)
                try:
                    while running.is_set():
                        writer.write(prepared)
                        await writer.drain()
                        size = int.from_bytes(await asyncio.wait_for(reader.readexactly(4), 2), "big")
                        await reader.readexactly(size)
                except TimeoutError:
                    pass
                finally:
                    writer.close()

    await asyncio.gather(*(one(addresses[index % len(addresses)]) for index in range(CONNECTIONS)))


async def served(addresses: list[str], seconds: float) -> float:
    """Return the requests that all clients together get answers to in a second."""
    answered = 0
    end = time.perf_counter() + seconds

    async def client(address: str, requests: Iterator[Request[Any]]) -> None:
        nonlocal answered
        async with await Connection.open(address) as connection:
            while time.perf_counter() < end:
                await connection.send(next(requests))
                answered += 1

    def requests() -> Iterator[Request[Any]]:
        for number in count():
            yield ClusterMetadataRequest() if number % 2 else TopicMetadataRequest_V1(topic_names=(TOPIC,))

    await asyncio.gather(*(client(addresses[index % len(addresses)], requests()) for index in range(CLIENTS)))
    return answered / seconds


def run(quick: bool) -> list[Figure]:
    turns, seconds = (1, 2.0) if quick else (3, 4.0)
    with LocalCluster(nodes=1) as cluster:
        addresses = [f"{node.host}:{node.port}" for node in cluster.nodes]
        targets = [(node.host, node.port) for node in cluster.nodes]
        asyncio.run(create_topic(cluster.bootstrap))
        ratios: dict[str, list[float]] = {kind: [] for kind in ATTACKS}
        for _ in range(turns):
            for kind in ATTACKS:
                normal = asyncio.run(served(addresses, seconds))
                running = multiprocessing.get_context("spawn").Event()
                running.set()
                attacker = multiprocessing.get_context("spawn").Process(target=attack, args=(targets, kind, running))
                attacker.start()
                time.sleep(1.5)  # the process has started and prepared its request
                ratios[kind].append(asyncio.run(served(addresses, seconds)) / normal)
                running.clear()
                attacker.join()
    shares = {kind: median(found) for kind, found in ratios.items()}
    worst = min(shares, key=lambda kind: shares[kind])
    return [
        Figure(
            "other clients' requests while one client sends the worst traffic, of normal",
            shares[worst],
            "x",
            0.5,
            0.8,
            detail=", ".join(f"{kind.replace('_', ' ')} {share:.2f}" for kind, share in shares.items()),
        )
    ]


async def create_topic(bootstrap: str) -> None:
    async with await AdminClient.open(bootstrap) as admin:
        (await admin.create_topics({TOPIC: NewTopic(partitions=10, replication_factor=1)})).raise_first()
        await admin.wait_until_created([TOPIC])


def main() -> None:
    """Print the figure."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="measure shortly, for a first impression")
    for figure in run(parser.parse_args().quick):
        print(figure)


if __name__ == "__main__":
    main()
