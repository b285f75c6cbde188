"""CreateTopic, key 13: versions 0 and 1 create one topic, version 2 creates a batch."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kwire.cluster.controller.errors import AdminError
from kwire.cluster.controller.manual_assignment import parse
from kwire.cluster.node.topic_responses import (
    code_and_description,
    parse_configs,
    partition_replicas,
    result_of_each,
    topic_results,
)
from kwire.messages.kip4.create_topic import CreateTopicRequest, CreateTopicResponse
from kwire.messages.kip4.create_topic_v2 import CreateTopicRequest_V2, CreateTopicResponse_V2, TopicCreation

if TYPE_CHECKING:
    from kwire.cluster.controller.backend import AdminBackend
    from kwire.cluster.node.request_context import RequestContext


async def handle(
    request: CreateTopicRequest | CreateTopicRequest_V2, context: RequestContext
) -> CreateTopicResponse | CreateTopicResponse_V2:
    """Create topics."""
    if isinstance(request, CreateTopicRequest):
        return await _create_one(request, context.backend)
    names = [creation.topic_name for creation in request.topics]
    outcomes = await result_of_each(context.backend.create_topics(request.topics, context.client_id), names)
    return CreateTopicResponse_V2(topics=topic_results(outcomes))


async def _create_one(request: CreateTopicRequest, backend: AdminBackend) -> CreateTopicResponse:
    try:
        backend.check_active()
        (outcome,) = await backend.create_topics([_creation(request)], None)
        error = outcome.error
    except AdminError as failed:
        error = failed
    code, description = code_and_description(error)
    return CreateTopicResponse(error_code=code, error_description=description)


def _creation(request: CreateTopicRequest) -> TopicCreation:
    """Convert to version 2.

    Raises:
        AdminError: the assignment or a config is malformed.
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
