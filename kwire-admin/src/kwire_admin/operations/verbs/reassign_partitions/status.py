"""`kafka reassign-partitions status`."""

from __future__ import annotations

from collections import Counter

from kwire._util.concurrency import sleep
from kwire._util.light_dataclasses import dataclass, field
from kwire._util.light_typing import TYPE_CHECKING, Annotated
from kwire._util.readable import bar, counted
from kwire.client.admin import AdminError
from kwire_admin.operations.cluster_health.missing_quorum import unless_no_quorum
from kwire_admin.operations.declaration import Failure, Rows, operation
from kwire_admin.operations.parameters import Option
from kwire_admin.operations.rows import column
from kwire_admin.operations.run import Run
from kwire_admin.operations.verbs.execution_options import JournalFolder
from kwire_admin.operations.verbs.reassignments import explain, note_throttles, runs_of
from kwire_admin.reassignment.execution.progress import read_progress
from kwire_admin.reassignment.execution.run_folder import is_over, newest_run, read_run, running_process
from kwire_admin.reassignment.snapshot import PartitionKey

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from kwire_admin.reassignment.execution.progress import MoveProgress


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
        PartitionKey(topic.topic, index): move.adding
        for topic in topics
        for index, move in topic.moves.items()
        if move.adding
    }
    before: dict[PartitionKey, MoveProgress] = {}
    now: dict[PartitionKey, MoveProgress] = {}
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
            key = PartitionKey(topic.topic, index)
            measured = _measured(before.get(key), now.get(key), sample, at_throttle.get(key))
            rows.append(MovingPartition(topic.topic, index, str(status_now), replicas, added, removed, *measured))
    await _note_dead_targets(run, adding)
    if newest is not None and state is not None:
        run.note(explain(state, newest, running_process(folder)))
    if not rows and (state is None or is_over(state)):
        await note_throttles(run)
    return rows


async def _progress(run: Run, adding: Mapping[PartitionKey, tuple[int, ...]]) -> dict[PartitionKey, MoveProgress]:
    """Return the progress of moves; none for a user who cannot see the log directories."""
    try:
        return await read_progress(run.admin, adding)
    except AdminError as error:
        run.warn(f"the progress of the moves is not known ({error.reason}).")
        return {}


async def _note_dead_targets(run: Run, adding: Mapping[PartitionKey, tuple[int, ...]]) -> None:
    """Name the brokers that are to receive replicas and are not alive: without them, moves do not end."""
    live = {broker.id for broker in (await run.admin.describe_cluster()).brokers} if adding else set()
    waiting = Counter(broker for brokers in adding.values() for broker in brokers if broker not in live)
    for broker, count in sorted(waiting.items()):
        run.warn(f"broker {broker} is not alive, so the end of {counted(count, 'move')} waits for it.")


def _seconds_at(
    rate: int, now: Mapping[PartitionKey, MoveProgress], adding: Mapping[PartitionKey, Collection[int]]
) -> dict[PartitionKey, float]:
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
