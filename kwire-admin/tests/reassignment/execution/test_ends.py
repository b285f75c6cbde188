"""Ends of reassignments: moves of other tools, rollbacks, and throttles of dead brokers."""

from __future__ import annotations

import random
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from kwire.client.admin import (
    AdminClient,
    AdminError,
    Outcomes,
    PartitionDescription,
    PartitionMove,
    ReassignmentStatus,
    TopicDescription,
)
from kwire.client.admin.group_values import TopicPartition
from kwire.messages.kafka.error_codes import ErrorCode
from kwire.testing import FakeCluster
from kwire_admin.compat.scripts.reassign_partitions import throttle_brokers
from kwire_admin.operations.parameters import NotFound
from kwire_admin.operations.reassignment_runs import explain
from kwire_admin.operations.run import Run
from kwire_admin.operations.verbs import reassign_partitions
from kwire_admin.operations.verbs.reassign_partitions import cancel, status
from kwire_admin.reassignment.errors import ReassignError
from kwire_admin.reassignment.execution.executor import ExecutionOptions, Executor
from kwire_admin.reassignment.execution.journal import EventKind, Phase, started_details
from kwire_admin.reassignment.execution.run_folder import RunFolder
from kwire_admin.reassignment.plan import Move

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from kwire.client.admin import ConfigChange, ConfigResource
    from kwire_admin.operations.reassignment_runs import ExecutionRequest


class Moving(AdminClient):
    """A client of a cluster with moves; the fake cluster has no requests for them."""

    moves: Mapping[int, PartitionMove]
    cancelled: Sequence[Mapping[str, Sequence[int]]] = ()

    async def list_reassignments(self, targets: Any = None) -> list[ReassignmentStatus]:
        del targets
        return [ReassignmentStatus("orders", dict.fromkeys(self.moves, "moving"), None, self.moves)]

    async def cancel_reassignments(
        self, partitions: Mapping[str, Sequence[int]], *, validate_only: bool = False
    ) -> Outcomes:
        if not validate_only:
            self.cancelled = [*self.cancelled, partitions]
        return Outcomes({f"{topic}-{index}": None for topic, indexes in partitions.items() for index in indexes})


async def test_moves_of_other_tools_are_cancelled(tmp_path: Path) -> None:
    questions: list[str] = []
    with FakeCluster(brokers=1) as cluster:
        cluster.set_api_versions(45, 0, 1)  # AlterPartitionReassignments
        async with await Moving.open(cluster.bootstrap) as admin:
            admin.moves = {3: PartitionMove((1, 2), (2,), ()), 1: PartitionMove((1, 2), (2,), ())}
            await cancel(Run(admin, dry_run=True), journal=tmp_path)
            assert not admin.cancelled
            [row] = await cancel(Run(admin, confirm=questions.append), journal=tmp_path)
            assert admin.cancelled == [{"orders": [1, 3]}]
            assert (getattr(row, "phase", None), getattr(row, "moves", None)) == ("cancelled", 2)
            assert "orders-1, orders-3" in questions[0]
            admin.moves = {}
            with pytest.raises(NotFound, match="has no run of this cluster, and no partition is being moved"):
                await cancel(Run(admin), journal=tmp_path)


@pytest.mark.parametrize(("given", "expected"), [(None, "2097152"), ("1M", "1M")])
async def test_rollback_keeps_the_throttle_of_its_run(
    given: str | None, expected: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    requests: list[ExecutionRequest] = []
    state = SimpleNamespace(rate=2 * 2**20, phase=Phase.COMPLETED)

    async def newest(*_: object) -> tuple[Path, Any]:
        return tmp_path, state

    async def execute(run: Run, file: object, request: ExecutionRequest, question: str) -> list[Any]:
        del run, file, question
        requests.append(request)
        return []

    monkeypatch.setattr(reassign_partitions, "newest_run_of", newest)
    monkeypatch.setattr(reassign_partitions, "is_over", lambda _: True)
    monkeypatch.setattr(reassign_partitions, "read_file", lambda _: None)
    monkeypatch.setattr(reassign_partitions, "execute_file", execute)
    await reassign_partitions.rollback(Run(None), throttle=given)
    assert [request.throttle for request in requests] == [expected]


class Throttled(AdminClient):
    """A client that records the resources whose configs it changes."""

    async def alter_configs(
        self, changes: Mapping[ConfigResource, ConfigChange], *, validate_only: bool = False
    ) -> Outcomes:
        del validate_only
        self.altered = [*getattr(self, "altered", []), *map(str, changes)]
        return Outcomes({str(resource): None for resource in changes})


async def test_script_sets_no_throttle_on_a_dead_broker() -> None:
    with FakeCluster(brokers=2, topics=["orders"], partitions=1) as cluster:
        async with await Throttled.open(cluster.bootstrap) as admin:
            partition = PartitionDescription(0, 1, (1, 7), (1,))  # broker 7 is gone
            topic = TopicDescription("orders", (partition,))
            await throttle_brokers(admin, {"orders": topic}, {"orders": {0: (1, 2)}}, 1000)
            assert sorted(admin.altered) == ["broker 1", "broker 2", "topic orders"]
            assert admin.altered[-1] == "topic orders", "rates come first: without them the lists have no effect"


@pytest.mark.parametrize("seed", range(6))
async def test_progress_of_a_dead_broker_is_not_known(seed: int, tmp_path: Path) -> None:
    """Neither the bytes nor the time left: without the broker, the move does not end. A dead source is alike."""
    choose = random.Random(seed)
    dead = choose.choice([1, 2, 3])
    replicas = [tuple(choose.sample([1, 2, 3], 2)) for _ in range(6)]  # from the second to the first
    warnings: list[str] = []
    with FakeCluster(brokers=3) as cluster:
        cluster.create_topic("orders", assignment=replicas)
        cluster.set_ends("orders", dict.fromkeys(range(6), 1000))
        async with await Moving.open(cluster.bootstrap) as admin:
            admin.moves = {
                index: PartitionMove((new, old), (new,), (old,)) for index, (new, old) in enumerate(replicas)
            }
            cluster.stop_broker(dead)
            rows: list[Any] = await status(Run(admin, warn=warnings.append), sample=0, journal=tmp_path)
    known = {row.partition for row in rows if row.done is not None}
    assert known == {index for index, brokers in enumerate(replicas) if dead not in brokers}
    assert all(row.seconds_left is None for row in rows if row.partition not in known)
    waiting = sum(new == dead for new, _ in replicas)
    assert len(warnings) == bool(waiting)
    assert not warnings or warnings[0].startswith(f"broker {dead} is not alive, so the end of {waiting} move")


async def test_throttles_that_nothing_needs_are_named(tmp_path: Path) -> None:
    notes: list[str] = []
    with FakeCluster(brokers=3, topics=["orders"]) as cluster:
        async with await Moving.open(cluster.bootstrap) as admin:
            admin.moves = {}
            run = Run(admin, note=notes.append)
            await status(run, journal=tmp_path)
            assert notes == []
            cluster.set_config("follower.replication.throttled.rate", "1000", broker=2)
            await status(run, journal=tmp_path)
    [note] = notes
    assert note.startswith("broker/2 has a throttle of replication although nothing moves: `configs delete broker/2 ")


@pytest.mark.parametrize("phase", [phase for phase in Phase if not phase.is_final])
def test_advice_is_a_command_that_accepts_the_run(phase: Phase, tmp_path: Path) -> None:
    state: Any = SimpleNamespace(phase=phase, completed_batches=0, batches=[()], throttles={"broker 1": {}}, reason="")
    assert ("`resume`" in explain(state, tmp_path, None)) == (phase is not Phase.CANCELLING)
    assert "`cancel`" in explain(state, tmp_path, None)


class Refusing(Moving):
    """A client of a cluster that refuses to cancel some moves, and cancels others at the second request."""

    refused: frozenset[int]

    async def cancel_reassignments(
        self, partitions: Mapping[str, Sequence[int]], *, validate_only: bool = False
    ) -> Outcomes:
        assert not validate_only
        outcomes: dict[str, AdminError | None] = {}
        for index in partitions["orders"]:
            code = ErrorCode.INVALID_REPLICA_ASSIGNMENT
            error = AdminError.of_kafka(code, f"orders-{index}", "it would require an unclean leader election")
            outcomes[f"orders-{index}"] = error if index in self.refused else None
        if self.cancelled:
            self.moves = {index: move for index, move in self.moves.items() if index in self.refused}
        self.cancelled = [*self.cancelled, partitions]
        return Outcomes(outcomes)


@pytest.mark.parametrize("seed", range(5))
async def test_cancel_ends_although_the_cluster_refuses_a_move(seed: int, tmp_path: Path) -> None:
    choose = random.Random(seed)
    moves = [Move(TopicPartition("orders", index), (1,), (2,), 10, None) for index in range(4)]
    with FakeCluster(brokers=2) as cluster:
        async with await Refusing.open(cluster.bootstrap) as admin:
            admin.moves = {index: PartitionMove((1, 2), (2,), (1,)) for index in range(4)}
            admin.refused = frozenset(choose.sample(range(4), choose.randint(0, 4)))
            details = started_details("cluster", [moves], None, elections=False)
            with RunFolder.create(tmp_path, {}, details, lambda _: None) as run:
                run.record(EventKind.BATCH_STARTED, batch=0)
                executor = Executor(admin, run, ExecutionOptions(poll_seconds=0))
                if not admin.refused:
                    await executor.cancel()
                    assert run.state.phase is Phase.CANCELLED
                    return
                with pytest.raises(ReassignError, match=r"orders-\d.* unclean leader election"):
                    await executor.cancel()
                assert run.state.phase is Phase.CANCELLING, "`cancel` may succeed later"
