"""`kafka groups list`."""

from __future__ import annotations

from fnmatch import fnmatchcase

from kwire._util.light_dataclasses import dataclass
from kwire._util.light_typing import Annotated
from kwire.client.admin import GroupType
from kwire_admin.operations.declaration import Rows, operation
from kwire_admin.operations.parameters import Argument, Option
from kwire_admin.operations.run import Run
from kwire_admin.operations.verbs.visibility import warn_if_hidden, warn_of_unknown


@dataclass(frozen=True, slots=True)
class GroupSummary:
    """A group in a list. See `kwire.client.admin.GroupListing`."""

    name: str
    type: GroupType
    state: str | None
    protocol: str
    coordinator: int


@operation(
    nothing="No groups.",
    lists="groups",
    dialects=("kafka",),
    examples=("groups list", "groups list 'billing-*' --state empty", "groups list --type share"),
)
async def list_(
    run: Run,
    pattern: Annotated[str | None, Argument("Only groups that match, with * and ? as wildcards.")] = None,
    type: Annotated[list[GroupType], Option("Only groups of this type.")] = [],
    state: Annotated[list[str], Option("Only groups in this state.", "STATE")] = [],
) -> Rows[GroupSummary]:
    """List groups with their types and states."""
    unanswered: dict[int, Exception] = {}
    rows: Rows[GroupSummary] = [
        GroupSummary(group.group_id, group.type, group.state, group.protocol_type, group.coordinator)
        for group in await run.admin.list_groups(types=type, states=state, unanswered=unanswered)
        if pattern is None or fnmatchcase(group.group_id, pattern)
    ]
    await warn_of_unknown(run, "groups", unanswered)
    await warn_if_hidden(run, len(rows), "groups", filtered=bool(pattern or type or state))
    return rows
