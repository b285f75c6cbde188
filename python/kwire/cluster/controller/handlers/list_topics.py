"""ListTopics, key 1002: version 1 hides topics that are marked for deletion (decision D6)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kwire.cluster.controller.errors import AdminError
from kwire.cluster.controller.handlers.one_topic import code_and_reason
from kwire.messages.kip4.error_codes import ErrorCode
from kwire.messages.kip4.list_topics import ListTopicsResponse, TopicsList

if TYPE_CHECKING:
    from kwire.cluster.controller.backend import AdminBackend
    from kwire.cluster.controller.handlers import Asked

__all__ = ["handle"]


async def handle(asked: Asked, backend: AdminBackend) -> ListTopicsResponse:
    """List all topics."""
    try:
        names = await backend.list_topics()
    except AdminError as error:
        code, reason = code_and_reason(error)
        return ListTopicsResponse(error_code=code, error_description=reason)
    if asked.version == 0:
        listed = TopicsList(
            topics_marked_for_deletion=tuple(names.marked_for_deletion), alive_topics=tuple(names.alive)
        )
    else:
        listed = TopicsList(topic_names=tuple(names.alive))
    return ListTopicsResponse(error_code=ErrorCode.NO_ERROR, topics_list=listed)
