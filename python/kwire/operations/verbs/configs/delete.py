"""`kafka configs delete`."""

from __future__ import annotations

from typing import Annotated

from kwire.client.admin import ConfigChange
from kwire.operations.declaration import Rows, operation
from kwire.operations.parameters import Argument, Danger, InvalidArgument
from kwire.operations.run import Run
from kwire.operations.verbs.config_changes import ConfigsChanged, change_configs
from kwire.operations.verbs.resources import parse_resource


@operation(Danger.DESTROYS, examples=("configs delete topic/orders retention.ms",))
async def delete(
    run: Run,
    resource: Annotated[str, Argument("topic/NAME, broker/ID, broker/default, group/ID.", "RESOURCE", "resources")],
    names: Annotated[list[str], Argument("Names of configs.", "NAME", "configs")],
) -> Rows[ConfigsChanged]:
    """Reset configs of a resource to what it inherits."""
    if not names:
        raise InvalidArgument("name at least one config")
    parsed = parse_resource(resource)
    if not run.dry_run:
        run.confirm(f"Delete {', '.join(names)} of {parsed}?")
    return await change_configs(run, parsed, ConfigChange(delete=names), "deleted")
