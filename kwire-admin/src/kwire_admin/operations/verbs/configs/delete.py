"""`kafka configs delete`."""

from __future__ import annotations

from kwire._util.light_typing import Annotated
from kwire.client.admin import ConfigChange
from kwire_admin.operations.declaration import Rows, operation
from kwire_admin.operations.parameters import Argument, Danger
from kwire_admin.operations.run import Run
from kwire_admin.operations.verbs.config_changes import ConfigsChanged, change_configs
from kwire_admin.operations.verbs.resources import RESOURCE, parse_resource


@operation(Danger.DESTROYS, examples=("configs delete topic/orders retention.ms",))
async def delete(
    run: Run,
    resource: Annotated[
        str, Argument("topic/NAME, broker/ID, broker/default, group/ID.", "RESOURCE", "resources", syntax=RESOURCE)
    ],
    names: Annotated[list[str], Argument("Names of configs.", "NAME", "configs", item="config")],
) -> Rows[ConfigsChanged]:
    """Reset configs of a resource to what it inherits."""
    parsed = parse_resource(resource)
    if not run.dry_run:
        run.confirm(f"Delete {', '.join(names)} of {parsed}?")
    return await change_configs(run, parsed, ConfigChange(delete=names), "deleted")
