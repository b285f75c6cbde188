"""`kafka configs set`."""

from __future__ import annotations

from typing import Annotated

from kwire.client.admin import ConfigChange
from kwire.operations.argument_checks import Choice
from kwire.operations.declaration import Rows, operation
from kwire.operations.parameters import CONFIG, Argument, Danger, Option, parse_configs
from kwire.operations.run import Run
from kwire.operations.verbs.config_changes import ConfigsChanged, change_configs
from kwire.operations.verbs.resources import RESOURCE, parse_resource


@operation(
    Danger.CHANGES,
    choices=(Choice(("values", "append", "subtract"), most=None),),
    examples=(
        "configs set topic/orders retention.ms=86400000",
        "configs set topic/orders --append cleanup.policy=compact",
    ),
)
async def set_(
    run: Run,
    resource: Annotated[
        str, Argument("topic/NAME, broker/ID, broker/default, group/ID.", "RESOURCE", "resources", syntax=RESOURCE)
    ],
    values: Annotated[list[str], Argument("The configs to set.", "KEY=VALUE", "configs", syntax=CONFIG)],
    append: Annotated[list[str], Option("Append to a list.", "KEY=VALUE", "configs", syntax=CONFIG)] = [],
    subtract: Annotated[list[str], Option("Remove from a list.", "KEY=VALUE", "configs", syntax=CONFIG)] = [],
    force: Annotated[
        bool, Option("Set configs of brokers that the brokers do not report, such as those of a plugin.")
    ] = False,
) -> Rows[ConfigsChanged]:
    """Set configs of a resource. Its other configs stay as they are."""
    change = ConfigChange(set=parse_configs(values), append=parse_configs(append), subtract=parse_configs(subtract))
    return await change_configs(run, parse_resource(resource), change, "set", force=force)
