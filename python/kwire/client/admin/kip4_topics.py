"""The drafts' requests for topics, partitions, and features (KIP-4 and KIP-584 before their releases).

Commands are not repeated after a lost response: a second Create or Delete would be refused because of the first one.
Changes of configs alone are repeated, because the second one has the same effect and the same response.
"""

from __future__ import annotations

from base64 import b64encode

from kwire import frame
from kwire._util.light_typing import TYPE_CHECKING, Any
from kwire.client.admin.answer import Answer, error_code
from kwire.client.admin.errors import AdminError
from kwire.client.admin.kip4_reasons import change_reason, creation_reason, reassignment_reason
from kwire.client.admin.session import strings_tuple
from kwire.client.admin.targets import ANY, CONTROLLER
from kwire.client.admin.values import (
    Outcomes,
    PartitionDescription,
    ReassignmentState,
    ReassignmentStatus,
    TopicDescription,
)
from kwire.messages.kip4.error_codes import ErrorCode
from kwire.protocol.client_connection import response_class

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from kwire.client.admin.feature_values import FeatureUpdate, SafeLevel
    from kwire.client.admin.session import AdminSession, Targets, Topics
    from kwire.client.admin.values import NewTopic, TopicChange
    from kwire.declare import Request
    from kwire.messages.kip4.admin import AdminResponse
    from kwire.messages.kip4.structures import ConfigEntry, PartitionReplicas, TopicReassignment
    from kwire.messages.kip4.topic_metadata_v1 import TopicMetadata
    from kwire.protocol.endpoint import Endpoint

REASSIGNMENT_STATES = {
    0: ReassignmentState.MOVING,
    1: ReassignmentState.COMPLETED,
    -1: ReassignmentState.FAILED,
}
DRY_RUN = "dry-run"
"""The tool of nodes that answers a request without executing it (`kwire_cluster.node.dry_run`)."""
MAX_PART = 30_000
"""Characters of an argument of an Admin request; a string has at most 32,767 bytes."""


async def _command(
    admin: AdminSession,
    request: Request[Any],
    error_code: Callable[[Any], int],
    *,
    repeatable: bool = False,
    validate_only: bool,
) -> Answer[Any]:
    """Send a request to the controller; to validate only, in an Admin request for the tool `dry-run` of nodes.

    Raises:
        AdminError: the node does not answer the request.
    """
    if not validate_only:
        return await admin.router.command(request, CONTROLLER, error_code, repeatable=repeatable)
    from kwire.messages.kip4.admin import AdminRequest

    version = await admin.router.highest_version(type(request))
    text = b64encode(frame.encode_request(request, version=version, correlation_id=0)[4:]).decode()
    parts = tuple(text[start : start + MAX_PART] for start in range(0, len(text), MAX_PART))

    def response_in(response: AdminResponse) -> Any:
        return frame.decode_response(response.output, response_class(type(request)), version=version).message

    answer = await admin.router.read(
        AdminRequest(tool=DRY_RUN, arguments=parts),
        CONTROLLER,
        lambda response: response.error_code or error_code(response_in(response)),
    )
    response = answer.response
    if response.error_code:
        raise AdminError.of_kip4(response.error_code, "", response.error_description, answer.attempts)
    return Answer(response_in(response), answer.endpoint, answer.attempts)


async def create_topics(admin: AdminSession, topics: Mapping[str, NewTopic], *, validate_only: bool) -> Outcomes:
    from kwire.messages.kip4.create_topic_v2 import CreateTopicRequest_V2, TopicCreation

    request = CreateTopicRequest_V2(
        topics=tuple(
            TopicCreation(
                topic_name=name,
                partitions=-1 if topic.partitions is None else topic.partitions,
                replication_factor=-1 if topic.replication_factor is None else topic.replication_factor,
                replica_assignment=_assignment(topic.assignment),
                config_entries=_entries(topic.configs),
            )
            for name, topic in topics.items()
        )
    )
    answer = await _command(admin, request, _first_error_code, validate_only=validate_only)
    return _outcomes(answer, lambda name, code: creation_reason(code, topics[name], admin.router.metadata.brokers))


async def alter_topics(admin: AdminSession, topics: Mapping[str, TopicChange], *, validate_only: bool) -> Outcomes:
    from kwire.messages.kip4.alter_topic_v2 import AlterTopicRequest_V2, TopicAlteration

    request = AlterTopicRequest_V2(
        topics=tuple(
            TopicAlteration(
                topic_name=name,
                partitions=-1 if topic.partitions is None else topic.partitions,
                replication_factor=-1 if topic.replication_factor is None else topic.replication_factor,
                replica_assignment=_assignment(topic.assignment),
                added_config_entries=_entries(topic.set_configs),
                deleted_configs=strings_tuple(topic.delete_configs),
            )
            for name, topic in topics.items()
        )
    )
    repeatable = all(topic.is_of_configs_only for topic in topics.values())
    answer = await _command(admin, request, _first_error_code, repeatable=repeatable, validate_only=validate_only)
    return _outcomes(answer, lambda name, code: change_reason(code, topics[name], admin.router.metadata.brokers))


async def delete_topics(admin: AdminSession, names: tuple[str, ...], *, validate_only: bool) -> Outcomes:
    from kwire.messages.kip4.delete_topic_v2 import DeleteTopicRequest_V2

    request = DeleteTopicRequest_V2(topic_names=names)
    return _outcomes(await _command(admin, request, _first_error_code, validate_only=validate_only))


async def reassign_partitions(admin: AdminSession, targets: Targets, *, validate_only: bool) -> Outcomes:
    from kwire.messages.kip4.reassign_partitions import ReassignPartitionsRequest

    request = ReassignPartitionsRequest(topics=_reassignments(targets))
    answer = await _command(admin, request, _first_error_code, validate_only=validate_only)
    return _outcomes(answer, lambda name, code: reassignment_reason(code, targets[name], admin.router.metadata.brokers))


async def list_reassignments(admin: AdminSession, targets: Targets | None) -> list[ReassignmentStatus]:
    from kwire.messages.kip4.verify_reassign_partitions import VerifyReassignPartitionsRequest

    request = VerifyReassignPartitionsRequest(topics=_reassignments(targets or {}))
    answer = await admin.router.read(request, CONTROLLER, _first_error_code)
    if not targets:
        _raise_if_rejected(answer)
    return [
        ReassignmentStatus(
            topic.topic,
            {
                partition.partition_id: REASSIGNMENT_STATES.get(partition.status, str(partition.status))
                for partition in topic.partitions
            },
            AdminError.of_kip4(topic.error_code, topic.topic, attempts=answer.attempts) if topic.error_code else None,
        )
        for topic in answer.response.topics
    ]


async def elect_leaders(
    admin: AdminSession, partitions: Mapping[str, Sequence[int]] | None, checked: Outcomes
) -> Outcomes:
    """Start elections of preferred leaders.

    Args:
        checked: the outcomes by partition as far as the client can tell: nodes answer by topic.
    """
    from kwire.messages.kip4.preferred_replica_leader_election import (
        PreferredReplicaLeaderElectionRequest,
        TopicPartitions,
    )

    named = tuple(TopicPartitions(topic=topic, partition_ids=tuple(ids)) for topic, ids in (partitions or {}).items())
    answer = await admin.router.command(
        PreferredReplicaLeaderElectionRequest(topics=named), error_code=_first_error_code
    )
    if not named:
        _raise_if_rejected(answer)
    started = _outcomes(answer)
    errors = {item: started.get(item) or started.get(item.rpartition("-")[0]) for item in checked}
    return Outcomes(
        {item: errors[item] or error for item, error in checked.items()},
        answer.attempts,
        unchanged=(item for item in checked.unchanged if errors[item] is None),
    )


async def list_topics_marked_for_deletion(admin: AdminSession) -> list[str]:
    """Send ListTopics in version 0, the only one that lists them."""
    from kwire.messages.kip4.list_topics import ListTopicsRequest

    answer = await admin.router.read(ListTopicsRequest(), CONTROLLER, error_code, highest=0)
    response = answer.response
    if response.topics_list is None:
        raise AdminError.of_kip4(response.error_code, "", response.error_description, answer.attempts)
    return sorted(response.topics_list.topics_marked_for_deletion)


async def describe_topics(admin: AdminSession, names: tuple[str, ...]) -> Topics:
    """Return topics with their configs, which the response always contains."""
    from kwire.messages.kip4.topic_metadata_v1 import TopicMetadataRequest_V1

    answer = await admin.router.read(TopicMetadataRequest_V1(topic_names=names), ANY)
    return {topic.topic_name: _described(topic) for topic in answer.response.topics}


async def topics_at(admin: AdminSession, broker: Endpoint, names: tuple[str, ...]) -> Topics:
    from kwire.messages.kip4.topic_metadata_v1 import TopicMetadataRequest_V1

    response = await admin.router.send(broker, TopicMetadataRequest_V1(topic_names=names))
    return {topic.topic_name: _described(topic) for topic in response.topics}


async def update_features(
    admin: AdminSession, updates: Sequence[FeatureUpdate], *, validate_only: bool
) -> tuple[dict[str, AdminError], AdminError | None, int]:
    """Send the updates in at most two groups, with and without the permission to lower a level.

    Returns:
        The errors of features, the error of the whole update, and how often it was sent.
    """
    from kwire.messages.kip584.update_features import Feature, UpdateFeaturesRequest
    from kwire.messages.kip584.update_features import FeatureUpdate as FeatureGroup

    groups: dict[bool, list[Feature]] = {}
    for update in updates:
        feature = Feature(name=update.name, max_version_level=update.max_version_level)
        groups.setdefault(update.allow_downgrade or update.unsafe, []).append(feature)
    request = UpdateFeaturesRequest(
        timeout_ms=admin.router.timeout_ms,
        feature_updates=tuple(
            FeatureGroup(allow_downgrade=flag, features=tuple(features)) for flag, features in groups.items()
        ),
    )
    answer = await _command(admin, request, error_code, validate_only=validate_only)
    names, response, attempts = [update.name for update in updates], answer.response, answer.attempts
    failed = {
        result.feature: AdminError.of_kip4(result.error_code, result.feature, result.error_message, attempts)
        for result in response.results
        if result.error_code and result.feature in names
    }
    code = response.error_code
    return failed, AdminError.of_kip4(code, "", response.error_message, attempts) if code else None, attempts


async def lowest_safe_level(admin: AdminSession, name: str, level: int) -> SafeLevel:
    """Return the level that nodes declare in their settings."""
    from kwire.client.admin.feature_values import SafeLevel
    from kwire.client.admin.kip4_tools import tool_result

    setting = "supported.features"
    [described] = await tool_result(admin, "config", ["describe", setting], setting, reads=True)
    declared = dict(text.strip().partition(":")[::2] for text in str(described["value"]).split(","))
    lowest = declared.get(name, "").partition(":")[2]
    if not level or not lowest:
        return SafeLevel(0, None if level else "the feature is not finalized")
    return SafeLevel(int(lowest), f"nodes declare it in {setting}")


def _assignment(replicas: Mapping[int, Sequence[int]]) -> tuple[PartitionReplicas, ...]:
    from kwire.messages.kip4.structures import PartitionReplicas

    return tuple(
        PartitionReplicas(partition_id=index, replica_ids=tuple(ids)) for index, ids in sorted(replicas.items())
    )


def _entries(configs: Mapping[str, str]) -> tuple[ConfigEntry, ...]:
    from kwire.messages.kip4.structures import ConfigEntry

    return tuple(ConfigEntry(config_key=key, config_value=value) for key, value in configs.items())


def _reassignments(targets: Targets) -> tuple[TopicReassignment, ...]:
    from kwire.messages.kip4.structures import TopicReassignment

    return tuple(
        TopicReassignment(topic=topic, partitions=_assignment(partitions)) for topic, partitions in targets.items()
    )


def _described(topic: TopicMetadata) -> TopicDescription | AdminError:
    if topic.topic_error_code:
        return AdminError.of_kip4(topic.topic_error_code, topic.topic_name)
    return TopicDescription(
        topic.topic_name,
        tuple(
            PartitionDescription(
                partition.partition_id,
                None if partition.leader < 0 else partition.leader,
                tuple(replica.replica_id for replica in partition.replicas_lag),
                partition.isr,
                lag={
                    replica.replica_id: replica.lag if replica.lag >= 0 else None for replica in partition.replicas_lag
                },
                error=AdminError.of_kip4(partition.partition_error_code, f"{topic.topic_name}-{partition.partition_id}")
                if partition.partition_error_code
                else None,
            )
            for partition in topic.partitions
        ),
        {entry.config_key: entry.config_value for entry in topic.config_entries},
    )


def _first_error_code(response: Any) -> int:
    """Return the error code of the first topic: a broker that is not the controller reports it for every topic."""
    return response.topics[0].error_code if response.topics else ErrorCode.NO_ERROR


def _raise_if_rejected(answer: Answer[Any]) -> None:
    """Raise the error of a rejected request for all topics: its response has one entry, without a name."""
    for topic in answer.response.topics:
        if topic.error_code and not topic.topic:
            raise AdminError.of_kip4(topic.error_code, "", attempts=answer.attempts)


def _outcomes(answer: Answer[Any], reason: Callable[[str, int], str | None] = lambda *_: None) -> Outcomes:
    """Return the outcome of each topic. The drafts call its name `topic_name` or `topic`.

    Args:
        reason: returns the reason for an error code of a topic, which the response lacks.
    """
    outcomes: dict[str, AdminError | None] = {}
    for topic in answer.response.topics:
        name = topic.topic_name if hasattr(topic, "topic_name") else topic.topic
        code = topic.error_code
        outcomes[name] = AdminError.of_kip4(code, name, reason(name, code), answer.attempts) if code else None
    return Outcomes(outcomes, answer.attempts)
