"""`kafka groups delete`."""

from __future__ import annotations

from typing import Annotated

from kwire.client.admin import AdminError, Outcomes
from kwire.verbs.changes import Change, InvalidArgument, changes
from kwire.verbs.verb import Argument, Danger, Rows, Run, verb


@verb(Danger.DESTROYS, dialects=("kafka",), examples=("groups delete billing", "groups delete billing --dry-run"))
async def delete(
    run: Run, groups: Annotated[list[str], Argument("Ids of the groups.", "GROUP", "groups")]
) -> Rows[Change]:
    """Delete groups with their committed offsets."""
    if not groups:
        raise InvalidArgument("name at least one group")
    if run.dry_run:
        described = await run.admin.describe_groups(groups)
        found = {name: group if isinstance(group, AdminError) else None for name, group in described.items()}
        return changes(Outcomes(found), "deleted", dry_run=True)
    run.confirm(f"Delete {', '.join(groups)} and all committed offsets?")
    return changes(await run.admin.delete_groups(groups), "deleted", dry_run=False)
