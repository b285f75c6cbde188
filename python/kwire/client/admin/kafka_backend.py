"""Kafka's requests for administration of topics, partitions, and features.

Reassignments, elections, and setting or deleting configs are repeated after a lost response, because a repetition has
the same effect and the same response. Creating and deleting topics are not repeated.
"""

from __future__ import annotations

import uuid
from functools import cached_property
from operator import attrgetter
from typing import TYPE_CHECKING, Any, TypeVar

from kwire.client.admin.answer import error_code, first_error_code, result_error
from kwire.client.admin.backend import strings_tuple
from kwire.client.admin.cluster_router import ANY, CONTROLLER, FIRST_PAUSE, back_off
from kwire.client.admin.errors import AdminError, NotSupported
from kwire.client.admin.topic_metadata import metadata_request, read_metadata
from kwire.client.admin.values import (
    NO_LAG,
    EligibleLeaders,
    Outcomes,
    PartitionDescription,
    PartitionMove,
    ReassignmentState,
    ReassignmentStatus,
    TopicDescription,
)
from kwire.messages.kafka.error_codes import ErrorCode
from kwire.protocol.client_connection import SOFTWARE_NAME
from kwire.protocol.errors import NoCommonVersion

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence

    from kwire.client.admin.backend import Targets, Topics
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
    from kwire.messages.kafka.describe_configs import (
        DescribeConfigsRequest,
        DescribeConfigsResourceResult,
        DescribeConfigsResponse,
    )
    from kwire.messages.kafka.elect_leaders import TopicPartitions
    from kwire.messages.kafka.metadata import MetadataResponse, MetadataResponseTopic
    from kwire.messages.kafka.update_features import UpdateFeaturesRequest
    from kwire.protocol.endpoint import Endpoint
    from kwire.protocol.negotiated_versions import Dialect

R = TypeVar("R", bound="Message")

TOPIC = 2
"""The type of a topic among config resources."""
TOPIC_OVERRIDE = 1
"""The source of a config that the topic itself sets."""
SET, DELETE = 0, 1
"""Operations of IncrementalAlterConfigs (KIP-339)."""
PREFERRED, UNCLEAN = 0, 1
"""Types of elections (KIP-460)."""
METADATA_LAG_SECONDS = 2.0
"""Seconds after which the metadata of a broker has a change that the controller has made. Chosen, not measured."""
PARTITION_INDEX = attrgetter("partition_index")
"""The order of the partitions of a topic."""
TOPICS_PER_REQUEST = 500
"""Topics in one DescribeConfigs request, which bounds the size of its response."""


UPGRADE, SAFE_DOWNGRADE, UNSAFE_DOWNGRADE = 1, 2, 3
"""Types of an update of a feature (KIP-778)."""


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
        from kwire.messages.kafka.create_topics import CreateTopicsRequest

        request = CreateTopicsRequest(
            topics=tuple(_creatable(name, topic) for name, topic in topics.items()),
            timeout_ms=self._timeout_ms,
            validate_only=validate_only,
        )
        answer = await self._router.command(request, error_code=first_error_code("topics"), repeatable=validate_only)
        return answer.outcomes((topic.name, topic) for topic in answer.response.topics)

    async def delete_topics(self, names: tuple[str, ...]) -> Outcomes:
        from kwire.messages.kafka.delete_topics import DeleteTopicsRequest, DeleteTopicState

        request = DeleteTopicsRequest(
            topic_names=names,
            topics=tuple(DeleteTopicState(name=name, topic_id=uuid.UUID(int=0)) for name in names),
            timeout_ms=self._timeout_ms,
        )
        answer = await self._router.command(request, error_code=first_error_code("responses"), adapt=_with_names_only)
        return answer.outcomes((response.name or "", response) for response in answer.response.responses)

    async def alter_topics(self, topics: Mapping[str, TopicChange], *, validate_only: bool) -> Outcomes:
        """Change configs, then replicas, then partitions. The first error of a topic ends its changes."""
        described = await self.describe_topics(tuple(topics), configs=False)
        outcomes: dict[str, AdminError | None] = {}
        attempts = 1
        for name, change in topics.items():
            topic = described.get(name) or AdminError.of_kafka(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, name)
            if isinstance(topic, AdminError):
                outcomes[name] = topic
                continue
            done: list[str] = []
            for what, work in self._changes(topic, change, validate_only=validate_only):
                result = await work
                attempts = max(attempts, result.attempts)
                error = next(iter(result.errors.values()), None)
                if error is not None:
                    already = f" ({' and '.join(done)} changed already)" if done and not validate_only else ""
                    outcomes[name] = AdminError(error.code, error.name, error.item, error.text + already, attempts)
                    break
                done.append(what)
            else:
                outcomes[name] = None
        return Outcomes(outcomes, attempts)

    def _changes(self, topic: TopicDescription, change: TopicChange, *, validate_only: bool) -> Iterable[Any]:
        """Return the steps of a change: what changes, and the coroutine that changes it."""
        deleted = strings_tuple(change.delete_configs)
        if change.set_configs or deleted:
            yield "configs", self._alter_configs(topic.name, change.set_configs, deleted, validate_only=validate_only)
        if change.assignment or change.replication_factor is not None:
            if change.assignment:
                existing = {index: ids for index, ids in change.assignment.items() if index < len(topic.partitions)}
                yield "replicas", self._reassign_unless_dry({topic.name: existing}, validate_only=validate_only)
                added = {index: ids for index, ids in change.assignment.items() if index not in existing}
                if added:
                    count = len(topic.partitions) + len(added)
                    yield "partitions", self._add_partitions(topic, count, added, validate_only=validate_only)
                return
            yield (
                "replicas",
                self._change_factor(topic, change.replication_factor or 0, validate_only=validate_only),
            )
        if change.partitions is not None:
            yield "partitions", self._add_partitions(topic, change.partitions, {}, validate_only=validate_only)

    async def _alter_configs(
        self, topic: str, changes: Mapping[str, str], deleted: tuple[str, ...], *, validate_only: bool
    ) -> Outcomes:
        from kwire.messages.kafka.incremental_alter_configs import (
            AlterableConfig,
            AlterConfigsResource,
            IncrementalAlterConfigsRequest,
        )

        configs = (
            *(AlterableConfig(name=key, config_operation=SET, value=value) for key, value in changes.items()),
            *(AlterableConfig(name=key, config_operation=DELETE, value=None) for key in deleted),
        )
        request = IncrementalAlterConfigsRequest(
            resources=(AlterConfigsResource(resource_type=TOPIC, resource_name=topic, configs=configs),),
            validate_only=validate_only,
        )
        answer = await self._router.command(request, repeatable=True, error_code=first_error_code("responses"))
        return answer.outcomes((response.resource_name, response) for response in answer.response.responses)

    async def _change_factor(self, topic: TopicDescription, factor: int, *, validate_only: bool) -> Outcomes:
        from kwire.client.admin.replication_factor import with_replication_factor

        cluster = await self._router.describe_cluster()
        try:
            targets = with_replication_factor(topic.partitions, cluster.brokers, factor)
        except ValueError as error:
            refused = AdminError.of_kafka(ErrorCode.INVALID_REPLICATION_FACTOR, topic.name, str(error))
            return Outcomes({topic.name: refused})
        return await self._reassign_unless_dry({topic.name: targets}, validate_only=validate_only)

    async def _add_partitions(
        self,
        topic: TopicDescription,
        count: int,
        assignment: Mapping[int, Sequence[int]],
        *,
        validate_only: bool,
    ) -> Outcomes:
        """Give a topic more partitions. The command is repeated: the number of partitions is the same again.

        If it is executed twice, the second execution fails. That happens on Kafka 4 even if it is sent once: a broker
        forwards it to the controller, and forwards it again if the controller stops. So if it fails although the topic
        had fewer partitions before, the topic is looked up.
        """
        from kwire.messages.kafka.create_partitions import (
            CreatePartitionsAssignment,
            CreatePartitionsRequest,
            CreatePartitionsTopic,
        )

        if count == len(topic.partitions):
            return Outcomes({topic.name: None})
        assigned = tuple(CreatePartitionsAssignment(broker_ids=tuple(ids)) for _, ids in sorted(assignment.items()))
        request = CreatePartitionsRequest(
            topics=(CreatePartitionsTopic(name=topic.name, count=count, assignments=assigned or None),),
            timeout_ms=self._timeout_ms,
            validate_only=validate_only,
        )
        answer = await self._router.command(request, error_code=first_error_code("results"), repeatable=True)
        outcomes = answer.outcomes((result.name, result) for result in answer.response.results)
        error = outcomes.errors.get(topic.name)
        failed_late = error is not None and error.code == ErrorCode.INVALID_PARTITIONS and not validate_only
        if failed_late and len(topic.partitions) < count:
            expected = tuple(tuple(ids) for _, ids in sorted(assignment.items()))
            if await self._was_extended(topic, count, expected):
                return Outcomes({topic.name: None}, answer.attempts)
        return outcomes

    async def _was_extended(self, topic: TopicDescription, count: int, expected: tuple[tuple[int, ...], ...]) -> bool:
        """Return whether a topic has a new number of partitions, and the expected replicas if there are any.

        The metadata of a broker follows a moment after the change.
        """
        deadline = self._router.metadata.clock() + METADATA_LAG_SECONDS
        pause = FIRST_PAUSE
        while True:
            current = (await self.describe_topics((topic.name,), configs=False)).get(topic.name)
            if isinstance(current, TopicDescription) and len(current.partitions) > len(topic.partitions):
                added = tuple(partition.replicas for partition in current.partitions[len(topic.partitions) :])
                return len(current.partitions) == count and (not expected or added == expected)
            if self._router.metadata.clock() >= deadline:
                return False
            pause = await back_off(pause)

    async def list_topics(self) -> list[str]:
        response = await read_metadata(self._router, None)
        return sorted(topic.name for topic in response.topics if topic.name is not None)

    async def list_topics_marked_for_deletion(self) -> list[str]:
        raise NotSupported("listing topics marked for deletion", "Kafka reports them neither in Metadata nor elsewhere")

    async def describe_topics(self, names: tuple[str, ...], *, configs: bool) -> Topics:
        described = _described(await read_metadata(self._router, names or None))
        return await self._with_configs(described, self._read) if configs else described

    async def with_lag(self, topics: Topics) -> Topics:
        from kwire.client.admin.replica_lag import with_lag

        return await with_lag(self._router, topics)

    async def topics_at(self, broker: Endpoint, names: tuple[str, ...], *, configs: bool) -> Topics:
        async def send(request: Request[R]) -> R:
            return await self._router.send(broker, request)

        described = _described(await send(metadata_request(names or None)))
        return await self._with_configs(described, send) if configs else described

    async def _read(self, request: Request[R]) -> R:
        return (await self._router.read(request)).response

    async def _with_configs(
        self, topics: Topics, send: Callable[[DescribeConfigsRequest], Awaitable[DescribeConfigsResponse]]
    ) -> Topics:
        """Return topics with the configs that they override.

        Args:
            send: sends a request to the broker that is to report the configs.
        """
        from kwire.messages.kafka.describe_configs import DescribeConfigsRequest, DescribeConfigsResource

        described = [topic for topic in topics.values() if isinstance(topic, TopicDescription)]
        with_configs = dict(topics)
        for start in range(0, len(described), TOPICS_PER_REQUEST):
            by_name = {topic.name: topic for topic in described[start : start + TOPICS_PER_REQUEST]}
            response = await send(
                DescribeConfigsRequest(
                    resources=tuple(
                        DescribeConfigsResource(resource_type=TOPIC, resource_name=name, configuration_keys=None)
                        for name in by_name
                    )
                )
            )
            for result in response.results:
                name = result.resource_name
                with_configs[name] = result_error(result, name) or by_name[name]._replace(
                    configs=_overrides(result.configs)
                )
        return with_configs

    # Partitions

    async def reassign_partitions(self, targets: Targets) -> Outcomes:
        return await self._alter_reassignments(
            {topic: {index: tuple(ids) for index, ids in assignment.items()} for topic, assignment in targets.items()},
            repeatable=True,
        )

    async def cancel_reassignments(self, partitions: Mapping[str, Sequence[int]]) -> Outcomes:
        return await self._alter_reassignments(
            {topic: dict.fromkeys(ids) for topic, ids in partitions.items()}, repeatable=False
        )

    async def _reassign_unless_dry(self, targets: Targets, *, validate_only: bool) -> Outcomes:
        """Start a reassignment. Kafka cannot validate one without starting it, so that a dry run ends before it."""
        if validate_only or not any(targets.values()):
            return Outcomes(dict.fromkeys(targets))
        return await self.reassign_partitions(targets)

    async def _alter_reassignments(
        self, targets: Mapping[str, Mapping[int, tuple[int, ...] | None]], *, repeatable: bool
    ) -> Outcomes:
        from kwire.messages.kafka.alter_partition_reassignments import (
            AlterPartitionReassignmentsRequest,
            ReassignablePartition,
            ReassignableTopic,
        )

        request = AlterPartitionReassignmentsRequest(
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
        return answer.outcomes(
            (f"{topic.name}-{partition.partition_index}", partition)
            for topic in response.responses
            for partition in topic.partitions
        )

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
        if partitions is not None:
            whole = tuple(topic for topic, ids in partitions.items() if not ids)
            described = await self.describe_topics(whole, configs=False) if whole else {}
            indexes = {
                name: tuple(partition.partition for partition in topic.partitions)
                for name, topic in described.items()
                if isinstance(topic, TopicDescription)
            }
            elected = tuple(
                TopicPartitions(topic=topic, partitions=tuple(ids) or indexes.get(topic, (0,)))
                for topic, ids in partitions.items()
            )
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
        return Outcomes(
            {item: None if item in unneeded else error for item, error in outcomes.items()}, answer.attempts
        )

    async def eligible_leaders(self, topics: tuple[str, ...]) -> dict[str, dict[int, EligibleLeaders]]:
        """Return the eligible leaders, page by page. Kafka before 3.7 and clusters with ZooKeeper report none."""
        from kwire.messages.kafka.describe_topic_partitions import DescribeTopicPartitionsRequest, TopicRequest

        names = tuple(TopicRequest(name=name) for name in sorted(topics))
        leaders: dict[str, dict[int, EligibleLeaders]] = {}
        request = DescribeTopicPartitionsRequest(topics=names)
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
            if response.next_cursor is None:
                return leaders
            rest = tuple(name for name in names if name.name >= response.next_cursor.topic_name)
            request = DescribeTopicPartitionsRequest(topics=rest, cursor=response.next_cursor)

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
        failed = {result.feature: result for result in answer.response.results if result.error_code}
        return answer.outcomes((update.name, failed.get(update.name, answer.response)) for update in updates)

    async def lowest_safe_level(self, name: str, level: int) -> SafeLevel:
        from kwire.client.admin.feature_values import FeatureUpdate, SafeLevel

        safe, reason = level, None if level else "the feature is not finalized"
        for lower in range(level - 1, -1, -1):
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


def _overrides(configs: Iterable[DescribeConfigsResourceResult]) -> dict[str, str]:
    return {config.name: config.value or "" for config in configs if config.config_source == TOPIC_OVERRIDE}


def _described(response: MetadataResponse) -> Topics:
    return {topic.name: _topic(topic.name, topic) for topic in response.topics if topic.name is not None}


def _topic(name: str, topic: MetadataResponseTopic) -> TopicDescription | AdminError:
    # Called for each topic of a cluster. Arguments by name would take twice as long, and the item of an error is only
    # formatted if there is an error.
    return result_error(topic, name) or TopicDescription(
        name,
        tuple(
            [
                PartitionDescription(
                    partition.partition_index,
                    None if partition.leader_id < 0 else partition.leader_id,
                    partition.replica_nodes,
                    partition.isr_nodes,
                    None if partition.leader_epoch < 0 else partition.leader_epoch,
                    partition.offline_replicas,
                    NO_LAG,
                    result_error(partition, f"{name}-{partition.partition_index}") if partition.error_code else None,
                )
                for partition in sorted(topic.partitions, key=PARTITION_INDEX)
            ]
        ),
        None,
        topic.topic_id if topic.topic_id.int else None,
        topic.is_internal,
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
