"""Checks of reassignments: Kafka has no field to validate one without starting it, so dry runs check the targets here.

The rules are those of ReplicationControlManager of Kafka 4 (KIP-455): replicas are registered brokers, each named once,
and there is at least one of them.
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from kwire.client.admin.errors import AdminError
from kwire.client.admin.quorum import registered_brokers
from kwire.client.admin.values import Outcomes, TopicDescription
from kwire.messages.kafka.error_codes import ErrorCode
from kwire.protocol.errors import NoCommonVersion

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from kwire.client.admin.backend import AdminSession, Targets

__all__ = ["check_cancellations", "check_targets"]


async def check_targets(admin: AdminSession, targets: Targets) -> Outcomes:
    """Return the error that the reassignment of each partition would have, by partition such as `orders-3`."""
    described = await admin.backend.describe_topics(tuple(targets), configs=False)
    brokers = await _possible_replicas(admin)
    return Outcomes(
        {
            f"{name}-{index}": _partition_error(described.get(name), name, index)
            or _target_error(f"{name}-{index}", replicas, brokers)
            for name, partitions in targets.items()
            for index, replicas in partitions.items()
        }
    )


async def _possible_replicas(admin: AdminSession) -> set[int]:
    """Return the brokers that can be replicas: registered ones, and with ZooKeeper or before Kafka 4.0 live ones."""
    with suppress(NoCommonVersion):
        registered = await registered_brokers(admin)
        if registered is not None:
            return {*registered}
    return {broker.id for broker in (await admin.router.describe_cluster()).brokers}


async def check_cancellations(admin: AdminSession, partitions: Mapping[str, Sequence[int]]) -> Outcomes:
    """Return the error that the cancellation of each partition would have."""
    described = await admin.backend.describe_topics(tuple(partitions), configs=False)
    moving = {status.topic: status.partitions for status in await admin.backend.list_reassignments(None)}
    return Outcomes(
        {
            f"{name}-{index}": _partition_error(described.get(name), name, index)
            or (
                None
                if index in moving.get(name, {})
                else AdminError.of_kafka(ErrorCode.NO_REASSIGNMENT_IN_PROGRESS, f"{name}-{index}")
            )
            for name, indexes in partitions.items()
            for index in indexes
        }
    )


def _partition_error(topic: TopicDescription | AdminError | None, name: str, index: int) -> AdminError | None:
    if not isinstance(topic, TopicDescription) or index not in {one.partition for one in topic.partitions}:
        return AdminError.of_kafka(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"{name}-{index}")
    return None


def _target_error(item: str, replicas: Sequence[int], brokers: Collection[int]) -> AdminError | None:
    """Return why the replicas of a partition are invalid, in the words of Kafka 4; None if they are valid."""
    unknown = next((broker for broker in replicas if broker not in brokers), None)
    repeated = next((broker for broker in replicas if list(replicas).count(broker) > 1), None)
    if not replicas:
        text = "The manual partition assignment includes an empty replica list."
    elif repeated is not None:
        text = f"The manual partition assignment includes the broker {repeated} more than once."
    elif unknown is not None:
        text = f"The manual partition assignment includes broker {unknown}, but no such broker is registered."
    else:
        return None
    return AdminError.of_kafka(ErrorCode.INVALID_REPLICA_ASSIGNMENT, item, text)
