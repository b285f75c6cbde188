"""Changes of topics in Kafka's requests: of configs, then of replicas, then of the number of partitions."""

from __future__ import annotations

from collections import Counter

from kwire._util.light_typing import TYPE_CHECKING, Any
from kwire.client.admin.answer import first_error_code
from kwire.client.admin.config_values import ConfigChange, ConfigResource, ConfigResourceType
from kwire.client.admin.configs import alter_configs
from kwire.client.admin.errors import AdminError
from kwire.client.admin.partitions import reassign_partitions
from kwire.client.admin.session import strings_tuple
from kwire.client.admin.topic_descriptions import describe
from kwire.client.admin.tries import FIRST_PAUSE, back_off
from kwire.client.admin.values import Outcomes, TopicDescription
from kwire.messages.kafka.error_codes import ErrorCode

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from kwire.client.admin.session import AdminSession
    from kwire.client.admin.values import BrokerAddress, PartitionDescription, TopicChange


METADATA_LAG_SECONDS = 2.0
"""Seconds after which the metadata of a broker has a change that the controller has made. Chosen, not measured."""


async def alter_topics(admin: AdminSession, topics: Mapping[str, TopicChange], *, validate_only: bool) -> Outcomes:
    """Make the changes. The first error of a topic ends its changes."""
    described = await describe(admin, tuple(topics))
    outcomes: dict[str, AdminError | None] = {}
    attempts = 1
    for name, change in topics.items():
        topic = described[name]
        is_invisible = isinstance(topic, AdminError) and topic.code == ErrorCode.TOPIC_AUTHORIZATION_FAILED
        if is_invisible and change.is_of_configs_only:
            topic = TopicDescription(name, ())  # who may alter configs need not see the topic
        if isinstance(topic, AdminError):
            outcomes[name] = topic
            continue
        done: list[str] = []
        for what, work in _changes(admin, topic, change, validate_only=validate_only):
            result = await work
            attempts = max(attempts, result.attempts)
            error = next(iter(result.errors.values()), None)
            if error is not None:
                already = f" ({' and '.join(done)} changed already)" if done and not validate_only else ""
                item = name if what == "configs" else error.item
                outcomes[name] = type(error)(error.code, error.name, item, error.text + already, attempts, error.needs)
                break
            done.append(what)
        else:
            outcomes[name] = None
    return Outcomes(outcomes, attempts)


def _changes(
    admin: AdminSession, topic: TopicDescription, change: TopicChange, *, validate_only: bool
) -> Iterable[Any]:
    """Return the steps of a change: what changes, and the coroutine that changes it."""
    deleted = strings_tuple(change.delete_configs)
    if change.set_configs or deleted:
        resource = ConfigResource(ConfigResourceType.TOPIC, topic.name)
        configs = ConfigChange(set=change.set_configs, delete=deleted)
        yield "configs", alter_configs(admin, {resource: configs}, validate_only=validate_only)
    if change.assignment or change.replication_factor is not None:
        if change.assignment:
            existing = {index: ids for index, ids in change.assignment.items() if index < len(topic.partitions)}
            if existing:
                yield "replicas", reassign_partitions(admin, {topic.name: existing}, validate_only=validate_only)
            added = {index: ids for index, ids in change.assignment.items() if index not in existing}
            if added:
                count = len(topic.partitions) + len(added)
                yield "partitions", _add_partitions(admin, topic, count, added, validate_only=validate_only)
            return
        factor = change.replication_factor or 0
        yield "replicas", _change_factor(admin, topic, factor, validate_only=validate_only)
    if change.partitions is not None:
        yield "partitions", _add_partitions(admin, topic, change.partitions, {}, validate_only=validate_only)


async def _change_factor(admin: AdminSession, topic: TopicDescription, factor: int, *, validate_only: bool) -> Outcomes:

    cluster = await admin.router.describe_cluster()
    try:
        targets = with_replication_factor(topic.partitions, cluster.brokers, factor)
    except ValueError as error:
        refused = AdminError.of_kafka(ErrorCode.INVALID_REPLICATION_FACTOR, topic.name, str(error))
        return Outcomes({topic.name: refused})
    if not targets:
        return Outcomes({topic.name: None})
    return await reassign_partitions(admin, {topic.name: targets}, validate_only=validate_only)


async def _add_partitions(
    admin: AdminSession,
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
        timeout_ms=admin.router.timeout_ms,
        validate_only=validate_only,
    )
    answer = await admin.router.command(request, error_code=first_error_code("results"), repeatable=True)
    outcomes = answer.outcomes(((result.name, result) for result in answer.response.results), [topic.name])
    error = outcomes.errors.get(topic.name)
    failed_late = error is not None and error.code == ErrorCode.INVALID_PARTITIONS and not validate_only
    if failed_late and len(topic.partitions) < count:
        expected = tuple(tuple(ids) for _, ids in sorted(assignment.items()))
        if await _was_extended(admin, topic, count, expected):
            return Outcomes({topic.name: None}, answer.attempts)
    return outcomes


async def _was_extended(
    admin: AdminSession, topic: TopicDescription, count: int, expected: tuple[tuple[int, ...], ...]
) -> bool:
    """Return whether a topic has a new number of partitions, and the expected replicas if there are any.

    The metadata of a broker follows a moment after the change.
    """
    deadline = admin.router.metadata.clock() + METADATA_LAG_SECONDS
    pause = FIRST_PAUSE
    while True:
        current = (await describe(admin, (topic.name,))).get(topic.name)
        if isinstance(current, TopicDescription) and len(current.partitions) > len(topic.partitions):
            added = tuple(partition.replicas for partition in current.partitions[len(topic.partitions) :])
            return len(current.partitions) == count and (not expected or added == expected)
        if admin.router.metadata.clock() >= deadline:
            return False
        pause = await back_off(pause)


def with_replication_factor(
    partitions: Sequence[PartitionDescription], brokers: Sequence[BrokerAddress], factor: int
) -> Mapping[int, tuple[int, ...]]:
    """Return the new replicas of the partitions that do not have `factor` replicas yet.

    Replicas stay where they are, in their order, so that the preferred leader stays. New replicas go to live brokers in
    racks without a replica first, then to those with the fewest replicas. Replicas that are removed are those out of
    sync first, then replicas that share a rack, then the last ones.

    Args:
        partitions: all partitions of the topic.
        brokers: the live brokers.
        factor: the number of replicas, at least 1.

    Raises:
        ValueError: the factor is below 1 or above the number of live brokers.
    """
    if not 1 <= factor <= len(brokers):
        raise ValueError(f"a replication factor is from 1 to {len(brokers)}, the number of live brokers, not {factor}")
    racks = {broker.id: broker.rack for broker in brokers}
    used = Counter(replica for partition in partitions for replica in partition.replicas)
    changed: dict[int, tuple[int, ...]] = {}
    for partition in partitions:
        replicas = list(partition.replicas)
        while len(replicas) < factor:
            added = min(
                (broker for broker in racks if broker not in replicas),
                key=lambda broker: (_shares_rack(broker, replicas, racks), used[broker], broker),
            )
            replicas.append(added)
            used[added] += 1
        while len(replicas) > factor:
            removed = max(
                range(1, len(replicas)),
                key=lambda position: (
                    replicas[position] not in partition.isr,
                    _shares_rack(replicas[position], replicas, racks),
                    position,
                ),
            )
            used[replicas.pop(removed)] -= 1
        if tuple(replicas) != partition.replicas:
            changed[partition.partition] = tuple(replicas)
    return changed


def _shares_rack(broker: int, replicas: Sequence[int], racks: Mapping[int, str | None]) -> bool:
    rack = racks.get(broker)
    return rack is not None and any(racks.get(other) == rack for other in replicas if other != broker)
