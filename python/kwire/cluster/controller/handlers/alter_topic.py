"""AlterTopic, key 14: versions 0 and 1 for one topic, version 2 for many."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kwire.cluster.controller.errors import AdminError
from kwire.cluster.controller.handlers.batch import each_or_all, topic_results
from kwire.cluster.controller.handlers.one_topic import as_replicas, code_and_reason, config_entries
from kwire.cluster.controller.manual_assignment import parse
from kwire.messages.kip4.alter_topic import AlterTopicRequest, AlterTopicResponse
from kwire.messages.kip4.alter_topic_v2 import AlterTopicRequest_V2, AlterTopicResponse_V2, TopicAlteration
from kwire.messages.kip4.error_codes import ErrorCode

if TYPE_CHECKING:
    from kwire.cluster.controller.backend import AdminBackend
    from kwire.cluster.controller.handlers import Asked
    from kwire.cluster.controller.topic_state import Topic

__all__ = ["handle"]


async def handle(asked: Asked, backend: AdminBackend) -> AlterTopicResponse | AlterTopicResponse_V2:
    """Alter topics."""
    message = asked.message
    if isinstance(message, AlterTopicRequest_V2):
        outcomes = await each_or_all(backend.alter_topics(message.topics), [one.topic_name for one in message.topics])
        return AlterTopicResponse_V2(topics=topic_results(outcomes))
    assert isinstance(message, AlterTopicRequest)
    try:
        backend.check_active()
        alteration = _alteration(message)
        if alteration.replica_assignment:
            _check_whole(alteration, await backend.describe_topic(message.topic_name))
        (outcome,) = await backend.alter_topics([alteration])
        error = outcome.error
    except AdminError as refused:
        error = refused
    code, reason = code_and_reason(error)
    return AlterTopicResponse(error_code=code, error_description=reason)


def _alteration(message: AlterTopicRequest) -> TopicAlteration:
    """The same in the words of version 2. Errors: AdminError."""
    partitions = -1 if message.partitions is None else max(message.partitions, 0)
    assigned = parse(message.replica_assignment) if message.replica_assignment is not None else {}
    if assigned and partitions not in {-1, len(assigned)}:
        reason = f"{partitions} partitions, and an assignment of {len(assigned)}"
        raise AdminError(ErrorCode.INVALID_ARGUMENT_REPLICA_ASSIGNMENT, reason)
    return TopicAlteration(
        topic_name=message.topic_name,
        partitions=-1 if assigned else partitions,
        replica_assignment=as_replicas(assigned),
        added_config_entries=message.added_config_entries or config_entries(message.added_configs),
        deleted_configs=message.deleted_configs,
    )


def _check_whole(alteration: TopicAlteration, topic: Topic) -> None:
    """The text of these versions lists all partitions. Errors: AdminError.

    Partitions that come between this and the alteration are as if they had come after it.
    """
    listed = {one.partition_id for one in alteration.replica_assignment}
    left_out = [one.id for one in topic.partitions if one.id not in listed]
    if left_out:
        reason = f"the assignment lists {len(listed)} partitions, and the topic has {len(topic.partitions)}: list all"
        raise AdminError(ErrorCode.INVALID_ARGUMENT_REPLICA_ASSIGNMENT, reason)
