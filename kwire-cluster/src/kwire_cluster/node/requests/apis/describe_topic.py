"""DescribeTopic, key 1001: configs are `key=value` in version 0 and key-value pairs in version 1."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kwire.authorization.acl_authorizer import AclOperation, Permission
from kwire.messages.kip4.describe_topic import (
    DescribeTopicRequest,
    DescribeTopicResponse,
    TopicConfigDetails,
    TopicDescription,
    TopicPartitionDetails,
)
from kwire.messages.kip4.error_codes import ErrorCode
from kwire_cluster.controller.errors import CommandError
from kwire_cluster.node.metadata.metadata_cache import config_entries
from kwire_cluster.node.requests.topic_responses import code_and_description

if TYPE_CHECKING:
    from kwire_cluster.controller.topic_state import Topic
    from kwire_cluster.node.requests.request_context import RequestContext

DESCRIBE = Permission(AclOperation.DESCRIBE, "Topic")
PERMISSIONS = (DESCRIBE,)


async def handle(request: DescribeTopicRequest, context: RequestContext) -> DescribeTopicResponse:
    """Describe one topic."""
    try:
        context.require(DESCRIBE, request.topic_name)
        topic = await context.backend.describe_topic(request.topic_name)
    except CommandError as error:
        code, description = code_and_description(error)
        return DescribeTopicResponse(error_code=code, error_description=description)
    return DescribeTopicResponse(error_code=ErrorCode.NO_ERROR, topic_description=_describe(topic, context.version))


def _describe(topic: Topic, version: int) -> TopicDescription:
    entries = config_entries(topic.name, topic.config)
    return TopicDescription(
        topic_name=topic.name,
        topic_config_details=TopicConfigDetails(
            partitions=len(topic.partitions),
            # Kafka's topic tool reports the replication factor of the first partition.
            replication_factor=len(topic.partitions[0].replicas) if topic.partitions else 0,
            configs=tuple(f"{entry.config_key}={entry.config_value}" for entry in entries) if version == 0 else (),
            config_entries=entries if version >= 1 else (),
        ),
        topic_partition_details=tuple(
            TopicPartitionDetails(
                partition_id=partition.id,
                leader=None if partition.leader < 0 else partition.leader,
                replicas=partition.replicas,
                isr=partition.isr,
            )
            for partition in topic.partitions
        ),
    )
