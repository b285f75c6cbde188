"""`kafka-client-metrics`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kwire.client.admin import ConfigChange, ConfigResource, ConfigResourceType
from kwire_admin.compat.options import ScriptOption
from kwire_admin.compat.script import BOOTSTRAP, COMMAND_CONFIG, Script, ScriptFailed, accepted

if TYPE_CHECKING:
    from kwire.client.admin import AdminClient
    from kwire_admin.compat.options import OptionValues
    from kwire_admin.compat.script import ScriptRun

CONFIGS = {"interval": "interval.ms", "match": "match", "metrics": "metrics"}
"""Config of each option that sets one."""
NAMES = ("name", "generate-name")


async def run(run: ScriptRun) -> None:
    """List, describe, or change the subscriptions of client metrics (KIP-714).

    Raises:
        ScriptUsageError: the options do not fit together.
        ScriptFailed: an option is missing, or its value is invalid.
    """
    values = run.values
    action = values.one_action("--alter, --delete, --describe or --list.")
    if "bootstrap-server" not in values:
        raise ScriptFailed("--bootstrap-server must be specified.")
    for option in ("generate-name", *CONFIGS):
        values.forbid(option, "delete", "describe", "list")
    values.forbid("name", "list")
    if "alter" in values and sum(name in values for name in NAMES) != 1:
        raise ScriptFailed("One of --name or --generate-name must be specified with --alter.")
    interval = values.get("interval")
    if interval and not interval.removeprefix("-").isdecimal():
        raise ScriptFailed("Invalid interval value. Enter an integer, or leave empty to reset.")
    if "delete" in values and "name" not in values:
        raise ScriptFailed("A client metrics resource name must be specified with --delete.")
    await ACTIONS[action](run, await run.admin(), values)


async def _alter(run: ScriptRun, admin: AdminClient, values: OptionValues) -> None:
    from uuid import uuid4

    from kwire.uuids import uuid_to_text

    name = values.get("name") or uuid_to_text(uuid4())
    set = {config: ",".join(values.all(option)) for option, config in CONFIGS.items() if option in values}
    change = ConfigChange(
        set={config: value for config, value in set.items() if value},
        delete=[config for config, value in set.items() if not value],
    )
    if set:
        (await admin.alter_configs({_resource(name): change})).raise_first()
    run.print(f"Altered client metrics config for {name}.")


async def _delete(run: ScriptRun, admin: AdminClient, values: OptionValues) -> None:
    name = values.get("name") or ""
    configs = await _described(admin, name)
    if configs:
        (await admin.alter_configs({_resource(name): ConfigChange(delete=[*configs])})).raise_first()
    run.print(f"Deleted client metrics config for {name}.")


async def _describe(run: ScriptRun, admin: AdminClient, values: OptionValues) -> None:
    names = [resource.name for resource in await _resources(admin)]
    name = values.get("name")
    if name is not None and name not in names:
        run.print(f"The client metric resource {name} doesn't exist and doesn't have dynamic config.")
        return
    for subscription in names if name is None else [name]:
        run.print(f"Client metrics configs for {subscription} are:")
        for config, value in (await _described(admin, subscription)).items():
            run.print(f"  {config}={value}")


async def _list(run: ScriptRun, admin: AdminClient, values: OptionValues) -> None:
    del values
    run.print("\n".join(resource.name for resource in await _resources(admin)))


ACTIONS = {"alter": _alter, "delete": _delete, "describe": _describe, "list": _list}


async def _resources(admin: AdminClient) -> list[ConfigResource]:
    return [*await admin.export_configs(ConfigResourceType.CLIENT_METRICS)]


def _resource(name: str) -> ConfigResource:
    return ConfigResource(ConfigResourceType.CLIENT_METRICS, name)


async def _described(admin: AdminClient, name: str) -> dict[str, str | None]:
    configs = accepted((await admin.describe_configs([_resource(name)]))[_resource(name)])
    return {config: value.value for config, value in sorted(configs.items())}


client_metrics = Script(
    "kafka-client-metrics",
    ("org.apache.kafka.tools.ClientMetricsCommand",),
    (
        BOOTSTRAP,
        COMMAND_CONFIG,
        ScriptOption("alter", "Alter the configuration for the client metrics resource."),
        ScriptOption("delete", "Delete the configuration for the client metrics resource."),
        ScriptOption("describe", "List configurations for the client metrics resource."),
        ScriptOption("list", "List the client metrics resources."),
        ScriptOption("name", "Name of client metrics configuration resource.", "name"),
        ScriptOption("generate-name", "Generate a UUID to use as the name."),
        ScriptOption("interval", "The metrics push interval in milliseconds; empty to reset it.", "push interval"),
        ScriptOption(
            "match", "Selector of clients by client_id, client_software_name, client_source_address, ...", "k1=v1,k2=v2"
        ),
        ScriptOption("metrics", "Telemetry metric name prefixes 'm1,m2'.", "m1,m2"),
    ),
    run,
    "Error while executing client metrics command : ",
    banner="This tool helps to manipulate and describe client metrics configurations.",
)
