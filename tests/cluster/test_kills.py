"""kill -9 of the controller between any two writes to ZooKeeper: real processes, and a client that goes on asking."""

from __future__ import annotations

import signal
import threading
from typing import TYPE_CHECKING

import pytest

from tests.cluster.checking import sound
from tests.cluster.faults import SCENARIOS, checked, controller_of, goes_on, prepared
from tests.cluster.repetitions import SOAK, moments, rounds

if TYPE_CHECKING:
    from pathlib import Path

    from kwire.client.admin import BlockingAdminClient
    from kwire.testing.local_cluster import LocalCluster
    from tests.cluster.faults import Scenario


def arm(cluster: LocalCluster, node_id: int, text: str) -> None:
    partial = folder(cluster, node_id) / "armed.partial"
    partial.write_text(text, encoding="ascii")
    partial.replace(folder(cluster, node_id) / "armed")


def disarm(cluster: LocalCluster, node_id: int) -> int:
    """How many writes were counted."""
    (folder(cluster, node_id) / "armed").unlink(missing_ok=True)
    counted = folder(cluster, node_id) / "counted"
    writes = int(counted.read_text(encoding="ascii") or 0) if counted.exists() else 0
    counted.unlink(missing_ok=True)
    return writes


def folder(cluster: LocalCluster, node_id: int) -> Path:
    return cluster.data / f"node-{node_id}"


def writes_of(scenario: Scenario, cluster: LocalCluster, admin: BlockingAdminClient) -> int:
    """How many writes the work takes, when nothing goes wrong."""
    topics = prepared(admin)
    sound(cluster)
    node_id = controller_of(admin)
    arm(cluster, node_id, "0")
    scenario.ask(admin, topics).raise_first()
    checked("no fault", cluster, scenario, topics, None)
    return disarm(cluster, node_id)


def killed_before(at: int, how: str, name: str, cluster: LocalCluster, admin: BlockingAdminClient) -> None:
    scenario = SCENARIOS[name]
    topics = prepared(admin)
    sound(cluster)
    node_id = controller_of(admin)
    arm(cluster, node_id, f"{at} {how}")
    outcomes = scenario.ask(admin, topics)
    # This raises when the kill did not happen.
    assert cluster.wait_ended(node_id) == -signal.SIGKILL
    disarm(cluster, node_id)
    cluster.start_node(node_id)
    checked(f"{name}: controller killed before one of its writes", cluster, scenario, topics, outcomes)


@pytest.mark.parametrize("name", SCENARIOS)
def test_killed_before_each_write_with_all_others_done(
    name: str, cluster: LocalCluster, admin: BlockingAdminClient
) -> None:
    for _ in rounds(1):
        writes = writes_of(SCENARIOS[name], cluster, admin)
        assert writes > 1
        for at in range(1, writes + 1):
            killed_before(at, "settled", name, cluster, admin)
    goes_on(cluster, admin)


@pytest.mark.parametrize("name", SCENARIOS)
def test_killed_before_a_write_with_others_under_way(
    name: str, cluster: LocalCluster, admin: BlockingAdminClient
) -> None:
    chance = moments(name)
    for _ in rounds(1):
        writes = writes_of(SCENARIOS[name], cluster, admin)
        for at in range(1, writes + 1) if SOAK else [chance.randint(2, writes)]:
            killed_before(at, "", name, cluster, admin)
    goes_on(cluster, admin)


@pytest.mark.parametrize("name", SCENARIOS)
def test_killed_at_a_random_moment(name: str, cluster: LocalCluster, admin: BlockingAdminClient) -> None:
    chance = moments(name)
    scenario = SCENARIOS[name]
    for _ in rounds(1):
        topics = prepared(admin)
        node_id = controller_of(admin)
        killing = threading.Timer(chance.uniform(0, 0.03), cluster.kill_node, (node_id,))
        killing.start()
        outcomes = scenario.ask(admin, topics)
        killing.join()
        cluster.start_node(node_id)
        checked(f"{name}: controller killed at a random moment", cluster, scenario, topics, outcomes)
    goes_on(cluster, admin)
