"""Partitions of a single node: from ZooKeeper, from its peers and all clients, and from both.

Every node has two proxies: one that it reaches ZooKeeper through, and one at its advertised address. So a node that is
cut off from ZooKeeper can still be asked, and an unreachable node keeps its session.
"""

from __future__ import annotations

import time
from contextlib import ExitStack
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

import pytest

from kwire.client.admin import BlockingAdminClient
from kwire_cluster.local.local_cluster import LocalCluster
from kwire_cluster.zookeeper.embedded_server import EmbeddedZooKeeper
from tests.cluster.faults import (
    SCENARIOS,
    SESSION_SECONDS,
    check,
    check_new_work,
    controller_id,
    create_topics,
    request_during,
)
from tests.cluster.repetitions import random_times, rounds
from tests.cluster.zookeeper_servers import PartitioningProxy
from tests.free_ports import free_ports

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.nightly

NODES = (1, 2, 3)


class Proxies(NamedTuple):
    """The proxies of one node."""

    zookeeper: PartitioningProxy
    peers: PartitioningProxy


class SeparableCluster(NamedTuple):
    """A cluster, and the proxies by node."""

    cluster: LocalCluster
    proxies: dict[int, Proxies]


@pytest.fixture(scope="module")
def separable(java: None) -> Iterator[SeparableCluster]:
    with ExitStack() as stack:
        server = stack.enter_context(EmbeddedZooKeeper(tick=0.25))
        proxies = {}
        settings = {}
        for node, port in zip(NODES, free_ports(len(NODES)), strict=True):
            zookeeper = stack.enter_context(PartitioningProxy(server.port))
            peers = stack.enter_context(PartitioningProxy(port, counts_transactions=False))
            proxies[node] = Proxies(zookeeper, peers)
            settings[node] = {
                "zookeeper.connect": zookeeper.hosts,
                "listeners": f"ADMIN://127.0.0.1:{port}",
                "advertised.listeners": f"ADMIN://{peers.hosts}",
            }
        cluster = LocalCluster(
            len(NODES),
            session_timeout=SESSION_SECONDS,
            zookeeper=f"127.0.0.1:{server.port}",
            node_settings=settings,
        )
        yield SeparableCluster(stack.enter_context(cluster), proxies)


def separate(proxies: list[PartitioningProxy], seconds: float) -> None:
    for proxy in proxies:
        proxy.partition()
    time.sleep(seconds)
    for proxy in proxies:
        proxy.heal()


@pytest.mark.parametrize("who", ["the controller", "another node"])
@pytest.mark.parametrize("lost", ["zookeeper", "peers", "both"])
def test_one_node_is_partitioned_during_a_batch(lost: str, who: str, separable: SeparableCluster) -> None:
    cluster, proxies = separable
    chance = random_times(f"{lost} {who}")
    with BlockingAdminClient(cluster.bootstrap) as admin:
        for _ in rounds(1):
            scenario = SCENARIOS[chance.choice(list(SCENARIOS))]
            topics = create_topics(admin)
            controller = controller_id(admin)
            node = controller if who == "the controller" else next(node for node in NODES if node != controller)
            cut = list(proxies[node]) if lost == "both" else [getattr(proxies[node], lost)]

            delay = chance.uniform(0, 0.02)
            duration = SESSION_SECONDS * chance.choice((0.4, 2))  # the session survives, or ends
            responses = request_during(partial(separate, cut, duration), delay, scenario, admin, topics)
            check(f"{who} partitioned from {lost}", cluster, scenario, topics, responses)
        check_new_work(cluster, admin)
