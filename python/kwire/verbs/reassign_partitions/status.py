"""`kafka reassign-partitions status`."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated

from kwire.client.reassignment import newest_run, read_progress, read_run
from kwire.client.reassignment.run_folder import running_process
from kwire.readable import bar
from kwire.reassign.snapshot import PartitionKey
from kwire.verbs.execution_options import JournalFolder
from kwire.verbs.reassignments import explain, runs_of
from kwire.verbs.rows import column
from kwire.verbs.verb import Failure, Option, Rows, Run, verb

if TYPE_CHECKING:
    from kwire.client.admin import AdminError
    from kwire.client.reassignment import MoveProgress


@dataclass(frozen=True, slots=True)
class MovingPartition:
    """A partition that is being reassigned.

    Attributes:
        name: the topic.
        partition: its index.
        status: `moving`, `completed`, or `failed`.
        replicas: its replicas at the moment; None if the cluster does not report them.
        adding: those that are added.
        removing: those that are removed.
        done: bytes that the added replicas have; None if the cluster does not report them.
        total: bytes that they are to have.
        progress: a bar.
        seconds_left: how long it takes at the present rate; None if the rate is unknown.
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
    seconds_left: float | None


@verb(
    nothing="No reassignments are in progress.",
    examples=("reassign-partitions status", "reassign-partitions status --output json"),
)
async def status(
    run: Run,
    sample: Annotated[float, Option("Seconds over which the rate is measured [default: 1].", "SECONDS")] = 1.0,
    journal: JournalFolder = None,
) -> Rows[MovingPartition]:
    """List the reassignments in progress, by whichever tool, and explain the newest run of this one."""
    topics = await run.admin.list_reassignments()
    adding = {
        PartitionKey(topic.topic, index): move.adding
        for topic in topics
        for index, move in topic.moves.items()
        if move.adding
    }
    before: dict[PartitionKey, MoveProgress] = {}
    now: dict[PartitionKey, MoveProgress] = {}
    if adding and run.admin.dialect == "kafka":
        before = await read_progress(run.admin, adding)
        await asyncio.sleep(sample)
        now = await read_progress(run.admin, adding)
    rows: Rows[MovingPartition] = []
    for topic in topics:
        error: AdminError | None = topic.error
        if error is not None:
            rows.append(Failure(topic.topic, error))
        for index, state in sorted(topic.partitions.items()):
            move = topic.moves.get(index)
            replicas, added, removed = (None, None, None) if move is None else move
            key = PartitionKey(topic.topic, index)
            measured = _measured(before.get(key), now.get(key), sample)
            rows.append(MovingPartition(topic.topic, index, str(state), replicas, added, removed, *measured))
    folder = await runs_of(run, journal)
    newest = newest_run(folder)
    if newest is not None:
        run.note(explain(read_run(newest), newest, running_process(folder)))
    return rows


def _measured(
    before: MoveProgress | None, now: MoveProgress | None, seconds: float
) -> tuple[int | None, int | None, str | None, float | None]:
    """Return bytes done and in total, a bar, and the seconds left."""
    if now is None:
        return None, None, None, None
    rate = 0.0 if before is None or seconds <= 0 else max(now.done - before.done, 0) / seconds
    left = now.total - now.done
    seconds_left = 0.0 if left <= 0 else round(left / rate, 1) if rate else None
    return now.done, now.total, bar(now.done / now.total if now.total else 1.0), seconds_left
