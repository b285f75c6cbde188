"""Reassignments on a cluster of kwire's nodes: without sizes and throttles, one at a time."""

from __future__ import annotations

import signal
from typing import TYPE_CHECKING

import pytest

from kwire.client.admin import AdminClient, TopicDescription
from kwire_cluster.local.local_cluster import LocalCluster
from tests.cli.administration import Operator
from tests.kafka.reassigning import Reassigner, end, wait_for_audit

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture(scope="module")
def nodes(java: None) -> Iterator[LocalCluster]:
    with LocalCluster(nodes=3) as cluster:
        yield cluster


async def replicas_of(cluster: LocalCluster, name: str) -> list[tuple[int, ...]]:
    async with await AdminClient.open(cluster.bootstrap) as admin:
        topic = (await admin.describe_topics([name]))[name]
        assert isinstance(topic, TopicDescription)
        return [partition.replicas for partition in topic.partitions]


async def test_node_is_drained_and_filled_again(nodes: LocalCluster, tmp_path: Path) -> None:
    operator = Operator(nodes.bootstrap)
    operator.json("topics", "create", "orders", "-p", "12", "-r", "2")
    before = await replicas_of(nodes, "orders")
    journal, file = ("--journal", tmp_path / "journals"), tmp_path / "plan.json"

    [made] = operator.json("reassign-partitions", "plan", "--drain", "3", "--file", file)
    assert (made["optimal"], made["new_bytes"]) == (True, None)
    run = operator.run(
        "-o", "json", "reassign-partitions", "execute", file, "--moves-per-broker", "2", "--yes", *journal
    )
    assert run.code == 0, run.err
    assert "no throttle is set, and one batch runs at a time" in run.err
    assert "completed batch 2" in run.err
    assert all(3 not in replicas for replicas in await replicas_of(nodes, "orders"))
    assert {row["status"] for row in operator.json("reassign-partitions", "verify", file)} == {"completed"}

    [undone] = operator.json("reassign-partitions", "rollback", "--yes", *journal)
    assert (undone["phase"], undone["throttled"]) == ("completed", [])
    assert await replicas_of(nodes, "orders") == before
    assert operator.json("reassign-partitions", "status", *journal) == []


async def test_killed_run_is_cancelled(nodes: LocalCluster, tmp_path: Path) -> None:
    operator = Reassigner(nodes.bootstrap, tmp_path)
    operator.json("topics", "create", "payments", "-p", "30", "-r", "2")
    plan = operator.plan("--drain", "1", "--topic", "payments")
    with operator.launch("execute", plan, "--moves-per-broker", "1", "--yes") as running:
        wait_for_audit(operator, "started batch 2")
        end(running, signal.SIGKILL)
    [cancelled] = operator.rows("reassign-partitions", "cancel", "--yes")
    assert (cancelled["phase"], cancelled["throttled"]) == ("cancelled", [])
    assert operator.rows("reassign-partitions", "status") == []
    operator.rows("reassign-partitions", "rollback", "--yes")
