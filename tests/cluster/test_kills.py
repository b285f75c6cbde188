"""kill -9 of the controller between any two writes to ZooKeeper, with real processes and a client that goes on asking."""

from __future__ import annotations

import signal
import time
from typing import TYPE_CHECKING

import pytest

from kwire.client.admin import BlockingAdminClient
from tests.cluster.checking import sound
from tests.cluster.faults import SCENARIOS, checked, goes_on, prepared

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from kwire.testing.local_cluster import LocalCluster


@pytest.fixture(scope="module")
def admin(cluster: LocalCluster) -> Iterator[BlockingAdminClient]:
    with BlockingAdminClient(cluster.bootstrap, timeout=30.0) as admin:
        yield admin


def controller_of(admin: BlockingAdminClient) -> int:
    controller = admin.describe_cluster().controller
    assert controller is not None
    return controller.id


def folder(cluster: LocalCluster, node_id: int) -> Path:
    return cluster.data / f"node-{node_id}"


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


@pytest.mark.parametrize("how", ["settled", ""], ids=["the others done", "the others under way"])
@pytest.mark.parametrize("name", SCENARIOS)
def test_killed_before_each_of_its_writes(name: str, how: str, cluster: LocalCluster, admin: BlockingAdminClient) -> None:
    scenario = SCENARIOS[name]
    begun = time.monotonic()
    topics = prepared(admin)
    sound(cluster)
    node_id = controller_of(admin)
    arm(cluster, node_id, "0")
    scenario.ask(admin, topics).raise_first()
    checked("no fault", cluster, scenario, topics, None)
    writes = disarm(cluster, node_id)
    assert writes > 1
    print(name, writes)

    for at in range(1, writes + 1):
        topics = prepared(admin)
        sound(cluster)
        node_id = controller_of(admin)
        arm(cluster, node_id, f"{at} {how}")
        outcomes = scenario.ask(admin, topics)
        assert cluster.wait_ended(node_id) == -signal.SIGKILL, f"it was not killed before write {at} of {writes}"
        disarm(cluster, node_id)
        cluster.start_node(node_id)
        checked(f"killed during {name}", cluster, scenario, topics, outcomes)
        print(at, time.monotonic()-begun)
    goes_on(cluster, admin)
