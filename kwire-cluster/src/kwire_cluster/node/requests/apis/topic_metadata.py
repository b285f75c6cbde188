"""TopicMetadata, key 3. Version 0 creates unknown topics if `auto.create.topics.enable` is set."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kwire.authorization.acl_authorizer import AclOperation, Permission
from kwire.messages.kafka.error_codes import ErrorCode as KafkaErrorCode
from kwire.messages.kip4.create_topic_v2 import CreateTopicRequest_V2, TopicCreation
from kwire.messages.kip4.error_codes import ErrorCode
from kwire.messages.kip4.topic_metadata import TopicMetadataRequest
from kwire.protocol.errors import ConnectionFault
from kwire_cluster.controller.errors import NotController
from kwire_cluster.node.forwarding import ForwardingRefused, forward_message
from kwire_cluster.node.logs import logger
from kwire_cluster.node.requests.apis import create_topic
from kwire_cluster.node.requests.topic_responses import result_of_each, topic_results
from kwire_cluster.request_quotas import in_slices

if TYPE_CHECKING:
    from collections.abc import Awaitable, Mapping, Sequence

    from kwire.messages.kip4.structures import TopicResult
    from kwire.messages.kip4.topic_metadata_v1 import TopicMetadataRequest_V1
    from kwire_cluster.node.requests.request_context import RequestContext

ERROR_OF_CREATED: Mapping[int, int] = {
    ErrorCode.NO_ERROR: KafkaErrorCode.LEADER_NOT_AVAILABLE,
    ErrorCode.TOPIC_ALREADY_EXISTS: KafkaErrorCode.LEADER_NOT_AVAILABLE,
    ErrorCode.INVALID_ARGUMENT_TOPIC_NAME: KafkaErrorCode.INVALID_TOPIC_EXCEPTION,
    ErrorCode.INVALID_ARGUMENT_REPLICATION_FACTOR: KafkaErrorCode.INVALID_REPLICATION_FACTOR,
}
"""The error that Kafka reports for a topic after automatic creation, by the result of CreateTopic; any other result is
reported as UNKNOWN_TOPIC_OR_PARTITION. A node learns about a new topic only after the controller has replied."""

DESCRIBE = Permission(AclOperation.DESCRIBE, "Topic")
PERMISSIONS = (DESCRIBE, *create_topic.PERMISSIONS)
"""The latter are for creating an unknown topic."""

MAX_AT_ONCE = 200
"""Named topics that are described without a turn for other connections: one takes about 10 microseconds."""

log = logger(__name__)


def handle(
    request: TopicMetadataRequest | TopicMetadataRequest_V1, context: RequestContext
) -> bytes | Awaitable[bytes]:
    """Describe topics from the metadata cache: the named ones, or all that the sender can describe."""
    metadata = context.metadata
    denied: frozenset[str] = frozenset()
    if not context.is_unrestricted:
        if not request.topic_names:
            return _describe_allowed(context)
        denied = frozenset(name for name in request.topic_names if not context.allows(DESCRIBE, name))
    if isinstance(request, TopicMetadataRequest) and context.node.settings.auto_create_topics:
        unknown = tuple(name for name in request.topic_names if name not in metadata.topics and name not in denied)
        if unknown:
            return _create_and_describe(unknown, request.topic_names, denied, context)
    if len(request.topic_names) > MAX_AT_ONCE:
        return metadata.response_body_in_slices(context.version, request.topic_names, denied=denied)
    return metadata.response_body(context.version, request.topic_names, denied=denied)


async def _describe_allowed(context: RequestContext) -> bytes:
    """Describe the topics that the sender may describe."""
    metadata = context.metadata
    allowed = [name async for name in in_slices(tuple(metadata.topics)) if context.allows(DESCRIBE, name)]
    return await metadata.response_body_in_slices(context.version, allowed)


async def _create_and_describe(
    unknown: Sequence[str], names: Sequence[str], denied: frozenset[str], context: RequestContext
) -> bytes:
    """Create the unknown topics that the sender may create, and describe all."""
    uncreatable = {name for name in unknown if create_topic.creation_denial(name, context) is not None}
    creatable = [name for name in unknown if name not in uncreatable]
    results = await _create_topics(creatable, context) if creatable else ()
    errors = {
        result.topic_name: ERROR_OF_CREATED[result.error_code]
        for result in results
        if result.error_code in ERROR_OF_CREATED
    }
    return await context.metadata.response_body_in_slices(context.version, names, errors, denied | uncreatable)


async def _create_topics(names: Sequence[str], context: RequestContext) -> Sequence[TopicResult]:
    """Create topics with the default partition count and replication factor.

    Returns:
        The result of each topic; empty if the controller is unknown or cannot be reached.
    """
    settings = context.node.settings
    creations = tuple(
        TopicCreation(
            topic_name=name,
            partitions=settings.num_partitions,
            replication_factor=settings.default_replication_factor,
            replica_assignment=(),
            config_entries=(),
        )
        for name in names
    )
    backend = context.backend
    try:
        backend.check_active()
    except NotController:
        controller = context.node.controller_endpoint
        if controller is None:
            return ()
        try:
            request = CreateTopicRequest_V2(topics=creations)
            response = await forward_message(
                context.node.connections, controller, request, 2, context.subject, context.client_id
            )
        except (ConnectionFault, ForwardingRefused) as fault:
            log.warning("automatic topic creation failed", topics=names, reason=str(fault))
            return ()
        return response.topics
    return topic_results(await result_of_each(backend.create_topics(creations, None, author=context.author), names))
