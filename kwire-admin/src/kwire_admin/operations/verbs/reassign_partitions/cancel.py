"""`kafka reassign-partitions cancel`."""

from __future__ import annotations

from dataclasses import replace

from kwire.messages.kafka.error_codes import ErrorCode
from kwire_admin.operations.declaration import Failure, Rows, operation
from kwire_admin.operations.parameters import Danger, NotFound
from kwire_admin.operations.run import Run
from kwire_admin.operations.verbs.execution_options import JournalFolder
from kwire_admin.operations.verbs.reassignments import (
    RunSummary,
    check_not_running,
    executor,
    explain,
    note_throttles,
    runs_of,
    summary,
)
from kwire_admin.reassignment.execution.run_folder import RunFolder, is_over, newest_run, read_run
from kwire_admin.reassignment.plan import partitions_by_topic


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
