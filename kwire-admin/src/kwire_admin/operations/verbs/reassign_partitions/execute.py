"""`kafka reassign-partitions execute`."""

from __future__ import annotations

from pathlib import Path

from kwire._util.light_typing import Annotated
from kwire_admin.operations.declaration import Rows, operation
from kwire_admin.operations.parameters import Argument, Danger, Option
from kwire_admin.operations.run import Run
from kwire_admin.operations.verbs.execution import ExecutionRequest, execute_file
from kwire_admin.operations.verbs.execution_options import BatchSize, JournalFolder, MovesPerBroker, Throttle
from kwire_admin.operations.verbs.reassignments import RunSummary, read_file


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
