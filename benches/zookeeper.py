"""Benchmark of a ZooKeeper store against bare kazoo, and of partition state decoding against `json.loads`.

    python -m benches.zookeeper [--quick]

kazoo is used in its fastest way: pipelined, with all requests sent before the first response is awaited. Both sides
take turns on the same znodes of the same server. The measure is wall time, because most of it is spent in other threads
and in the server. Ratios are medians over all turns.
"""

from __future__ import annotations

import asyncio
import json
import time
from statistics import median
from typing import TYPE_CHECKING, Any

from kazoo.client import KazooClient

from benches.figure import Figure
from benches.program import print_figures
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
    """Measure reads, transactions, and decoding."""
    with EmbeddedZooKeeper() as server:
        bare = KazooClient(server.hosts)
        bare.start()
        try:
            figures = asyncio.run(measure_server(server.hosts, bare, turns=3 if quick else 9))
        finally:
            bare.stop()
            bare.close()
    return [*figures, *measure_decoding(turns=5 if quick else 15)]


async def measure_server(hosts: str, bare: Any, turns: int) -> list[Figure]:
    """Measure reads and transactions on a server."""
    store = await connect(hosts)
    try:
        return [await measure_reads(store, bare, turns), await measure_transactions(store, bare, turns)]
    finally:
        await store.close()


async def measure_reads(store: Store, bare: Any, turns: int) -> Figure:
    """Read the states of 10,000 partitions with `get_many`."""
    paths = [f"/reading/{number:05}" for number in range(NODES)]
    await make_path(store, "/reading")
    data = PartitionState(1, 0, (1, 2, 3), 1).encode()
    for created in [store.create(path, data) for path in paths]:
        await created

    def bare_kazoo() -> list[Any]:
        return [response.get() for response in [bare.get_async(path) for path in paths]]

    async def kwire_store() -> object:
        return await store.get_many(paths)

    ratio, detail = await compare(kwire_store, bare_kazoo, turns, lambda _: None)
    return Figure("zookeeper: reading 10,000 nodes, time beside bare kazoo", ratio, "x", 1.5, 1.1, False, detail)


async def measure_transactions(store: Store, bare: Any, turns: int) -> Figure:
    """Write one transaction for each topic: the check of the epoch, the topic, and its partitions."""
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
        return [response.get() for response in pending]

    async def kwire_store() -> object:
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

    ratio, detail = await compare(kwire_store, bare_kazoo, turns, prepare)
    name = "zookeeper: 500 transactions of 22 operations, time beside bare kazoo"
    return Figure(name, ratio, "x", 1.5, 1.0, False, detail)


async def compare(
    kwire_work: Callable[[], Awaitable[object]],
    bare_kazoo: Callable[[], object],
    turns: int,
    prepare: Callable[[int], None],
) -> tuple[float, str]:
    """Return the median ratio of kwire's time to kazoo's, and a text with both times in milliseconds."""
    times: tuple[list[float], list[float]] = ([], [])
    for turn in range(2 * turns):
        prepare(turn)
        is_kwire = (turn + turn // 2) % 2 == 0  # kwire, kazoo, kazoo, kwire: each side is first equally often
        began = time.perf_counter()
        if is_kwire:
            await kwire_work()
        else:
            await asyncio.to_thread(bare_kazoo)
        times[not is_kwire].append(time.perf_counter() - began)
    ratio = median(one / other for one, other in zip(*times, strict=True))
    kwire_ms, kazoo_ms = (median(seconds) * 1e3 for seconds in times)
    return ratio, f"kwire {kwire_ms:.0f} ms, kazoo {kazoo_ms:.0f} ms, {turns} turns"


def measure_decoding(turns: int) -> list[Figure]:
    """Decode 10,000 partition states: few distinct ones, as in a cluster, and all distinct."""
    alike = [PartitionState(number % 3, 0, (0, 1, 2), 1).encode() for number in range(NODES)]
    different = [PartitionState(number, number, (number, 1, 2), number).encode() for number in range(NODES)]
    figures = []
    for name, znodes, at_least, goal in (("alike", alike, 1.0, 0.2), ("all different", different, 2.5, 1.6)):
        ratios, kwire_ns, json_ns = [], [], []
        for _ in range(turns):
            began = time.perf_counter_ns()
            values = [json.loads(data) for data in znodes]
            between = time.perf_counter_ns()
            states = [PartitionState.decode(data) for data in znodes]
            ended = time.perf_counter_ns()
            assert len(values) == len(states)
            ratios.append((ended - between) / (between - began))
            kwire_ns.append((ended - between) / NODES)
            json_ns.append((between - began) / NODES)
        figures.append(
            Figure(
                f"zookeeper: decoding partition states, {name}, time beside json.loads",
                median(ratios), "x", at_least, goal, False,
                f"kwire {median(kwire_ns):.0f} ns, json.loads {median(json_ns):.0f} ns a node",
            )
        )  # fmt: skip
    return figures


if __name__ == "__main__":
    print_figures(run, "zookeeper", "Measure the ZooKeeper store.", "measure fewer turns")
