"""Reasons for error codes of the KIP-4 drafts: batched responses have a code for each topic and no text.

A reason follows from the code, from what the client has sent for the topic, and from the brokers that it knows. The
node knows more, such as which limit was exceeded, and writes it to its log.
"""

from __future__ import annotations

from kwire._util.light_typing import TYPE_CHECKING
from kwire._util.readable import counted
from kwire.messages.kip4.error_codes import ErrorCode

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from kwire.client.admin.values import NewTopic, TopicChange

NAMED = 5
"""Maximum number of configs or partitions that a reason names."""


UNWRITTEN = (
    "the controller could not write it to ZooKeeper, because another program has just changed or protected the znodes "
    "of the topic: try again, and see the log of the controller if it fails again"
)
TIMED_OUT = "the controller could not reach ZooKeeper in time: the outcome is unknown"


def creation_reason(code: int, topic: NewTopic, brokers: Collection[int]) -> str | None:
    """Return why a topic was probably not created; None if the code says all that is known.

    Args:
        code: the error code.
        topic: the topic as it was sent.
        brokers: the ids of the live brokers that the client knows.
    """
    if code == ErrorCode.INVALID_ARGUMENT_PARTITIONS and not topic.assignment and topic.partitions is None:
        return "the number of partitions is missing: give it, or an assignment"
    if code == ErrorCode.INVALID_ARGUMENT_REPLICATION_FACTOR and topic.replication_factor is None:
        return "the replication factor is missing: give it, or an assignment"
    if code == ErrorCode.INVALID_ARGUMENT_REPLICA_ASSIGNMENT:
        return _assignment_reason(topic.assignment, brokers, complete=True)
    partitions = len(topic.assignment) or topic.partitions
    return _reason(code, partitions, topic.replication_factor, _assigned(topic.configs), brokers)


def change_reason(code: int, topic: TopicChange, brokers: Collection[int]) -> str | None:
    """Return why a topic was probably not changed. See `creation_reason`."""
    if code == ErrorCode.INVALID_ARGUMENT_REPLICA_ASSIGNMENT:
        return _assignment_reason(topic.assignment, brokers)
    if code == ErrorCode.DECREASE_PARTITIONS_NOT_ALLOWED:
        requested = counted(topic.partitions or 0, "partition")
        return f"the topic has more than {requested}, and partitions cannot be removed"
    if code == ErrorCode.MULTIPLE_INSTRUCTIONS_FOR_ONE_TOPIC:
        return "the cluster accepts one kind of change for each topic (admin.batch.strict): send them one by one"
    configs = [*_assigned(topic.set_configs), *sorted(topic.delete_configs)]
    return _reason(code, topic.partitions, topic.replication_factor, configs, brokers)


def reassignment_reason(code: int, targets: Mapping[int, Sequence[int]], brokers: Collection[int]) -> str | None:
    """Return why a topic was probably not reassigned. See `creation_reason`.

    Args:
        targets: the new replicas by partition.
    """
    if code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
        return f"the topic does not exist, or has no partition {_some(targets)}"
    if code == ErrorCode.INVALID_ARGUMENT_REPLICA_ASSIGNMENT:
        return _assignment_reason(targets, brokers)
    return TIMED_OUT if code == ErrorCode.REQUEST_TIMED_OUT else None


def _reason(
    code: int,
    partitions: int | None,
    factor: int | None,
    configs: Sequence[str],
    brokers: Collection[int],
) -> str | None:
    """Return a reason. See `creation_reason`.

    Args:
        configs: the configs to set as `KEY=VALUE`, and the keys to delete.
    """
    match code:
        case ErrorCode.REQUEST_TIMED_OUT:
            return TIMED_OUT
        case ErrorCode.ADMIN_REQUEST_FAILED:
            return UNWRITTEN
        case ErrorCode.INVALID_ARGUMENT_PARTITIONS if partitions is not None and partitions < 1:
            return f"{partitions} is not a number of partitions: a topic has at least 1"
        case ErrorCode.INVALID_ARGUMENT_PARTITIONS if partitions is not None:
            return (
                f"{partitions} partitions are more than one request may create or than the cluster may have "
                "(admin.request.max.partitions, admin.cluster.max.partitions)"
            )
        case ErrorCode.INVALID_ARGUMENT_REPLICATION_FACTOR if factor is not None and factor < 1:
            return f"{factor} is not a replication factor: a partition has at least 1 replica"
        case ErrorCode.INVALID_ARGUMENT_REPLICATION_FACTOR if factor is not None:
            return f"a replication factor of {factor} needs as many live brokers, and there are {len(brokers)}"
        case ErrorCode.INVALID_ARGUMENT_TOPIC_CONFIG if configs:
            return f"unknown key or invalid value among the configs {_some(configs)}"
    return None


def _assigned(configs: Mapping[str, str]) -> list[str]:
    return [f"{key}={value}" for key, value in sorted(configs.items())]


def _assignment_reason(
    assignment: Mapping[int, Sequence[int]], brokers: Collection[int], *, complete: bool = False
) -> str | None:
    """Return what is wrong with an assignment.

    Args:
        complete: True if it must contain all partitions from 0 on, with the same number of replicas.
    """
    for partition, replicas in sorted(assignment.items()):
        text = ",".join(map(str, replicas))
        if not replicas:
            return f"partition {partition} has no replicas"
        if len(set(replicas)) < len(replicas):
            return f"partition {partition} names a broker twice: {text}"
    if complete and sorted(assignment) != list(range(len(assignment))):
        return f"the assignment has the partitions {_some(sorted(assignment))}: expected all from 0 on"
    if complete and len(set(map(len, assignment.values()))) > 1:
        return "partitions have different numbers of replicas"
    unknown = sorted({broker for replicas in assignment.values() for broker in replicas}.difference(brokers))
    return f"the assignment names brokers that are not live: {_some(unknown)}" if unknown else None


def _some(items: Iterable[object]) -> str:
    """Return the first items as a text."""
    texts = [str(item) for item in items]
    return ", ".join(texts[:NAMED]) + (f", and {len(texts) - NAMED} more" if len(texts) > NAMED else "")
