"""Dry runs of all changing scripts, with arguments at random, on fake brokers and on nodes in memory."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from kwire.client.admin import AdminClient
from kwire.testing import FakeCluster
from kwire_admin.compat.registry import MODULES
from tests.cluster.controller.clusters import SETTINGS
from tests.cluster.node.memory_nodes import memory_nodes
from tests.zookeeper_tools.script_dry_runs import (
    FORMS,
    READING,
    differences,
    generated_lines,
    run_line,
    scripts_with_forms,
    write_files,
)

if TYPE_CHECKING:
    from pathlib import Path

ON_NODES = tuple(
    form
    for form in FORMS
    if form.split()[0]
    in ("kafka-topics", "kafka-leader-election", "kafka-reassign-partitions", "kafka-features", "kafka-transactions")
    or "--entity-type topics" in form
)
"""Forms whose requests a node answers without a session of ZooKeeper."""


def test_every_changing_script_has_forms() -> None:
    assert scripts_with_forms() == set(MODULES) - READING


@pytest.mark.parametrize("seed", range(2))
async def test_dry_run_of_a_script_is_its_real_run_on_brokers(seed: int, tmp_path: Path) -> None:
    """Fake brokers serve few changes, so this compares mostly what is refused, and services that a cluster lacks."""
    write_files(tmp_path)
    with FakeCluster(2, topics=["dry", "spare", "fresh"], partitions=2) as cluster:
        cluster.set_ends("dry", {0: 10, 1: 10})
        cluster.set_ends("spare", {0: 0, 1: 0})
        cluster.set_group("idle", {"dry": {0: 1}})
        cluster.set_group("busy", {"dry": {0: 1}}, members=1)
        async with await AdminClient.open(cluster.bootstrap, timeout=5) as admin:
            found, ended = await differences(admin, generated_lines(seed, 4), tmp_path)
    assert not found, "\n".join(found)
    assert min(ended.values()) > 8, ended


@pytest.mark.parametrize("seed", range(2))
async def test_dry_run_of_a_script_is_its_real_run_on_nodes(seed: int, tmp_path: Path) -> None:
    write_files(tmp_path)
    topic = "kafka-topics --create --topic dry --partitions 2 --replication-factor 1"
    refused = accepted = 0
    async with memory_nodes(1, 2, settings=SETTINGS) as (cluster, admin):
        for line in (topic, *generated_lines(seed, 4, ON_NODES)):
            found, ended = await differences(admin, [line], tmp_path)
            assert not found, found
            refused, accepted = refused + ended["refused"], accepted + ended["done"]
            await cluster.wait_idle()
    assert min(refused, accepted) > 8


async def test_dry_run_of_unregister_is_its_real_run_where_brokers_do_not_serve_it(tmp_path: Path) -> None:
    with FakeCluster(1) as cluster:
        async with await AdminClient.open(cluster.bootstrap, timeout=5) as admin:
            lines = [f"kafka-cluster unregister --id {id}" for id in (1, 99, -1, "x", 2**31)]
            found, ended = await differences(admin, lines, tmp_path)
    assert not found, "\n".join(found)
    assert ended["done"] == 0


async def test_dry_run_takes_a_timeout_and_refuses_the_router(tmp_path: Path) -> None:
    write_files(tmp_path)
    with FakeCluster(1, topics=["dry"]) as cluster:
        cluster.set_ends("dry", {0: 10})
        async with await AdminClient.open(cluster.bootstrap, timeout=5) as admin:
            line = "kafka-consumer-groups --reset-offsets --execute --group g --topic dry --to-latest --timeout 5000"
            assert (await run_line(admin, line, tmp_path, is_dry_run=True)).ended == "done"
            assert not admin.commands


async def test_nodes_guard_what_scripts_add_and_what_they_delete(tmp_path: Path) -> None:
    topic = "kafka-topics --create --topic dry --partitions 1 --replication-factor 1"
    async with memory_nodes(1, 2, settings=SETTINGS) as (cluster, admin):
        assert (await run_line(admin, topic, tmp_path, is_dry_run=False)).ended == "done"
        await cluster.wait_idle()
        for name, key, is_done in (
            ("dry", "retention.ms", True),
            ("dry", "nosuch", False),
            ("nosuch", "segment.ms", False),
        ):
            alter = f"kafka-configs --alter --entity-type topics --entity-name {name}"
            for change in (f"--add-config {key}=60000", f"--delete-config {key}"):
                result = await run_line(admin, f"{alter} {change}", tmp_path, is_dry_run=False)
                assert (result.ended == "done") is is_done, (name, change, result)


async def test_reassignment_with_an_invalid_timeout_starts_nothing(tmp_path: Path) -> None:
    write_files(tmp_path)
    topic = "kafka-topics --create --topic dry --partitions 1 --replication-factor 1"
    move = "kafka-reassign-partitions --execute --reassignment-json-file {folder}/plan.json --timeout soon"
    async with memory_nodes(1, 2, settings=SETTINGS) as (cluster, admin):
        assert (await run_line(admin, topic, tmp_path, is_dry_run=False)).ended == "done"
        await cluster.wait_idle()
        sent = len(admin.commands)
        assert "Cannot parse argument" in (await run_line(admin, move, tmp_path, is_dry_run=False)).ended
        assert len(admin.commands) == sent
