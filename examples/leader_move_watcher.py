"""Print every leader change of a cluster.

Run it against a cluster, or without an address against a fake one:

    pip install kwire
    python leader_move_watcher.py broker-1:9092,broker-2:9092
    python leader_move_watcher.py

Every broker is polled once a second, and each broker reports a change on its own, so a change is printed once for each
broker that has learned about it. Stop it with ^C.
"""

from __future__ import annotations

import asyncio
import sys
from contextlib import suppress

from kwire.client import Poller
from kwire.metadata.events import LeaderLost, LeaderMoved
from kwire.testing import FakeCluster


async def watch_leaders(bootstrap: str, interval: float = 1.0) -> None:
    """Poll a cluster and print its leader changes until the task is cancelled."""
    async with Poller(bootstrap, interval=interval) as poller:
        async for poll in poller:
            for event in poll.events:
                if isinstance(event, (LeaderMoved, LeaderLost)):
                    print(f"{poll.polled_at:%H:%M:%S}  broker {poll.broker_id} reports {event}", flush=True)


async def watch_fake_cluster(interval: float = 0.1) -> None:
    """Watch a cluster that moves the leaders of some partitions all the time."""
    with FakeCluster(brokers=3, topics=10, partitions=4) as cluster:
        watching = asyncio.create_task(watch_leaders(cluster.bootstrap, interval))
        while not watching.done():
            await asyncio.sleep(2 * interval)
            cluster.move_random_leaders(0.1)
        await watching


if __name__ == "__main__":
    with suppress(KeyboardInterrupt):
        asyncio.run(watch_leaders(sys.argv[1]) if len(sys.argv) > 1 else watch_fake_cluster())
