"""`kafka reassign-partitions status`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from kwire.verbs.verb import Failure, Rows, Run, verb

if TYPE_CHECKING:
    from kwire.client.admin import AdminError


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
    """

    name: str
    partition: int
    status: str
    replicas: tuple[int, ...] | None
    adding: tuple[int, ...] | None
    removing: tuple[int, ...] | None


@verb(examples=("reassign-partitions status",))
async def status(run: Run) -> Rows[MovingPartition]:
    """List the reassignments in progress."""
    rows: Rows[MovingPartition] = []
    for topic in await run.admin.list_reassignments():
        error: AdminError | None = topic.error
        if error is not None:
            rows.append(Failure(topic.topic, error))
        for index, state in sorted(topic.partitions.items()):
            move = topic.moves.get(index)
            replicas = (None, None, None) if move is None else (move.replicas, move.adding, move.removing)
            rows.append(MovingPartition(topic.topic, index, str(state), *replicas))
    return rows
