"""`kafka configs set`."""

from __future__ import annotations

from pathlib import Path

from kwire._util.light_typing import Annotated
from kwire.client.admin import ConfigChange
from kwire.declare.secrets import is_secret_config
from kwire_admin.operations.config_changes import change_configs, read_configs
from kwire_admin.operations.declaration import Rows, operation
from kwire_admin.operations.parameters import CONFIG, Argument, Choice, Danger, InvalidArgument, Option, parse_configs
from kwire_admin.operations.resources import ConfigsChanged, parse_resource
from kwire_admin.operations.run import Run
from kwire_admin.operations.verbs.configs import Resource


@operation(
    Danger.CHANGES,
    choices=(Choice(("values", "append", "subtract", "from_file"), most=None),),
    examples=(
        "configs set topic/orders retention.ms=86400000",
        "configs set topic/orders --append cleanup.policy=compact",
        "configs set broker/1 --from-file keystore.properties",
    ),
)
async def set_(
    run: Run,
    resource: Resource,
    values: Annotated[list[str], Argument("The configs to set.", "KEY=VALUE", "configs", syntax=CONFIG)],
    append: Annotated[list[str], Option("Append to a list.", "KEY=VALUE", "configs", syntax=CONFIG)] = [],
    subtract: Annotated[list[str], Option("Remove from a list.", "KEY=VALUE", "configs", syntax=CONFIG)] = [],
    from_file: Annotated[
        Path | None,
        Option("Set the configs of a properties file as well. Secrets need it.", "FILE", document=True),
    ] = None,
    force: Annotated[
        bool, Option("Set configs of brokers that the brokers do not report, such as those of a plugin.")
    ] = False,
) -> Rows[ConfigsChanged]:
    """Set configs of a resource. Its other configs stay as they are."""
    given = parse_configs(values)
    for name, value in given.items():
        if value and is_secret_config(name):
            raise InvalidArgument(
                f"{name} is a secret, and all users of this machine can read the arguments of a command: write it into "
                "a file, and give --from-file FILE; - is stdin"
            )
    if from_file is not None:
        given = {**given, **read_configs(from_file)}
    change = ConfigChange(set=given, append=parse_configs(append), subtract=parse_configs(subtract))
    return await change_configs(run, parse_resource(resource), change, "set", force=force)
