"""CreateTopic, key 13: versions 0 and 1 create one topic, version 2 creates a batch."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kwire.authorization.acl_authorizer import AclOperation, Permission
from kwire.messages.kip4.create_topic import CreateTopicRequest, CreateTopicResponse
from kwire.messages.kip4.create_topic_v2 import CreateTopicRequest_V2, CreateTopicResponse_V2, TopicCreation
from kwire_cluster.controller.errors import CommandError
from kwire_cluster.controller.manual_assignment import parse
from kwire_cluster.node.requests.request_context import denied
from kwire_cluster.node.requests.topic_responses import (
    code_and_description,
    outcomes_of_allowed,
    parse_configs,
    partition_replicas,
    topic_results,
)

if TYPE_CHECKING:
    from kwire_cluster.node.requests.request_context import RequestContext

CREATE = Permission(AclOperation.CREATE, "Topic")
CREATE_ANY = Permission(AclOperation.CREATE, "Cluster")
PERMISSIONS = (CREATE, CREATE_ANY)
"""One of them is sufficient."""


async def handle(
    request: CreateTopicRequest | CreateTopicRequest_V2, context: RequestContext
) -> CreateTopicResponse | CreateTopicResponse_V2:
    """Create topics."""
    if isinstance(request, CreateTopicRequest):
        return await _create_one(request, context)
    outcomes = await outcomes_of_allowed(
        lambda creations: context.backend.create_topics(creations, context.client_id, author=context.author),
        request.topics,
        lambda creation: creation.topic_name,
        lambda creation: creation_denial(creation.topic_name, context),
    )
    return CreateTopicResponse_V2(topics=topic_results(outcomes))


def creation_denial(topic: str, context: RequestContext) -> CommandError | None:
    """Return the error that denies creating a topic to the sender; None if it is allowed."""
    if context.allows(CREATE_ANY) or context.allows(CREATE, topic):
        return None
    return denied(CREATE, topic, context.subject)


async def _create_one(request: CreateTopicRequest, context: RequestContext) -> CreateTopicResponse:
    backend = context.backend
    try:
        error = creation_denial(request.topic_name, context)
        if error is not None:
            raise error
        backend.check_active()
        (outcome,) = await backend.create_topics([_creation(request)], None, author=context.author)
        error = outcome.error
    except CommandError as failed:
        error = failed
    code, description = code_and_description(error)
    return CreateTopicResponse(error_code=code, error_description=description)


def _creation(request: CreateTopicRequest) -> TopicCreation:
    """Convert to version 2.

    Raises:
        CommandError: the assignment or a config is malformed.
    """
    assignment = request.replica_assignment
    return TopicCreation(
        topic_name=request.topic_name,
        partitions=_number(request.partitions),
        replication_factor=_number(request.replicas),
        replica_assignment=partition_replicas(parse(assignment)) if assignment is not None else (),
        config_entries=request.config_entries or parse_configs(request.configs),
    )


def _number(value: int | None) -> int:
    """Convert a count. In version 2, -1 means "not set", so a negative count becomes 0, which is rejected too."""
    return -1 if value is None else max(value, 0)
