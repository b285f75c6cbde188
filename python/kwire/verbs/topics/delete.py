"""`kafka topics delete`."""

from __future__ import annotations

from typing import Annotated

from kwire.client.admin import AdminError, Outcomes
from kwire.verbs.changes import Change, InvalidArgument, changes
from kwire.verbs.verb import Argument, Danger, Rows, Run, verb


@verb(Danger.DESTROYS, examples=("topics delete orders", "topics delete orders audit --yes"))
async def delete(
    run: Run, names: Annotated[list[str], Argument("Names of the topics.", "NAME", "topics")]
) -> Rows[Change]:
    """Delete topics and all their records, and wait until no broker reports them."""
    if not names:
        raise InvalidArgument("name at least one topic")
    if run.dry_run:
        described = await run.admin.describe_topics(names)
        found = {name: topic if isinstance(topic, AdminError) else None for name, topic in described.items()}
        return changes(Outcomes(found), "deleted", dry_run=True)
    run.confirm(f"Delete {', '.join(names)} and all records?")
    outcomes = await run.admin.delete_topics(names)
    deleted = [name for name, error in outcomes.items() if error is None]
    if deleted and run.wait:
        await run.admin.wait_until_deleted(deleted, timeout=run.wait, on_progress=run.on_progress)
    return changes(outcomes, "deleted", dry_run=False)
