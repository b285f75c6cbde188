"""The tool `configs`."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

from kwire.client.admin import AdminError, ConfigChange, ConfigResource, ConfigResourceType, ConfigSource
from kwire_admin.operations.declaration import ANYWHERE, Need, ToolFailed, operation
from kwire_admin.operations.parameters import Danger, InvalidArgument, Option, parse_configs
from kwire_admin.operations.verbs.config_changes import unknown_deletion
from kwire_zookeeper_tools.tool_run import ToolRun


class EntityType(StrEnum):
    """A kind of entity that has configs."""

    TOPICS = "topics"
    BROKERS = "brokers"
    GROUPS = "groups"
    BROKER_LOGGERS = "broker-loggers"


TYPES = {
    EntityType.TOPICS: ConfigResourceType.TOPIC,
    EntityType.BROKERS: ConfigResourceType.BROKER,
    EntityType.GROUPS: ConfigResourceType.GROUP,
    EntityType.BROKER_LOGGERS: ConfigResourceType.BROKER_LOGGER,
}
DYNAMIC = {
    ConfigSource.TOPIC,
    ConfigSource.BROKER,
    ConfigSource.CLUSTER_DEFAULT,
    ConfigSource.BROKER_LOGGER,
    ConfigSource.GROUP,
}
"""The sources of values that were set for the entity."""


@operation(
    runs_on=ANYWHERE,
    needs={Need.BROKERS, Need.ZOOKEEPER},
    dangers={"alter": Danger.CHANGES},
    without_effect=("--force",),
    replaces="kafka.admin.ConfigCommand",
    examples=(
        "--describe --entity-type topics --entity-name orders",
        "--alter --entity-type topics --entity-name orders --add-config retention.ms=1000 --delete-config segment.ms",
        "--alter --entity-type brokers --entity-default --add-config max.connections=500",
    ),
)
async def configs(
    run: ToolRun,
    entity_type: Annotated[EntityType, Option("What has the configs.")],
    entity_name: Annotated[str | None, Option("The name of the topic, or the id of the broker.", "NAME")] = None,
    entity_default: Annotated[bool, Option("The default of all brokers.")] = False,
    describe: Annotated[bool, Option("Print the configs that are set.")] = False,
    alter: Annotated[bool, Option("Change configs.")] = False,
    add_config: Annotated[list[str], Option("Configs to set, separated by commas.", "KEY=VALUE,...")] = [],
    delete_config: Annotated[list[str], Option("Configs to delete, separated by commas.", "KEY,...")] = [],
    all_: Annotated[bool, Option("Print all configs, also defaults.")] = False,
) -> None:
    """Describe and change configs, with the options of Kafka's ConfigCommand.

    A value with commas is written between brackets, such as cleanup.policy=[compact,delete].
    """
    if describe == alter:
        raise InvalidArgument("give exactly one of --describe, --alter")
    if (entity_name is None) != entity_default or (entity_default and entity_type is not EntityType.BROKERS):
        raise InvalidArgument("give --entity-name, or --entity-default for brokers")
    resource = ConfigResource(TYPES[entity_type], entity_name or "")
    admin = await run.admin()
    shown = f"{resource.type.singular} {entity_name or '<default>'}"
    old_name = f"{resource.type.singular} '{entity_name or '<default>'}'"  # with --zookeeper, as Kafka 0.10.2 prints it
    if alter:
        changes = ConfigChange(
            set={key: value.removeprefix("[").removesuffix("]") for key, value in _added(add_config).items()},
            delete=[name for text in delete_config for name in text.split(",")],
        )
        if not changes.set and not changes.delete:
            raise InvalidArgument("nothing to change: give --add-config or --delete-config")
        if reason := await unknown_deletion(admin, resource, changes.delete):
            raise ToolFailed(reason)
        (await admin.alter_configs({resource: changes})).raise_first()
        run.print(
            f"Completed Updating config for entity: {old_name}."
            if run.names_zookeeper
            else f"Completed updating config for {shown}."
        )
        return
    config_values = (await admin.describe_configs([resource]))[resource]
    if isinstance(config_values, AdminError):
        raise config_values
    if run.names_zookeeper and not all_:
        changed = (
            f"{name}={config.value}" for name, config in sorted(config_values.items()) if config.source in DYNAMIC
        )
        run.print(f"Configs for {old_name} are {','.join(changed)}")
        return
    run.print(f"{'All' if all_ else 'Dynamic'} configs for {shown} are:")
    for name, config in sorted(config_values.items()):
        if all_ or config.source in DYNAMIC:
            value = "null" if config.value is None else config.value
            run.print(f"  {name}={value} sensitive={str(config.is_sensitive).lower()}")


def _added(texts: list[str]) -> dict[str, str]:
    """Return configs from texts such as `a=1,b=[2,3]`."""
    parts: list[str] = []
    depth = 0
    for text in texts:
        start = 0
        for at, character in enumerate(text):
            depth += (character == "[") - (character == "]")
            if character == "," and depth == 0:
                parts.append(text[start:at])
                start = at + 1
        parts.append(text[start:])
    return dict(parse_configs(parts))
