"""AlterTopic, key 14: versions 0 and 1 alter one topic, version 2 alters a batch."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from kwire._util.readable import counted
from kwire.authorization.acl_authorizer import AclOperation, Permission
from kwire.messages.kip4.alter_topic import AlterTopicRequest, AlterTopicResponse
from kwire.messages.kip4.alter_topic_v2 import AlterTopicRequest_V2, AlterTopicResponse_V2, TopicAlteration
from kwire.messages.kip4.error_codes import ErrorCode
from kwire_cluster.controller.errors import CommandError
from kwire_cluster.controller.manual_assignment import parse
from kwire_cluster.node.requests.topic_responses import (
    code_and_description,
    outcomes_of_allowed,
    parse_configs,
    partition_replicas,
    topic_results,
)

if TYPE_CHECKING:
    from kwire_cluster.controller.topic_state import Topic
    from kwire_cluster.node.requests.request_context import RequestContext

ALTER = Permission(AclOperation.ALTER, "Topic")
"""To change partitions or replicas."""
ALTER_CONFIGS = Permission(AclOperation.ALTER_CONFIGS, "Topic")
"""To change configs."""
REASSIGN = Permission(AclOperation.ALTER, "Cluster")
"""To move replicas, as for ReassignPartitions."""
PERMISSIONS = (ALTER, ALTER_CONFIGS, REASSIGN)


async def handle(
    request: AlterTopicRequest | AlterTopicRequest_V2, context: RequestContext
) -> AlterTopicResponse | AlterTopicResponse_V2:
    """Alter topics."""
    if isinstance(request, AlterTopicRequest):
        return await _alter_one(request, context)
    outcomes = await outcomes_of_allowed(
        partial(context.backend.alter_topics, author=context.author),
        request.topics,
        lambda alteration: alteration.topic_name,
        lambda alteration: _denial(alteration, context),
    )
    return AlterTopicResponse_V2(topics=topic_results(outcomes))


def _denial(alteration: TopicAlteration, context: RequestContext) -> CommandError | None:
    """Return the error that denies altering a topic to the sender; None if it is allowed."""
    name = alteration.topic_name
    has_configs = bool(alteration.added_config_entries or alteration.deleted_configs)
    moves_replicas = bool(alteration.replica_assignment) or alteration.replication_factor != -1
    try:
        if has_configs:
            context.require(ALTER_CONFIGS, name)
        if moves_replicas or alteration.partitions != -1 or not has_configs:
            context.require(ALTER, name)
        if moves_replicas:
            context.require(REASSIGN)
    except CommandError as error:
        return error
    return None


async def _alter_one(request: AlterTopicRequest, context: RequestContext) -> AlterTopicResponse:
    backend = context.backend
    try:
        backend.check_active()
        alteration = _alteration(request)
        denial = _denial(alteration, context)
        if denial is not None:
            raise denial
        if alteration.replica_assignment:
            # Partitions that are added between this check and the alteration count as added afterwards.
            _check_lists_all_partitions(alteration, await backend.describe_topic(request.topic_name))
        (outcome,) = await backend.alter_topics([alteration], author=context.author)
        error = outcome.error
    except CommandError as failed:
        error = failed
    code, description = code_and_description(error)
    return AlterTopicResponse(error_code=code, error_description=description)


def _alteration(request: AlterTopicRequest) -> TopicAlteration:
    """Convert to version 2.

    Raises:
        CommandError: the assignment or a config is malformed, or the assignment contradicts the partition count.
    """
    partitions = -1 if request.partitions is None else max(request.partitions, 0)
    assignment = parse(request.replica_assignment) if request.replica_assignment is not None else {}
    if assignment and partitions not in {-1, len(assignment)}:
        reason = f"the assignment lists {counted(len(assignment), 'partition')}, but the request asks for {partitions}"
        raise CommandError(ErrorCode.INVALID_ARGUMENT_REPLICA_ASSIGNMENT, reason)
    return TopicAlteration(
        topic_name=request.topic_name,
        partitions=-1 if assignment else partitions,
        replica_assignment=partition_replicas(assignment),
        added_config_entries=request.added_config_entries or parse_configs(request.added_configs),
        deleted_configs=request.deleted_configs,
    )


def _check_lists_all_partitions(alteration: TopicAlteration, topic: Topic) -> None:
    """Check that an assignment lists every partition, which versions 0 and 1 require.

    Raises:
        CommandError: a partition is missing.
    """
    listed = {one.partition_id for one in alteration.replica_assignment}
    if any(partition.id not in listed for partition in topic.partitions):
        reason = (
            f"the assignment lists {len(listed)} of the topic's {len(topic.partitions)} partitions: "
            "list every partition"
        )
        raise CommandError(ErrorCode.INVALID_ARGUMENT_REPLICA_ASSIGNMENT, reason)
