"""`kafka groups delete-offsets`."""

from __future__ import annotations

from typing import Annotated

from kwire.client.admin import AdminError, Outcomes
from kwire.verbs.changes import Change, InvalidArgument, changes
from kwire.verbs.group_offsets import is_share_group, list_offsets
from kwire.verbs.topic_partitions import partitions_of
from kwire.verbs.verb import Argument, Danger, Failure, Rows, Run, verb


@verb(
    Danger.DESTROYS,
    dialects=("kafka",),
    examples=("groups delete-offsets billing orders --dry-run", "groups delete-offsets billing orders:0 audit --yes"),
)
async def delete_offsets(
    run: Run,
    group: Annotated[str, Argument("Id of the group.", "GROUP", "groups")],
    topics: Annotated[
        list[str], Argument("Topics, or partitions as TOPIC:N. A share group only has topics.", "TOPIC[:N]", "topics")
    ],
) -> Rows[Change]:
    """Delete the committed offsets of a group for topics or partitions."""
    if not topics:
        raise InvalidArgument("name at least one topic or partition")
    shared = await is_share_group(run.admin, group)
    if shared and any(":" in each for each in topics):
        raise InvalidArgument(f"{group} is a share group: its offsets are deleted for whole topics")
    found = await list_offsets(run.admin, group)
    if isinstance(found, AdminError):
        return [Failure(group, found)]
    with_offsets = {each.topic for each in found}
    partitions = [] if shared else await partitions_of(run.admin, [each for each in topics if ":" in each])
    partitions += [each for each in sorted(found) if not shared and each.topic in topics and each not in partitions]
    items = [each for each in topics if each in with_offsets] if shared else [str(each) for each in partitions]
    if not items:
        raise InvalidArgument(f"group {group} has no committed offsets of {', '.join(topics)}")
    if run.dry_run:
        return changes(Outcomes(dict.fromkeys(items)), "deleted", dry_run=True)
    run.confirm(f"Delete the offsets of {group} for {', '.join(topics)}?")
    if shared:
        return changes(await run.admin.delete_share_group_offsets(group, items), "deleted", dry_run=False)
    return changes(await run.admin.delete_group_offsets(group, partitions), "deleted", dry_run=False)
