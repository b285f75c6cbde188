"""`kafka topics delete`."""

from __future__ import annotations

from kwire._util.light_typing import Annotated
from kwire_admin.operations.declaration import Rows, operation
from kwire_admin.operations.parameters import Argument, Danger
from kwire_admin.operations.run import Run
from kwire_admin.operations.verbs.changes import ItemChange, carry_out, changes


@operation(Danger.DESTROYS, waits=True, examples=("topics delete orders", "topics delete orders audit --yes"))
async def delete(
    run: Run, names: Annotated[list[str], Argument("Names of the topics.", "NAME", "topics", item="topic")]
) -> Rows[ItemChange]:
    """Delete topics and all their records, and wait until no broker reports them."""
    question = f"Delete {', '.join(names)} and all records?"
    outcomes = await carry_out(run, names, question, run.admin.delete_topics)
    deleted = [name for name, error in outcomes.items() if error is None]
    if deleted and run.wait and not run.dry_run:
        await run.admin.wait_until_deleted(deleted, timeout=run.wait, on_progress=run.on_progress)
    return changes(outcomes, "deleted", dry_run=run.dry_run)
