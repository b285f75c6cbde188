"""`kafka reassign-partitions`: executions and simulations of plans."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path

from kwire._util.concurrency import sleep
from kwire._util.light_dataclasses import dataclass, field
from kwire._util.light_typing import TYPE_CHECKING, Annotated
from kwire._util.readable import bar, counted, duration_text, size_text
from kwire.client.admin import AdminError
from kwire.client.admin.group_values import TopicPartition
from kwire.client.admin.values import ReassignmentState
from kwire.messages.kafka.error_codes import ErrorCode
from kwire_admin.operations.cluster_health.checks import unless_no_quorum
from kwire_admin.operations.declaration import Failure, Rows, Unhealthy, operation
from kwire_admin.operations.parameters import Argument, Conflict, Danger, NotFound, Option
from kwire_admin.operations.reassignment_runs import (
    SIZE,
    BatchSize,
    ExecutionRequest,
    JournalFolder,
    MovesPerBroker,
    RunSummary,
    Throttle,
    check_moves,
    check_not_running,
    execute_file,
    executor,
    explain,
    finished,
    follow,
    newest_run_of,
    note_throttles,
    parse_size,
    read_file,
    runs_of,
    summary,
)
from kwire_admin.operations.rows import column
from kwire_admin.operations.run import Run
from kwire_admin.operations.verbs.reassign_partitions.plan import snapshot_of
from kwire_admin.reassignment.execution.journal import EventKind, Phase
from kwire_admin.reassignment.execution.moves_in_progress import read_progress
from kwire_admin.reassignment.execution.run_folder import (
    ROLLBACK,
    RunFolder,
    is_over,
    newest_run,
    read_run,
    running_process,
)
from kwire_admin.reassignment.plan import BrokerCourse, by_topic, moves_of, partitions_by_topic
from kwire_admin.reassignment.schedule import BatchLimits, batches
from kwire_admin.reassignment.snapshot_reader import read_snapshot

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from kwire_admin.reassignment.execution.moves_in_progress import MoveProgress


@dataclass(frozen=True, slots=True)
class MovingPartition:
    """A partition that is being reassigned.

    Attributes:
        name: the topic.
        partition: its index.
        status: `moving`, `completed`, or `failed`.
        replicas: its replicas at the moment; None if the cluster does not report them.
        adding: replicas that are added.
        removing: replicas that are removed.
        done: bytes that the added replicas have; None if the cluster does not report them.
        total: bytes that they are to have.
        progress: a bar.
        seconds_left: duration at the present rate, or at the throttle of the newest run if no bytes have just
            arrived, since a throttle lets them pass in bursts; None if neither is known.
    """

    name: str
    partition: int
    status: str
    replicas: tuple[int, ...] | None
    adding: tuple[int, ...] | None
    removing: tuple[int, ...] | None
    done: int | None = field(metadata=column(unit="bytes"))
    total: int | None = field(metadata=column(unit="bytes"))
    progress: str | None
    seconds_left: float | None = field(metadata=column(unit="s"))


@operation(
    nothing="No reassignments are in progress.",
    examples=("reassign-partitions status", "reassign-partitions status --output json"),
)
async def status(
    run: Run,
    sample: Annotated[
        float, Option("Seconds over which the rate is measured [default: 1].", "SECONDS", minimum=0, maximum=600)
    ] = 1.0,
    journal: JournalFolder = None,
) -> Rows[MovingPartition]:
    """List the reassignments in progress, also of other tools, and explain the newest run of kwire."""
    topics = await unless_no_quorum(run.admin, run.admin.list_reassignments, is_short=True)
    adding = {
        TopicPartition(topic.topic, index): move.adding
        for topic in topics
        for index, move in topic.moves.items()
        if move.adding
    }
    before: dict[TopicPartition, MoveProgress] = {}
    now: dict[TopicPartition, MoveProgress] = {}
    # Two samples give the rate; nodes of kwire have no logs to measure.
    if adding and run.admin.dialect == "kafka":
        before = await _progress(run, adding)
        if before:
            await sleep(sample)
            now = await _progress(run, adding)
    folder = await runs_of(run, journal)
    newest = newest_run(folder)
    state = None if newest is None else read_run(newest)
    throttle = None if state is None or is_over(state) else state.rate
    at_throttle = {} if throttle is None else _seconds_at(throttle, now, adding)
    rows: Rows[MovingPartition] = []
    for topic in topics:
        error: AdminError | None = topic.error
        if error is not None:
            rows.append(Failure(topic.topic, error))
        for index, status_now in sorted(topic.partitions.items()):
            move = topic.moves.get(index)
            replicas, added, removed = (None, None, None) if move is None else move
            key = TopicPartition(topic.topic, index)
            measured = _measured(before.get(key), now.get(key), sample, at_throttle.get(key))
            rows.append(MovingPartition(topic.topic, index, str(status_now), replicas, added, removed, *measured))
    await _note_dead_targets(run, adding)
    if newest is not None and state is not None:
        run.note(explain(state, newest, running_process(folder)))
    if not rows and (state is None or is_over(state)):
        await note_throttles(run)
    return rows


async def _progress(run: Run, adding: Mapping[TopicPartition, tuple[int, ...]]) -> dict[TopicPartition, MoveProgress]:
    """Return the progress of moves; none for a user who cannot see the log directories."""
    try:
        return await read_progress(run.admin, adding)
    except AdminError as error:
        run.warn(f"the progress of the moves is not known ({error.reason}).")
        return {}


async def _note_dead_targets(run: Run, adding: Mapping[TopicPartition, tuple[int, ...]]) -> None:
    """Name the brokers that are to receive replicas and are not alive: without them, moves do not end."""
    live = {broker.id for broker in (await run.admin.describe_cluster()).brokers} if adding else set()
    waiting = Counter(broker for brokers in adding.values() for broker in brokers if broker not in live)
    for broker, count in sorted(waiting.items()):
        run.warn(f"broker {broker} is not alive, so the end of {counted(count, 'move')} waits for it.")


def _seconds_at(
    rate: int, now: Mapping[TopicPartition, MoveProgress], adding: Mapping[TopicPartition, Collection[int]]
) -> dict[TopicPartition, float]:
    """Return the seconds until the brokers that receive a partition have all that they are to receive."""
    left: Counter[int] = Counter()
    for key, progress in now.items():
        for broker in adding[key]:
            left[broker] += (progress.total - progress.done) // len(adding[key])
    return {key: max(left[broker] for broker in adding[key]) / rate for key in now}


def _measured(
    before: MoveProgress | None, now: MoveProgress | None, seconds: float, at_throttle: float | None
) -> tuple[int | None, int | None, str | None, float | None]:
    """Return bytes done and in total, a bar, and the seconds left."""
    if now is None:
        return None, None, None, None
    rate = 0.0 if before is None or seconds <= 0 else max(now.done - before.done, 0) / seconds
    left = now.total - now.done
    seconds_left = 0.0 if left <= 0 else left / rate if rate else at_throttle
    rounded = None if seconds_left is None else round(seconds_left, 1)
    return now.done, now.total, bar(now.done / now.total if now.total else 1.0), rounded


@dataclass(frozen=True, slots=True)
class VerifiedPartition:
    """A partition of a plan.

    Attributes:
        name: the topic.
        partition: its index.
        status: `completed`, `moving`, or `failed` if it has other replicas and does not move.
        replicas: the replicas of the plan.
    """

    name: str
    partition: int
    status: str
    replicas: tuple[int, ...]


@operation(examples=("reassign-partitions verify reassignment.json",))
async def verify(
    run: Run, file: Annotated[Path, Argument("A plan in Kafka's JSON form.", "FILE", document=True)]
) -> Rows[VerifiedPartition]:
    """Check whether partitions have the replicas of a plan."""
    targets = by_topic(read_file(file).targets)
    rows: Rows[VerifiedPartition] = []
    incomplete = 0
    for topic in await run.admin.list_reassignments(targets):
        if topic.error is not None:
            rows.append(Failure(topic.topic, topic.error))
            incomplete += len(targets[topic.topic])
            continue
        for index, state in sorted(topic.partitions.items()):
            rows.append(VerifiedPartition(topic.topic, index, str(state), targets[topic.topic][index]))
            incomplete += state != ReassignmentState.COMPLETED
    if incomplete:
        raise Unhealthy(rows, f"{counted(incomplete, 'partition')} without the replicas of the plan")
    return rows


@operation(
    Danger.DESTROYS,
    examples=(
        "reassign-partitions execute reassignment.json --dry-run",
        "reassign-partitions execute reassignment.json --throttle 50M",
    ),
)
async def execute(
    run: Run,
    file: Annotated[Path, Argument("A plan in Kafka's JSON form.", "FILE", document=True)],
    throttle: Throttle = None,
    batch_size: BatchSize = None,
    moves_per_broker: MovesPerBroker = 5,
    no_elections: Annotated[bool, Option("Leave leaders where they are.")] = False,
    force: Annotated[bool, Option("Start although the plan is old or the cluster is not healthy.")] = False,
    journal: JournalFolder = None,
) -> Rows[RunSummary]:
    """Execute a plan batch by batch, and follow it to its end.

    It pauses by itself while partitions are under-replicated, or brokers slow, beyond what the moves explain. After
    an interruption or a crash, moves in progress continue on the brokers: `status` explains the state, `resume`
    continues, and `cancel` ends the run.
    """
    request = ExecutionRequest(throttle, batch_size, moves_per_broker, not no_elections, force, journal)
    return await execute_file(run, read_file(file), request, f"Execute {file}")


@operation(Danger.CHANGES, examples=("reassign-partitions resume",))
async def resume(
    run: Run,
    journal: JournalFolder = None,
) -> Rows[RunSummary]:
    """Continue the newest run after an interruption or a crash, and remove its throttles at the end."""
    path, state = await newest_run_of(run, journal)
    if is_over(state):
        raise Conflict(f"run {path.name} is {state.phase}: nothing is left to do")
    if state.phase is Phase.CANCELLING:
        raise Conflict(f"run {path.name} was being cancelled: continue with `cancel`")
    check_not_running(path)
    if run.dry_run:
        run.note(explain(state, path, None))
        rest = [move for batch in state.batches[state.completed_batches :] for move in batch]
        await check_moves(run, [move for move in rest if move.key not in state.failed])
        return [summary(path, state)]
    with RunFolder.take_over(path, run.note) as taken:
        if not taken.state.phase.is_final:
            taken.record(EventKind.TAKEN_OVER)
        await follow(run, taken)
        return finished(path)


@operation(
    Danger.DESTROYS,
    examples=("reassign-partitions rollback --dry-run", "reassign-partitions rollback --throttle 50M"),
)
async def rollback(
    run: Run,
    throttle: Throttle = None,
    batch_size: BatchSize = None,
    moves_per_broker: MovesPerBroker = 5,
    force: Annotated[
        bool, Option("Start although replicas have changed since, or the cluster is not healthy.")
    ] = False,
    journal: JournalFolder = None,
) -> Rows[RunSummary]:
    """Move partitions back to where they were before the newest run, which must be complete or cancelled.

    Without a throttle, the throttle of its run applies.
    """
    path, state = await newest_run_of(run, journal)
    if not is_over(state):
        raise Conflict(f"run {path.name} is not complete ({state.phase}): end it with `cancel` first")
    if throttle is None and state.rate is not None:
        throttle = str(state.rate)
        run.note(f"throttle of the run: {size_text(state.rate)}/s (--throttle sets another one)")
    request = ExecutionRequest(throttle, batch_size, moves_per_broker, True, force, journal)
    return await execute_file(run, read_file(path / ROLLBACK), request, f"Undo run {path.name}")


@operation(Danger.DESTROYS, examples=("reassign-partitions cancel",))
async def cancel(
    run: Run,
    journal: JournalFolder = None,
) -> Rows[RunSummary]:
    """Cancel the moves in progress of the newest run, and remove its throttles.

    Partitions in progress return to their old replicas. Moved partitions stay: `rollback` moves them back. If no run of
    kwire is in progress, the moves of other tools are cancelled, which `status` lists as well.
    """
    folder = await runs_of(run, journal)
    newest = newest_run(folder)
    state = None if newest is None else read_run(newest)
    if newest is None or state is None or is_over(state):
        ended = (
            f"{folder} has no run of this cluster"
            if state is None
            else f"run {newest and newest.name} is {state.phase}"
        )
        return await _cancel_moves_of_others(run, ended)
    path = newest
    check_not_running(path)
    if run.dry_run:
        run.note(explain(state, path, None))
        started = partitions_by_topic(move.key for move in state.started_moves)
        ongoing = {
            status.topic: [index for index in status.moves or status.partitions if index in started[status.topic]]
            for status in await run.admin.list_reassignments()
            if status.topic in started
        }
        for error in (await run.admin.cancel_reassignments(ongoing, validate_only=True)).errors.values():
            if error.kafka_code != ErrorCode.NO_REASSIGNMENT_IN_PROGRESS:  # otherwise, it has just ended
                run.note(f"would fail: {error}")
        return [summary(path, state)]
    run.confirm(f"Cancel run {path.name}?")
    with RunFolder.take_over(path, run.note) as taken:
        await executor(run, taken).cancel()
        return [summary(path, read_run(path))]


async def _cancel_moves_of_others(run: Run, ended: str) -> Rows[RunSummary]:
    """Cancel all moves in progress of a cluster without an open run.

    Args:
        run: the run of the verb.
        ended: the reason why no run of kwire can be canceled.

    Raises:
        NotFound: there are no moves.
    """
    moving = {
        status.topic: sorted(status.moves or status.partitions) for status in await run.admin.list_reassignments()
    }
    moving = {topic: indexes for topic, indexes in moving.items() if indexes}
    if not moving:
        raise NotFound(f"{ended}, and no partition is being moved: nothing is left to cancel")
    names = [f"{topic}-{index}" for topic, indexes in sorted(moving.items()) for index in indexes]
    shown = ", ".join(names[:5]) + (f", and {len(names) - 5} more" if len(names) > 5 else "")
    row = RunSummary("other tools", "moving", len(names), 0, 0, 0, (), "")
    if run.dry_run:
        run.note(f"would cancel the moves of {shown}")
    else:
        run.confirm(f"Cancel the moves of {shown}, which no run of kwire on this machine has started?")
    outcomes = await run.admin.cancel_reassignments(moving, validate_only=run.dry_run)
    failures = [Failure(item, error) for item, error in outcomes.errors.items()]
    if run.dry_run:
        return [*failures, row]
    run.note("throttles that another tool has set stay as they are")
    await note_throttles(run)
    return [*failures, replace(row, phase="cancelled", failed=len(failures))]


@dataclass(frozen=True, slots=True)
class WrittenSnapshot:
    """A snapshot in a file.

    Attributes:
        file: the file.
        brokers: number of brokers.
        partitions: number of partitions.
    """

    file: str
    brokers: int
    partitions: int


@operation(examples=("reassign-partitions snapshot cluster.json",))
async def snapshot(
    run: Run, file: Annotated[Path, Argument("The file for the snapshot.", "FILE")]
) -> Rows[WrittenSnapshot]:
    """Return a snapshot of the cluster, which `plan` and `simulate` can read in place of the cluster."""
    taken = await read_snapshot(run.admin)
    run.files.write(file, taken.to_json())
    return [WrittenSnapshot(str(file), len(taken.brokers), len(taken.partitions))]


@operation(
    examples=(
        "reassign-partitions simulate reassignment.json --throttle 50M",
        "reassign-partitions simulate reassignment.json --snapshot cluster.json",
    ),
    connects=lambda arguments: arguments["snapshot"] is None,
)
async def simulate(
    run: Run,
    file: Annotated[Path, Argument("A plan in Kafka's JSON form.", "FILE", document=True)],
    throttle: Annotated[str, Option("Bytes a second of each broker [default: 50M].", "RATE", syntax=SIZE)] = "50M",
    batch_size: BatchSize = None,
    moves_per_broker: MovesPerBroker = 5,
    snapshot: Annotated[
        Path | None,
        Option("Take sizes from a snapshot or a capture instead of the cluster.", "PATH", document=True),
    ] = None,
) -> Rows[BrokerCourse]:
    """Simulate a plan: how long it takes, and the load of each broker meanwhile."""
    rate = parse_size(throttle)
    taken = await snapshot_of(run, snapshot)
    moves = moves_of(taken, read_file(file).targets)
    limits = BatchLimits(data=0 if batch_size is None else parse_size(batch_size), moves_per_broker=moves_per_broker)
    from kwire_admin.reassignment.simulator import simulate as course_of  # it needs NumPy, and HTTP imports all verbs

    course = course_of(batches(moves, limits), rate)
    steps = f"{counted(len(moves), 'partition')} in {counted(len(course.batch_seconds), 'batch')}"
    run.note(f"{steps}: {duration_text(course.seconds)}")
    if not taken.has_sizes:
        run.note("the sizes of partitions are unknown, so no time is simulated")
    return [*course.brokers]
