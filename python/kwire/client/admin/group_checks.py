"""Checks of changes of groups: members prevent them. Kafka cannot validate such a change without making it."""

from __future__ import annotations

from kwire._util.light_typing import TYPE_CHECKING
from kwire._util.readable import counted
from kwire.client.admin.errors import AdminError
from kwire.client.admin.topics import describe_topics
from kwire.client.admin.values import Outcomes, TopicDescription
from kwire.messages.kafka.error_codes import ErrorCode

if TYPE_CHECKING:
    from collections.abc import Iterable

    from kwire.client.admin.group_values import GroupDescription, TopicPartition
    from kwire.client.admin.session import AdminSession

INACTIVE = ("Empty", "Dead")
"""The states of a group without members, of any type."""


def error_if_active(
    group: GroupDescription | AdminError | None, code: ErrorCode = ErrorCode.NON_EMPTY_GROUP
) -> AdminError | None:
    """Return the error of a change that needs a group without members; None if it has none.

    Args:
        group: the group, or the reason why it cannot be described; None if it need not exist.
        code: the code of the error of a group with members.
    """
    if group is None or isinstance(group, AdminError) or group.state in INACTIVE:
        return group if isinstance(group, AdminError) else None
    reason = f"the group is {group.state} with {counted(len(group.members), 'member')}: stop them first"
    return AdminError.of_kafka(code, group.group_id, reason)


async def check_offsets(
    admin: AdminSession,
    group: GroupDescription | AdminError | None,
    partitions: Iterable[TopicPartition],
    code: ErrorCode = ErrorCode.NON_EMPTY_GROUP,
) -> Outcomes:
    """Return the error that a commit of each partition would have. See `error_if_active` for `group` and `code`."""
    partitions = tuple(partitions)
    active = error_if_active(group, code)
    topics = await describe_topics(admin, {partition.topic for partition in partitions}) if partitions else {}
    outcomes: dict[str, AdminError | None] = {}
    for partition in partitions:
        topic = topics[partition.topic]
        error = active
        if isinstance(topic, TopicDescription) and partition.partition not in {of.partition for of in topic.partitions}:
            error = error or AdminError.of_kafka(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, str(partition))
        outcomes[str(partition)] = error or (topic if isinstance(topic, AdminError) else None)
    return Outcomes(outcomes)


def check_subscription(group: GroupDescription | AdminError, partitions: Iterable[TopicPartition]) -> Outcomes:
    """Return the error that the deletion of each offset would have: no member may be subscribed to the topic.

    All partitions of a topic are assigned while members are subscribed to it.

    Raises:
        AdminError: the group cannot be described.
    """
    if isinstance(group, AdminError):
        raise group
    subscribed = {topic for member in group.members for topic in member.assignment or ()}
    return Outcomes(
        {
            str(partition): None
            if partition.topic not in subscribed
            else AdminError.of_kafka(ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC, str(partition))
            for partition in partitions
        }
    )
