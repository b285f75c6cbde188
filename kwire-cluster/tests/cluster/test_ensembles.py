"""Clusters on three ZooKeeper servers with one lost, partitions from ZooKeeper, and power losses of ZooKeeper."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import pytest

from kwire.client.admin import BlockingAdminClient
from kwire_cluster.local.local_cluster import LocalCluster
from kwire_cluster.zookeeper.embedded_server import EmbeddedZooKeeper
from tests.cluster.faults import SCENARIOS, SESSION_SECONDS, check, check_new_work, create_topics, request_during
from tests.cluster.repetitions import random_times, rounds
from tests.cluster.zookeeper_servers import PartitioningProxy, ZooKeeperEnsemble, lose_power

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.nightly


@pytest.fixture(scope="module")
def ensemble(java: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ZooKeeperEnsemble]:
    with ZooKeeperEnsemble(tmp_path_factory.mktemp("ensemble")) as ensemble:
        yield ensemble


@pytest.fixture(scope="module")
def cluster_on_ensemble(ensemble: ZooKeeperEnsemble) -> Iterator[LocalCluster]:
    with LocalCluster(nodes=3, session_timeout=2 * SESSION_SECONDS, zookeeper=f"{ensemble.hosts}/kwire") as cluster:
        yield cluster


@pytest.mark.parametrize("name", SCENARIOS)
@pytest.mark.parametrize("lost", ["leader", "follower"])
def test_one_of_three_servers_is_lost_during_a_batch(
    lost: str, name: str, ensemble: ZooKeeperEnsemble, cluster_on_ensemble: LocalCluster
) -> None:
    cluster, scenario = cluster_on_ensemble, SCENARIOS[name]
    chance = random_times(f"{lost} {name}")
    with BlockingAdminClient(cluster.bootstrap) as admin:
        for _ in rounds(1):
            topics = create_topics(admin)
            leader = ensemble.leader()
            victim = leader if lost == "leader" else next(server for server in ensemble.servers if server is not leader)
            responses = request_during(victim.kill, chance.uniform(0, 0.02), scenario, admin, topics)
            try:
                check(f"ZooKeeper {lost} of three lost during a batch", cluster, scenario, topics, responses)
            finally:
                victim.start(60)
        check_new_work(cluster, admin)


@pytest.fixture(scope="module")
def server(java: None) -> Iterator[EmbeddedZooKeeper]:
    with EmbeddedZooKeeper(tick=0.25) as server:
        yield server


@pytest.fixture(scope="module")
def proxy(server: EmbeddedZooKeeper) -> Iterator[PartitioningProxy]:
    with PartitioningProxy(server.port) as proxy:
        yield proxy


@pytest.fixture(scope="module")
def cluster_behind_proxy(proxy: PartitioningProxy) -> Iterator[LocalCluster]:
    with LocalCluster(nodes=3, session_timeout=SESSION_SECONDS, zookeeper=proxy.hosts) as cluster:
        yield cluster


@pytest.mark.parametrize("name", SCENARIOS)
@pytest.mark.parametrize("sessions", ["survive", "end"])
def test_nodes_are_partitioned_from_zookeeper_during_a_batch(
    sessions: str, name: str, proxy: PartitioningProxy, cluster_behind_proxy: LocalCluster
) -> None:
    cluster, scenario = cluster_behind_proxy, SCENARIOS[name]
    chance = random_times(f"{sessions} {name}")

    def separate() -> None:
        proxy.partition()
        time.sleep(SESSION_SECONDS * (0.4 if sessions == "survive" else 2))
        proxy.heal()

    with BlockingAdminClient(cluster.bootstrap) as admin:
        for _ in rounds(1):
            topics = create_topics(admin)
            responses = request_during(separate, chance.uniform(0, 0.02), scenario, admin, topics)
            check(f"nodes partitioned from ZooKeeper, sessions {sessions}", cluster, scenario, topics, responses)
        check_new_work(cluster, admin)


@pytest.mark.parametrize("name", SCENARIOS)
def test_power_of_zookeeper_is_lost_during_a_batch(
    name: str, server: EmbeddedZooKeeper, proxy: PartitioningProxy, cluster_behind_proxy: LocalCluster
) -> None:
    cluster, scenario = cluster_behind_proxy, SCENARIOS[name]
    chance = random_times(f"power {name}")

    def lose_and_restart() -> None:
        proxy.partition()  # nothing is seen after this
        lose_power(server, proxy.last_zxid)
        server.start()
        proxy.heal()

    with BlockingAdminClient(cluster.bootstrap) as admin:
        for _ in rounds(1):
            topics = create_topics(admin)
            responses = request_during(lose_and_restart, chance.uniform(0, 0.02), scenario, admin, topics)
            check("power of ZooKeeper lost during a batch", cluster, scenario, topics, responses)
        check_new_work(cluster, admin)
