"""`kafka reassign-partitions cancel`."""

from __future__ import annotations

from kwire.operations.declaration import Rows, operation
from kwire.operations.parameters import Conflict, Danger
from kwire.operations.run import Run
from kwire.operations.verbs.execution_options import JournalFolder
from kwire.operations.verbs.reassignments import (
    RunSummary,
    check_not_running,
    executor,
    explain,
    newest_run_of,
    summary,
)
from kwire.reassignment.execution.run_folder import RunFolder, is_over, read_run


@operation(Danger.DESTROYS, examples=("reassign-partitions cancel",))
async def cancel(
    run: Run,
    journal: JournalFolder = None,
) -> Rows[RunSummary]:
    """Cancel the moves in progress of the newest run, and remove its throttles.

    Partitions in progress return to their old replicas. Moved partitions stay: `rollback` moves them back.
    """
    path, state = await newest_run_of(run, journal)
    if is_over(state):
        raise Conflict(f"run {path.name} is {state.phase}: nothing is left to cancel")
    check_not_running(path)
    if run.dry_run:
        run.note(explain(state, path, None))
        return [summary(path, state)]
    run.confirm(f"Cancel run {path.name}?")
    with RunFolder.take_over(path, run.note) as taken:
        await executor(run, taken).cancel()
        return [summary(path, read_run(path))]
