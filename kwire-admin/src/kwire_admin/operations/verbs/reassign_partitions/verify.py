"""`kafka reassign-partitions verify`."""

from __future__ import annotations

from pathlib import Path

from kwire._util.light_dataclasses import dataclass
from kwire._util.light_typing import Annotated
from kwire._util.readable import counted
from kwire.client.admin.values import ReassignmentState
from kwire_admin.operations.declaration import Failure, Rows, Unhealthy, operation
from kwire_admin.operations.parameters import Argument
from kwire_admin.operations.run import Run
from kwire_admin.operations.verbs.reassignments import read_file
from kwire_admin.reassignment.plan import by_topic


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
