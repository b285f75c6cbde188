"""`kafka reassign-partitions rollback`."""

from __future__ import annotations

from kwire._util.light_typing import Annotated
from kwire._util.readable import size_text
from kwire_admin.operations.declaration import Rows, operation
from kwire_admin.operations.parameters import Conflict, Danger, Option
from kwire_admin.operations.run import Run
from kwire_admin.operations.verbs.execution import ExecutionRequest, execute_file
from kwire_admin.operations.verbs.execution_options import BatchSize, JournalFolder, MovesPerBroker, Throttle
from kwire_admin.operations.verbs.reassignments import RunSummary, newest_run_of, read_file
from kwire_admin.reassignment.execution.run_folder import ROLLBACK, is_over


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
