"""`kafka groups delete`."""

from __future__ import annotations

from typing import Annotated

from kwire.client.admin import Outcomes
from kwire_admin.operations.declaration import Rows, operation
from kwire_admin.operations.parameters import Argument, Danger
from kwire_admin.operations.run import Run
from kwire_admin.operations.verbs.changes import ItemChange, carry_out, changes
from kwire_admin.operations.verbs.group_offsets import error_if_active


@operation(Danger.DESTROYS, dialects=("kafka",), examples=("groups delete billing", "groups delete billing --dry-run"))
async def delete(
    run: Run, groups: Annotated[list[str], Argument("Ids of the groups.", "GROUP", "groups", item="group")]
) -> Rows[ItemChange]:
    """Delete groups with their committed offsets."""
    described = await run.admin.describe_groups(groups)
    checked = Outcomes({name: error_if_active(group) for name, group in described.items()})
    question = f"Delete {', '.join(groups)} and all committed offsets?"
    outcomes = await carry_out(run, checked, question, "DeleteGroupsRequest", run.admin.delete_groups)
    return changes(outcomes, "deleted", dry_run=run.dry_run)
