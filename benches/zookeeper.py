"""What a store costs beside bare kazoo, on one server, and what a partition's node costs beside ``json.loads``.

    python -m benches.zookeeper [--quick]

Rules of this file: bare kazoo is used at its fastest, pipelined: all requests at once, then all answers. Both sides
take turns on the same nodes of the same server. What counts is wall time, since most of it is spent in other threads
and the server; ratios are medians over turns.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import time
from statistics import median
from typing import TYPE_CHECKING, Any

from kazoo.client import KazooClient

from benches.figure import Figure
from kwire.cluster.zookeeper import (
    Check,
    Create,
    EmbeddedZooKeeper,
    PartitionState,
    TopicRegistration,
    connect,
    make_path,
)

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from kwire.cluster.zookeeper import Store
    from kwire.cluster.zookeeper.operations import Operation

NODES = 10_000
TOPICS = 500
PARTITIONS = 20


def run(quick: bool) -> list[Figure]:
    """Nodes read, transactions written, partitions decoded."""
    with EmbeddedZooKeeper(heap="512m") as server:
        bare = KazooClient(server.hosts)
        bare.start()
        try:
            figures = asyncio.run(over(server.hosts, bare, turns=3 if quick else 9))
        finally:
            bare.stop()
            bare.close()
    return [*figures, *decoding(turns=5 if quick else 15)]


async def over(hosts: str, bare: Any, turns: int) -> list[Figure]:
    """What needs a server."""
    store = await connect(hosts)
    try:
        return [await reading(store, bare, turns), await writing(store, bare, turns)]
    finally:
        await store.close()


async def reading(store: Store, bare: Any, turns: int) -> Figure:
    """``get_many`` of the states of 10,000 partitions."""
    paths = [f"/reading/{number:05}" for number in range(NODES)]
    await make_path(store, "/reading")
    data = PartitionState(1, 0, (1, 2, 3), 1).encode()
    for created in [store.create(path, data) for path in paths]:
        await created

    def bare_kazoo() -> list[Any]:
        return [answer.get() for answer in [bare.get_async(path) for path in paths]]

    async def ours() -> object:
        return await store.get_many(paths)

    ratio, detail = await taking_turns(ours, bare_kazoo, turns, lambda _: None)
    return Figure("zookeeper: reading 10,000 nodes, time beside bare kazoo", ratio, "x", 1.5, 1.1, False, detail)


async def writing(store: Store, bare: Any, turns: int) -> Figure:
    """A transaction a topic: the epoch's check, the topic, its partitions, their states."""
    await store.create("/epoch", b"1")
    state = PartitionState(1, 0, (1, 2, 3), 1).encode()
    topic = TopicRegistration(dict.fromkeys(range(PARTITIONS), (1, 2, 3))).encode(version=2)
    root = ""

    def paths(number: int) -> tuple[str, list[str]]:
        name = f"{root}/topic-{number}"
        return name, [f"{name}/{partition}" for partition in range(PARTITIONS)]

    def bare_kazoo() -> list[Any]:
        pending = []
        for number in range(TOPICS):
            name, partitions = paths(number)
            transaction = bare.transaction()
            transaction.check("/epoch", 0)
            transaction.create(name, topic)
            for partition in partitions:
                transaction.create(partition, state)
            pending.append(transaction.commit_async())
        return [answer.get() for answer in pending]

    async def ours() -> object:
        pending = []
        for number in range(TOPICS):
            name, partitions = paths(number)
            operations: list[Operation] = [Check("/epoch", 0), Create(name, topic)]
            operations += [Create(partition, state) for partition in partitions]
            pending.append(store.multi(operations))
        return [await results for results in pending]

    def prepare(turn: int) -> None:
        nonlocal root
        root = f"/writing-{turn}"
        bare.create(root)

    ratio, detail = await taking_turns(ours, bare_kazoo, turns, prepare)
    name = "zookeeper: 500 transactions of 22 operations, time beside bare kazoo"
    return Figure(name, ratio, "x", 1.5, 1.0, False, detail)


async def taking_turns(
    ours: Callable[[], Awaitable[object]],
    bare_kazoo: Callable[[], object],
    turns: int,
    prepare: Callable[[int], None],
) -> tuple[float, str]:
    """The median of our time by bare kazoo's, and both in milliseconds."""
    times: tuple[list[float], list[float]] = ([], [])
    for turn in range(2 * turns):
        prepare(turn)
        mine = (turn + turn // 2) % 2 == 0  # ours, theirs, theirs, ours: neither always comes first
        began = time.perf_counter()
        if mine:
            await ours()
        else:
            await asyncio.to_thread(bare_kazoo)
        times[not mine].append(time.perf_counter() - began)
    ratio = median(one / other for one, other in zip(*times, strict=True))
    mine_ms, bare_ms = (median(taken) * 1e3 for taken in times)
    return ratio, f"kwire {mine_ms:.0f} ms, kazoo {bare_ms:.0f} ms, {turns} turns"


def decoding(turns: int) -> list[Figure]:
    """The states of 10,000 partitions: few different ones, as in a cluster; and all different."""
    alike = [PartitionState(number % 3, 0, (0, 1, 2), 1).encode() for number in range(NODES)]
    different = [PartitionState(number, number, (number, 1, 2), number).encode() for number in range(NODES)]
    figures = []
    for name, nodes, at_least, goal in (("alike", alike, 1.0, 0.2), ("all different", different, 2.5, 1.6)):
        ratios, ours_ns, json_ns = [], [], []
        for _ in range(turns):
            began = time.perf_counter_ns()
            values = [json.loads(data) for data in nodes]
            between = time.perf_counter_ns()
            states = [PartitionState.decode(data) for data in nodes]
            ended = time.perf_counter_ns()
            assert len(values) == len(states)
            ratios.append((ended - between) / (between - began))
            ours_ns.append((ended - between) / NODES)
            json_ns.append((between - began) / NODES)
        figures.append(
            Figure(
                f"zookeeper: decoding partition states, {name}, time beside json.loads",
                median(ratios), "x", at_least, goal, False,
                f"kwire {median(ours_ns):.0f} ns, json.loads {median(json_ns):.0f} ns a node",
            )
        )  # fmt: skip
    return figures


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m benches.zookeeper", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="fewer turns")
    for figure in run(parser.parse_args().quick):
        print(figure)
