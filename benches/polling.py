"""The cost of a poll, compared with librdkafka.

    python -m benches.polling [--quick]

The cluster of workload (b) has 30 brokers and 5,000 topics of 20 partitions. It runs in a process of its own and has
the bytes of its response ready, so that the client is measured. Both clients get one address. The first snapshot is
wall time, from no client and no connection to all topics as Python objects. CPU time covers the whole process, with
the threads of librdkafka. Memory is freed outside the measured part where the client permits it.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import sys
from dataclasses import dataclass
from random import Random
from statistics import median
from time import perf_counter, process_time
from typing import TYPE_CHECKING, Any

from benches.figure import Figure
from benches.program import ServedCluster

if TYPE_CHECKING:
    from collections.abc import Callable

BROKERS, TOPICS, PARTITIONS = 30, 5_000, 20
ROUNDS, QUICK_ROUNDS = 15, 3
SHARE = 0.01
MOVE = "move the leader of one partition in 1 % of the topics"
"""The command after which the new response is ready."""
INTERVAL = 0.3
"""Seconds between two measured polls: enough for the cluster to change in between."""


def run(quick: bool) -> list[Figure]:
    """Measure both figures."""
    rounds = QUICK_ROUNDS if quick else ROUNDS
    with ServedCluster("polling") as cluster:
        first = first_snapshots(cluster, rounds)
        polls = asyncio.run(changing_polls(cluster, rounds))
    return [
        Figure(
            "first snapshot of all topics of (b), x faster than confluent-kafka",
            first.confluent / first.kwire,
            "x",
            at_least=4,
            goal=8,
            detail=f"kwire {first.kwire * 1e3:.1f} ms, list_topics {first.confluent * 1e3:.1f} ms, on the wall",
        ),
        Figure(
            "client CPU of one poll of (b), 1 % of topics changed, of confluent-kafka's",
            polls.kwire / polls.confluent,
            "",
            at_least=0.1,
            goal=0.03,
            higher_is_better=False,
            detail=(
                f"kwire {polls.kwire * 1e3:.1f} ms, list_topics {polls.confluent * 1e3:.1f} ms; "
                f"a poll without change {polls.quiet * 1e3:.1f} ms"
            ),
        ),
    ]


@dataclass(frozen=True, slots=True)
class Seconds:
    """Medians. `quiet`: of polls without a change."""

    kwire: float
    confluent: float
    quiet: float = 0.0


def first_snapshots(cluster: ServedCluster, rounds: int) -> Seconds:
    """Measure new clients, in random order."""
    taken: dict[Callable[[str], int], list[float]] = {kwire_snapshot: [], confluent_snapshot: []}
    random = Random(0)
    for client in taken:
        if client(cluster.bootstrap) != TOPICS:
            sys.exit(f"{client.__name__} does not see all topics")
    for _ in range(rounds):
        for client in random.sample(list(taken), len(taken)):
            gc.collect()
            began = perf_counter()
            client(cluster.bootstrap)
            taken[client].append(perf_counter() - began)
    return Seconds(median(taken[kwire_snapshot]), median(taken[confluent_snapshot]))


def kwire_snapshot(endpoint: str) -> int:
    from kwire.client import Poller

    async def poll() -> int:
        async with Poller(endpoint, brokers="one", interval=3600.0, timeout=60.0) as poller:
            message: Any = (await anext(poller)).message
            return len(message.topics)

    return asyncio.run(poll())


def confluent_snapshot(endpoint: str) -> int:
    from confluent_kafka import admin

    return len(admin.AdminClient({"bootstrap.servers": endpoint}).list_topics(timeout=60).topics)


async def changing_polls(cluster: ServedCluster, rounds: int) -> Seconds:
    """Measure two connected clients in turns: polls after a change, and for kwire also polls without a change."""
    from confluent_kafka import admin

    from kwire.client import Poller

    confluent = admin.AdminClient({"bootstrap.servers": cluster.bootstrap})
    confluent.list_topics(timeout=60)
    kwire_cpu, confluent_cpu, quiet_cpu = [], [], []
    async with Poller(cluster.bootstrap, brokers="one", interval=INTERVAL, timeout=60.0) as poller:
        await anext(poller)
        await anext(poller)
        for _ in range(rounds):
            cluster.call(MOVE)
            began = process_time()
            poll = await anext(poller)
            kwire_cpu.append(process_time() - began)
            if len({getattr(event, "topic", None) for event in poll.events}) < SHARE * TOPICS:
                sys.exit(f"only {len(poll.events)} events are reported")
            began = process_time()
            poll = await anext(poller)
            quiet_cpu.append(process_time() - began)
            if not poll.same:
                sys.exit("a poll without change is not the same")
            cluster.call(MOVE)
            began = process_time()
            listing = confluent.list_topics(timeout=60)
            confluent_cpu.append(process_time() - began)
            del listing
            await anext(poller)  # the change for the other client
    return Seconds(median(kwire_cpu), median(confluent_cpu), median(quiet_cpu))


def serve() -> None:
    """Run the cluster until standard input ends."""
    from kwire.testing import FakeCluster

    names = topic_names()
    with FakeCluster(BROKERS, topics=names, partitions=PARTITIONS, replication_factor=3) as cluster:
        kwire_snapshot(cluster.endpoint(1))
        print(cluster.endpoint(1), flush=True)
        for _ in sys.stdin:
            cluster.move_random_leaders(SHARE)
            kwire_snapshot(cluster.endpoint(1))  # so that the bytes of the response are ready
            print("disturbed", flush=True)


def topic_names() -> list[str]:
    """Return names of the length of those in workload (b)."""
    from benches import workloads

    return workloads.topic_names(Random(1), TOPICS)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benches.polling", description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="run few rounds, for a first impression")
    parser.add_argument("--serve", action="store_true", help="run the polled cluster")
    given = parser.parse_args()
    if given.serve:
        serve()
        return
    for figure in run(given.quick):
        print(figure)


if __name__ == "__main__":
    main()
