"""Time until a change of settings or features is effective on all nodes of a cluster, after its acknowledgement.

    python -m benches.changes [--quick]

The cluster has three nodes, each in its own process. After a change is acknowledged, all nodes are asked until each
reports it; the time of asking counts. Reading an effective value is compared with look-ups in a dictionary in one run.
"""

from __future__ import annotations

import asyncio
import json
import time
from functools import partial
from statistics import median, quantiles
from timeit import repeat
from typing import TYPE_CHECKING

from benches.figure import Figure
from benches.program import print_figures
from kwire.client import Connection
from kwire.client.admin import AdminClient, FeatureUpdate
from kwire.cluster.config.live_config import LiveConfig
from kwire.cluster.config.node_settings import NodeSettings
from kwire.messages.kip4.admin import AdminRequest
from kwire.messages.kip584.api_versions import ApiVersionsRequest
from kwire.testing.local_cluster import LocalCluster

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

SETTINGS = {"supported.features": "group_coordinator:1-100"}


def run(quick: bool) -> list[Figure]:
    with LocalCluster(nodes=3, settings=SETTINGS) as cluster:
        return [*asyncio.run(measure_changes(cluster, 5 if quick else 25)), measure_reading()]


async def measure_changes(cluster: LocalCluster, turns: int) -> list[Figure]:
    async with await AdminClient.open(cluster.bootstrap) as admin:
        connections = [await Connection.open(f"{node.host}:{node.port}") for node in cluster.nodes]
        settings, features = [], []
        for turn in range(turns + 1):  # the first turn warms up
            value = str(1000 + turn)
            await admin.run_tool("config", ["set", f"max.connections={value}"])
            settings.append(await seconds_until(connections, partial(has_setting, value)))
            level = 100 - 1 - turn
            started = time.perf_counter()
            update = FeatureUpdate("group_coordinator", level, allow_downgrade=True)
            await admin.update_features([update], compare_brokers=False)
            await seconds_until(connections, partial(has_level, level))
            features.append(time.perf_counter() - started)
        for connection in connections:
            await connection.close()
    return [
        figure("settings: changed on 3 nodes after the acknowledgement, median", settings[1:], 300, 100),
        figure("features: from the request until 3 nodes report the new epoch, median", features[1:], 500, 200),
    ]


def figure(name: str, seconds: list[float], at_least: float, goal: float) -> Figure:
    slow = quantiles(seconds, n=10)[-1]
    return Figure(name, median(seconds) * 1000, " ms", at_least, goal, False, f"90 %: {slow * 1000:.0f} ms")


async def seconds_until(connections: list[Connection], is_changed: Callable[[Connection], Awaitable[bool]]) -> float:
    started = time.perf_counter()
    while not all(await asyncio.gather(*map(is_changed, connections))):
        pass
    return time.perf_counter() - started


async def has_setting(value: str, connection: Connection) -> bool:
    response = await connection.send(AdminRequest(tool="config", arguments=("describe", "max.connections")))
    [described] = json.loads(response.output)
    return bool(described["value"] == value)


async def has_level(level: int, connection: Connection) -> bool:
    response = await connection.send(ApiVersionsRequest(client_software_name="b", client_software_version="1"))
    return [finalized_feature.max_version_level for finalized_feature in response.finalized_features] == [level]


def measure_reading() -> Figure:
    """Compare reading an effective value with a look-up in a dictionary."""
    config = LiveConfig(NodeSettings(id=1, zookeeper="localhost"))
    config.set_stored({}, {"num.partitions": "7"})
    plain = {"num.partitions": 7}
    number = 1_000_000
    reading = min(repeat("config.current.num_partitions", globals={"config": config}, number=number))
    looking_up = min(repeat("plain['num.partitions']", globals={"plain": plain}, number=number))
    detail = f"{reading / number * 1e9:.0f} ns, a look-up {looking_up / number * 1e9:.0f} ns"
    return Figure(
        "settings: reading an effective value, in dictionary look-ups", reading / looking_up, "x", 2, 1.2, False, detail
    )


if __name__ == "__main__":
    print_figures(run, "changes", "Measure changes of settings and features.", "measure few changes")
