"""DeleteTopic, key 15: versions 0 and 1 for one topic, version 2 for many."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kwire.cluster.controller.handlers.batch import each_or_all, topic_results
from kwire.cluster.controller.handlers.one_topic import code_and_reason
from kwire.messages.kip4.delete_topic import DeleteTopicRequest, DeleteTopicResponse
from kwire.messages.kip4.delete_topic_v2 import DeleteTopicRequest_V2, DeleteTopicResponse_V2

if TYPE_CHECKING:
    from kwire.cluster.controller.backend import AdminBackend
    from kwire.cluster.controller.handlers import Asked

__all__ = ["handle"]


async def handle(asked: Asked, backend: AdminBackend) -> DeleteTopicResponse | DeleteTopicResponse_V2:
    """Mark topics for deletion."""
    message = asked.message
    if isinstance(message, DeleteTopicRequest_V2):
        outcomes = await each_or_all(backend.delete_topics(message.topic_names), message.topic_names)
        return DeleteTopicResponse_V2(topics=topic_results(outcomes))
    assert isinstance(message, DeleteTopicRequest)
    (outcome,) = await each_or_all(backend.delete_topics([message.topic_name]), [message.topic_name])
    code, reason = code_and_reason(outcome.error)
    return DeleteTopicResponse(error_code=code, error_description=reason)
