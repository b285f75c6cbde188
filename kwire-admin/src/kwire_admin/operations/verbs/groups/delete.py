"""`kafka groups delete`."""

from __future__ import annotations

from kwire._util.light_typing import Annotated
from kwire_admin.operations.declaration import Rows, operation
from kwire_admin.operations.parameters import Argument, Danger
from kwire_admin.operations.run import Run
from kwire_admin.operations.verbs.changes import ItemChange, carry_out, changes


@operation(Danger.DESTROYS, dialects=("kafka",), examples=("groups delete billing", "groups delete billing --dry-run"))
async def delete(
    run: Run, groups: Annotated[list[str], Argument("Ids of the groups.", "GROUP", "groups", item="group")]
) -> Rows[ItemChange]:
    """Delete groups with their committed offsets."""
    question = f"Delete {', '.join(groups)} and all committed offsets?"
    outcomes = await carry_out(run, groups, question, run.admin.delete_groups)
    return changes(outcomes, "deleted", dry_run=run.dry_run)
