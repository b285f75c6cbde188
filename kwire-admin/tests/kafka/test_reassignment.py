"""Three real brokers are drained, extended, and rebalanced under load, and the executor is killed meanwhile."""

from __future__ import annotations

import asyncio
import json
import signal
from typing import TYPE_CHECKING, Any

import pytest

from kwire.client.admin import AdminClient, ConfigChange, ConfigResource, ConfigResourceType
from kwire_admin.reassignment.assignment_file import AssignmentFile
from kwire_admin.reassignment.execution.executor import ExecutionOptions, Executor
from kwire_admin.reassignment.execution.journal import started_details
from kwire_admin.reassignment.execution.run_folder import PLAN, RunFolder
from kwire_admin.reassignment.plan import moves_of
from kwire_admin.reassignment.schedule import BatchLimits, batches
from kwire_admin.reassignment.snapshot_reader import read_snapshot
from kwire_admin.reassignment.throttle import RATES
from tests.eventually import eventually
from tests.kafka.reassigning import (
    PARTITIONS,
    Load,
    Reassigner,
    Slowed,
    end,
    fill,
    replicas_of,
    throttles,
    under_replicated,
    wait_for_audit,
)
from tests.real_kafka import Kafka39, Kafka44, KafkaCluster

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

SLOW = ("--throttle", "1M", "--batch-size", "4M", "--yes")
"""Slow enough for a look at batches in progress."""


@pytest.fixture(scope="module", params=[Kafka39, Kafka44], ids=["3.9.1", "4.4.0"])
def three_brokers(request: pytest.FixtureRequest) -> Iterator[KafkaCluster]:
    with request.param(3) as cluster:
        Reassigner(cluster.bootstrap, cluster.folder).json(
            "topics", "create", "orders", "-p", str(PARTITIONS), "-r", "2"
        )
        fill(cluster, "orders", 1500)
        yield cluster


@pytest.fixture
def operator(three_brokers: KafkaCluster, tmp_path: Path) -> Reassigner:
    return Reassigner(three_brokers.bootstrap, tmp_path)


async def test_brokers_are_drained_extended_and_rebalanced_under_load(
    three_brokers: KafkaCluster, operator: Reassigner
) -> None:
    broker = ConfigResource(ConfigResourceType.BROKER, "1")
    async with await AdminClient.open(three_brokers.bootstrap) as admin:
        (await admin.alter_configs({broker: ConfigChange(set={RATES[0]: "7654321"})})).raise_first()
    own = {f"{broker} {RATES[0]}": "7654321"}

    async def as_before() -> Any:
        return await throttles(three_brokers) == own

    await eventually(as_before, "the throttle of the user is set")
    with Load(three_brokers.bootstrap, "orders") as load:
        drain = operator.plan("--drain", "3")
        assert operator.rows("reassign-partitions", "execute", drain, *SLOW, "--dry-run") == []
        assert operator.audit() == ""

        # Killed in a batch: the throttles stay, and the journal has what they replaced.
        with operator.launch("execute", drain, *SLOW) as running:
            wait_for_audit(operator, "started batch 1")
            end(running, signal.SIGKILL)
        assert await throttles(three_brokers) != own
        status = operator.run("reassign", "status", "--journal", operator.folder / "journals")
        assert "is not complete, and no process executes it" in status.err
        assert "continue it with `resume`, or end it with `cancel`" in status.err
        for force in ((), ("--force",)):
            refused = operator.run(
                "reassign", "execute", drain, "--yes", *force, "--journal", operator.folder / "journals"
            )
            reason = status.err.splitlines(keepends=True)[0]
            assert (refused.code, refused.err) == (1, reason.replace("run ", "Error: run ", 1))

        # Interrupted in a later batch.
        with operator.launch("resume") as running:
            wait_for_audit(operator, "started batch 2")
            printed = end(running, signal.SIGINT)
            assert running.process.returncode == 130
        assert "Interrupted: moves in progress continue on the brokers" in printed
        [resumed] = operator.rows("reassign-partitions", "resume")
        assert (resumed["phase"], resumed["failed"], resumed["throttled"]) == ("completed", 0, [])
        assert all(3 not in replicas for replicas in await replicas_of(three_brokers, "orders"))
        assert {row["status"] for row in operator.rows("reassign-partitions", "verify", drain)} == {"completed"}
        await eventually(as_before, "throttles are restored")

        # Broker 3 comes back, with one replica more for each partition, and everything is even again.
        operator.rows(
            "reassign-partitions", "execute", operator.plan("--replication-factor", "3", "--topic", "orders"), "--yes"
        )
        assert {frozenset(replica) for replica in await replicas_of(three_brokers, "orders")} == {frozenset({1, 2, 3})}
        operator.rows(
            "reassign-partitions", "execute", operator.plan("--replication-factor", "2", "--topic", "orders"), "--yes"
        )
        balance = operator.plan("--balance", "count", "--balance", "leaders", "--topic", "orders")
        [balanced] = operator.rows("reassign-partitions", "execute", balance, "--yes", "--throttle", "20M")
        assert balanced["phase"] == "completed"
        replicas = await replicas_of(three_brokers, "orders")
        assert [sum(broker in replica for replica in replicas) for broker in (1, 2, 3)] == [8, 8, 8]
        assert [sum(broker == replica[0] for replica in replicas) for broker in (1, 2, 3)] == [4, 4, 4]
    assert (load.errors, load.acknowledged > 0) == ([], True)
    await eventually(as_before, "throttles are restored")

    async def in_sync() -> Any:
        return await under_replicated(three_brokers) == []

    await eventually(in_sync, "no partition is under-replicated")
    async with await AdminClient.open(three_brokers.bootstrap) as admin:
        (await admin.alter_configs({broker: ConfigChange(delete=[RATES[0]])})).raise_first()


@pytest.mark.parametrize("three_brokers", [Kafka44], ids=["4.4.0"], indirect=True)
async def test_run_pauses_while_a_broker_is_down(three_brokers: KafkaCluster, operator: Reassigner) -> None:
    *_, third = three_brokers.brokers
    drain = operator.plan("--drain", "2", "--topic", "orders")
    with operator.launch("execute", drain, *SLOW) as running:
        wait_for_audit(operator, "started batch 1")
        await asyncio.to_thread(third.stop)
        wait_for_audit(operator, "paused: partitions are under-replicated that are not moving")
        wait_for_audit(operator, "changed the throttle to 104857 bytes a second")
        others = operator.folder / "other-journals"
        refused = await asyncio.to_thread(operator.run, "reassign", "execute", drain, "--yes", "--journal", others)
        assert refused.code == 2
        for reason in ("broker 3 is down", "partitions are under-replicated", "Use --force to start anyway"):
            assert reason in refused.err
        await asyncio.to_thread(third.start)
        wait_for_audit(operator, "continued")
        wait_for_audit(operator, "changed the throttle to 1048576 bytes a second")
        assert running.process.wait(timeout=120) == 0
    assert operator.audit().endswith("completed\n")
    assert all(2 not in replicas for replicas in await replicas_of(three_brokers, "orders"))
    assert await throttles(three_brokers) == {}
    operator.rows("reassign-partitions", "rollback", "--yes")


@pytest.mark.parametrize("three_brokers", [Kafka44], ids=["4.4.0"], indirect=True)
async def test_run_pauses_while_a_broker_answers_slowly(three_brokers: KafkaCluster, operator: Reassigner) -> None:
    file = AssignmentFile.from_json(operator.plan("--drain", "2", "--topic", "orders").read_text(encoding="utf-8"))
    folder = operator.folder / "journals" / "cluster"
    # On a busy machine, brokers are slow before the first move as well.
    options = ExecutionOptions(poll_seconds=0.1, health_seconds=0.1, latency_factor=2.0, least_latency=0.1)
    async with await AdminClient.open(three_brokers.bootstrap) as admin:
        snapshot = await read_snapshot(admin)
        leader = (await admin.describe_quorum()).leader
        slow = next(broker for broker in three_brokers.brokers if broker.id not in (2, leader))
        planned = batches(moves_of(snapshot, file.targets), BatchLimits(data=4 << 20))
        details = started_details(snapshot.cluster_id, planned, 1 << 19, elections=False)
        with RunFolder.create(folder, {PLAN: file.to_json()}, details, print) as run:
            executing = asyncio.create_task(Executor(admin, run, options).run())
            await asyncio.to_thread(wait_for_audit, operator, "started batch 1")
            with Slowed(slow):
                await asyncio.to_thread(wait_for_audit, operator, f"paused: broker {slow.id} answers in")
                await asyncio.to_thread(wait_for_audit, operator, "changed the throttle to 52428 bytes a second")
            await asyncio.to_thread(wait_for_audit, operator, "continued")
            await asyncio.wait_for(executing, 120)
    assert operator.audit().endswith("completed\n")
    assert all(2 not in replicas for replicas in await replicas_of(three_brokers, "orders"))
    assert await throttles(three_brokers) == {}


async def test_cancelled_run_is_undone(three_brokers: KafkaCluster, operator: Reassigner) -> None:
    before = await replicas_of(three_brokers, "orders")
    drain = operator.plan("--drain", "1", "--topic", "orders")
    with operator.launch("execute", drain, *SLOW) as running:
        wait_for_audit(operator, "started batch 2")
        moving = operator.rows("reassign-partitions", "status")
        assert all(row["total"] > 0 and row["progress"].endswith("%") for row in moving)
        assert all(row["seconds_left"] is not None for row in moving), "at the throttle if nothing has just arrived"
        end(running, signal.SIGKILL)
    for verb in ("resume", "cancel"):  # the controller would accept both
        checked = operator.run("reassign", verb, "--dry-run", "--journal", operator.folder / "journals")
        assert (checked.code, "would fail" in checked.err) == (0, False), checked
    [cancelled] = operator.rows("reassign-partitions", "cancel", "--yes")
    assert (cancelled["phase"], cancelled["throttled"]) == ("cancelled", [])
    assert operator.rows("reassign-partitions", "status") == []

    async def clean() -> Any:
        return await throttles(three_brokers) == {}

    await eventually(clean, "throttles are removed")
    operator.run("reassign", "verify", drain)
    [undone] = operator.rows("reassign-partitions", "rollback", "--yes")
    assert undone["phase"] == "completed"
    assert await replicas_of(three_brokers, "orders") == before


async def test_plan_that_does_not_fit_the_cluster_is_refused(three_brokers: KafkaCluster, operator: Reassigner) -> None:
    def refused(document: object) -> str:
        file = operator.folder / "bad.json"
        file.write_text(document if isinstance(document, str) else json.dumps(document), encoding="utf-8")
        run = operator.run("reassign", "execute", file, "--yes", "--journal", operator.folder / "journals")
        assert run.code == 2
        return run.err

    def entry(**changes: object) -> dict[str, object]:
        return {"version": 1, "partitions": [{"topic": "orders", "partition": 0, "replicas": [1, 2]} | changes]}

    assert "expected JSON" in refused("no JSON")
    assert "expected the broker ids of orders-0" in refused(entry(replicas=[]))
    assert "broker 9 does not exist" in refused(entry(replicas=[1, 9]))
    assert "partitions that do not exist any more: gone-0" in refused(entry(topic="gone"))
    before = {"kwire": {"cluster_id": None, "previous": [["orders", 0, [9]]]}}
    [now, *_] = await replicas_of(three_brokers, "orders")
    other = [broker_id for broker_id in (1, 2, 3) if broker_id != now[0]]
    assert "replicas have changed since the plan was made: orders-0" in refused(entry(replicas=other) | before)
    assert operator.audit() == ""


async def test_throttle_that_brokers_refuse_starts_nothing(three_brokers: KafkaCluster, operator: Reassigner) -> None:
    [now, *_] = await replicas_of(three_brokers, "orders")
    file, journals = operator.folder / "plan.json", operator.folder / "journals"
    other = [broker_id for broker_id in (1, 2, 3) if broker_id != now[0]]
    entry = {"topic": "orders", "partition": 0, "replicas": other}
    file.write_text(json.dumps({"version": 1, "partitions": [entry]}), encoding="utf-8")
    for confirmation in ("--dry-run", "--yes"):
        run = operator.run(
            *("reassign", "execute", file, "--force", "--journal", journals, "--throttle", "99999999T", confirmation)
        )
        assert (run.code, "Not a number of type LONG" in run.err, run.out) == (1, True, ""), run
    assert not journals.exists() or not [*journals.rglob("plan.json")]
    assert (await replicas_of(three_brokers, "orders"))[0] == now


async def test_topic_that_is_deleted_meanwhile_is_skipped(three_brokers: KafkaCluster, operator: Reassigner) -> None:
    operator.json("topics", "create", "short-lived", "-p", "1", "-r", "1")
    plan = operator.plan(
        "--topic", "short-lived", "--drain", str((await replicas_of(three_brokers, "short-lived"))[0][0])
    )
    operator.json("topics", "delete", "short-lived", "--yes")
    [run] = [operator.run("reassign", "execute", plan, "--yes", "--force", "--journal", operator.folder / "journals")]
    assert run.code == 0
    assert "partitions that do not exist any more: short-lived-0" in run.err
    assert "nothing is to be done" in run.err
