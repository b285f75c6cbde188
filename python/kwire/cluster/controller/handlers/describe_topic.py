"""DescribeTopic, key 1001: settings are ``key=value`` in version 0 and pairs in version 1."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from kwire.cluster.controller.errors import AdminError
from kwire.cluster.controller.handlers.one_topic import code_and_reason, config_texts
from kwire.messages.kip4.describe_topic import (
    DescribeTopicRequest,
    DescribeTopicResponse,
    TopicConfigDetails,
    TopicDescription,
    TopicPartitionDetails,
)
from kwire.messages.kip4.error_codes import ErrorCode
from kwire.messages.kip4.strings import can_be_a_setting
from kwire.messages.kip4.structures import ConfigEntry

if TYPE_CHECKING:
    from kwire.cluster.controller.backend import AdminBackend
    from kwire.cluster.controller.handlers import Asked
    from kwire.cluster.controller.topic_state import Topic

__all__ = ["handle"]

log = logging.getLogger("kwire.cluster.controller")


async def handle(asked: Asked, backend: AdminBackend) -> DescribeTopicResponse:
    """Describe one topic."""
    assert isinstance(asked.message, DescribeTopicRequest)
    try:
        topic = await backend.describe_topic(asked.message.topic_name)
    except AdminError as error:
        code, reason = code_and_reason(error)
        return DescribeTopicResponse(error_code=code, error_description=reason)
    return DescribeTopicResponse(error_code=ErrorCode.NO_ERROR, topic_description=_described(topic, asked.version))


def _described(topic: Topic, version: int) -> TopicDescription:
    config = {key: value for key, value in topic.config.items() if can_be_a_setting(key, value)}
    for key in topic.config.keys() - config:  # as somebody wrote it to ZooKeeper
        log.error("topic %s: no string can hold its setting %a, which is left out", topic.name, key[:100])
    pairs = tuple(ConfigEntry(config_key=key, config_value=value) for key, value in sorted(config.items()))
    return TopicDescription(
        topic_name=topic.name,
        topic_config_details=TopicConfigDetails(
            partitions=len(topic.partitions),
            # As the topic tool counts it: that of the first partition.
            replication_factor=len(topic.partitions[0].replicas) if topic.partitions else 0,
            configs=config_texts(config) if version == 0 else (),
            config_entries=pairs if version >= 1 else (),
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
