"""Configs of topics, brokers, and other resources of Kafka: describe them, and change them one by one (KIP-339)."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from typing import TYPE_CHECKING

from kwire.client.admin.answer import first_error_code
from kwire.client.admin.cluster_router import ANY, CONTROLLER, MISDIRECTED, Broker
from kwire.client.admin.errors import NotSupported
from kwire.client.admin.values import Outcomes

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from typing import TypeAlias

    from kwire.client.admin.backend import Backend
    from kwire.client.admin.cluster_router import ClusterRouter, Target
    from kwire.client.admin.config_values import (
        ConfigChange,
        ConfigResource,
        ConfigValue,
    )
    from kwire.client.admin.errors import AdminError
    from kwire.client.admin.kip4_configs import ConfigDifference, RecordedChange
    from kwire.messages.kafka.incremental_alter_configs import AlterableConfig, IncrementalAlterConfigsResponse
    from kwire.protocol.negotiated_versions import Dialect

    Described: TypeAlias = dict[ConfigResource, dict[str, ConfigValue] | AdminError]

SET, DELETE, APPEND, SUBTRACT = 0, 1, 2, 3
"""Operations of IncrementalAlterConfigs."""


class ConfigOperations:
    """Operations on configs."""

    dialect: Dialect
    _router: ClusterRouter
    _backend: Backend

    async def describe_configs(
        self, resources: Iterable[ConfigResource], *, documentation: bool = False, synonyms: bool = False
    ) -> Described:
        """Return the configs of resources by name. A broker reports its own configs.

        A cluster of the drafts reports what topics override, and the settings of its nodes.

        In a cluster with ZooKeeper, the configs of a topic are what ZooKeeper contains: it does not prove that the
        brokers apply them.

        Args:
            documentation: include a description of each config.
            synonyms: include what each value overrides.
        """
        from kwire.client.admin.config_values import ConfigResource, ConfigResourceType, ConfigValue
        from kwire.messages.kafka.describe_configs import DescribeConfigsRequest, DescribeConfigsResource

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
                include_synonyms=synonyms,
                include_documentation=documentation,
            )
            answer = await self._router.read(request, target)
            described: Described = {}
            for each in answer.response.results:
                resource = ConfigResource(ConfigResourceType(each.resource_type), each.resource_name)
                described[resource] = answer.error(each, str(resource)) or {
                    config.name: ConfigValue.of_result(config) for config in each.configs
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
        """Return the newest changes from the audit of a cluster of nodes, oldest first.

        These are changes of configs of brokers, of ACLs, and of credentials of users.

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
        from kwire.client.admin.config_values import ConfigResource, ConfigResourceType
        from kwire.messages.kafka.incremental_alter_configs import AlterConfigsResource, IncrementalAlterConfigsRequest

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
    return ANY if resource.broker_id is None else Broker(resource.broker_id)


def _misdirected(response: IncrementalAlterConfigsResponse) -> int:
    """Return the code by which a broker refuses to be responsible. An unknown topic is an error of its own."""
    code = first_error_code("responses")(response)
    return code if code in MISDIRECTED else 0


def _operations(change: ConfigChange) -> tuple[AlterableConfig, ...]:
    from kwire.messages.kafka.incremental_alter_configs import AlterableConfig

    with_values = ((SET, change.set), (APPEND, change.append), (SUBTRACT, change.subtract))
    return (
        *(
            AlterableConfig(name=name, config_operation=operation, value=value)
            for operation, values in with_values
            for name, value in values.items()
        ),
        *(AlterableConfig(name=name, config_operation=DELETE, value=None) for name in change.delete),
    )
