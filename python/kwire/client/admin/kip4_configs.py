"""Configs in a cluster of nodes: the overrides of topics, and the settings of brokers.

A topic is described with its overrides, and changed with AlterTopic of the drafts of KIP-4. The settings of brokers are
described and changed by the tool `config` of the nodes (KAFKA-1694).
"""

from __future__ import annotations

import logging
from urllib.parse import unquote

from kwire._util.light_typing import TYPE_CHECKING
from kwire.client.admin import kip4_topics
from kwire.client.admin.config_values import (
    ConfigResource,
    ConfigResourceType,
    ConfigSource,
    ConfigValue,
    RecordedChange,
)
from kwire.client.admin.errors import AdminError, NotSupported
from kwire.client.admin.kip4_tools import tool_result
from kwire.client.admin.values import Outcomes, ShadowedConfig, TopicChange

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from kwire.client.admin.config_values import ConfigChange
    from kwire.client.admin.session import AdminSession, ResourceConfigs, StoredConfigs

log = logging.getLogger("kwire.client")

TOOL = "config"
DEFAULT = "<default>"
"""The name of the resource for every broker, where the nodes store it."""
SOURCES = {
    "file": ConfigSource.STATIC,
    "broker": ConfigSource.BROKER,
    "default": ConfigSource.CLUSTER_DEFAULT,
    "code": ConfigSource.DEFAULT,
}


async def describe(admin: AdminSession, resources: Iterable[ConfigResource]) -> ResourceConfigs:
    """Return the configs that topics override, and the settings of brokers.

    Raises:
        NotSupported: a resource is neither a topic nor a broker.
    """
    described: ResourceConfigs = {}
    requested = list(dict.fromkeys(resources))
    topics = {resource.name: resource for resource in requested if resource.type is ConfigResourceType.TOPIC}
    if topics:
        for name, topic in (await kip4_topics.describe_topics(admin, tuple(topics))).items():
            described[topics[name]] = topic if isinstance(topic, AdminError) else _overrides(topic.configs or {})
    for resource in requested:
        if resource not in topics.values():
            described[resource] = await _describe_broker(admin, resource)
    return described


async def alter(
    admin: AdminSession, changes: Mapping[ConfigResource, ConfigChange], *, validate_only: bool
) -> Outcomes:
    """Set and delete configs. The outcomes are by resource, such as `topic orders`.

    Raises:
        NotSupported: a resource is neither a topic nor a broker, or a change appends, subtracts, or is only to be
            validated and concerns a topic.
    """
    topics = {}
    brokers = {}
    for resource, change in changes.items():
        if change.append or change.subtract:
            raise NotSupported("appending to a config", "nodes only set and delete configs")
        if resource.type is ConfigResourceType.TOPIC:
            topics[resource.name] = TopicChange(set_configs=change.set, delete_configs=change.delete)
        else:
            brokers[resource] = change
    outcomes: dict[str, AdminError | None] = {}
    shadowed: list[ShadowedConfig] = []
    attempts = 1
    if topics:
        altered = await kip4_topics.alter_topics(admin, topics, validate_only=validate_only)
        attempts = altered.attempts
        for name, error in altered.items():
            outcomes[str(ConfigResource(ConfigResourceType.TOPIC, name))] = error
    for resource, change in brokers.items():
        try:
            shadowed += await _alter_broker(admin, resource, change, validate_only=validate_only)
        except AdminError as error:
            outcomes[str(resource)] = error
        else:
            outcomes[str(resource)] = None
    return Outcomes(outcomes, attempts, shadowed)


async def export(admin: AdminSession, type: ConfigResourceType) -> StoredConfigs:
    """Return what is stored for brokers or topics. What cannot be read is logged and left out."""
    kind, _ = _stored_as(ConfigResource(type, ""))
    stored = await tool_result(admin, TOOL, ["export"], "", reads=True)
    for name, reason in stored.get("errors", {}).get(kind, {}).items():
        log.warning("the configs of %s cannot be exported: %s", _resource(kind, name), reason)
    return {_resource(kind, name): values for name, values in stored[kind].items()}


async def recorded_changes(admin: AdminSession, newest: int, topic: str | None) -> list[RecordedChange]:
    """Return the newest changes of configs of brokers, ACLs, credentials, and topics, oldest first."""
    arguments = ["audit", "--newest", str(newest), *([] if topic is None else [f"--topic={topic}"])]
    entries = await tool_result(admin, TOOL, arguments, "", reads=True)
    return [
        RecordedChange(
            entry["timestamp"],
            entry["author"],
            entry["node"],
            _audited(entry["entity"]),
            name,
            change["old"],
            change["new"],
        )
        for entry in entries
        for name, change in entry["changes"].items()
    ]


async def _describe_broker(admin: AdminSession, resource: ConfigResource) -> dict[str, ConfigValue] | AdminError:
    _, name = _stored_as(resource)
    if name == DEFAULT:
        stored = (await tool_result(admin, TOOL, ["export"], "", reads=True))["brokers"].get(DEFAULT, {})
        return {
            name: ConfigValue(value, ConfigSource.CLUSTER_DEFAULT, is_sensitive=False, is_read_only=False)
            for name, value in stored.items()
        }
    described = await tool_result(admin, TOOL, ["describe"], str(resource), broker=int(name), reads=True)
    return {
        config["name"]: ConfigValue(
            None if config["secret"] else config["value"],
            SOURCES[config["source"]],
            is_sensitive=config["secret"],
            is_read_only=not config["live"],
        )
        for config in described
    }


async def _alter_broker(
    admin: AdminSession, resource: ConfigResource, change: ConfigChange, *, validate_only: bool
) -> list[ShadowedConfig]:
    """Change settings of brokers, and return the settings that files override.

    Raises:
        AdminError: a node refused the change.
    """
    _, name = _stored_as(resource)
    options = [] if name == DEFAULT else ["--broker", name]
    options += ["--dry-run"] if validate_only else []
    if change.set:
        options += [f"--delete={name}" for name in change.delete]
        arguments = ["set", *options, "--", *(f"{key}={value}" for key, value in change.set.items())]
    else:
        arguments = ["delete", *options, "--", *change.delete]
    changed = await tool_result(admin, TOOL, arguments, str(resource), reads=validate_only, repeatable=True)
    return [
        ShadowedConfig(
            shadowing["node"],
            shadowing.get("name"),
            shadowing.get("value"),
            shadowing.get("source"),
            shadowing.get("error"),
        )
        for shadowing in changed["shadowed_by"]
    ]


def _audited(entity: str) -> ConfigResource | str:
    kind, _, name = entity.partition("/")
    if kind in {"brokers", "topics"}:
        return _resource(kind, name)
    return unquote(entity) if kind == "users" else entity


def _overrides(configs: Mapping[str, str]) -> dict[str, ConfigValue]:
    return {
        name: ConfigValue(value, ConfigSource.TOPIC, is_sensitive=False, is_read_only=False)
        for name, value in configs.items()
    }


def _stored_as(resource: ConfigResource) -> tuple[str, str]:
    """Return the kind of a resource and its name, as nodes store it."""
    if resource.type is ConfigResourceType.TOPIC:
        return "topics", resource.name
    if resource.type is ConfigResourceType.BROKER:
        return "brokers", resource.name or DEFAULT
    raise NotSupported(f"a config of a {resource.type.singular}", "nodes have configs of topics and brokers only")


def _resource(kind: str, name: str) -> ConfigResource:
    if kind == "topics":
        return ConfigResource(ConfigResourceType.TOPIC, name)
    return ConfigResource(ConfigResourceType.BROKER, "" if name == DEFAULT else name)
