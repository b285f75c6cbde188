"""DeleteTopic, key 15: versions 0 and 1 delete one topic, version 2 deletes a batch."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from kwire.authorization.acl_authorizer import AclOperation, Permission
from kwire.messages.kip4.delete_topic import DeleteTopicRequest, DeleteTopicResponse
from kwire.messages.kip4.delete_topic_v2 import DeleteTopicRequest_V2, DeleteTopicResponse_V2
from kwire_cluster.node.requests.request_context import denied
from kwire_cluster.node.requests.topic_responses import code_and_description, outcomes_of_allowed, topic_results

if TYPE_CHECKING:
    from kwire_cluster.node.requests.request_context import RequestContext

DELETE = Permission(AclOperation.DELETE, "Topic")
PERMISSIONS = (DELETE,)


async def handle(
    request: DeleteTopicRequest | DeleteTopicRequest_V2, context: RequestContext
) -> DeleteTopicResponse | DeleteTopicResponse_V2:
    """Mark topics for deletion."""
    names = request.topic_names if isinstance(request, DeleteTopicRequest_V2) else (request.topic_name,)
    outcomes = await outcomes_of_allowed(
        partial(context.backend.delete_topics, author=context.author),
        names,
        str,
        lambda name: None if context.allows(DELETE, name) else denied(DELETE, name, context.subject),
    )
    if isinstance(request, DeleteTopicRequest_V2):
        return DeleteTopicResponse_V2(topics=topic_results(outcomes))
    code, description = code_and_description(outcomes[0].error)
    return DeleteTopicResponse(error_code=code, error_description=description)
