"""`kafka partitions`."""

from __future__ import annotations

from kwire._util.light_typing import Annotated
from kwire._util.readable import counted
from kwire.client.admin import AdminError, TopicChange
from kwire_admin.operations.changes import ItemChange, changes, wait_if_visible
from kwire_admin.operations.declaration import Failure, Rows, operation
from kwire_admin.operations.parameters import Argument, Choice, Conflict, Danger, Option
from kwire_admin.operations.run import Run


@operation(
    Danger.CHANGES,
    waits=True,
    choices=(Choice(("to", "by"), most=1),),
    examples=("partitions add orders --to 24", "partitions add orders --by 12"),
)
async def add(
    run: Run,
    topic: Annotated[str, Argument("Name of the topic.", "TOPIC", "topics")],
    to: Annotated[int | None, Option("The new number of partitions.", "N", minimum=1, maximum=2**31 - 1)] = None,
    by: Annotated[int | None, Option("How many partitions to add.", "N", minimum=1, maximum=2**31 - 1)] = None,
) -> Rows[ItemChange]:
    """Add partitions to a topic. Later messages with the same key can go to another partition than before."""
    described = (await run.admin.describe_topics([topic]))[topic]
    if isinstance(described, AdminError):
        return [Failure(topic, described)]
    existing = len(described.partitions)
    count = existing + by if by is not None else to or 0
    if count <= existing:
        raise Conflict(f"topic {topic} has {counted(existing, 'partition')} already, and cannot have fewer")
    change = {topic: TopicChange(partitions=count)}
    done = f"changed from {existing} to {counted(count, 'partition')}"
    outcomes = await run.admin.alter_topics(change, validate_only=run.dry_run)
    if run.wait and not run.dry_run and not outcomes.errors:
        waiting = run.admin.wait_until_created({topic: count}, timeout=run.wait, on_progress=run.on_progress)
        await wait_if_visible(run, waiting)
    return changes(outcomes, done, dry_run=run.dry_run)
