"""Runs of reassignments, as the verbs start, follow, and show them: options, files, checks, and rows of results."""

from __future__ import annotations

from pathlib import Path

from kwire._util.folder_lock import FolderLock
from kwire._util.light_dataclasses import dataclass, field
from kwire._util.light_typing import TYPE_CHECKING, Annotated, NamedTuple, TypeAlias
from kwire._util.products import install_hint
from kwire._util.readable import bar, counted, duration_text, size_text
from kwire.client.admin import AdminError, BrokerNotFound
from kwire.client.admin.values import ReassignmentState
from kwire.errors import KwireError
from kwire.protocol.errors import ConnectionFault
from kwire_admin.operations.declaration import Failed
from kwire_admin.operations.parameters import Conflict, InvalidArgument, NotFound, Option, Syntax, read_argument
from kwire_admin.operations.rows import column
from kwire_admin.reassignment.assignment_file import AssignmentFile
from kwire_admin.reassignment.errors import InvalidAssignment, ReassignError
from kwire_admin.reassignment.execution.executor import Executor
from kwire_admin.reassignment.execution.health import cluster_problems, invalid_targets, stale_parts
from kwire_admin.reassignment.execution.journal import Phase, RunState, started_details
from kwire_admin.reassignment.execution.run_folder import (
    PLAN,
    ROLLBACK,
    RunFolder,
    cluster_folder,
    is_over,
    newest_run,
    read_run,
    running_process,
)
from kwire_admin.reassignment.execution.throttles import check_rate, throttled_by
from kwire_admin.reassignment.plan import Plan, by_topic, moves_of
from kwire_admin.reassignment.schedule import BatchLimits, batches
from kwire_admin.reassignment.snapshot_reader import read_snapshot
from kwire_admin.reassignment.throttle import RATES

if TYPE_CHECKING:
    from collections.abc import Iterable

    from kwire_admin.operations.declaration import Rows
    from kwire_admin.operations.run import Run
    from kwire_admin.reassignment.execution.executor import BatchProgress
    from kwire_admin.reassignment.plan import Move
    from kwire_admin.reassignment.snapshot import ClusterSnapshot


UNITS = {None: 1, "K": 2**10, "M": 2**20, "G": 2**30, "T": 2**40}
SIZE = Syntax(
    # Every match is one byte at least: a number below 1 has a unit.
    r"(?:([1-9][0-9]{0,14}(?:\.[0-9]{1,3})?)(?:([KMGTkmgt])[Ii]?)?"
    r"|(0\.(?:[1-9][0-9]{0,2}|0[1-9][0-9]?|00[1-9]))([KMGTkmgt])[Ii]?)[Bb]?(?:/[Ss])?",
    "a size: write a number with K, M, G, or T, such as 50M",
)


@dataclass(frozen=True, slots=True)
class RunSummary:
    """A run of a reassignment.

    Attributes:
        name: the run, which is the name of its folder.
        phase: `moving`, `paused`, `interrupted`, `cancelling`, `cancelled`, or `completed`.
        moves: partitions that it moves.
        completed_batches: batches that are complete.
        batches: all batches.
        failed: partitions that could not be moved.
        throttled: brokers and topics that may be throttled by it.
        folder: the folder with its journal, plan, and rollback file.
    """

    name: str
    phase: str
    moves: int
    completed_batches: int
    batches: int
    failed: int
    throttled: tuple[str, ...]
    folder: str = field(metadata=column(table=False))


def summary(path: Path, state: RunState) -> RunSummary:
    """Return the row of a run."""
    return RunSummary(
        path.name,
        state.phase,
        len(state.moves),
        state.completed_batches,
        len(state.batches),
        len(state.failed),
        tuple(sorted(state.throttles)),
        str(path),
    )


def check_not_running(path: Path) -> None:
    """Check that no process executes a run, before a dry run says what would be done.

    Raises:
        FolderInUse: a process does.
    """
    FolderLock(path.parent).release()


def finished(path: Path) -> Rows[RunSummary]:
    """Return the row of a run that has ended.

    Raises:
        Failed: it could not move some partitions.
    """
    state = read_run(path)
    rows: Rows[RunSummary] = [summary(path, state)]
    if state.failed:
        raise Failed(rows, f"{len(state.failed)} of {len(state.moves)} partitions could not be moved")
    return rows


async def runs_of(run: Run, journal: Path | None) -> Path:
    """Return the folder of the runs of a cluster."""
    return cluster_folder(journal, (await run.admin.describe_cluster()).cluster_id)


async def note_throttles(run: Run) -> None:
    """Name the brokers with a throttle that nothing needs: a tool that was killed, or another tool, has left it."""
    if run.admin.dialect != "kafka":
        return
    try:
        left = await throttled_by(run.admin)
    except (AdminError, BrokerNotFound, ConnectionFault) as error:
        run.note(f"it is not known whether brokers are throttled: {error}")
        return
    if left:
        verb = "has" if len(left) == 1 else "have"
        run.note(
            f"{', '.join(left)} {verb} a throttle of replication although nothing moves: "
            f"`configs delete {left[0]} {' '.join(RATES)}` removes it"
        )


async def newest_run_of(run: Run, journal: Path | None) -> tuple[Path, RunState]:
    """Return the folder and the state of the newest run.

    Raises:
        NotFound: the cluster has no run.
    """
    folder = await runs_of(run, journal)
    newest = newest_run(folder)
    if newest is None:
        raise NotFound(f"{folder} has no run of this cluster: `execute` starts one")
    return newest, read_run(newest)


def read_file(path: Path) -> AssignmentFile:
    """Return the content of a plan file.

    Raises:
        InvalidArgument: the file cannot be read, or is not a reassignment.
    """
    try:
        return AssignmentFile.from_json(read_argument(path))
    except InvalidAssignment as error:
        raise InvalidArgument(f"{path}: {error}") from None


def parse_size(text: str) -> int:
    """Return bytes for a text such as `50M`, `1.5GiB`, or `1048576`. Units are powers of 1024.

    Raises:
        InvalidArgument: the text is not a size.
    """
    number, unit, fraction, unit_of_fraction = SIZE.match(text).groups()
    letter = unit or unit_of_fraction
    return int(float(number or fraction) * UNITS[letter and letter.upper()])


def executor(run: Run, folder: RunFolder) -> Executor:
    """Return an executor that reports its progress to the user."""
    run.interruption = f"Interrupted: {_left(folder)}"

    def report(measured: BatchProgress) -> None:
        data = f" {size_text(measured.done)} of {size_text(measured.total)}" if measured.total else ""
        share = measured.done / measured.total if measured.total else 0.0
        run.show(f"batch {measured.batch} of {measured.batches}: {measured.moving} moving {bar(share)}{data}")

    return Executor(run.admin, folder, on_progress=report)


async def follow(run: Run, folder: RunFolder) -> None:
    """Execute a run to its end. After an error, say how it can be continued.

    Raises:
        KwireError: the cluster cannot be reached, or refused a request.
    """
    try:
        await executor(run, folder).run()
    except KwireError:
        run.note(f"not complete: {_left(folder)}")
        raise


def _left(folder: RunFolder) -> str:
    return (
        f"moves in progress continue on the brokers. `status` explains run {folder.path.name}, `resume` continues it, "
        "and `cancel` ends it."
    )


def explain(state: RunState, path: Path, process: str | None) -> str:
    """Return a sentence about what a run is doing and what to do next."""
    done = f"batches complete: {state.completed_batches} of {len(state.batches)}"
    if process is not None:
        paused = f"; it is paused: {state.reason}" if state.phase is Phase.PAUSED else ""
        return f"run {path.name} is executed by {process}; {done}{paused}"
    if state.phase.is_final and not state.throttles:
        return f"run {path.name} is {state.phase}; {done}"
    throttled = f"; {', '.join(sorted(state.throttles))} may be throttled" if state.throttles else ""
    # `resume` refuses a run that is being cancelled.
    resume = "" if state.phase is Phase.CANCELLING else "continue it with `resume`, or "
    return (
        f"run {path.name} is not complete, and no process executes it; {done}{throttled}: {resume}end it with `cancel`"
    )


Throttle: TypeAlias = Annotated[
    str | None, Option("Bytes a second that a broker may send and receive, such as 50M.", "RATE", syntax=SIZE)
]
BatchSize: TypeAlias = Annotated[
    str | None, Option("Bytes that a batch copies [default: 10G for each broker].", "SIZE", syntax=SIZE)
]
MovesPerBroker: TypeAlias = Annotated[
    int, Option("Replicas that a broker sends or receives at a time [default: 5].", "N", minimum=1)
]
JournalFolder: TypeAlias = Annotated[
    Path | None,
    Option("The folder for journals of all clusters [default: ~/.local/state/kwire/reassign].", "FOLDER"),
]


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
