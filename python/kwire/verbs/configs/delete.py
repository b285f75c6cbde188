"""`kafka configs delete`."""

from __future__ import annotations

from typing import Annotated

from kwire.client.admin import ConfigChange
from kwire.verbs.changes import Change, InvalidArgument, changes
from kwire.verbs.resources import parse_resource
from kwire.verbs.verb import Argument, Danger, Rows, Run, verb


@verb(Danger.CHANGES, examples=("configs delete topic/orders retention.ms",))
async def delete(
    run: Run,
    resource: Annotated[str, Argument("topic/NAME, broker/ID, broker/default, group/ID.", "RESOURCE", "resources")],
    names: Annotated[list[str], Argument("Names of configs.", "NAME", "configs")],
) -> Rows[Change]:
    """Reset configs of a resource to what it inherits."""
    if not names:
        raise InvalidArgument("name at least one config")
    outcomes = await run.admin.alter_configs(
        {parse_resource(resource): ConfigChange(delete=names)}, validate_only=run.dry_run
    )
    return changes(outcomes, "deleted", dry_run=run.dry_run)
