"""Configs of topics, brokers, and other resources of Kafka: describe them, and change them one by one (KIP-339)."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from dataclasses import dataclass, field
from enum import IntEnum
from typing import TYPE_CHECKING, NamedTuple

from kwire.client.admin.answer import first_error_code
from kwire.client.admin.cluster_router import ANY, CONTROLLER, MISDIRECTED, Broker
from kwire.client.admin.errors import NotSupported
from kwire.client.admin.values import Outcomes
from kwire.messages.kafka.describe_configs import DescribeConfigsRequest, DescribeConfigsResource
from kwire.messages.kafka.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from typing import TypeAlias

    from kwire.client.admin.backend import Backend
    from kwire.client.admin.cluster_router import ClusterRouter, Target
    from kwire.client.admin.errors import AdminError
    from kwire.client.admin.kip4_configs import ConfigDifference, RecordedChange
    from kwire.messages.kafka.describe_configs import DescribeConfigsResourceResult
    from kwire.messages.kafka.incremental_alter_configs import IncrementalAlterConfigsResponse
    from kwire.protocol.negotiated_versions import Dialect

    Described: TypeAlias = dict["ConfigResource", dict[str, "ConfigValue"] | AdminError]

SET, DELETE, APPEND, SUBTRACT = 0, 1, 2, 3
"""Operations of IncrementalAlterConfigs."""


class ConfigResourceType(IntEnum):
    """The type of a resource with configs."""

    TOPIC = 2
    BROKER = 4
    BROKER_LOGGER = 8
    CLIENT_METRICS = 16
    GROUP = 32

    @property
    def singular(self) -> str:
        """The name of the type, such as `topic` or `broker-logger`."""
        return self.name.lower().replace("_", "-")


class ConfigResource(NamedTuple):
    """A resource with configs.

    Attributes:
        type: its type.
        name: its name; for a broker, its id, or an empty string for the default of all brokers.
    """

    type: ConfigResourceType
    name: str

    def __str__(self) -> str:
        return f"{self.type.singular} {self.name or 'default'}"


class ConfigSource(IntEnum):
    """Where the value of a config comes from."""

    UNKNOWN = 0
    TOPIC = 1
    BROKER = 2
    CLUSTER_DEFAULT = 3
    STATIC = 4
    DEFAULT = 5
    BROKER_LOGGER = 6
    CLIENT_METRICS = 7
    GROUP = 8

    @classmethod
    def of(cls, code: int) -> ConfigSource:
        """Return the source for a code of the protocol."""
        return cls(code) if code in cls._value2member_map_ else cls.UNKNOWN


class ConfigValue(NamedTuple):
    """The value of a config.

    Attributes:
        value: the value; None if it is secret or not set.
        source: where it comes from.
        is_sensitive: whether it is a secret, which brokers never return.
        is_read_only: whether it cannot be changed while the broker runs.
        documentation: a description; None if it was not requested.
    """

    value: str | None
    source: ConfigSource
    is_sensitive: bool
    is_read_only: bool
    documentation: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfigChange:
    """Changes of the configs of a resource. Configs that are not named stay as they are.

    Attributes:
        set: values to set.
        delete: names of configs to reset to their defaults.
        append: values to append to configs that are lists.
        subtract: values to remove from configs that are lists.
    """

    set: Mapping[str, str] = field(default_factory=dict)
    delete: Sequence[str] = ()
    append: Mapping[str, str] = field(default_factory=dict)
    subtract: Mapping[str, str] = field(default_factory=dict)


class ConfigOperations:
    """Operations on configs."""

    dialect: Dialect
    _router: ClusterRouter
    _backend: Backend

    async def describe_configs(self, resources: Iterable[ConfigResource], *, documentation: bool = False) -> Described:
        """Return the configs of resources by name. A broker reports its own configs.

        A cluster of the drafts reports what topics override, and the settings of its nodes.

        In a cluster with ZooKeeper, the configs of a topic are what ZooKeeper contains: it does not prove that the
        brokers apply them.

        Args:
            documentation: include a description of each config.
        """
        if self.dialect == "kip4":
            from kwire.client.admin import kip4_configs

            return await kip4_configs.describe(self._backend, resources)
        by_target: dict[Target, list[ConfigResource]] = defaultdict(list)
        for resource in dict.fromkeys(resources):
            by_target[_target(resource)].append(resource)

        async def send(target: Target, of_target: Sequence[ConfigResource]) -> Described:
            request = DescribeConfigsRequest(
                resources=tuple(
                    DescribeConfigsResource(resource_type=type, resource_name=name, configuration_keys=None)
                    for type, name in of_target
                ),
                include_documentation=documentation,
            )
            answer = await self._router.read(request, target)
            described: Described = {}
            for each in answer.response.results:
                resource = ConfigResource(ConfigResourceType(each.resource_type), each.resource_name)
                described[resource] = answer.error(each, str(resource)) or {
                    config.name: _value(config) for config in each.configs
                }
            return described

        found: Described = {}
        for part in await asyncio.gather(*(send(target, each) for target, each in by_target.items())):
            found |= part
        return found

    async def export_configs(self) -> dict[ConfigResource, dict[str, str]]:
        """Return what is stored for all brokers and topics of a cluster of nodes, for `apply_configs`.

        Raises:
            NotSupported: the cluster is Kafka.
        """
        self._require_nodes("an export of configs")
        from kwire.client.admin import kip4_configs

        return await kip4_configs.export(self._backend)

    async def apply_configs(
        self, wanted: Mapping[ConfigResource, Mapping[str, str]], *, validate_only: bool = False
    ) -> list[ConfigDifference]:
        """Make what a cluster of nodes stores for resources equal to `wanted`, and return what differed.

        Resources that are not named stay as they are. The command is never repeated after a lost response.

        Args:
            wanted: all configs of each resource.
            validate_only: only return what differs.

        Raises:
            AdminError: a config is invalid, or a change failed; the error says which changes were made before.
            NotSupported: the cluster is Kafka.
        """
        self._require_nodes("a document of configs")
        from kwire.client.admin import kip4_configs

        return await kip4_configs.apply(self._backend, wanted, validate_only=validate_only)

    async def recorded_config_changes(self, newest: int = 100) -> list[RecordedChange]:
        """Return the newest changes of configs of brokers, oldest first, from the audit of a cluster of nodes.

        Raises:
            NotSupported: the cluster is Kafka.
        """
        self._require_nodes("an audit of configs")
        from kwire.client.admin import kip4_configs

        return await kip4_configs.changes(self._backend, newest)

    def _require_nodes(self, operation: str) -> None:
        if self.dialect != "kip4":
            raise NotSupported(operation, "only clusters of kwire's nodes have it")

    async def alter_configs(
        self, changes: Mapping[ConfigResource, ConfigChange], *, validate_only: bool = False
    ) -> Outcomes:
        """Change configs. Other configs of the resources stay as they are.

        The command is repeated after a lost response unless it appends or subtracts. The outcomes are by resource, such
        as `topic orders`. Errors: 3 unknown topic; 40 an invalid value or name; 42 the broker cannot change it. A
        cluster of the drafts cannot append, subtract, or only check a request.

        Args:
            validate_only: check the request and change nothing.
        """
        if self.dialect == "kip4":
            from kwire.client.admin import kip4_configs

            return await kip4_configs.alter(self._backend, changes, validate_only=validate_only)
        by_target: dict[Target, dict[ConfigResource, ConfigChange]] = defaultdict(dict)
        for resource, change in changes.items():
            target = _target(resource)
            by_target[CONTROLLER if target is ANY else target][resource] = change

        async def send(target: Target, of_target: Mapping[ConfigResource, ConfigChange]) -> Outcomes:
            request = IncrementalAlterConfigsRequest(
                resources=tuple(
                    AlterConfigsResource(
                        resource_type=resource.type, resource_name=resource.name, configs=_operations(change)
                    )
                    for resource, change in of_target.items()
                ),
                validate_only=validate_only,
            )
            repeatable = validate_only or not any(each.append or each.subtract for each in of_target.values())
            answer = await self._router.command(request, target, _misdirected, repeatable=repeatable)
            return answer.outcomes(
                (str(ConfigResource(ConfigResourceType(each.resource_type), each.resource_name)), each)
                for each in answer.response.responses
            )

        parts = await asyncio.gather(*(send(target, each) for target, each in by_target.items()))
        merged: dict[str, AdminError | None] = {}
        for part in parts:
            merged |= part
        return Outcomes(merged, max((part.attempts for part in parts), default=1))


def _target(resource: ConfigResource) -> Target:
    """Return the broker that knows a resource: a broker itself, and any broker for everything else."""
    if resource.type in (ConfigResourceType.BROKER, ConfigResourceType.BROKER_LOGGER) and resource.name:
        return Broker(int(resource.name))
    return ANY


def _misdirected(response: IncrementalAlterConfigsResponse) -> int:
    """Return the code by which a broker refuses to be responsible. An unknown topic is an error of its own."""
    code = first_error_code("responses")(response)
    return code if code in MISDIRECTED else 0


def _value(config: DescribeConfigsResourceResult) -> ConfigValue:
    return ConfigValue(
        config.value,
        ConfigSource.of(config.config_source),
        config.is_sensitive,
        config.read_only,
        config.documentation or None,
    )


def _operations(change: ConfigChange) -> tuple[AlterableConfig, ...]:
    with_values = ((SET, change.set), (APPEND, change.append), (SUBTRACT, change.subtract))
    return (
        *(
            AlterableConfig(name=name, config_operation=operation, value=value)
            for operation, values in with_values
            for name, value in values.items()
        ),
        *(AlterableConfig(name=name, config_operation=DELETE, value=None) for name in change.delete),
    )
