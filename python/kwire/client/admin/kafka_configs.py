"""Kafka's requests for configs."""

from __future__ import annotations

from collections import defaultdict

from kwire._util.bounded_gather import bounded_gather
from kwire._util.concurrency import gather, semaphore
from kwire._util.light_typing import TYPE_CHECKING
from kwire.client.admin.answer import complete, error_code, first_error_code
from kwire.client.admin.attempt import WRONG_BROKER_ERRORS
from kwire.client.admin.cluster_router import ANY, CONTROLLER, BrokerTarget
from kwire.client.admin.config_values import ConfigResource, ConfigResourceType, ConfigValue, stored_source
from kwire.client.admin.errors import NotSupported
from kwire.client.admin.topic_metadata import read_metadata
from kwire.client.admin.values import Outcomes
from kwire.client.polled_requests import RESOURCES_PER_REQUEST
from kwire.messages.kafka.error_codes import ErrorCode
from kwire.protocol.errors import NoCommonVersion

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
    from typing import Any, NoReturn

    from kwire.client.admin.answer import Answer
    from kwire.client.admin.backend import ResourceConfigs, StoredConfigs
    from kwire.client.admin.cluster_router import ClusterRouter, Target
    from kwire.client.admin.config_values import ConfigChange
    from kwire.client.admin.errors import AdminError
    from kwire.messages.kafka.describe_configs import DescribeConfigsResourceResult, DescribeConfigsResult
    from kwire.messages.kafka.incremental_alter_configs import AlterableConfig, IncrementalAlterConfigsResponse
    from kwire.messages.kafka.list_config_resources import ListConfigResourcesRequest

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
        """Return the configs of resources by name."""
        described: ResourceConfigs = {}
        requested = tuple(resources)
        async for resource, answer, result in self._results(requested, documentation=documentation, synonyms=synonyms):
            described[resource] = answer.error(result, str(resource)) or {
                config.name: ConfigValue.of_result(config) for config in result.configs
            }
        return complete(dict.fromkeys(requested), described)

    async def _results(
        self, resources: Iterable[ConfigResource], *, documentation: bool = False, synonyms: bool = False
    ) -> AsyncIterator[tuple[ConfigResource, Answer[Any], DescribeConfigsResult]]:
        """Send requests to each broker concerned: a broker knows only its own configs."""
        from kwire.messages.kafka.describe_configs import DescribeConfigsRequest, DescribeConfigsResource

        by_target: dict[Target, list[ConfigResource]] = defaultdict(list)
        requested = dict.fromkeys(resources)
        for resource in requested:
            by_target[_target(resource)].append(resource)
        # Two requests for each broker: it answers one while the response to the other is decoded.
        turns = {target: semaphore(2) for target in by_target}

        async def send(target: Target, part: Sequence[ConfigResource]) -> Answer[Any]:
            request = DescribeConfigsRequest(
                resources=tuple(
                    DescribeConfigsResource(resource_type=type, resource_name=name, configuration_keys=None)
                    for type, name in part
                ),
                include_synonyms=synonyms,
                include_documentation=documentation,
            )
            async with turns[target]:
                return await self._router.read(request, target)

        parts = [
            (target, of_target[start : start + RESOURCES_PER_REQUEST])
            for target, of_target in by_target.items()
            for start in range(0, len(of_target), RESOURCES_PER_REQUEST)
        ]
        for answer in await bounded_gather(lambda part: send(*part), parts):
            for result in answer.response.results:
                described = _resource(result)
                if described is not None and described in requested:
                    yield described, answer, result

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
            results = ((str(_resource(result)), result) for result in answer.response.responses)
            return answer.outcomes(results, map(str, of_target))

        parts = await gather(*(send(target, of_target) for target, of_target in by_target.items()))
        merged: dict[str, AdminError | None] = {}
        for part in parts:
            merged |= part
        return Outcomes(merged, max((part.attempts for part in parts), default=1))

    async def export(self, type: ConfigResourceType) -> StoredConfigs:
        """Return what resources of one type store. Topics of Kafka itself are left out.

        Raises:
            NotSupported: brokers cannot list the resources.
            AdminError: the configs of a resource cannot be described.
        """
        exported: StoredConfigs = {}
        async for resource, answer, result in self._results(await self._resources(type)):
            error = answer.error(result, str(resource))
            if error is not None and error.code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
                continue  # deleted since it was listed
            if error is not None:
                raise error
            source = stored_source(resource)
            stored = sorted(
                (config.name, _stored(config)) for config in result.configs if config.config_source == source
            )
            if stored:
                exported[resource] = dict(stored)
        return dict(sorted(exported.items()))

    async def _resources(self, type: ConfigResourceType) -> list[ConfigResource]:
        if type in {ConfigResourceType.TOPIC, ConfigResourceType.BROKER}:
            metadata = await read_metadata(self._router, None if type is ConfigResourceType.TOPIC else ())
            if type is ConfigResourceType.BROKER:
                return [
                    ConfigResource(type, name) for name in ("", *(str(broker.node_id) for broker in metadata.brokers))
                ]
            return [
                ConfigResource(type, topic.name) for topic in metadata.topics if topic.name and not topic.is_internal
            ]
        from kwire.messages.kafka.list_config_resources import ListConfigResourcesRequest

        request = ListConfigResourcesRequest(resource_types=(type,))
        try:
            answer = await self._router.read(request, ANY, error_code, adapt=_for_version)
        except NoCommonVersion:
            raise NotSupported(f"a list of {type.singular}s with configs", "its brokers have none") from None
        return [
            ConfigResource(type, config_resource.resource_name)
            for config_resource in answer.accepted().config_resources
        ]

    async def recorded_changes(self, newest: int, topic: str | None) -> NoReturn:
        """Raise NotSupported."""
        del newest, topic
        raise NotSupported("an audit of configs", "only clusters of kwire's nodes have it")


def _stored(config: DescribeConfigsResourceResult) -> str | None:
    return None if config.is_sensitive else config.value or ""


def _for_version(request: ListConfigResourcesRequest, version: int) -> ListConfigResourcesRequest:
    """Return a request for a version. Version 0 lists client metrics only.

    Raises:
        NotSupported: the broker cannot list this type.
    """
    if version >= 1:
        return request
    if request.resource_types != (ConfigResourceType.CLIENT_METRICS,):
        raise NotSupported("a list of groups with configs", "brokers have it from Kafka 4.1 on (KIP-1142)")
    return type(request)()


def _resource(result: Any) -> ConfigResource | None:
    """Return the resource of a result; None for a type that no request has."""
    if result.resource_type not in ConfigResourceType._value2member_map_:
        return None
    return ConfigResource(ConfigResourceType(result.resource_type), result.resource_name)


def _target(resource: ConfigResource) -> Target:
    """Return the broker that knows a resource: a broker itself, and any broker for everything else."""
    return ANY if resource.broker_id is None else BrokerTarget(resource.broker_id)


def _wrong_broker_code(response: IncrementalAlterConfigsResponse) -> int:
    """Return the code by which a broker refuses to be responsible. An unknown topic is an error of its own."""
    code = first_error_code("responses")(response)
    return code if code in WRONG_BROKER_ERRORS else 0


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
