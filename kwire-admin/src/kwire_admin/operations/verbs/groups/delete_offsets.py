"""`kafka groups delete-offsets`."""

from __future__ import annotations

from collections.abc import Sequence

from kwire._util.light_typing import Annotated
from kwire.client.admin import AdminError, Outcomes
from kwire_admin.operations.declaration import Failure, Rows, operation
from kwire_admin.operations.parameters import Argument, Conflict, Danger, NotFound
from kwire_admin.operations.run import Run
from kwire_admin.operations.verbs.changes import ItemChange, carry_out, changes
from kwire_admin.operations.verbs.group_offsets import is_share_group, list_offsets
from kwire_admin.operations.verbs.topic_partitions import PARTITIONS, partitions_of


@operation(
    Danger.DESTROYS,
    dialects=("kafka",),
    examples=("groups delete-offsets billing orders --dry-run", "groups delete-offsets billing orders:0 audit --yes"),
)
async def delete_offsets(
    run: Run,
    group: Annotated[str, Argument("Id of the group.", "GROUP", "groups")],
    topics: Annotated[
        list[str],
        Argument(
            "Topics, or partitions as TOPIC:N. A share group only has topics.",
            "TOPIC[:N]",
            "topics",
            syntax=PARTITIONS,
            item="topic or partition",
        ),
    ],
) -> Rows[ItemChange]:
    """Delete the committed offsets of a group for topics or partitions."""
    shared = await is_share_group(run.admin, group)
    if shared and any(":" in topic for topic in topics):
        raise Conflict(f"{group} is a share group: its offsets are deleted for whole topics")
    offsets = await list_offsets(run.admin, group)
    if isinstance(offsets, AdminError):
        return [Failure(group, offsets)]
    topics_with_offsets = {partition.topic for partition in offsets}
    partitions = [] if shared else await partitions_of(run.admin, [topic for topic in topics if ":" in topic])
    partitions += [
        partition
        for partition in sorted(offsets)
        if not shared and partition.topic in topics and partition not in partitions
    ]
    missing = [topic for topic in topics if ":" not in topic and topic not in topics_with_offsets]
    missing += [str(partition) for partition in partitions if partition not in offsets]
    if missing:
        raise NotFound(f"group {group} has no committed offsets of {', '.join(missing)}")
    by_item = {str(partition): partition for partition in partitions}

    async def delete(items: Sequence[str], *, validate_only: bool = False) -> Outcomes:
        if shared:
            return await run.admin.delete_share_group_offsets(group, items, validate_only=validate_only)
        named = [by_item[item] for item in items]
        return await run.admin.delete_group_offsets(group, named, validate_only=validate_only)

    question = f"Delete the offsets of {group} for {', '.join(topics)}?"
    outcomes = await carry_out(run, topics if shared else by_item, question, delete)
    return changes(outcomes, "deleted", dry_run=run.dry_run)
