"""ListTopics, key 1002: version 1 leaves out topics marked for deletion."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kwire.authorization.acl_authorizer import AclOperation, Permission
from kwire.messages.kip4.error_codes import ErrorCode
from kwire.messages.kip4.list_topics import ListTopicsRequest, ListTopicsResponse, TopicsList
from kwire.messages.kip4.strings import is_encodable_string
from kwire_cluster.controller.errors import CommandError
from kwire_cluster.node.logs import logger
from kwire_cluster.node.requests.topic_responses import code_and_description
from kwire_cluster.request_quotas import in_slices

if TYPE_CHECKING:
    from kwire_cluster.node.requests.request_context import RequestContext

DESCRIBE = Permission(AclOperation.DESCRIBE, "Topic")
PERMISSIONS = (DESCRIBE,)

log = logger(__name__)


async def handle(request: ListTopicsRequest, context: RequestContext) -> ListTopicsResponse:
    """List the topics that the sender may describe."""
    del request
    try:
        names = await context.backend.list_topics()
    except CommandError as error:
        code, description = code_and_description(error)
        return ListTopicsResponse(error_code=code, error_description=description)
    marked, alive = (tuple(filter(is_encodable_string, part)) for part in names)
    skipped = len(names.marked_for_deletion) + len(names.alive) - len(marked) - len(alive)
    if skipped:  # written to ZooKeeper by another program
        log.error("skipping topic names that no protocol string can hold", topics=skipped)
    if not context.is_unrestricted:
        marked = tuple([name async for name in in_slices(marked) if context.allows(DESCRIBE, name)])
        alive = tuple([name async for name in in_slices(alive) if context.allows(DESCRIBE, name)])
    if context.version == 0:
        topics = TopicsList(topics_marked_for_deletion=marked, alive_topics=alive)
    else:
        topics = TopicsList(topic_names=alive)
    return ListTopicsResponse(error_code=ErrorCode.NO_ERROR, topics_list=topics)
