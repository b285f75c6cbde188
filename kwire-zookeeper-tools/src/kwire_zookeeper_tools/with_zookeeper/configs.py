"""`kafka-configs --zookeeper`. Configs are changed through the brokers, except for quotas and throttles of nodes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kwire.client.admin import AdminError, ConfigChange, ConfigResource, ConfigResourceType
from kwire.messages.kafka.error_codes import ErrorCode
from kwire_admin.compat.options import ScriptOption, ScriptUsageError
from kwire_admin.compat.script import ZOOKEEPER, Script, ScriptFailed, accepted
from kwire_admin.compat.scripts.configs import (
    QUOTA_TYPES,
    SCRAM,
    Entity,
    added_configs,
    chosen_quotas,
    deleted_configs,
    paired_names,
    quota_entity,
)
from kwire_admin.compat.scripts.configs import configs as new_configs
from kwire_admin.reassignment.throttle import RATES
from kwire_cluster.config.topic_settings import TOPIC_SETTINGS
from kwire_zookeeper_tools.with_zookeeper import config_sentence, tool_run, unknown_config
from kwire_zookeeper_tools.with_zookeeper.entity_configs import (
    QUOTAS,
    change_entity,
    described_entities,
    unknown_dynamic,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from kwire.client.admin import AdminClient
    from kwire.client.admin.config_plans import ConfigPlan
    from kwire_admin.compat.script import ScriptRun

TYPES = ("topics", "clients", "users", "brokers")
SHOWN = {"topics": "topic", "clients": "client-id", "users": "user-principal", "brokers": "brokers"}
DYNAMIC = (1, 2)
"""The sources of configs that are set for a topic or a broker, of ConfigSource."""


async def run(run: ScriptRun) -> None:
    """Describe or change configs and quotas.

    Raises:
        ScriptUsageError: the options do not fit together.
        ScriptFailed: the cluster refused something.
    """
    values = run.values
    values.one_action("--describe, --alter")
    values.need("zookeeper", "entity-type")
    entities = _entities(run)
    if "alter" in values and "add-config" not in values and "delete-config" not in values:
        raise ScriptUsageError("At least one of --add-config or --delete-config must be specified with --alter")
    if "alter" in values and any(entity.name is None for entity in entities):
        raise ScriptUsageError("--entity-name or --entity-default must be specified with --alter of users, clients")
    admin = await tool_run(run).admin()
    if "alter" in values:
        await _alter(run, admin, entities)
    elif admin.dialect == "kip4" and entities[0].type != "topics":
        for names, configs in await described_entities(run, entities):
            _print(run, names, [f"{key}={value}" for key, value in sorted(configs.items())])
    elif any(entity.type in QUOTA_TYPES for entity in entities):
        await _describe_quotas(run, admin, entities)
    else:
        await _describe(run, admin, entities[0])


def _entities(run: ScriptRun) -> list[Entity]:
    types, names = run.values.all("entity-type"), paired_names(run.values)
    unknown = next((type for type in types if type not in TYPES[: 2 if run.is_before("0.10.0.0") else 4]), None)
    if unknown is not None:
        old = "--entity-type must be 'topics' or 'clients'"
        new = f"Invalid entity-type {unknown}, --entity-type must be one of List({', '.join(TYPES)})"
        raise ScriptUsageError(old if run.is_before("0.10.0.0") else new)
    return [Entity(type, names[at] if at < len(names) else None) for at, type in enumerate(types)]


async def _alter(run: ScriptRun, admin: AdminClient, entities: list[Entity]) -> None:
    from kwire.messages.kip4.error_codes import ErrorCode as Kip4ErrorCode

    added, deleted = added_configs(run), deleted_configs(run.values)
    if any(SCRAM.fullmatch(key) for key in (*added, *deleted)):
        raise ScriptFailed(
            "SCRAM credentials are not changed by this script, because all users of the machine can read the arguments "
            "of a process: use kafka users set"
        )
    entity = entities[0]
    in_zookeeper = admin.dialect == "kip4" and (
        entity.type in QUOTA_TYPES or (entity.type == "brokers" and {*added, *deleted} <= {*RATES})
    )
    try:
        if in_zookeeper:
            await change_entity(run, entities, added, deleted)
        elif entity.type in QUOTA_TYPES:
            quotas = {key: float(value) for key, value in added.items()} | dict.fromkeys(deleted)
            (await admin.alter_client_quotas({quota_entity(entities): quotas})).raise_first()
        else:
            type = ConfigResourceType.TOPIC if entity.type == "topics" else ConfigResourceType.BROKER
            resource = ConfigResource(type, entity.name or "")
            change = ConfigChange(set=added, delete=deleted)
            _check_names(run, admin, await admin.plan_config_change(resource, change), change)
            (await admin.alter_configs({resource: change})).raise_first()
    except AdminError as error:
        text = error.text
        if error.code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
            text = f'Topic "{entity.name}" does not exist.'
        elif entity.type == "topics" and error.code in (
            ErrorCode.INVALID_CONFIG,
            Kip4ErrorCode.INVALID_ARGUMENT_TOPIC_CONFIG,
        ):
            text = config_sentence(run, added) or text
        elif entity.type in QUOTA_TYPES:
            text = next((unknown_dynamic(name) for name in added if name not in QUOTAS), text)
        elif entity.type == "brokers" and "unknown setting" in text:
            text = unknown_dynamic(text.partition(":")[0])
        command = "topic" if run.is_before("0.10.0.0") else "config"
        raise ScriptFailed(f"Error while executing {command} command {text}", on_stdout=True) from None
    if run.is_before("0.10.0.0"):
        run.print(f'Updated config for {"topic" if entity.type == "topics" else "clientId"}: "{entity.name}".')
    else:
        run.print(f"Completed Updating config for entity: {_shown({entity.type: entity.name for entity in entities})}.")


def _check_names(run: ScriptRun, admin: AdminClient, plan: ConfigPlan, change: ConfigChange) -> None:
    """Raise ScriptFailed for a config that brokers do not have, or that is to be deleted and is not set.

    Kafka 0.10 refuses a config that is not set; 0.9 accepted any name, also a misspelt one. Brokers store a config that
    they do not have without effect; nodes of kwire refuse it themselves.
    """
    if plan.error is not None:
        return  # the change itself has a better error
    sentence = None
    if run.is_before("0.10.0.0"):
        unknown = (name for name in change.delete if name not in plan.present and name not in TOPIC_SETTINGS)
        sentence = next((f"topic command {unknown_config(run, name)}" for name in unknown), None)
    elif plan.unset:
        sentence = f"config command Invalid config(s): {','.join(plan.unset)}"
    if plan.resource.type is ConfigResourceType.BROKER and admin.dialect == "kafka":
        of_broker = (f"config command {unknown_dynamic(name)}" for name in change.set if not plan.knows(name))
        sentence = next(of_broker, sentence)
    if sentence is not None:
        raise ScriptFailed(f"Error while executing {sentence}", on_stdout=True)


def _shown(names: Mapping[str, str | None]) -> str:
    """Return entities as Kafka 0.10 prints them, such as `user-principal 'alice', client-id 'app'`."""
    order = ("topics", "users", "clients", "brokers")
    named = [(SHOWN[type], names[type]) for type in order if type in names]
    return ", ".join(f"{type} '{name}'" if name else f"default {type}" for type, name in named)


def _print(run: ScriptRun, names: Mapping[str, str | None], configs: Iterable[str]) -> None:
    old = ", ".join(f"{type}:{name}" for type, name in names.items())
    run.print(f"Configs for {old if run.is_before('0.10.0.0') else _shown(names)} are {','.join(configs)}")


async def _describe(run: ScriptRun, admin: AdminClient, entity: Entity) -> None:
    names = [entity.name]
    type = ConfigResourceType.TOPIC if entity.type == "topics" else ConfigResourceType.BROKER
    if entity.name is None and entity.type == "topics":
        names = [*await admin.list_topics()]
    elif entity.name is None:
        names = [str(broker.id) for broker in (await admin.describe_cluster()).brokers]
    resources = {name: ConfigResource(type, name or "") for name in names}
    described = await admin.describe_configs(resources.values())
    for name, resource in resources.items():
        configs = accepted(described[resource])
        changed = [f"{key}={entry.value}" for key, entry in sorted(configs.items()) if entry.source in DYNAMIC]
        if entity.name is not None or changed or type is ConfigResourceType.TOPIC:
            _print(run, {entity.type: name}, changed)


async def _describe_quotas(run: ScriptRun, admin: AdminClient, entities: list[Entity]) -> None:
    names = {entity.type: entity.name for entity in entities}
    chosen = await chosen_quotas(admin, names)
    for present, quotas in chosen:
        _print(run, present, [f"{key}={_number(value)}" for key, value in sorted(quotas.items())])
    if not chosen and None not in names.values():
        _print(run, names, [])


def _number(value: float) -> str:
    return f"{value:.0f}" if value == int(value) else str(value)


script = Script(
    "kafka-configs",
    ("kafka.admin.ConfigCommand",),
    (
        ZOOKEEPER,
        ScriptOption("entity-type", "Type of entity (topics/clients/users/brokers)", "type"),
        *new_configs.chosen_options("describe", "alter", "add-config", "delete-config"),
        *new_configs.chosen_options("entity-name", "entity-default"),
        ScriptOption("force", "Accepted: there is no question to suppress."),
    ),
    run,
    "Error while executing config command ",
    banner="Add/Remove entity config for a topic, client, user or broker",
    banners={"0.9.0.1": "Add/Remove entity (topics/clients) configs"},
    codes=dict.fromkeys(("0.9.0.1", "0.10.2.2"), 0),
)
