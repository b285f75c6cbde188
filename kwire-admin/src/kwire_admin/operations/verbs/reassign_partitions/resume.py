"""`kafka reassign-partitions resume`."""

from __future__ import annotations

from kwire_admin.operations.declaration import Rows, operation
from kwire_admin.operations.parameters import Conflict, Danger
from kwire_admin.operations.run import Run
from kwire_admin.operations.verbs.execution import check_moves
from kwire_admin.operations.verbs.execution_options import JournalFolder
from kwire_admin.operations.verbs.reassignments import (
    RunSummary,
    check_not_running,
    explain,
    finished,
    follow,
    newest_run_of,
    summary,
)
from kwire_admin.reassignment.execution.journal import EventKind, Phase
from kwire_admin.reassignment.execution.run_folder import RunFolder, is_over


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
