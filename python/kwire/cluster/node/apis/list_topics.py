"""ListTopics, key 1002: version 1 leaves out topics marked for deletion (decision D6)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kwire.cluster.controller.errors import AdminError
from kwire.cluster.node.topic_responses import code_and_description
from kwire.messages.kip4.error_codes import ErrorCode
from kwire.messages.kip4.list_topics import ListTopicsRequest, ListTopicsResponse, TopicsList

if TYPE_CHECKING:
    from kwire.cluster.node.request_context import RequestContext


async def handle(request: ListTopicsRequest, context: RequestContext) -> ListTopicsResponse:
    """List all topics."""
    del request
    try:
        names = await context.backend.list_topics()
    except AdminError as error:
        code, description = code_and_description(error)
        return ListTopicsResponse(error_code=code, error_description=description)
    if context.version == 0:
        topics = TopicsList(
            topics_marked_for_deletion=tuple(names.marked_for_deletion), alive_topics=tuple(names.alive)
        )
    else:
        topics = TopicsList(topic_names=tuple(names.alive))
    return ListTopicsResponse(error_code=ErrorCode.NO_ERROR, topics_list=topics)
