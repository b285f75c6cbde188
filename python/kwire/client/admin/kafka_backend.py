"""Kafka's requests for administration of topics, partitions, and features.

Reassignments, elections, and setting or deleting configs are repeated after a lost response, because a repetition has
the same effect and the same response. Creating and deleting topics are not repeated.
"""

from __future__ import annotations

from functools import cached_property

from kwire._util.light_typing import TYPE_CHECKING, TypeVar
from kwire.client.admin.answer import error_code, first_error_code
from kwire.client.admin.backend import AdminSession
from kwire.client.admin.change_checks import check_outcomes
from kwire.client.admin.cluster_router import ANY, CONTROLLER
from kwire.client.admin.errors import AdminError, NotSupported
from kwire.client.admin.kafka_topic_descriptions import described_topics, listed_topics, with_configs
from kwire.client.admin.topic_metadata import metadata_request, read_metadata
from kwire.client.admin.values import (
    EligibleLeaders,
    Outcomes,
    PartitionMove,
    ReassignmentState,
    ReassignmentStatus,
    TopicDescription,
)
from kwire.messages.kafka.error_codes import ErrorCode
from kwire.protocol.client_connection import SOFTWARE_NAME
from kwire.protocol.errors import NoCommonVersion

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from kwire.client.admin.backend import Targets, TopicListings, Topics
    from kwire.client.admin.cluster_router import ClusterRouter
    from kwire.client.admin.feature_values import FeatureUpdate, SafeLevel
    from kwire.client.admin.kafka_acls import KafkaAcls
    from kwire.client.admin.kafka_configs import KafkaConfigs
    from kwire.client.admin.kafka_scram_users import KafkaScramUsers
    from kwire.client.admin.topic_changes import NewTopic, TopicChange
    from kwire.client.admin.values import ToolResult
    from kwire.declare import Message, Request
    from kwire.messages.kafka.api_versions import ApiVersionsRequest
    from kwire.messages.kafka.create_topics import CreatableTopic
    from kwire.messages.kafka.delete_topics import DeleteTopicsRequest
    from kwire.messages.kafka.elect_leaders import TopicPartitions
    from kwire.messages.kafka.update_features import UpdateFeaturesRequest
    from kwire.protocol.endpoint import Endpoint
    from kwire.protocol.negotiated_versions import Dialect

R = TypeVar("R", bound="Message")

PREFERRED, UNCLEAN = 0, 1
"""Types of elections (KIP-460)."""
UPGRADE, SAFE_DOWNGRADE, UNSAFE_DOWNGRADE = 1, 2, 3
"""Types of an update of a feature (KIP-778)."""
LEVELS = 100
"""Levels of a feature that are tried. Kafka 4.4 has fewer than 40, and each takes a request."""
GROWTH = 1_000
"""Partitions that a topic may get while its partitions are described page by page. Chosen, so that the pages end."""


class KafkaBackend:
    """The operations of a cluster of Apache Kafka."""

    dialect: Dialect = "kafka"

    def __init__(self, router: ClusterRouter) -> None:
        self._router = router
        self._timeout_ms = int(router.timeout * 1000)

    @cached_property
    def acls(self) -> KafkaAcls:
        """The operations on ACLs."""
        from kwire.client.admin.kafka_acls import KafkaAcls

        return KafkaAcls(self._router)

    @cached_property
    def configs(self) -> KafkaConfigs:
        """The operations on configs."""
        from kwire.client.admin.kafka_configs import KafkaConfigs

        return KafkaConfigs(self._router)

    @cached_property
    def scram_users(self) -> KafkaScramUsers:
        """The operations on SCRAM credentials."""
        from kwire.client.admin.kafka_scram_users import KafkaScramUsers

        return KafkaScramUsers(self._router)

    # Topics

    async def create_topics(self, topics: Mapping[str, NewTopic], *, validate_only: bool) -> Outcomes:
        from kwire.client.admin.reassignment_checks import check_new_topics
        from kwire.messages.kafka.create_topics import CreateTopicsRequest

        refused = await check_new_topics(AdminSession(self._router, self), topics)
        accepted = {name: topic for name, topic in topics.items() if name not in refused}
        if not accepted:
            return Outcomes(refused)
        request = CreateTopicsRequest(
            topics=tuple(_creatable(name, topic) for name, topic in accepted.items()),
            timeout_ms=self._timeout_ms,
            validate_only=validate_only,
        )
        answer = await self._router.command(request, error_code=first_error_code("topics"), repeatable=validate_only)
        outcomes = answer.outcomes(((topic.name, topic) for topic in answer.response.topics), accepted)
        return Outcomes({**outcomes, **refused}, outcomes.attempts) if refused else outcomes

    async def delete_topics(self, names: tuple[str, ...], *, validate_only: bool = False) -> Outcomes:
        from kwire.declare.fields import zero_uuid
        from kwire.messages.kafka.delete_topics import DeleteTopicsRequest, DeleteTopicState

        if validate_only:
            described = await self.describe_topics(names, configs=False) if names else {}
            checked = {name: topic if isinstance(topic, AdminError) else None for name, topic in described.items()}
            return await check_outcomes(AdminSession(self._router, self), DeleteTopicsRequest, Outcomes(checked))
        request = DeleteTopicsRequest(
            topic_names=names,
            topics=tuple(DeleteTopicState(name=name, topic_id=zero_uuid()) for name in names),
            timeout_ms=self._timeout_ms,
        )
        answer = await self._router.command(request, error_code=first_error_code("responses"), adapt=_with_names_only)
        return answer.outcomes(((response.name or "", response) for response in answer.response.responses), names)

    async def alter_topics(self, topics: Mapping[str, TopicChange], *, validate_only: bool) -> Outcomes:
        from kwire.client.admin.kafka_topic_changes import KafkaTopicChanges

        return await KafkaTopicChanges(self._router, self).apply(topics, validate_only=validate_only)

    async def list_topics(self) -> list[str]:
        response = await read_metadata(self._router, None)
        return sorted(topic.name for topic in response.topics if topic.name is not None)

    async def topic_listings(self) -> TopicListings:
        return listed_topics(await read_metadata(self._router, None))

    async def list_topics_marked_for_deletion(self) -> list[str]:
        raise NotSupported(
            "listing topics marked for deletion",
            "its brokers do not report them; use kafka zookeeper show --zookeeper HOST:PORT if it has ZooKeeper",
        )

    async def describe_topics(self, names: tuple[str, ...], *, configs: bool) -> Topics:
        described = described_topics(await read_metadata(self._router, names or None), names)
        return await with_configs(described, self._read) if configs else described

    async def with_lag(self, topics: Topics) -> Topics:
        from kwire.client.admin.replica_lag import with_lag

        return await with_lag(self._router, topics)

    async def topics_at(self, broker: Endpoint, names: tuple[str, ...], *, configs: bool) -> Topics:
        async def send(request: Request[R]) -> R:
            return await self._router.send(broker, request)

        described = described_topics(await send(metadata_request(names or None)), names)
        return await with_configs(described, send) if configs else described

    async def _read(self, request: Request[R]) -> R:
        return (await self._router.read(request)).response

    # Partitions

    async def reassign_partitions(
        self, targets: Targets, *, allow_replication_factor_change: bool = True, validate_only: bool = False
    ) -> Outcomes:
        if validate_only:
            from kwire.client.admin.reassignment_checks import check_targets
            from kwire.messages.kafka.alter_partition_reassignments import AlterPartitionReassignmentsRequest

            session = AdminSession(self._router, self)
            return await check_outcomes(
                session, AlterPartitionReassignmentsRequest, await check_targets(session, targets), whole=True
            )
        return await self._alter_reassignments(
            {topic: {index: tuple(ids) for index, ids in assignment.items()} for topic, assignment in targets.items()},
            repeatable=True,
            allow_replication_factor_change=allow_replication_factor_change,
        )

    async def cancel_reassignments(
        self, partitions: Mapping[str, Sequence[int]], *, validate_only: bool = False
    ) -> Outcomes:
        if validate_only:
            from kwire.client.admin.reassignment_checks import check_cancellations
            from kwire.messages.kafka.alter_partition_reassignments import AlterPartitionReassignmentsRequest

            session = AdminSession(self._router, self)
            return await check_outcomes(
                session, AlterPartitionReassignmentsRequest, await check_cancellations(session, partitions), whole=True
            )
        return await self._alter_reassignments(
            {topic: dict.fromkeys(ids) for topic, ids in partitions.items()}, repeatable=False
        )

    async def _alter_reassignments(
        self,
        targets: Mapping[str, Mapping[int, tuple[int, ...] | None]],
        *,
        repeatable: bool,
        allow_replication_factor_change: bool = True,
    ) -> Outcomes:
        from kwire.messages.kafka.alter_partition_reassignments import (
            AlterPartitionReassignmentsRequest,
            ReassignablePartition,
            ReassignableTopic,
        )

        request = AlterPartitionReassignmentsRequest(
            allow_replication_factor_change=allow_replication_factor_change,
            topics=tuple(
                ReassignableTopic(
                    name=topic,
                    partitions=tuple(
                        ReassignablePartition(partition_index=index, replicas=ids)
                        for index, ids in sorted(partitions.items())
                    ),
                )
                for topic, partitions in targets.items()
            ),
            timeout_ms=self._timeout_ms,
        )
        answer = await self._router.command(request, CONTROLLER, error_code, repeatable=repeatable)
        response = answer.accepted()
        results = (
            (f"{topic.name}-{partition.partition_index}", partition)
            for topic in response.responses
            for partition in topic.partitions
        )
        return answer.outcomes(results, (f"{topic}-{index}" for topic, indexes in targets.items() for index in indexes))

    async def list_reassignments(self, targets: Targets | None) -> list[ReassignmentStatus]:
        from kwire.messages.kafka.list_partition_reassignments import (
            ListPartitionReassignmentsRequest,
            ListPartitionReassignmentsTopics,
        )

        request = ListPartitionReassignmentsRequest(
            timeout_ms=self._timeout_ms,
            topics=None
            if not targets
            else tuple(
                ListPartitionReassignmentsTopics(name=topic, partition_indexes=tuple(partitions))
                for topic, partitions in targets.items()
            ),
        )
        answer = await self._router.read(request, CONTROLLER, error_code)
        response = answer.accepted()
        moves = {
            topic.name: {
                partition.partition_index: PartitionMove(
                    partition.replicas, partition.adding_replicas, partition.removing_replicas
                )
                for partition in topic.partitions
            }
            for topic in response.topics
        }
        if not targets:
            return [
                ReassignmentStatus(topic, dict.fromkeys(partitions, ReassignmentState.MOVING), None, partitions)
                for topic, partitions in moves.items()
            ]
        topics = await self.describe_topics(tuple(targets), configs=False)
        return [_status(topic, targets[topic], topics.get(topic), moves.get(topic, {})) for topic in targets]

    async def elect_leaders(self, partitions: Mapping[str, Sequence[int]] | None, *, unclean: bool) -> Outcomes:
        from kwire.messages.kafka.elect_leaders import ElectLeadersRequest, TopicPartitions

        elected: tuple[TopicPartitions, ...] | None = None
        unknown: dict[str, AdminError | None] = {}
        if partitions is not None:
            whole = tuple(topic for topic, ids in partitions.items() if not ids)
            described = await self.describe_topics(whole, configs=False) if whole else {}
            unknown = {name: topic for name, topic in described.items() if isinstance(topic, AdminError)}
            indexes = {
                name: tuple(partition.partition for partition in topic.partitions)
                for name, topic in described.items()
                if isinstance(topic, TopicDescription)
            }
            elected = tuple(
                TopicPartitions(topic=topic, partitions=tuple(ids) or indexes[topic])
                for topic, ids in partitions.items()
                if topic not in unknown
            )
            if not elected:
                return Outcomes(unknown)
        request = ElectLeadersRequest(
            election_type=UNCLEAN if unclean else PREFERRED, topic_partitions=elected, timeout_ms=self._timeout_ms
        )
        answer = await self._router.command(request, CONTROLLER, error_code, repeatable=not unclean)
        response = answer.accepted()
        outcomes = answer.outcomes(
            (f"{topic.topic}-{result.partition_id}", result)
            for topic in response.replica_election_results
            for result in topic.partition_result
        )
        unneeded = {item for item, error in outcomes.errors.items() if error.code == ErrorCode.ELECTION_NOT_NEEDED}
        elections = {item: None if item in unneeded else error for item, error in outcomes.items()}
        return Outcomes({**elections, **unknown}, answer.attempts, unchanged=unneeded)

    async def eligible_leaders(self, topics: tuple[str, ...], page: int) -> dict[str, dict[int, EligibleLeaders]]:
        """Return the eligible leaders, page by page. Kafka before 3.7 and clusters with ZooKeeper report none.

        Raises:
            AdminError: the pages of the broker have no end.
        """
        from kwire.messages.kafka.describe_topic_partitions import DescribeTopicPartitionsRequest, TopicRequest

        names = tuple(TopicRequest(name=name) for name in sorted(topics))
        leaders: dict[str, dict[int, EligibleLeaders]] = {}
        request = DescribeTopicPartitionsRequest(topics=names, response_partition_limit=page)
        position = ("", -1)
        counts: dict[str, int] | None = None
        while True:
            try:
                response = (await self._router.read(request, ANY)).response
            except NoCommonVersion:
                return {}
            for topic in response.topics:
                if topic.name is not None and not topic.error_code:
                    leaders.setdefault(topic.name, {}).update(
                        (
                            partition.partition_index,
                            EligibleLeaders(_ids(partition.eligible_leader_replicas), _ids(partition.last_known_elr)),
                        )
                        for partition in topic.partitions
                    )
            following = response.next_cursor
            if following is None:
                return leaders
            if counts is None:
                counts = await self._partition_counts(topics)
            # The broker decides how many pages there are. They end, because each begins after the one before (brokers
            # order topics by name, and partitions by index), inside of a requested topic as Metadata describes it.
            before, position = position, (following.topic_name, following.partition_index)
            if position <= before or following.partition_index >= counts.get(following.topic_name, 0) + GROWTH:
                text = f"its pages do not end: one at {before[0]}-{before[1]} leads to {position[0]}-{position[1]}"
                raise AdminError.of_kafka(ErrorCode.UNKNOWN_SERVER_ERROR, "DescribeTopicPartitions", text)
            rest = tuple(name for name in names if name.name >= following.topic_name)
            request = DescribeTopicPartitionsRequest(topics=rest, response_partition_limit=page, cursor=following)

    async def _partition_counts(self, topics: tuple[str, ...]) -> dict[str, int]:
        """Return the numbers of partitions of topics, without a request if they were described lately."""
        cache = self._router.metadata
        if any(cache.topic(name) is None for name in topics):
            await read_metadata(self._router, topics)  # updates the cache
        described = {name: cache.topic(name) for name in topics}
        return {name: len(topic.partitions) for name, topic in described.items() if topic is not None}

    # Features

    def features_request(self) -> ApiVersionsRequest:
        from kwire import __version__
        from kwire.messages.kafka.api_versions import ApiVersionsRequest

        return ApiVersionsRequest(client_software_name=SOFTWARE_NAME, client_software_version=__version__)

    async def update_features(self, updates: tuple[FeatureUpdate, ...], *, validate_only: bool) -> Outcomes:
        from kwire.messages.kafka.update_features import FeatureUpdateKey, UpdateFeaturesRequest

        def type_of(update: FeatureUpdate) -> int:
            return UNSAFE_DOWNGRADE if update.unsafe else SAFE_DOWNGRADE if update.allow_downgrade else UPGRADE

        request = UpdateFeaturesRequest(
            timeout_ms=self._timeout_ms,
            feature_updates=tuple(
                FeatureUpdateKey(
                    feature=update.name, max_version_level=update.max_version_level, upgrade_type=type_of(update)
                )
                for update in updates
            ),
            validate_only=validate_only,
        )
        answer = await self._router.command(
            request, CONTROLLER, error_code, repeatable=validate_only, adapt=_with_flags_only
        )
        names = [update.name for update in updates]
        if answer.response.error_code:  # since 4.0, all features are changed or none
            from kwire.client.admin.features import all_refused

            return all_refused(names, {}, answer.error(answer.response, ""), answer.attempts)
        failed = {result.feature: result for result in answer.response.results if result.error_code}
        return answer.outcomes((name, failed.get(name, answer.response)) for name in names)

    async def lowest_safe_level(self, name: str, level: int) -> SafeLevel:
        from kwire.client.admin.feature_values import FeatureUpdate, SafeLevel

        safe, reason = level, None if level else "the feature is not finalized"
        for lower in range(level - 1, -1, -1):
            if level - lower > LEVELS:
                reason = f"levels below {safe} were not tried"
                break
            outcomes = await self.update_features(
                (FeatureUpdate(name, lower, allow_downgrade=True),), validate_only=True
            )
            error = outcomes[name]
            if error is not None:
                reason = error.text
                break
            safe = lower
        return SafeLevel(safe, reason)

    async def run_tool(
        self,
        name: str,
        arguments: tuple[str, ...],
        broker_id: int | None,
        *,
        reads: bool = False,
        repeatable: bool = False,
    ) -> ToolResult:
        del arguments, broker_id, reads, repeatable
        raise NotSupported(f"running {name} on a broker", "Apache Kafka has no message for it")


def _creatable(name: str, topic: NewTopic) -> CreatableTopic:
    from kwire.messages.kafka.create_topics import CreatableReplicaAssignment, CreatableTopic, CreatableTopicConfig

    assigned = bool(topic.assignment)
    return CreatableTopic(
        name=name,
        num_partitions=-1 if assigned or topic.partitions is None else topic.partitions,
        replication_factor=-1 if assigned or topic.replication_factor is None else topic.replication_factor,
        assignments=tuple(
            CreatableReplicaAssignment(partition_index=index, broker_ids=tuple(ids))
            for index, ids in sorted(topic.assignment.items())
        ),
        configs=tuple(CreatableTopicConfig(name=key, value=value) for key, value in topic.configs.items()),
    )


def _with_names_only(request: DeleteTopicsRequest, version: int) -> DeleteTopicsRequest:
    """Return a request without topic ids, which versions below 6 do not have."""
    from kwire.messages.kafka.delete_topics import DeleteTopicsRequest

    return (
        request if version >= 6 else DeleteTopicsRequest(topic_names=request.topic_names, timeout_ms=request.timeout_ms)
    )


def _with_flags_only(request: UpdateFeaturesRequest, version: int) -> UpdateFeaturesRequest:
    """Return a request for a version. Version 0 has a flag in place of types, and no check.

    Raises:
        NotSupported: the request is to be validated only.
    """
    if version >= 1:
        return request
    if request.validate_only:
        raise NotSupported("a check of features", "brokers have it from Kafka 3.3 on (KIP-778)")
    from kwire.messages.kafka.update_features import FeatureUpdateKey, UpdateFeaturesRequest

    return UpdateFeaturesRequest(
        timeout_ms=request.timeout_ms,
        feature_updates=tuple(
            FeatureUpdateKey(
                feature=feature_update.feature,
                max_version_level=feature_update.max_version_level,
                allow_downgrade=feature_update.upgrade_type != UPGRADE,
            )
            for feature_update in request.feature_updates
        ),
    )


def _status(
    topic: str,
    targets: Mapping[int, Sequence[int]],
    described: TopicDescription | AdminError | None,
    moves: Mapping[int, PartitionMove],
) -> ReassignmentStatus:
    """Return the status of partitions by what is being moved and what their replicas are."""
    if not isinstance(described, TopicDescription):
        error = described or AdminError.of_kafka(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, topic)
        return ReassignmentStatus(topic, {}, error)
    replicas = {partition.partition: partition.replicas for partition in described.partitions}

    def state(index: int) -> ReassignmentState:
        if index in moves:
            return ReassignmentState.MOVING
        done = replicas.get(index) == tuple(targets[index])
        return ReassignmentState.COMPLETED if done else ReassignmentState.FAILED

    return ReassignmentStatus(topic, {index: state(index) for index in targets}, None, moves)


def _ids(replicas: Iterable[int] | None) -> tuple[int, ...] | None:
    return None if replicas is None else tuple(replicas)
