"""DeleteTopic, key 15: versions 0 and 1 delete one topic, version 2 deletes a batch."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kwire.cluster.node.topic_responses import code_and_description, result_of_each, topic_results
from kwire.messages.kip4.delete_topic import DeleteTopicRequest, DeleteTopicResponse
from kwire.messages.kip4.delete_topic_v2 import DeleteTopicRequest_V2, DeleteTopicResponse_V2

if TYPE_CHECKING:
    from kwire.cluster.node.request_context import RequestContext


async def handle(
    request: DeleteTopicRequest | DeleteTopicRequest_V2, context: RequestContext
) -> DeleteTopicResponse | DeleteTopicResponse_V2:
    """Mark topics for deletion."""
    if isinstance(request, DeleteTopicRequest_V2):
        outcomes = await result_of_each(context.backend.delete_topics(request.topic_names), request.topic_names)
        return DeleteTopicResponse_V2(topics=topic_results(outcomes))
    names = [request.topic_name]
    (outcome,) = await result_of_each(context.backend.delete_topics(names), names)
    code, description = code_and_description(outcome.error)
    return DeleteTopicResponse(error_code=code, error_description=description)
