"""The internal topics that decide which broker coordinates a group, a transactional id, or the state of a share group.

The leader of a partition coordinates everything whose key belongs to the partition, and only it knows what exists
there. While a partition has no leader, no broker lists its groups or transactional ids, and brokers do not say that
their lists lack some.
"""

from __future__ import annotations

from kwire._util.light_typing import TYPE_CHECKING
from kwire.client.admin.coordinators import MOVED
from kwire.client.admin.errors import AdminError
from kwire.client.admin.every_broker import at_every_broker
from kwire.client.admin.topics import describe_topics
from kwire.messages.kafka.error_codes import ErrorCode

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from kwire.client.admin.session import AdminSession
    from kwire.client.admin.values import TopicDescription

GROUPS, TRANSACTIONS, SHARE_STATES = "__consumer_offsets", "__transaction_state", "__share_group_state"
"""The topics of groups of all types, of transactional ids, and of the delivery state of share groups."""


def partition_of(key: str, count: int) -> int:
    """Return the partition of a group or transactional id: Java's hash code of the text, as `Utils.abs` in Kafka.

    Args:
        key: the group or transactional id.
        count: the number of partitions of the topic.
    """
    hashed = 0
    units = key.encode("utf-16-be", "surrogatepass")
    for at in range(0, len(units), 2):
        hashed = (31 * hashed + (units[at] << 8 | units[at + 1])) & 0xFFFFFFFF
    signed = hashed - (1 << 32) if hashed >> 31 else hashed
    return 0 if signed == -(1 << 31) else abs(signed) % count


async def leaderless_partitions(admin: AdminSession, topic: str) -> list[int]:
    """Return the partitions of an internal topic without a leader; none if there is no such topic, or it is hidden."""
    described = await _describe(admin, topic)
    if isinstance(described, AdminError):
        return []
    return [partition.partition for partition in described.partitions if partition.leader is None]


async def groups_without_coordinator(
    admin: AdminSession, groups: Sequence[str], unanswered: Collection[int] = ()
) -> dict[str, AdminError]:
    """Return the errors of groups that no broker coordinates at the moment. It is not known if such a group exists.

    No coordinator is looked up: that would create the topic in a cluster without groups.

    Args:
        groups: groups that no broker lists.
        unanswered: brokers that did not answer with their list.
    """
    described = await _describe(admin, GROUPS)
    if isinstance(described, AdminError):
        if described.code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
            return {}  # no group exists
        return await _coordinated_nowhere(admin, groups)
    leaders = {partition.partition: partition.leader for partition in described.partitions}
    partitions = {group: partition_of(group, len(leaders)) for group in groups} if leaders else {}
    errors: dict[str, AdminError] = {}
    for group, partition in partitions.items():
        leader = leaders.get(partition)
        if leader is None:
            errors[group] = _unknown(group, f"partition {partition} of {GROUPS}, which has the group, has no leader")
        elif leader in unanswered:
            errors[group] = _unknown(group, f"broker {leader}, which coordinates the group, does not answer")
    return errors


async def _coordinated_nowhere(admin: AdminSession, groups: Sequence[str]) -> dict[str, AdminError]:
    """Ask every broker, for a user without Describe on the topic: only the coordinator answers for a group."""
    from kwire.messages.kafka.describe_groups import DescribeGroupsRequest

    coordinated: set[str] = set()
    answers = await at_every_broker(admin.router, DescribeGroupsRequest(groups=tuple(groups)), unanswered={})
    for answer in answers.values():
        coordinated |= {group.group_id for group in answer.response.groups if group.error_code not in MOVED}
    return {
        group: _unknown(group, "no broker that answers coordinates the group")
        for group in groups
        if group not in coordinated
    }


def _unknown(group: str, reason: str) -> AdminError:
    text = f"{reason}, so it is not known whether it exists"
    return AdminError.of_kafka(ErrorCode.COORDINATOR_NOT_AVAILABLE, group, text)


async def _describe(admin: AdminSession, topic: str) -> TopicDescription | AdminError:
    return (await describe_topics(admin, [topic]))[topic]
