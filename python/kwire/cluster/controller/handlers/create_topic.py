"""CreateTopic, key 13: versions 0 and 1 for one topic, version 2 for many."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kwire.cluster.controller.errors import AdminError
from kwire.cluster.controller.handlers.batch import each_or_all, topic_results
from kwire.cluster.controller.handlers.one_topic import as_replicas, code_and_reason, config_entries
from kwire.cluster.controller.manual_assignment import parse
from kwire.messages.kip4.create_topic import CreateTopicRequest, CreateTopicResponse
from kwire.messages.kip4.create_topic_v2 import CreateTopicRequest_V2, CreateTopicResponse_V2, TopicCreation

if TYPE_CHECKING:
    from kwire.cluster.controller.backend import AdminBackend
    from kwire.cluster.controller.handlers import Asked

__all__ = ["handle"]


async def handle(asked: Asked, backend: AdminBackend) -> CreateTopicResponse | CreateTopicResponse_V2:
    """Create topics."""
    message = asked.message
    if isinstance(message, CreateTopicRequest_V2):
        names = [one.topic_name for one in message.topics]
        outcomes = await each_or_all(backend.create_topics(message.topics, asked.client_id), names)
        return CreateTopicResponse_V2(topics=topic_results(outcomes))
    assert isinstance(message, CreateTopicRequest)
    try:
        backend.check_active()
        (outcome,) = await backend.create_topics([_creation(message)], None)
        error = outcome.error
    except AdminError as refused:
        error = refused
    code, reason = code_and_reason(error)
    return CreateTopicResponse(error_code=code, error_description=reason)


def _creation(message: CreateTopicRequest) -> TopicCreation:
    """The same in the words of version 2, where -1 means absent: a -1 that came is refused as 0 is. Errors: AdminError."""
    assignment = message.replica_assignment
    return TopicCreation(
        topic_name=message.topic_name,
        partitions=_number(message.partitions),
        replication_factor=_number(message.replicas),
        replica_assignment=as_replicas(parse(assignment)) if assignment is not None else (),
        config_entries=message.config_entries or config_entries(message.configs),
    )


def _number(given: int | None) -> int:
    return -1 if given is None else max(given, 0)
