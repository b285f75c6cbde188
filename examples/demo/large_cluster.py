"""Part of the demo: the cost of polling 5,000 topics with 20 partitions each.

Measures the first poll, a poll without changes, and a poll after 1 % of the topics have changed. The cluster runs in a
process of its own (this module as a program), so that the numbers are the CPU time of the client; medians of several
polls.
"""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections import Counter
from statistics import median
from time import process_time

from examples.demo.terminal import DemoContext, print_line, step
from kwire.client import Poller

TOPICS, PARTITIONS, BROKERS = 5_000, 20, 12
ROUNDS = 7
SHARE = 0.01
INTERVAL = 0.25
"""Seconds between polls."""


def run(context: DemoContext) -> None:
    """Run this part."""
    del context
    command = [sys.executable, "-m", "examples.demo.large_cluster"]
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
    """Poll the cluster, change it between polls, and print the cost of the polls."""
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
            change_leaders(cluster)
            began = process_time()
            found = await anext(poller)
            changed.append(process_time() - began)
            seen.update(type(each).__name__ for each in found.events)
            await anext(poller)
    size = len(first.payload or b"")
    print_line(f"  first snapshot, {size / 1e6:.1f} MB: {first_cpu * 1e3:6.1f} ms of CPU")
    for what, taken in (("nothing changed", median(unchanged)), (f"{SHARE:.0%} of topics changed", median(changed))):
        print_line(f"  {what + ':':<24} {taken * 1e3:6.1f} ms, {taken / first_cpu:.0%} of that")
    events = ", ".join(f"{count / ROUNDS:,.0f} {name}" for name, count in seen.most_common())
    print_line(f"  events of a poll after a change: {events}")


def change_leaders(cluster: subprocess.Popen[str]) -> None:
    """Change the leader of one partition in 1 % of the topics, and wait until the response is prepared."""
    assert cluster.stdin is not None
    assert cluster.stdout is not None
    cluster.stdin.write("\n")
    cluster.stdin.flush()
    cluster.stdout.readline()


def serve() -> None:
    """Run the cluster until stdin is closed."""
    from kwire.client import BlockingPoller
    from kwire.testing import FakeCluster

    def warm(endpoint: str) -> None:
        with BlockingPoller(endpoint, brokers="one", interval=60.0, timeout=30.0) as poller:
            next(poller)  # the cluster caches the response, so the measured client does not wait for it

    with FakeCluster(BROKERS, topics=TOPICS, partitions=PARTITIONS) as cluster:
        warm(cluster.endpoint(1))
        print(cluster.endpoint(1), flush=True)
        for _ in sys.stdin:
            cluster.move_random_leaders(SHARE)
            warm(cluster.endpoint(1))
            print("changed", flush=True)


if __name__ == "__main__":
    serve()
