"""Checks of replicas that brokers lack: dry runs of reassignments, and new topics of clusters with ZooKeeper.

Kafka has no field to validate a reassignment without starting it. With ZooKeeper, it also creates topics on brokers
that never existed: they have no leader, or the request waits for one until its time is over.

The rules are those of ReplicationControlManager of Kafka 4 (KIP-455): replicas are registered brokers, each named once,
and there is at least one of them. KafkaController, with ZooKeeper, wants live brokers.
"""

from __future__ import annotations

from kwire._util.light_typing import TYPE_CHECKING, NamedTuple
from kwire.client.admin.errors import AdminError
from kwire.client.admin.quorum import has_zookeeper, registered_brokers
from kwire.client.admin.topic_descriptions import describe
from kwire.client.admin.values import Outcomes, TopicDescription
from kwire.messages.kafka.error_codes import ErrorCode

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from kwire.client.admin.session import AdminSession, Targets
    from kwire.client.admin.values import NewTopic, ReassignmentStatus


class PossibleReplicas(NamedTuple):
    """Brokers that can be replicas.

    Attributes:
        brokers: their ids: registered ones, or live ones before Kafka 4.0.
        has_zookeeper: true if the controller keeps them in ZooKeeper, whose errors have other words.
    """

    brokers: frozenset[int]
    has_zookeeper: bool


async def check_targets(admin: AdminSession, targets: Targets) -> Outcomes:
    """Return the error that the reassignment of each partition would have, by partition such as `orders-3`."""
    described = await describe(admin, tuple(targets))
    possible = await _possible_replicas(admin)
    outcomes: dict[str, AdminError | None] = {}
    for name, partitions in targets.items():
        for index, replicas in partitions.items():
            item, current = f"{name}-{index}", _replicas(described.get(name), index)
            if current is None:
                outcomes[item] = AdminError.of_kafka(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, item)
                continue
            text = (_problem_with_zookeeper if possible.has_zookeeper else _problem)(
                replicas, current, possible.brokers
            )
            outcomes[item] = (
                None if text is None else AdminError.of_kafka(ErrorCode.INVALID_REPLICA_ASSIGNMENT, item, text)
            )
    return Outcomes(outcomes)


async def _possible_replicas(admin: AdminSession) -> PossibleReplicas:
    keeps_in_zookeeper = await has_zookeeper(admin)
    registered = None if keeps_in_zookeeper else await registered_brokers(admin)
    if registered is not None:
        return PossibleReplicas(frozenset(registered), keeps_in_zookeeper)
    live = (await admin.router.describe_cluster()).brokers
    return PossibleReplicas(frozenset(broker.id for broker in live), keeps_in_zookeeper)


async def check_new_topics(admin: AdminSession, topics: Mapping[str, NewTopic]) -> dict[str, AdminError]:
    """Return the errors of new topics that name a broker which does not run, on clusters that do not check it."""
    assigned = {name: topic.assignment for name, topic in topics.items() if topic.assignment}
    if not assigned:
        return {}
    possible = await _possible_replicas(admin)
    if not possible.has_zookeeper:
        return {}
    return {
        name: AdminError.of_kafka(
            ErrorCode.INVALID_REPLICA_ASSIGNMENT,
            name,
            f"The manual partition assignment includes broker {dead}, which does not run.",
        )
        for name, assignment in assigned.items()
        if (
            dead := next(
                (broker for ids in assignment.values() for broker in ids if broker not in possible.brokers), None
            )
        )
        is not None
    }


async def check_cancellations(
    admin: AdminSession, partitions: Mapping[str, Sequence[int]], in_progress: Sequence[ReassignmentStatus]
) -> Outcomes:
    """Return the error that the cancellation of each partition would have."""
    described = await describe(admin, tuple(partitions))
    moving = {status.topic: status.partitions for status in in_progress}
    outcomes: dict[str, AdminError | None] = {}
    for name, indexes in partitions.items():
        for index in indexes:
            item, code = f"{name}-{index}", None
            if _replicas(described.get(name), index) is None:
                code = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
            elif index not in moving.get(name, {}):
                code = ErrorCode.NO_REASSIGNMENT_IN_PROGRESS
            outcomes[item] = None if code is None else AdminError.of_kafka(code, item)
    return Outcomes(outcomes)


def _replicas(topic: TopicDescription | AdminError | None, index: int) -> Sequence[int] | None:
    """Return the replicas of a partition; None if it does not exist."""
    if not isinstance(topic, TopicDescription):
        return None
    return next((partition.replicas for partition in topic.partitions if partition.partition == index), None)


def _problem(replicas: Sequence[int], current: Sequence[int], brokers: Collection[int]) -> str | None:
    """Return why the replicas of a partition are invalid, in the words of Kafka 4; None if they are valid."""
    del current
    unknown = next((broker for broker in replicas if broker not in brokers), None)
    repeated = next((broker for broker in replicas if list(replicas).count(broker) > 1), None)
    if not replicas:
        return "The manual partition assignment includes an empty replica list."
    if repeated is not None:
        return f"The manual partition assignment includes the broker {repeated} more than once."
    if unknown is not None:
        return f"The manual partition assignment includes broker {unknown}, but no such broker is registered."
    return None


def _problem_with_zookeeper(replicas: Sequence[int], current: Sequence[int], brokers: Collection[int]) -> str | None:
    """Return the same in the words of KafkaController of Kafka 3.9, which allows dead brokers that are replicas now."""
    added = [broker for broker in replicas if broker not in current]
    if not replicas:
        return "Empty replica list specified in partition reassignment."
    if len({*replicas}) < len(replicas):
        return f"Duplicate replica ids in partition reassignment replica list: {_buffer(replicas)}"
    if min(replicas) < 0:
        return f"Invalid broker id in replica list: {_buffer(replicas)}"
    if not set(brokers).issuperset(added):
        live = f"live broker list: Set({', '.join(map(str, sorted(brokers)))})"
        return f"Replica assignment has brokers that are not alive. Replica list: {_buffer(added)}, {live}"
    return None


def _buffer(replicas: Sequence[int]) -> str:
    """Return a list as Scala shows it."""
    return f"ArrayBuffer({', '.join(map(str, replicas))})"
