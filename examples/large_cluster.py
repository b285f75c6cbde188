"""A part of the demo: what a poll of 5,000 topics with 20 partitions each costs, the first time, when nothing has
changed, and when 1 % of the topics have.

The cluster is a process of its own (this module, run by itself), so that only the client is measured: CPU time of the
polling process, the median of several polls.
"""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections import Counter
from statistics import median
from time import process_time

from examples.stage import Stage, say, step
from kwire.client import Poll, Poller

TOPICS, PARTITIONS, BROKERS = 5_000, 20, 12
ROUNDS = 7
SHARE = 0.01
INTERVAL = 0.25
"""Seconds between polls."""


def show(stage: Stage) -> None:
    """The part."""
    del stage
    command = [sys.executable, "-m", "examples.large_cluster"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as cluster:
        assert cluster.stdin is not None
        assert cluster.stdout is not None
        try:
            with step(f"a cluster of {BROKERS} brokers, {TOPICS:,} topics, {TOPICS * PARTITIONS:,} partitions"):
                endpoint = cluster.stdout.readline().strip()
            asyncio.run(poll(endpoint, cluster))
        finally:
            cluster.stdin.close()
            cluster.wait(30)


async def poll(endpoint: str, cluster: subprocess.Popen[str]) -> None:
    """Poll it, have it change in between, and say what that cost."""
    unchanged, changed = [], []
    seen: Counter[str] = Counter()
    began = process_time()
    async with Poller(endpoint, brokers="one", interval=INTERVAL, timeout=30.0) as poller:
        first = await anext(poller)
        first_cpu = process_time() - began
        assert first.error is None, first.error
        await anext(poller)
        for _ in range(ROUNDS):
            began = process_time()
            again = await anext(poller)
            unchanged.append(process_time() - began)
            assert again.same
            move_random_leaders(cluster)
            began = process_time()
            found: Poll = await anext(poller)
            changed.append(process_time() - began)
            seen.update(type(each).__name__ for each in found.events)
            await anext(poller)
    size = len(first.payload or b"")
    say(f"  first snapshot, {size / 1e6:.1f} MB: {first_cpu * 1e3:6.1f} ms of CPU")
    for what, taken in (("nothing changed", median(unchanged)), (f"{SHARE:.0%} of topics changed", median(changed))):
        say(f"  {what + ':':<24} {taken * 1e3:6.1f} ms, {taken / first_cpu:.0%} of that")
    told = ", ".join(f"{count / ROUNDS:,.0f} {name}" for name, count in seen.most_common())
    say(f"  differences told by a poll that found some: {told}")


def move_random_leaders(cluster: subprocess.Popen[str]) -> None:
    """Have one partition of each hundredth topic get another leader, and the answer ready."""
    assert cluster.stdin is not None
    assert cluster.stdout is not None
    cluster.stdin.write("\n")
    cluster.stdin.flush()
    cluster.stdout.readline()


def serve() -> None:
    """Be the cluster, until nobody writes any more."""
    from kwire.client import BlockingPoller
    from kwire.testing import FakeCluster

    def warm(endpoint: str) -> None:
        with BlockingPoller(endpoint, brokers="one", interval=60.0, timeout=30.0) as poller:
            next(poller)  # its answer is ready from now on: who is measured does not wait for it

    with FakeCluster(BROKERS, topics=TOPICS, partitions=PARTITIONS) as cluster:
        warm(cluster.endpoint(1))
        print(cluster.endpoint(1), flush=True)
        for _ in sys.stdin:
            cluster.move_random_leaders(SHARE)
            warm(cluster.endpoint(1))
            print("changed", flush=True)


if __name__ == "__main__":
    serve()
