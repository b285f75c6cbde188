"""Changes of topics in Kafka's requests: of configs, then of replicas, then of the number of partitions."""

from __future__ import annotations

from kwire._util.light_typing import TYPE_CHECKING, Any
from kwire.client.admin.answer import first_error_code
from kwire.client.admin.backend import strings_tuple
from kwire.client.admin.cluster_router import FIRST_PAUSE, back_off
from kwire.client.admin.errors import AdminError
from kwire.client.admin.kafka_topic_descriptions import TOPIC
from kwire.client.admin.values import Outcomes, TopicDescription
from kwire.messages.kafka.error_codes import ErrorCode

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from kwire.client.admin.backend import Backend, Targets
    from kwire.client.admin.cluster_router import ClusterRouter
    from kwire.client.admin.topic_changes import TopicChange

SET, DELETE = 0, 1
"""Operations of IncrementalAlterConfigs (KIP-339)."""
METADATA_LAG_SECONDS = 2.0
"""Seconds after which the metadata of a broker has a change that the controller has made. Chosen, not measured."""


def _changes_configs_only(change: TopicChange) -> bool:
    return not change.assignment and change.replication_factor is None and change.partitions is None


def _is_invisible(error: AdminError) -> bool:
    return error.code == ErrorCode.TOPIC_AUTHORIZATION_FAILED


class KafkaTopicChanges:
    """Changes topics of one cluster."""

    def __init__(self, router: ClusterRouter, backend: Backend) -> None:
        self._router = router
        self._backend = backend
        self._timeout_ms = int(router.timeout * 1000)

    async def apply(self, topics: Mapping[str, TopicChange], *, validate_only: bool) -> Outcomes:
        """Make the changes. The first error of a topic ends its changes."""
        described = await self._backend.describe_topics(tuple(topics), configs=False)
        outcomes: dict[str, AdminError | None] = {}
        attempts = 1
        for name, change in topics.items():
            topic = described.get(name) or AdminError.of_kafka(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, name)
            if isinstance(topic, AdminError) and _changes_configs_only(change) and _is_invisible(topic):
                topic = TopicDescription(name, ())  # who may alter configs need not see the topic
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
                    text = error.text + already
                    outcomes[name] = type(error)(error.code, error.name, error.item, text, attempts, error.needs)
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
                yield "replicas", self._reassign({topic.name: existing}, validate_only=validate_only)
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
        return answer.outcomes(((response.resource_name, response) for response in answer.response.responses), [topic])

    async def _change_factor(self, topic: TopicDescription, factor: int, *, validate_only: bool) -> Outcomes:
        from kwire.client.admin.replication_factor import with_replication_factor

        cluster = await self._router.describe_cluster()
        try:
            targets = with_replication_factor(topic.partitions, cluster.brokers, factor)
        except ValueError as error:
            refused = AdminError.of_kafka(ErrorCode.INVALID_REPLICATION_FACTOR, topic.name, str(error))
            return Outcomes({topic.name: refused})
        return await self._reassign({topic.name: targets}, validate_only=validate_only)

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
        outcomes = answer.outcomes(((result.name, result) for result in answer.response.results), [topic.name])
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
            current = (await self._backend.describe_topics((topic.name,), configs=False)).get(topic.name)
            if isinstance(current, TopicDescription) and len(current.partitions) > len(topic.partitions):
                added = tuple(partition.replicas for partition in current.partitions[len(topic.partitions) :])
                return len(current.partitions) == count and (not expected or added == expected)
            if self._router.metadata.clock() >= deadline:
                return False
            pause = await back_off(pause)

    async def _reassign(self, targets: Targets, *, validate_only: bool) -> Outcomes:
        """Start a reassignment. Kafka cannot validate one without starting it, so that a dry run checks the targets."""
        if not any(targets.values()):
            return Outcomes(dict.fromkeys(targets))
        if validate_only:
            return await self._backend.reassign_partitions(targets, validate_only=True)
        return await self._backend.reassign_partitions(targets)
