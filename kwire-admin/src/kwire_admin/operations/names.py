"""Live names: what completes the parameters of verbs, as a cluster reports it.

A parameter declares the kind of its values with `completes=`. A kind is a key of NAMES, a key of TYPED for values such
as `topic/orders`, or `configs` for the configs of the resource that the command line names before.
"""

from __future__ import annotations

from kwire._util.light_typing import TYPE_CHECKING
from kwire.client.admin.config_values import ConfigResource, ConfigResourceType
from kwire.client.admin.errors import AdminError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable, Mapping

    from kwire.client.admin import AdminClient


async def _topics(admin: AdminClient) -> Iterable[str]:
    return await admin.list_topics()


async def _groups(admin: AdminClient) -> Iterable[str]:
    return [group.group_id for group in await admin.list_groups()]


async def _brokers(admin: AdminClient) -> Iterable[str]:
    return [str(broker.id) for broker in (await admin.describe_cluster()).brokers]


async def _users(admin: AdminClient) -> Iterable[str]:
    return await admin.describe_user_scram_credentials()


async def _transactions(admin: AdminClient) -> Iterable[str]:
    return [transaction.transactional_id for transaction in await admin.list_transactions()]


async def _tokens(admin: AdminClient) -> Iterable[str]:
    return [token.token_id for token in await admin.describe_delegation_tokens()]


async def _tools(admin: AdminClient) -> Iterable[str]:
    from kwire_admin.operations.registry import tool_names

    names = set(tool_names())
    if admin.dialect == "kip4":
        output = (await admin.run_tool("help")).output
        names.update(line.partition("\t")[0] for line in output.split("\n") if line)
    return sorted(names)


async def _configs(admin: AdminClient, type: ConfigResourceType, names: Iterable[str]) -> Iterable[str]:
    """Return the configs of the first resource: all resources of a type have the same."""
    name = next(iter(names), None)
    if name is None:
        return ()
    resource = ConfigResource(type, name)
    configs = (await admin.describe_configs([resource]))[resource]
    if isinstance(configs, AdminError):
        raise configs
    return configs


async def _topic_configs(admin: AdminClient) -> Iterable[str]:
    return await _configs(admin, ConfigResourceType.TOPIC, await _topics(admin))


async def _broker_configs(admin: AdminClient) -> Iterable[str]:
    return await _configs(admin, ConfigResourceType.BROKER, await _brokers(admin))


async def _group_configs(admin: AdminClient) -> Iterable[str]:
    return await _configs(admin, ConfigResourceType.GROUP, ["any"])  # a broker lists them for every name


async def _loggers(admin: AdminClient) -> Iterable[str]:
    return await _configs(admin, ConfigResourceType.BROKER_LOGGER, await _brokers(admin))


NAMES: Mapping[str, Callable[[AdminClient], Awaitable[Iterable[str]]]] = {
    "topics": _topics,
    "groups": _groups,
    "brokers": _brokers,
    "users": _users,
    "transactions": _transactions,
    "tokens": _tokens,
    "tools": _tools,
    "topic-configs": _topic_configs,
    "broker-configs": _broker_configs,
    "group-configs": _group_configs,
    "loggers": _loggers,
}
"""Functions that return the names of a kind."""

TYPED: Mapping[str, tuple[str, Mapping[str, str | None]]] = {
    "resources": (
        "/",
        {"topic": "topics", "broker": "brokers", "group": "groups", "broker-logger": "brokers", "client-metrics": None},
    ),
    "acl-resources": (
        ":",
        {
            "topic": "topics",
            "group": "groups",
            "user": "users",
            "transactional-id": "transactions",
            "delegation-token": "tokens",
        },
    ),
    "principals": (":", {"User": "users"}),
}
"""Kinds of values that are a type and a name: the separator, and the kind of the names by type."""

CONFIGS: Mapping[str, str] = {
    "topic": "topic-configs",
    "broker": "broker-configs",
    "group": "group-configs",
    "broker-logger": "loggers",
}
"""The kind of the configs of a resource, by its type."""


def kinds() -> frozenset[str]:
    """Return every kind that a parameter can declare."""
    return frozenset({*NAMES, *TYPED, "configs"})
