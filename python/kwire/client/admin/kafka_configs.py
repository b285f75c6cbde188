"""Kafka's requests for configs."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from typing import TYPE_CHECKING

from kwire.client.admin.answer import first_error_code
from kwire.client.admin.attempt import WRONG_BROKER_ERRORS
from kwire.client.admin.cluster_router import ANY, CONTROLLER, BrokerTarget
from kwire.client.admin.config_values import ConfigResource, ConfigResourceType, ConfigValue
from kwire.client.admin.errors import NotSupported
from kwire.client.admin.values import Outcomes

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from typing import NoReturn

    from kwire.client.admin.backend import ResourceConfigs
    from kwire.client.admin.cluster_router import ClusterRouter, Target
    from kwire.client.admin.config_values import ConfigChange
    from kwire.client.admin.errors import AdminError
    from kwire.messages.kafka.incremental_alter_configs import AlterableConfig, IncrementalAlterConfigsResponse

__all__ = ["KafkaConfigs"]

SET, DELETE, APPEND, SUBTRACT = 0, 1, 2, 3
"""Operations of IncrementalAlterConfigs."""


class KafkaConfigs:
    """Configs in a cluster of Apache Kafka."""

    def __init__(self, router: ClusterRouter) -> None:
        self._router = router

    async def describe(
        self, resources: Iterable[ConfigResource], *, documentation: bool, synonyms: bool
    ) -> ResourceConfigs:
        """Send a request to each broker concerned: a broker knows only its own configs."""
        from kwire.messages.kafka.describe_configs import DescribeConfigsRequest, DescribeConfigsResource

        by_target: dict[Target, list[ConfigResource]] = defaultdict(list)
        for resource in dict.fromkeys(resources):
            by_target[_target(resource)].append(resource)

        async def send(target: Target, of_target: Sequence[ConfigResource]) -> ResourceConfigs:
            request = DescribeConfigsRequest(
                resources=tuple(
                    DescribeConfigsResource(resource_type=type, resource_name=name, configuration_keys=None)
                    for type, name in of_target
                ),
                include_synonyms=synonyms,
                include_documentation=documentation,
            )
            answer = await self._router.read(request, target)
            described: ResourceConfigs = {}
            for result in answer.response.results:
                resource = ConfigResource(ConfigResourceType(result.resource_type), result.resource_name)
                described[resource] = answer.error(result, str(resource)) or {
                    config.name: ConfigValue.of_result(config) for config in result.configs
                }
            return described

        parts = await asyncio.gather(*(send(target, of_target) for target, of_target in by_target.items()))
        return {resource: configs for part in parts for resource, configs in part.items()}

    async def alter(self, changes: Mapping[ConfigResource, ConfigChange], *, validate_only: bool) -> Outcomes:
        """Send a request to each broker concerned, and one to the controller for everything else."""
        from kwire.messages.kafka.incremental_alter_configs import AlterConfigsResource, IncrementalAlterConfigsRequest

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
            repeatable = validate_only or not any(change.append or change.subtract for change in of_target.values())
            answer = await self._router.command(request, target, _wrong_broker_code, repeatable=repeatable)
            return answer.outcomes(
                (str(ConfigResource(ConfigResourceType(result.resource_type), result.resource_name)), result)
                for result in answer.response.responses
            )

        parts = await asyncio.gather(*(send(target, of_target) for target, of_target in by_target.items()))
        merged: dict[str, AdminError | None] = {}
        for part in parts:
            merged |= part
        return Outcomes(merged, max((part.attempts for part in parts), default=1))

    async def export(self) -> NoReturn:
        """Raise NotSupported."""
        raise _not_supported("an export of configs")

    async def apply(self, configs: Mapping[ConfigResource, Mapping[str, str]], *, validate_only: bool) -> NoReturn:
        """Raise NotSupported."""
        del configs, validate_only
        raise _not_supported("a document of configs")

    async def recorded_changes(self, newest: int) -> NoReturn:
        """Raise NotSupported."""
        del newest
        raise _not_supported("an audit of configs")


def _not_supported(operation: str) -> NotSupported:
    return NotSupported(operation, "only clusters of kwire's nodes have it")


def _target(resource: ConfigResource) -> Target:
    """Return the broker that knows a resource: a broker itself, and any broker for everything else."""
    return ANY if resource.broker_id is None else BrokerTarget(resource.broker_id)


def _wrong_broker_code(response: IncrementalAlterConfigsResponse) -> int:
    """Return the code by which a broker refuses to be responsible. An unknown topic is an error of its own."""
    code = first_error_code("responses")(response)
    return code if code in WRONG_BROKER_ERRORS["kafka"] else 0


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
