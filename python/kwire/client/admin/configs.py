"""Configs: describe them, and change them one by one (KIP-339). Topics, brokers, and other resources have configs.

Examples:
    >>> from kwire.client.admin import ConfigChange, ConfigResource, ConfigResourceType, NewTopic
    >>> admin.create_topics({"events": NewTopic(partitions=1)}).raise_first()
    >>> admin.wait_until_created({"events": 1})
    >>> topic = ConfigResource(ConfigResourceType.TOPIC, "events")
    >>> admin.alter_configs({topic: ConfigChange(set={"retention.ms": "86400000"})}).raise_first()
    >>> admin.wait_until_configured({"events": {"retention.ms": "86400000"}})
    >>> retention = admin.describe_configs([topic])[topic]["retention.ms"]
    >>> retention.value, retention.source
    ('86400000', <ConfigSource.TOPIC: 1>)
    >>> admin.alter_configs({topic: ConfigChange(delete=["retention.ms"])}).raise_first()
    >>> admin.delete_topics(["events"]).raise_first()
"""

from __future__ import annotations

from collections import defaultdict

from kwire._util.concurrency import bounded_gather, gather, semaphore
from kwire._util.light_typing import TYPE_CHECKING
from kwire.client.admin import completion
from kwire.client.admin.answer import complete, error_code, first_error_code
from kwire.client.admin.attempt import WRONG_BROKER_ERRORS
from kwire.client.admin.config_values import ConfigResource, ConfigResourceType, ConfigValue, stored_source
from kwire.client.admin.errors import NotSupported
from kwire.client.admin.targets import ANY, CONTROLLER, BrokerTarget
from kwire.client.admin.topic_descriptions import read_metadata
from kwire.client.admin.values import Outcomes
from kwire.client.polled_requests import RESOURCES_PER_REQUEST
from kwire.messages.kafka.error_codes import ErrorCode
from kwire.protocol.errors import NoCommonVersion

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
    from typing import Any

    from kwire.client.admin.answer import Answer
    from kwire.client.admin.completion import ProgressCallback
    from kwire.client.admin.config_values import ConfigChange, RecordedChange
    from kwire.client.admin.errors import AdminError
    from kwire.client.admin.session import AdminSession, ResourceConfigs, StoredConfigs
    from kwire.client.admin.targets import Target
    from kwire.messages.kafka.describe_configs import DescribeConfigsResourceResult, DescribeConfigsResult
    from kwire.messages.kafka.incremental_alter_configs import AlterableConfig, IncrementalAlterConfigsResponse
    from kwire.messages.kafka.list_config_resources import ListConfigResourcesRequest

SET, DELETE, APPEND, SUBTRACT = 0, 1, 2, 3
"""Operations of IncrementalAlterConfigs."""


async def describe_configs(
    admin: AdminSession, resources: Iterable[ConfigResource], *, documentation: bool = False, synonyms: bool = False
) -> ResourceConfigs:
    """Return the configs of resources by name. A broker reports its own configs.

    A cluster of the drafts reports what topics override, and the settings of its nodes.

    In a cluster with ZooKeeper, the configs of a topic are what ZooKeeper contains: it does not prove that the
    brokers apply them.

    Args:
        documentation: include a description of each config.
        synonyms: include what each value overrides.
    """
    if admin.dialect == "kip4":
        from kwire.client.admin import kip4_configs

        return await kip4_configs.describe(admin, resources)
    described: ResourceConfigs = {}
    requested = tuple(resources)
    async for resource, answer, result in _results(admin, requested, documentation=documentation, synonyms=synonyms):
        described[resource] = answer.error(result, str(resource)) or {
            config.name: ConfigValue.of_result(config) for config in result.configs
        }
    return complete(dict.fromkeys(requested), described)


async def _results(
    admin: AdminSession, resources: Iterable[ConfigResource], *, documentation: bool = False, synonyms: bool = False
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
            return await admin.router.read(request, target)

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


async def alter_configs(
    admin: AdminSession, changes: Mapping[ConfigResource, ConfigChange], *, validate_only: bool = False
) -> Outcomes:
    """Change configs. Other configs of the resources stay as they are.

    The command is repeated after a lost response unless it appends or subtracts. The outcomes are by resource, such
    as `topic orders`. Errors: 3 unknown topic; 40 an invalid value or name; 42 the broker cannot change it. A
    cluster of the drafts cannot append, subtract, or only check a request.

    Args:
        validate_only: check the request and change nothing.
    """
    if admin.dialect == "kip4":
        from kwire.client.admin import kip4_configs

        return await kip4_configs.alter(admin, changes, validate_only=validate_only)
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
        answer = await admin.router.command(request, target, _wrong_broker_code, repeatable=repeatable)
        results = ((str(_resource(result)), result) for result in answer.response.responses)
        return answer.outcomes(results, map(str, of_target))

    parts = await gather(*(send(target, of_target) for target, of_target in by_target.items()))
    merged: dict[str, AdminError | None] = {}
    for part in parts:
        merged |= part
    return Outcomes(merged, max((part.attempts for part in parts), default=1))


async def export_configs(admin: AdminSession, type: ConfigResourceType) -> StoredConfigs:
    """Return what resources of one type store, by resource and name; None for a secret, which brokers never return.

    Inherited values and resources without a config of their own are left out, and so are the topics of Kafka itself
    and brokers that are down. What a node cannot read is logged and left out.

    Args:
        type: topics, brokers with the default of all brokers, groups (from Kafka 4.1), or client metrics (from 3.7).

    Raises:
        NotSupported: the cluster has no configs of this type, or cannot list its resources.
        AdminError: 29, 31 not authorized to describe the configs of a resource.
    """
    if admin.dialect == "kip4":
        from kwire.client.admin import kip4_configs

        return await kip4_configs.export(admin, type)
    exported: StoredConfigs = {}
    async for resource, answer, result in _results(admin, await _resources(admin, type)):
        error = answer.error(result, str(resource))
        if error is not None and error.code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
            continue  # deleted since it was listed
        if error is not None:
            raise error
        source = stored_source(resource)
        stored = sorted((config.name, _stored(config)) for config in result.configs if config.config_source == source)
        if stored:
            exported[resource] = dict(stored)
    return dict(sorted(exported.items()))


async def _resources(admin: AdminSession, type: ConfigResourceType) -> list[ConfigResource]:
    if type in {ConfigResourceType.TOPIC, ConfigResourceType.BROKER}:
        metadata = await read_metadata(admin.router, None if type is ConfigResourceType.TOPIC else ())
        if type is ConfigResourceType.BROKER:
            return [ConfigResource(type, name) for name in ("", *(str(broker.node_id) for broker in metadata.brokers))]
        return [ConfigResource(type, topic.name) for topic in metadata.topics if topic.name and not topic.is_internal]
    from kwire.messages.kafka.list_config_resources import ListConfigResourcesRequest

    request = ListConfigResourcesRequest(resource_types=(type,))
    try:
        answer = await admin.router.read(request, ANY, error_code, adapt=_for_version)
    except NoCommonVersion:
        raise NotSupported(f"a list of {type.singular}s with configs", "its brokers have none") from None
    return [
        ConfigResource(type, config_resource.resource_name) for config_resource in answer.accepted().config_resources
    ]


async def recorded_config_changes(
    admin: AdminSession, newest: int = 100, *, topic: str | None = None
) -> list[RecordedChange]:
    """Return the newest changes from the audit of a cluster of nodes, oldest first.

    These are changes of configs of brokers, of ACLs, of credentials of users, of topics, and of finalized features.

    Args:
        newest: maximum number of entries; an entry has all changes of one resource by one request.
        topic: only changes of this topic.

    Raises:
        NotSupported: the cluster is Kafka.
    """
    if admin.dialect == "kafka":
        raise NotSupported("an audit of configs", "only clusters of kwire's nodes have it")
    from kwire.client.admin import kip4_configs

    return await kip4_configs.recorded_changes(admin, newest, topic)


async def wait_until_configured(
    admin: AdminSession,
    configs: Mapping[str, Mapping[str, str | None]],
    *,
    timeout: float = 30.0,
    on_progress: ProgressCallback | None = None,
) -> None:
    """Wait until every broker reports that topics override configs with these values.

    A broker of a Kafka cluster with ZooKeeper reports what ZooKeeper contains, and might not apply it yet.

    Args:
        configs: values by topic and name; None for a config that is not overridden.
        timeout: seconds to wait.
        on_progress: called after each round of requests.

    Raises:
        ChangeTimeout: a broker does not report the change in time.
    """
    conditions = {topic: completion.has_configs(values) for topic, values in configs.items()}
    await completion.wait_until(admin, "configured", conditions, timeout, on_progress, configs=True)


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
