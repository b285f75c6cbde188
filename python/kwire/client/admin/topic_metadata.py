"""Requests for the metadata of topics.

A broker of Kafka 3.9 that has just started reports no brokers, and no topics, for up to half a second. A response
without brokers is therefore not accepted, and another broker is asked if a response has none of the topics.
"""

from __future__ import annotations

from kwire._util.light_typing import TYPE_CHECKING
from kwire.client.admin.cluster_router import ANY
from kwire.messages.kafka.error_codes import ErrorCode
from kwire.messages.kafka.metadata import MetadataRequest, MetadataRequestTopic

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kwire.client.admin.cluster_router import ClusterRouter
    from kwire.messages.kafka.metadata import MetadataResponse


def metadata_request(names: Sequence[str] | None) -> MetadataRequest:
    """Return a request for topics, or for all of them, that does not create any."""
    topics = None if names is None else tuple(MetadataRequestTopic(name=name) for name in names)
    return MetadataRequest(topics=topics, allow_auto_topic_creation=False)


async def read_metadata(router: ClusterRouter, names: Sequence[str] | None) -> MetadataResponse:
    """Return the metadata of topics, as one broker reports it.

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
