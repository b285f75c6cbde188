"""The drafts' requests for administration (KIP-4 before its release).

Commands are not repeated after a lost response: a second Create or Delete would be refused because of the first one.
Changes of configs alone are repeated, because the second one has the same effect and the same response.
"""

from __future__ import annotations

from base64 import b64encode
from functools import cached_property, partial

from kwire import frame
from kwire._util.light_typing import TYPE_CHECKING, Any
from kwire.client.admin.answer import Answer, error_code
from kwire.client.admin.backend import AdminSession, strings_tuple
from kwire.client.admin.cluster_router import ANY, CONTROLLER, BrokerTarget
from kwire.client.admin.errors import AdminError, NotSupported
from kwire.client.admin.values import (
    Outcomes,
    PartitionDescription,
    ReassignmentState,
    ReassignmentStatus,
    ToolResult,
    TopicDescription,
)
from kwire.messages.kip4.error_codes import ErrorCode
from kwire.protocol.client_connection import SOFTWARE_NAME, response_class

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence

    from kwire.client.admin.backend import Targets, TopicListings, Topics
    from kwire.client.admin.cluster_router import ClusterRouter
    from kwire.client.admin.feature_values import FeatureUpdate, SafeLevel
    from kwire.client.admin.kip4_acls import Kip4Acls
    from kwire.client.admin.kip4_configs import Kip4Configs
    from kwire.client.admin.kip4_scram_users import Kip4ScramUsers
    from kwire.client.admin.topic_changes import NewTopic, TopicChange
    from kwire.client.admin.values import EligibleLeaders
    from kwire.declare import Request
    from kwire.messages.kip4.admin import AdminResponse
    from kwire.messages.kip4.structures import ConfigEntry, PartitionReplicas, TopicReassignment
    from kwire.messages.kip4.topic_metadata_v1 import TopicMetadata
    from kwire.messages.kip584.api_versions import ApiVersionsRequest
    from kwire.protocol.endpoint import Endpoint
    from kwire.protocol.negotiated_versions import Dialect

REASSIGNMENT_STATES = {
    0: ReassignmentState.MOVING,
    1: ReassignmentState.COMPLETED,
    -1: ReassignmentState.FAILED,
}


DRY_RUN = "dry-run"
"""The tool of nodes that answers a request without executing it (`kwire_cluster.node.dry_run`)."""
MAX_PART = 30_000
"""Characters of an argument of an Admin request; a string has at most 32,767 bytes."""


class Kip4Backend:
    """The operations of a cluster that speaks the dialect of the drafts."""

    dialect: Dialect = "kip4"

    def __init__(self, router: ClusterRouter) -> None:
        self._router = router

    @cached_property
    def acls(self) -> Kip4Acls:
        """The operations on ACLs."""
        from kwire.client.admin.kip4_acls import Kip4Acls

        return Kip4Acls(self)

    @cached_property
    def configs(self) -> Kip4Configs:
        """The operations on configs."""
        from kwire.client.admin.kip4_configs import Kip4Configs

        return Kip4Configs(self)

    @cached_property
    def scram_users(self) -> Kip4ScramUsers:
        """The operations on SCRAM credentials."""
        from kwire.client.admin.kip4_scram_users import Kip4ScramUsers

        return Kip4ScramUsers(self)

    def _brokers(self) -> Collection[int]:
        return self._router.metadata.brokers

    async def _command(
        self, request: Request[Any], error_code: Callable[[Any], int], *, repeatable: bool = False, validate_only: bool
    ) -> Answer[Any]:
        """Send a request to the controller; to validate only, in an Admin request for the tool `dry-run` of nodes.

        Raises:
            AdminError: the node does not answer the request.
        """
        if not validate_only:
            return await self._router.command(request, CONTROLLER, error_code, repeatable=repeatable)
        from kwire.messages.kip4.admin import AdminRequest

        version = await self._router.highest_version(type(request))
        text = b64encode(frame.encode_request(request, version=version, correlation_id=0)[4:]).decode()
        parts = tuple(text[start : start + MAX_PART] for start in range(0, len(text), MAX_PART))

        def response_in(response: AdminResponse) -> Any:
            return frame.decode_response(response.output, response_class(type(request)), version=version).message

        answer = await self._router.read(
            AdminRequest(tool=DRY_RUN, arguments=parts),
            CONTROLLER,
            lambda response: response.error_code or error_code(response_in(response)),
        )
        response = answer.response
        if response.error_code:
            raise AdminError.of_kip4(response.error_code, "", response.error_description, answer.attempts)
        return Answer(response_in(response), answer.endpoint, answer.attempts)

    async def create_topics(self, topics: Mapping[str, NewTopic], *, validate_only: bool) -> Outcomes:
        from kwire.client.admin.kip4_reasons import creation_reason
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
        answer = await self._command(request, _first_error_code, validate_only=validate_only)
        return _outcomes(answer, lambda name, code: creation_reason(code, topics[name], self._brokers()))

    async def alter_topics(self, topics: Mapping[str, TopicChange], *, validate_only: bool) -> Outcomes:
        from kwire.client.admin.kip4_reasons import change_reason
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
        answer = await self._command(request, _first_error_code, repeatable=repeatable, validate_only=validate_only)
        return _outcomes(answer, lambda name, code: change_reason(code, topics[name], self._brokers()))

    async def delete_topics(self, names: tuple[str, ...], *, validate_only: bool = False) -> Outcomes:
        from kwire.messages.kip4.delete_topic_v2 import DeleteTopicRequest_V2

        request = DeleteTopicRequest_V2(topic_names=names)
        return _outcomes(await self._command(request, _first_error_code, validate_only=validate_only))

    async def reassign_partitions(
        self, targets: Targets, *, allow_replication_factor_change: bool = True, validate_only: bool = False
    ) -> Outcomes:
        if not allow_replication_factor_change:
            raise NotSupported("a fixed replication factor", "the drafts of KIP-4 have no field for it")
        from kwire.client.admin.kip4_reasons import reassignment_reason
        from kwire.messages.kip4.reassign_partitions import ReassignPartitionsRequest

        request = ReassignPartitionsRequest(topics=_reassignments(targets))
        answer = await self._command(request, _first_error_code, validate_only=validate_only)
        return _outcomes(answer, lambda name, code: reassignment_reason(code, targets[name], self._brokers()))

    async def cancel_reassignments(
        self, partitions: Mapping[str, Sequence[int]], *, validate_only: bool = False
    ) -> Outcomes:
        """Send an empty list of replicas for each partition."""
        canceled = {topic: dict.fromkeys(ids, ()) for topic, ids in partitions.items()}
        return await self.reassign_partitions(canceled, validate_only=validate_only)

    async def list_reassignments(self, targets: Targets | None) -> list[ReassignmentStatus]:
        from kwire.messages.kip4.verify_reassign_partitions import VerifyReassignPartitionsRequest

        request = VerifyReassignPartitionsRequest(topics=_reassignments(targets or {}))
        answer = await self._router.read(request, CONTROLLER, _first_error_code)
        if not targets:
            _raise_if_rejected(answer)
        return [
            ReassignmentStatus(
                topic.topic,
                {
                    partition.partition_id: REASSIGNMENT_STATES.get(partition.status, str(partition.status))
                    for partition in topic.partitions
                },
                AdminError.of_kip4(topic.error_code, topic.topic, attempts=answer.attempts)
                if topic.error_code
                else None,
            )
            for topic in answer.response.topics
        ]

    async def elect_leaders(self, partitions: Mapping[str, Sequence[int]] | None, *, unclean: bool) -> Outcomes:
        """Start elections. Nodes answer by topic, so the partitions that can get their leader are found out before."""
        from kwire.client.admin.election_checks import check_election
        from kwire.messages.kip4.preferred_replica_leader_election import (
            PreferredReplicaLeaderElectionRequest,
            TopicPartitions,
        )

        del unclean  # `elect_leaders` refuses it
        named = tuple(
            TopicPartitions(topic=topic, partition_ids=tuple(ids)) for topic, ids in (partitions or {}).items()
        )
        checked = await check_election(AdminSession(self._router, self), partitions, unclean=False)
        answer = await self._router.command(
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

    async def list_topics(self) -> list[str]:
        from kwire.messages.kip4.topic_metadata_v1 import TopicMetadataRequest_V1

        answer = await self._router.read(TopicMetadataRequest_V1(topic_names=()))
        return sorted(topic.topic_name for topic in answer.response.topics)

    async def topic_listings(self) -> TopicListings:
        topics = await self.describe_topics((), configs=False)
        return {name: topic if isinstance(topic, AdminError) else topic.listing for name, topic in topics.items()}

    async def list_topics_marked_for_deletion(self) -> list[str]:
        """Send ListTopics in version 0, the only one that lists them."""
        from kwire.messages.kip4.list_topics import ListTopicsRequest

        answer = await self._router.read(ListTopicsRequest(), CONTROLLER, error_code, highest=0)
        response = answer.response
        if response.topics_list is None:
            raise AdminError.of_kip4(response.error_code, "", response.error_description, answer.attempts)
        return sorted(response.topics_list.topics_marked_for_deletion)

    async def describe_topics(self, names: tuple[str, ...], *, configs: bool) -> Topics:
        """Return topics with their configs, which the response always contains."""
        from kwire.messages.kip4.topic_metadata_v1 import TopicMetadataRequest_V1

        del configs
        answer = await self._router.read(TopicMetadataRequest_V1(topic_names=names), ANY)
        return {topic.topic_name: _described(topic) for topic in answer.response.topics}

    async def with_lag(self, topics: Topics) -> Topics:
        return topics  # each response has it

    async def topics_at(self, broker: Endpoint, names: tuple[str, ...], *, configs: bool) -> Topics:
        from kwire.messages.kip4.topic_metadata_v1 import TopicMetadataRequest_V1

        del configs
        response = await self._router.send(broker, TopicMetadataRequest_V1(topic_names=names))
        return {topic.topic_name: _described(topic) for topic in response.topics}

    async def eligible_leaders(self, topics: tuple[str, ...], page: int) -> dict[str, dict[int, EligibleLeaders]]:
        """Return nothing: the drafts are older than KIP-966."""
        del topics, page
        return {}

    def features_request(self) -> ApiVersionsRequest:
        from kwire import __version__
        from kwire.messages.kip584.api_versions import ApiVersionsRequest

        return ApiVersionsRequest(client_software_name=SOFTWARE_NAME, client_software_version=__version__)

    async def update_features(self, updates: tuple[FeatureUpdate, ...], *, validate_only: bool) -> Outcomes:
        """Send the updates in at most two groups, with and without the permission to lower a level."""
        from kwire.messages.kip584.update_features import Feature, UpdateFeaturesRequest
        from kwire.messages.kip584.update_features import FeatureUpdate as FeatureGroup

        groups: dict[bool, list[Feature]] = {}
        for update in updates:
            feature = Feature(name=update.name, max_version_level=update.max_version_level)
            groups.setdefault(update.allow_downgrade or update.unsafe, []).append(feature)
        request = UpdateFeaturesRequest(
            timeout_ms=int(self._router.timeout * 1000),
            feature_updates=tuple(
                FeatureGroup(allow_downgrade=flag, features=tuple(features)) for flag, features in groups.items()
            ),
        )
        answer = await self._command(request, error_code, validate_only=validate_only)
        names, response, attempts = [update.name for update in updates], answer.response, answer.attempts
        failed = {
            result.feature: AdminError.of_kip4(result.error_code, result.feature, result.error_message, attempts)
            for result in response.results
            if result.error_code and result.feature in names
        }
        if not failed and not response.error_code:
            return Outcomes(dict.fromkeys(names), attempts)
        from kwire.client.admin.features import all_refused

        whole = AdminError.of_kip4(response.error_code, "", response.error_message, attempts)
        return all_refused(names, failed, whole, attempts)

    async def lowest_safe_level(self, name: str, level: int) -> SafeLevel:
        from kwire.client.admin.feature_values import SafeLevel
        from kwire.client.admin.kip4_tools import tool_result

        setting = "supported.features"
        [described] = await tool_result(self, "config", ["describe", setting], setting, reads=True)
        declared = dict(text.strip().partition(":")[::2] for text in str(described["value"]).split(","))
        lowest = declared.get(name, "").partition(":")[2]
        if not level or not lowest:
            return SafeLevel(0, None if level else "the feature is not finalized")
        return SafeLevel(int(lowest), f"nodes declare it in {setting}")

    async def run_tool(
        self,
        name: str,
        arguments: tuple[str, ...],
        broker_id: int | None,
        *,
        reads: bool = False,
        repeatable: bool = False,
    ) -> ToolResult:
        from kwire.messages.kip4.admin import AdminRequest

        request = AdminRequest(tool=name, arguments=arguments)
        send = self._router.read if reads else partial(self._router.command, repeatable=repeatable)
        answer = await send(request, ANY if broker_id is None else BrokerTarget(broker_id))
        response = answer.response
        if response.error_code != ErrorCode.NO_ERROR:
            raise AdminError.of_kip4(response.error_code, name, response.error_description, answer.attempts)
        return ToolResult(response.exit_status, response.output.decode("utf-8", errors="replace"))


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
