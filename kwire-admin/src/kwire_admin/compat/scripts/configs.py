"""`kafka-configs`."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from kwire.client.admin import (
    ClientQuotaEntity,
    ConfigChange,
    ConfigResource,
    ConfigResourceType,
    SpecialName,
)
from kwire.client.admin.config_values import stored_source
from kwire_admin.compat.options import ScriptOption, ScriptUsageError
from kwire_admin.compat.script import BOOTSTRAP, COMMAND_CONFIG, ZOOKEEPER, Script, ScriptFailed, accepted

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from kwire.client.admin import AdminClient, ConfigValue
    from kwire_admin.compat.options import OptionValues
    from kwire_admin.compat.script import ScriptRun

SOURCES = {
    1: "DYNAMIC_TOPIC_CONFIG",
    2: "DYNAMIC_BROKER_CONFIG",
    3: "DYNAMIC_DEFAULT_BROKER_CONFIG",
    4: "STATIC_BROKER_CONFIG",
    5: "DEFAULT_CONFIG",
    6: "DYNAMIC_BROKER_LOGGER_CONFIG",
    7: "DYNAMIC_CLIENT_METRICS_CONFIG",
    8: "DYNAMIC_GROUP_CONFIG",
}
SHORT_NAMES = {
    **{name: f"{name}s" for name in ("topic", "broker", "broker-logger", "client", "user", "ip", "group")},
    "client-metrics": "client-metrics",
}
DEFAULTS = {f"{name}-defaults": f"{name}s" for name in ("broker", "client", "user", "ip")}
INVALID_CONFIG = 'requirement failed: Invalid entity config: all configs to be added must be in the format "key=val".'
INVALID_CONFIG_4_4 = (
    'Invalid entity config: all configs to be added must be in the format "key=val" or  "key=[val1,val2]" to group '
    "values which contain commas."
)
NEWEST = "4.4.0"
"""The release that looks entities up before it describes them, and deletes configs that are not set."""
QUOTAS = ("producer_byte_rate", "consumer_byte_rate", "request_percentage", "controller_mutation_rate")
IP_QUOTAS = ("connection_creation_rate",)
QUOTA_TYPES = ("users", "clients", "ips")
ENTITY_NAMES = {"users": "user-principal", "clients": "client-id", "ips": "ip"}
TOPIC_NAME = re.compile(r"[a-zA-Z0-9._-]+")
SCRAM = re.compile(r"SCRAM-SHA-(256|512)")
ADDED = re.compile(r"\s*([^=,\s]*)\s*=\s*(\[[^\]]*\]|[^,=]*)\s*(?:,|$)")


@dataclass(frozen=True, slots=True)
class Entity:
    """An entity of the command line.

    Attributes:
        type: such as `topics`.
        name: its name; an empty text for the defaults of all, None for every entity of the type.
    """

    type: str
    name: str | None


async def run(run: ScriptRun) -> None:
    """Describe or change configs and quotas.

    Raises:
        ScriptUsageError: the options do not fit together.
        ScriptFailed: a config is unknown.
    """
    values = run.values
    values.one_action("--describe, --alter")
    entities = _entities(values)
    if "bootstrap-server" not in values:
        raise ScriptUsageError(
            "One of the required --bootstrap-server or --bootstrap-controller arguments must be specified"
            if run.is_before(NEWEST)
            else "Either --bootstrap-server or --bootstrap-controller must be specified."
        )
    changes = ("add-config", "add-config-file", "delete-config")
    if "alter" in values and not any(name in values for name in changes):
        raise ScriptUsageError(
            "At least one of --add-config, --add-config-file, or --delete-config must be specified with --alter"
        )
    if "alter" in values and any(entity.name is None for entity in entities):
        raise ScriptUsageError("An entity name must be specified with --alter")
    _check_options(run, entities)
    admin = await run.admin()
    is_quota = any(entity.type in QUOTA_TYPES for entity in entities)
    if "describe" in values:
        await (_describe_quotas(run, admin, entities) if is_quota else _describe(run, admin, entities[0]))
    else:
        await (_alter_quotas(run, admin, entities) if is_quota else _alter(run, admin, entities[0]))


def _check_options(run: ScriptRun, entities: list[Entity]) -> None:
    """Check names of brokers and addresses, and options that the action does not take, or raise ScriptUsageError."""
    values = run.values
    for entity in entities:
        if entity.type in ("brokers", "broker-loggers") and entity.name and not entity.name.isdecimal():
            raise ScriptUsageError(
                f"The entity name for {entity.type} must be a valid integer broker id, but it is: {entity.name}"
            )
        if entity.type == "ips" and entity.name and not _is_host(entity.name):
            raise ScriptUsageError(
                f"The entity name for ips must be a valid IP or resolvable host, but it is: {entity.name}"
            )
        if "describe" in values and entity.name is None and entity.type == "broker-loggers":
            start = "an" if run.is_before(NEWEST) else "An"
            raise ScriptUsageError(f"{start} entity name must be specified with --describe of {entity.type}")
    if "add-config" in values and "add-config-file" in values:
        raise ScriptUsageError("Only one of --add-config or --add-config-file must be specified")
    values.forbid("add-config", "describe")
    values.forbid("delete-config", "describe")
    if values.get("add-config") == "":
        raise ScriptFailed(INVALID_CONFIG if run.is_before(NEWEST) else INVALID_CONFIG_4_4)


def _is_host(name: str) -> bool:
    import socket

    try:
        socket.getaddrinfo(name, None)
    except OSError:
        return False
    return True


def _entities(values: OptionValues) -> list[Entity]:
    types, names = values.all("entity-type"), paired_names(values)
    entities = [
        Entity(type, name) for type, name in zip(types, [*names, *[None] * (len(types) - len(names))], strict=False)
    ]
    entities += [Entity(type, values.get(option)) for option, type in SHORT_NAMES.items() if option in values]
    entities += [Entity(type, "") for option, type in DEFAULTS.items() if option in values]
    if not entities:
        raise ScriptUsageError("At least one entity type must be specified")
    short_names = ", ".join(sorted(SHORT_NAMES.values()))
    unknown = [entity.type for entity in entities if entity.type not in SHORT_NAMES.values()]
    if unknown:
        raise ScriptUsageError(
            f"Invalid entity type {unknown[0]}, the entity type must be one of {short_names} "
            "with a --bootstrap-server or --bootstrap-controller argument"
        )
    if len(entities) > 1 and {entity.type for entity in entities} != {"users", "clients"}:
        raise ScriptUsageError("Only 'users' and 'clients' entity types may be specified together")
    return entities


def paired_names(values: OptionValues) -> list[str | None]:
    """Return the name for each `--entity-type`, in the order of the command line; empty for `--entity-default`."""
    given = values.in_order("entity-name", "entity-default")
    return ["" if option == "entity-default" else name for option, name in given]


async def _describe(run: ScriptRun, admin: AdminClient, entity: Entity) -> None:
    every = "all" in run.values
    if not every and entity.name and not run.is_before(NEWEST) and not await _exists(admin, entity.type, entity.name):
        type = entity.type.removesuffix("s")
        run.print(f"The {type} '{entity.name}' doesn't exist and doesn't have dynamic config.")
        return
    for name in await _names(admin, entity):
        resource = _resource(entity.type, name)
        title = "Default configs for brokers in the cluster are:"
        if name:
            title = f"{'All' if every else 'Dynamic'} configs for {_singular(entity.type)} {name} are:"
        run.print(title)
        configs = accepted((await admin.describe_configs([resource], synonyms=True))[resource])
        for key, config in sorted(configs.items()):
            if every or config.source is stored_source(resource):
                run.print(f"  {_described(key, config)}")


async def _exists(admin: AdminClient, type: str, name: str) -> bool:
    """Return whether there is an entity, or configs of it."""
    if type in ("brokers", "broker-loggers"):
        return name in {str(broker.id) for broker in (await admin.describe_cluster()).brokers}
    if type == "topics":
        if not TOPIC_NAME.fullmatch(name):
            raise ScriptFailed(
                f"Topic name is invalid: '{name}' contains one or more characters other than ASCII alphanumerics, "
                "'.', '_' and '-'"
            )
        return name in await admin.list_topics()
    return name in await _names(admin, Entity(type, None))


async def _names(admin: AdminClient, entity: Entity) -> list[str]:
    if entity.name is not None:
        return [entity.name]
    if entity.type == "topics":
        return await admin.list_topics()
    brokers = sorted(broker.id for broker in (await admin.describe_cluster()).brokers)
    if entity.type == "brokers":
        return [*map(str, brokers), ""]
    if entity.type in ("client-metrics", "groups"):
        kind = ConfigResourceType.GROUP if entity.type == "groups" else ConfigResourceType.CLIENT_METRICS
        groups = await admin.list_groups() if entity.type == "groups" else ()
        names = {resource.name for resource in await admin.export_configs(kind)}
        return sorted(names | {group.group_id for group in groups})
    raise ScriptUsageError(f"an entity name must be specified with --describe of {entity.type}")


def _described(key: str, config: ConfigValue) -> str:
    synonyms = ", ".join(
        f"{SOURCES.get(synonym.source, 'UNKNOWN')}:{synonym.name}={_text(synonym.value)}" for synonym in config.synonyms
    )
    return f"{key}={_text(config.value)} sensitive={str(config.is_sensitive).lower()} synonyms={{{synonyms}}}"


def _text(value: str | None) -> str:
    return "null" if value is None else value


def _singular(type: str) -> str:
    return type if type == "client-metrics" else type.removesuffix("s")


def _resource(type: str, name: str) -> ConfigResource:
    kinds = {
        "topics": "TOPIC",
        "brokers": "BROKER",
        "broker-loggers": "BROKER_LOGGER",
        "client-metrics": "CLIENT_METRICS",
        "groups": "GROUP",
    }
    return ConfigResource(ConfigResourceType[kinds[type]], name)


async def _alter(run: ScriptRun, admin: AdminClient, entity: Entity) -> None:
    values, name = run.values, entity.name or ""
    added, deleted = added_configs(run), deleted_configs(values)
    resource = _resource(entity.type, name)
    change = ConfigChange(set=added, delete=deleted)
    if deleted and (run.is_before(NEWEST) or entity.type in ("brokers", "broker-loggers")):
        plan = await admin.plan_config_change(resource, change)
        if plan.error is not None:
            raise plan.error
        if plan.unset:
            raise ScriptFailed(f"Invalid config(s): {','.join(plan.unset)}")
    (await admin.alter_configs({resource: change})).raise_first()
    _print_updated(run, entity)


def _print_updated(run: ScriptRun, entity: Entity) -> None:
    if entity.name:
        run.print(f"Completed updating config for {_singular(entity.type)} {entity.name}.")
    else:
        run.print(f"Completed updating default config for {entity.type} in the cluster.")


def added_configs(run: ScriptRun) -> dict[str, str]:
    values = run.values
    added: dict[str, str] = {}
    file = values.get("add-config-file")
    if file is not None:
        from pathlib import Path

        from kwire._util.properties import parse_properties
        from kwire._util.text_files import EncodingError, read_properties

        try:
            added |= parse_properties(read_properties(Path(file)))
        except EncodingError as error:
            raise ScriptFailed(f"{file}: {error}") from None
    for text in values.all("add-config"):
        position = 0
        while position < len(text):
            match = ADDED.match(text, position)
            if match is None:
                if not text[position:].strip(", "):  # Java drops empty strings at the end
                    break
                raise ScriptFailed(INVALID_CONFIG if run.is_before(NEWEST) else INVALID_CONFIG_4_4)
            key, value = match.groups()
            added[key] = value.removeprefix("[").removesuffix("]") if value.startswith("[") else value
            position = match.end()
    return added


def deleted_configs(values: OptionValues) -> list[str]:
    return [key.strip() for text in values.all("delete-config") for key in text.split(",") if key.strip()]


def quota_entity(entities: list[Entity]) -> ClientQuotaEntity:
    named = {entity.type: SpecialName.DEFAULT if entity.name == "" else entity.name for entity in entities}
    return ClientQuotaEntity(user=named.get("users"), client_id=named.get("clients"), ip=named.get("ips"))


async def chosen_quotas(
    admin: AdminClient, names: Mapping[str, str | None]
) -> list[tuple[dict[str, str], Mapping[str, float]]]:
    """Return entities, as names by type, with their quotas.

    Args:
        names: the names by type; None for every entity of the type. An empty name is the default.
    """
    chosen: list[tuple[dict[str, str], Mapping[str, float]]] = []
    for entity, quotas in (await admin.describe_client_quotas()).items():
        parts = {"users": entity.user, "clients": entity.client_id, "ips": entity.ip}
        present = {type: part if isinstance(part, str) else "" for type, part in parts.items() if part is not None}
        if set(present) == set(names) and all(names[type] in (None, name) for type, name in present.items()):
            chosen.append((present, quotas))
    return chosen


async def _describe_quotas(run: ScriptRun, admin: AdminClient, entities: list[Entity]) -> None:
    names = {entity.type: entity.name for entity in entities}
    for present, quotas in await chosen_quotas(admin, names):
        listed = ", ".join(f"{key}={value}" for key, value in quotas.items())
        run.print(f"Quota configs for {_entity_text(present)} are {listed}")
    if set(names) == {"users"} and names["users"] != "":
        for user, mechanisms in (
            await admin.describe_user_scram_credentials([names["users"]] if names["users"] else ())
        ).items():
            if isinstance(mechanisms, Exception):
                continue
            listed = ", ".join(
                f"{mechanism.mechanism.value}=iterations={mechanism.iterations}" for mechanism in mechanisms
            )
            run.print(f"SCRAM credential configs for user-principal '{user}' are {listed}")


def _entity_text(present: Mapping[str, str]) -> str:
    return ", ".join(
        f"{ENTITY_NAMES[type]} '{name}'" if name else f"the default {ENTITY_NAMES[type]}"
        for type, name in present.items()
    )


async def _alter_quotas(run: ScriptRun, admin: AdminClient, entities: list[Entity]) -> None:
    added, deleted = added_configs(run), deleted_configs(run.values)
    if any(SCRAM.fullmatch(key) for key in (*added, *deleted)):
        raise ScriptFailed(
            "SCRAM credentials are not changed by this script, because all users of the machine can read the arguments "
            "of a process: use kafka users set"
        )
    _check_quota_names(entities, added)
    set = {}
    for key, value in added.items():
        try:
            set[key] = float(value)
        except ValueError:
            raise ScriptFailed(f"Cannot parse quota configuration value for {key}: {value}") from None
    await _check_deleted_quotas(admin, quota_entity(entities), deleted)
    (await admin.alter_client_quotas({quota_entity(entities): {**set, **dict.fromkeys(deleted)}})).raise_first()
    for entity in entities:
        _print_updated(run, entity)


def _check_quota_names(entities: list[Entity], names: Iterable[str]) -> None:
    """Check that configs are quotas of their entities, or raise ScriptFailed."""
    types = [entity.type for entity in entities]
    known, kind = (IP_QUOTAS, "connection quota") if types == ["ips"] else (QUOTAS, "quota")
    if types == ["users"]:
        kind = "quota and SCRAM credential"
    unknown = [name for name in names if name not in known]
    if unknown:
        raise ScriptFailed(
            f"Only {kind} configs can be added for '{types[0]}' using --bootstrap-server. Unexpected config names: "
            f"{','.join(unknown)}"
        )


async def _check_deleted_quotas(admin: AdminClient, entity: ClientQuotaEntity, deleted: list[str]) -> None:
    """Check that an entity has the quotas that are to be deleted, or raise ScriptFailed."""
    if not deleted:
        return
    present = (await admin.describe_client_quotas()).get(entity, {})
    invalid = [key for key in deleted if key not in present]
    if invalid:
        raise ScriptFailed(f"Invalid config(s): {','.join(invalid)}")


configs = Script(
    "kafka-configs",
    ("kafka.admin.ConfigCommand",),
    (
        BOOTSTRAP,
        COMMAND_CONFIG,
        ZOOKEEPER,
        ScriptOption("describe", "List configs for the given entity."),
        ScriptOption("alter", "Alter the configuration for the entity."),
        ScriptOption("all", "List all configs for the given entity (includes static configuration)."),
        ScriptOption(
            "entity-type",
            "Type of entity (topics/clients/users/brokers/broker-loggers/ips/client-metrics/groups)",
            "type",
        ),
        ScriptOption("entity-name", "Name of entity.", "name"),
        ScriptOption("entity-default", "Default entity name for clients/users/brokers/ips."),
        ScriptOption("add-config", "Key Value pairs of configs to add.", "k1=v1,k2=[v1,v2,v2]"),
        ScriptOption("add-config-file", "Path to a properties file with configs to add.", "path"),
        ScriptOption("delete-config", "Config keys to remove 'k1,k2'.", "keys"),
        ScriptOption("force", "Suppress console prompts."),
        *(ScriptOption(name, f"The {name}'s name.", "name", optional=True) for name in SHORT_NAMES),
        *(ScriptOption(name, f"The config defaults for all {type}.") for name, type in DEFAULTS.items()),
    ),
    run,
    "Error while executing config command with args '{arguments}'\n",
    fails_on_stdout=False,
)
