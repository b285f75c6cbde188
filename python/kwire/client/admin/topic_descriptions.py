"""Topics as brokers describe them.

Kafka describes a topic in Metadata, and its configs in DescribeConfigs. TopicMetadata of the drafts has both.
"""

from __future__ import annotations

from operator import attrgetter

from kwire._util.light_typing import TYPE_CHECKING, TypeVar
from kwire.client.admin.answer import complete, result_error
from kwire.client.admin.errors import AdminError
from kwire.client.admin.targets import ANY
from kwire.client.admin.values import NO_LAG, PartitionDescription, TopicDescription, TopicListing
from kwire.messages.kafka.error_codes import ErrorCode
from kwire.messages.kafka.metadata import MetadataRequest, MetadataRequestTopic
from kwire.protocol.errors import NoCommonVersion

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable, Sequence

    from kwire.client.admin.cluster_router import ClusterRouter
    from kwire.client.admin.session import AdminSession, TopicListings, Topics
    from kwire.declare import Message, Request
    from kwire.messages.kafka.describe_configs import (
        DescribeConfigsRequest,
        DescribeConfigsResourceResult,
        DescribeConfigsResponse,
    )
    from kwire.messages.kafka.metadata import MetadataResponse, MetadataResponseTopic
    from kwire.protocol.endpoint import Endpoint


R = TypeVar("R", bound="Message")

TOPIC = 2
"""The type of a topic among config resources."""
TOPIC_OVERRIDE = 1
"""The source of a config that the topic itself sets."""
PARTITION_INDEX = attrgetter("partition_index")
"""The order of the partitions of a topic."""
TOPICS_PER_REQUEST = 500
"""Topics in one DescribeConfigs request, which bounds the size of its response."""


async def describe(admin: AdminSession, names: Sequence[str], *, configs: bool = False) -> Topics:
    """Return topics by name, all if no names are given, as any broker reports them. See `topics.describe_topics`."""
    if admin.dialect == "kip4":
        from kwire.client.admin import kip4_topics

        return await kip4_topics.describe_topics(admin, tuple(names))

    async def send(request: Request[R]) -> R:
        return (await admin.router.read(request)).response

    described = _described(await read_metadata(admin.router, names or None), names)
    return await _with_configs(described, send) if configs else described


async def describe_at(admin: AdminSession, broker: Endpoint, names: Sequence[str], *, configs: bool = False) -> Topics:
    """Return topics by name, all if no names are given, as one broker reports them. It is asked once.

    Raises:
        ConnectionFault: the broker does not respond.
    """
    if admin.dialect == "kip4":
        from kwire.client.admin import kip4_topics

        return await kip4_topics.topics_at(admin, broker, tuple(names))

    async def send(request: Request[R]) -> R:
        return await admin.router.send(broker, request)

    described = _described(await send(metadata_request(names or None)), names)
    return await _with_configs(described, send) if configs else described


def _described(response: MetadataResponse, names: Sequence[str] = ()) -> Topics:
    """Return the topics of a response by name.

    Args:
        response: the response.
        names: the topics that were requested; empty for all.
    """
    described = {topic.name: _topic(topic.name, topic) for topic in response.topics if topic.name is not None}
    return complete(names, described) if names else described


def listed_topics(response: MetadataResponse) -> TopicListings:
    """Return the sizes of all topics of a response by name."""
    return {
        topic.name: result_error(topic, topic.name)
        or TopicListing(
            topic.name,
            len(topic.partitions),
            len(min(topic.partitions, key=PARTITION_INDEX).replica_nodes) if topic.partitions else None,
            topic.is_internal,
        )
        for topic in response.topics
        if topic.name is not None
    }


def _topic(name: str, topic: MetadataResponseTopic) -> TopicDescription | AdminError:
    # Called for each topic of a cluster. Arguments by name would take twice as long, and the item of an error is only
    # formatted if there is an error.
    return result_error(topic, name) or TopicDescription(
        name,
        tuple(
            [
                PartitionDescription(
                    partition.partition_index,
                    None if partition.leader_id < 0 else partition.leader_id,
                    partition.replica_nodes,
                    partition.isr_nodes,
                    None if partition.leader_epoch < 0 else partition.leader_epoch,
                    partition.offline_replicas,
                    NO_LAG,
                    result_error(partition, f"{name}-{partition.partition_index}") if partition.error_code else None,
                )
                for partition in sorted(topic.partitions, key=PARTITION_INDEX)
            ]
        ),
        None,
        topic.topic_id if topic.topic_id.int else None,
        topic.is_internal,
    )


async def _with_configs(
    topics: Topics, send: Callable[[DescribeConfigsRequest], Awaitable[DescribeConfigsResponse]]
) -> Topics:
    """Return topics with the configs that they override.

    The configs are None for a user who can see a topic, and not its configs, and on a cluster that reports none: some
    brokers of other vendors do not serve DescribeConfigs.

    Args:
        send: sends a request to the broker that is to report the configs.
    """
    from kwire.messages.kafka.describe_configs import DescribeConfigsRequest, DescribeConfigsResource

    described = [topic for topic in topics.values() if isinstance(topic, TopicDescription)]
    completed = dict(topics)
    for start in range(0, len(described), TOPICS_PER_REQUEST):
        by_name = {topic.name: topic for topic in described[start : start + TOPICS_PER_REQUEST]}
        resources = [
            DescribeConfigsResource(resource_type=TOPIC, resource_name=name, configuration_keys=None)
            for name in by_name
        ]
        try:
            response = await send(DescribeConfigsRequest(resources=tuple(resources)))
        except NoCommonVersion:
            break
        reported = {
            result.resource_name: result_error(result, result.resource_name) or _overrides(result.configs)
            for result in response.results
        }
        for name, configs in complete(by_name, reported).items():
            if not isinstance(configs, AdminError):
                completed[name] = by_name[name]._replace(configs=configs)
            elif configs.code != ErrorCode.TOPIC_AUTHORIZATION_FAILED:
                completed[name] = configs
    return completed


def _overrides(configs: Iterable[DescribeConfigsResourceResult]) -> dict[str, str]:
    return {config.name: config.value or "" for config in configs if config.config_source == TOPIC_OVERRIDE}


def metadata_request(names: Sequence[str] | None) -> MetadataRequest:
    """Return a request for topics, or for all of them, that does not create any."""
    topics = None if names is None else tuple(MetadataRequestTopic(name=name) for name in names)
    return MetadataRequest(topics=topics, allow_auto_topic_creation=False)


async def read_metadata(router: ClusterRouter, names: Sequence[str] | None) -> MetadataResponse:
    """Return the metadata of topics, as one broker reports it.

    A broker of Kafka 3.9 that has just started reports no brokers, and no topics, for up to half a second. A response
    without brokers is therefore not accepted, and another broker is asked if a response has none of the topics.

    Args:
        names: the topics; None for all.
    """
    request = metadata_request(names)
    answer = await router.read(request, ANY, _error_code)
    if not _has_a_topic(answer.response):
        router.put_last(answer.endpoint)
        answer = await router.read(request, ANY, _error_code)
    return answer.response


def _error_code(response: MetadataResponse) -> int:
    """Return the error code of a response, and a retriable one if it has no brokers."""
    return response.error_code if response.brokers else ErrorCode.LEADER_NOT_AVAILABLE


def _has_a_topic(response: MetadataResponse) -> bool:
    return any(topic.error_code != ErrorCode.UNKNOWN_TOPIC_OR_PARTITION for topic in response.topics)
