"""Check a plan and execute it: what `execute` and `rollback` share."""

from __future__ import annotations

from kwire._util.light_typing import TYPE_CHECKING, NamedTuple
from kwire._util.products import install_hint
from kwire._util.readable import counted, duration_text, size_text
from kwire.client.admin.values import ReassignmentState
from kwire_admin.operations.parameters import Conflict
from kwire_admin.operations.reassignment_runs import RunSummary, explain, finished, follow, parse_size, runs_of
from kwire_admin.reassignment.errors import ReassignError
from kwire_admin.reassignment.execution.health import cluster_problems, invalid_targets, stale_parts
from kwire_admin.reassignment.execution.journal import started_details
from kwire_admin.reassignment.execution.run_folder import (
    PLAN,
    ROLLBACK,
    RunFolder,
    is_over,
    newest_run,
    read_run,
    running_process,
)
from kwire_admin.reassignment.execution.throttles import check_rate
from kwire_admin.reassignment.plan import Plan, by_topic, moves_of
from kwire_admin.reassignment.schedule import BatchLimits, batches
from kwire_admin.reassignment.snapshot_reader import read_snapshot

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from kwire_admin.operations.declaration import Rows
    from kwire_admin.operations.run import Run
    from kwire_admin.reassignment.assignment_file import AssignmentFile
    from kwire_admin.reassignment.plan import Move
    from kwire_admin.reassignment.snapshot import ClusterSnapshot

__all__ = ["ExecutionRequest", "check_moves", "execute_file"]


class ExecutionRequest(NamedTuple):
    """The options of an execution, as texts of the command line."""

    throttle: str | None
    batch_size: str | None
    moves_per_broker: int
    elections: bool
    force: bool
    journal: Path | None


async def execute_file(run: Run, file: AssignmentFile, request: ExecutionRequest, question: str) -> Rows[RunSummary]:
    """Execute a plan, or say what would be done in a dry run.

    Raises:
        AdminError: a broker refuses the throttle.
        Conflict: the plan does not fit the cluster, or the cluster is not healthy; the text has all reasons.
        ReassignError: an earlier run is not complete, or throttles are left.
        FolderInUse: another process has just begun to execute a plan on this cluster.
    """
    rate = None if request.throttle is None else parse_size(request.throttle)
    folder = await runs_of(run, request.journal)
    _check_earlier_run(folder)
    snapshot = await read_snapshot(run.admin)
    await _check(run, file, snapshot, force=request.force)
    plan = Plan(snapshot, moves_of(snapshot, file.targets))
    if not plan.moves:
        run.note("all partitions have the replicas of the plan: nothing is to be done")
        return []
    if run.admin.dialect == "kip4":
        run.note("a cluster of kwire's nodes has no data to copy: no throttle is set, and one batch runs at a time")
    # Free space limits a batch, because old replicas are deleted only when their partition has moved.
    limits = BatchLimits(
        data=0 if request.batch_size is None else parse_size(request.batch_size),
        moves_per_broker=request.moves_per_broker,
        free={broker.id: broker.free_bytes for broker in snapshot.brokers if broker.free_bytes is not None},
    )
    planned = batches(plan.moves, limits)
    if rate is not None and run.admin.dialect == "kafka":
        await check_rate(run.admin, plan.moves, rate)
    for line in _steps(plan, planned, rate):
        run.note(line)
    if run.dry_run:
        await check_moves(run, plan.moves)
        run.note("dry run: nothing was changed")
        return []
    run.confirm(f"{question}: move {counted(len(plan.moves), 'partition')}?")
    # Files and the first event are on disk before the first request: a killed run can be continued or rolled back.
    files = {PLAN: plan.file().to_json(), ROLLBACK: plan.rollback().to_json()}
    details = started_details(snapshot.cluster_id, planned, rate, elections=request.elections)
    with RunFolder.create(folder, files, details, run.note) as started:
        run.note(f"journal and rollback file: {started.path}")
        await follow(run, started)
        return finished(started.path)


def _check_earlier_run(folder: Path) -> None:
    """Check that no earlier run is open, before its moves in progress are taken for those of others.

    Raises:
        ReassignError: a run is not complete, or throttles are left.
    """
    newest = newest_run(folder)
    if newest is not None and not is_over(state := read_run(newest)):
        raise ReassignError(explain(state, newest, running_process(folder)))


async def _check(run: Run, file: AssignmentFile, snapshot: ClusterSnapshot, *, force: bool) -> None:
    """Check a plan against the cluster.

    Raises:
        Conflict: it cannot be executed, or not without force.
    """
    if invalid := invalid_targets(file, snapshot):
        raise Conflict("the plan cannot be executed: " + "; ".join(invalid))
    moving = sum(
        state == ReassignmentState.MOVING
        for topic in await run.admin.list_reassignments()
        for state in topic.partitions.values()
    )
    problems = stale_parts(file, snapshot) + cluster_problems(snapshot, moving)
    if problems and not force:
        raise Conflict("nothing was started: " + "; ".join(problems) + ". Use --force to start anyway")
    for problem in problems:
        run.warn(f"{problem}.")


async def check_moves(run: Run, moves: Iterable[Move]) -> None:
    """Say in a dry run which moves the cluster would refuse. A run records them as failed, and goes on.

    Raises:
        AdminError: the cluster would refuse all of them.
    """
    if run.admin.dialect == "kafka":  # nodes check the moves of one batch at a time
        targets = by_topic({move.key: move.after for move in moves})
        for error in (await run.admin.reassign_partitions(targets, validate_only=True)).errors.values():
            run.note(f"would fail: {error}")


def _duration(planned: tuple[tuple[Move, ...], ...], rate: int) -> str:
    """Return the estimated duration, or why there is none: the simulator needs NumPy, an execution does not."""
    try:
        from kwire_admin.reassignment.simulator import simulate
    except ModuleNotFoundError as error:
        return f"the duration is unknown, {install_hint(error) or error}"
    return f"about {duration_text(simulate(planned, rate).seconds)}"


def _steps(plan: Plan, planned: tuple[tuple[Move, ...], ...], rate: int | None) -> list[str]:
    """Return what an execution does."""
    data = f" and copy {size_text(plan.data)}" if plan.data else ""
    moved = f"{counted(len(plan.moves), 'partition')} {'changes' if len(plan.moves) == 1 else 'change'}"
    lines = [f"{moved} in {counted(len(planned), 'batch')}{data}"]
    if rate is not None and plan.data:
        lines.append(f"each broker sends and receives at most {size_text(rate)}/s: {_duration(planned, rate)}")
    elif plan.data:
        lines.append("no throttle: brokers copy as fast as they can")
    return lines
