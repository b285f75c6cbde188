"""kill -9 of the controller between any two writes to ZooKeeper, with real processes and a client that retries."""

from __future__ import annotations

import signal
import subprocess
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING

import pytest

from tests.cluster.consistency import broker_epochs, wait_consistent
from tests.cluster.faults import SCENARIOS, check, check_new_work, controller_id, create_topics, request, request_during
from tests.cluster.repetitions import SOAK, random_times, rounds
from tests.eventually import eventually_sync

if TYPE_CHECKING:
    from kwire.client.admin import BlockingAdminClient
    from kwire_cluster.local.local_cluster import LocalCluster
    from tests.cluster.faults import Scenario

pytestmark = pytest.mark.nightly


def arm(cluster: LocalCluster, node_id: int, text: str) -> None:
    """Start counting the writes of a node, see `dying_node`."""
    folder = cluster.folder(node_id).path
    partial = folder / "armed.partial"
    partial.write_text(text, encoding="ascii")
    partial.replace(folder / "armed")


def disarm(cluster: LocalCluster, node_id: int) -> int:
    """Stop counting, and return the number of writes."""
    folder = cluster.folder(node_id).path
    (folder / "armed").unlink(missing_ok=True)
    counted = folder / "counted"
    writes = int(counted.read_text(encoding="ascii") or 0) if counted.exists() else 0
    counted.unlink(missing_ok=True)
    return writes


def count_writes(scenario: Scenario, cluster: LocalCluster, admin: BlockingAdminClient) -> int:
    """Return how many writes a change takes without a fault.

    A node that stands still for too long loses its session, and the controller writes that too: count again.
    """
    while True:
        topics = create_topics(admin)
        wait_consistent(cluster)
        sessions = broker_epochs(cluster)
        node_id = controller_id(admin)
        arm(cluster, node_id, "0")
        responses = request(scenario, admin, topics)
        check("no fault", cluster, scenario, topics, responses)
        writes = disarm(cluster, node_id)
        if broker_epochs(cluster) == sessions:
            return writes


def kill_before_write(write: int, settled: str, name: str, cluster: LocalCluster, admin: BlockingAdminClient) -> None:
    """Kill the controller before a write. One that loses its session before that does not write: try again."""
    scenario = SCENARIOS[name]
    is_killed = False
    while not is_killed:
        topics = create_topics(admin)
        wait_consistent(cluster)
        node_id = controller_id(admin)
        epoch = broker_epochs(cluster)[node_id]
        arm(cluster, node_id, f"{write} {settled}")
        responses = request(scenario, admin, topics)
        is_killed = wait_killed(cluster, node_id, epoch)
        disarm(cluster, node_id)
        if is_killed:
            cluster.start_node(node_id)
        check(f"{name}: controller killed before one of its writes", cluster, scenario, topics, responses)


def wait_killed(cluster: LocalCluster, node_id: int, epoch: int) -> bool:
    """Wait until a node is killed, and return True, or until it has another session than at first, and return False."""

    def outcome() -> str:
        with suppress(subprocess.TimeoutExpired):
            assert cluster.wait_ended(node_id, timeout=0.1) == -signal.SIGKILL
            return "killed"
        return "deposed" if broker_epochs(cluster).get(node_id, epoch) != epoch else ""

    return eventually_sync(outcome, f"node {node_id} is killed") == "killed"


@pytest.mark.parametrize("name", SCENARIOS)
def test_kill_before_each_write_after_earlier_writes_completed(
    name: str, cluster: LocalCluster, admin: BlockingAdminClient
) -> None:
    for _ in rounds(1):
        writes = count_writes(SCENARIOS[name], cluster, admin)
        assert writes > 1
        for write in range(1, writes + 1):
            kill_before_write(write, "settled", name, cluster, admin)
    check_new_work(cluster, admin)


@pytest.mark.parametrize("name", SCENARIOS)
def test_kill_before_a_write_with_earlier_writes_in_flight(
    name: str, cluster: LocalCluster, admin: BlockingAdminClient
) -> None:
    chance = random_times(name)
    for _ in rounds(1):
        writes = count_writes(SCENARIOS[name], cluster, admin)
        for write in range(1, writes + 1) if SOAK else [chance.randint(2, writes)]:
            kill_before_write(write, "", name, cluster, admin)
    check_new_work(cluster, admin)


@pytest.mark.parametrize("name", SCENARIOS)
def test_kill_at_a_random_time(name: str, cluster: LocalCluster, admin: BlockingAdminClient) -> None:
    chance = random_times(name)
    scenario = SCENARIOS[name]
    for _ in rounds(1):
        topics = create_topics(admin)
        node_id = controller_id(admin)
        kill = partial(cluster.kill_node, node_id)
        responses = request_during(kill, chance.uniform(0, 0.03), scenario, admin, topics)
        cluster.start_node(node_id)
        check(f"{name}: controller killed at a random time", cluster, scenario, topics, responses)
    check_new_work(cluster, admin)
