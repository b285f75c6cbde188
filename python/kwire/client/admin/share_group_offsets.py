"""The start offsets of share groups (KIP-932): list, alter, and delete them.

Examples:
    >>> from kwire.client.admin import NewTopic, TopicPartition
    >>> admin.create_topics({"jobs": NewTopic(partitions=1)}).raise_first()
    >>> admin.wait_until_created({"jobs": 1})
    >>> admin.alter_share_group_offsets("workers", {TopicPartition("jobs", 0): 0}).raise_first()
    >>> admin.list_share_group_offsets(["workers"])["workers"][TopicPartition("jobs", 0)].offset
    0
    >>> admin.delete_share_group_offsets("workers", ["jobs"]).raise_first()
    >>> admin.delete_groups(["workers"]).raise_first()
    >>> admin.delete_topics(["jobs"]).raise_first()
"""

from __future__ import annotations

from kwire._util.light_typing import TYPE_CHECKING, Any, TypeAlias
from kwire.client.admin.answer import result_error
from kwire.client.admin.change_checks import check_outcomes
from kwire.client.admin.coordinators import MOVED, at_coordinator, at_coordinators
from kwire.client.admin.errors import AdminError
from kwire.client.admin.group_values import CommittedOffset, GroupType, TopicPartition
from kwire.client.admin.groups import check_offsets, describe_groups, describe_groups_of_type, error_if_active
from kwire.client.admin.leaders import by_topic
from kwire.client.admin.session import strings_tuple
from kwire.client.admin.values import Outcomes
from kwire.messages.kafka.error_codes import ErrorCode

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from kwire.client.admin.coordinators import Result
    from kwire.client.admin.session import AdminSession
    from kwire.client.admin.targets import BrokerTarget

    Offsets: TypeAlias = dict[TopicPartition, CommittedOffset]


async def list_share_group_offsets(
    admin: AdminSession, group_ids: Iterable[str], *, include_unset: bool = False
) -> dict[str, Offsets | AdminError]:
    """Return the start offsets of share groups (KIP-932), as committed offsets.

    Args:
        group_ids: the groups.
        include_unset: true to return partitions without a start offset as well, with the offset -1.
    """
    from kwire.messages.kafka.describe_share_group_offsets import (
        DescribeShareGroupOffsetsRequest,
        DescribeShareGroupOffsetsRequestGroup,
    )

    async def send(coordinator: BrokerTarget, ids: Sequence[str]) -> Mapping[str, Result[Offsets]]:
        request = DescribeShareGroupOffsetsRequest(
            groups=tuple(DescribeShareGroupOffsetsRequestGroup(group_id=group, topics=None) for group in ids)
        )
        answer = await admin.router.read(request, coordinator)
        return {
            group.group_id: answer.error(group, group.group_id)
            or _missing_state(group)
            or {
                TopicPartition(topic.topic_name, partition.partition_index): CommittedOffset(
                    partition.start_offset,
                    None if partition.leader_epoch < 0 else partition.leader_epoch,
                    lag=None if partition.lag < 0 else partition.lag,
                )
                for topic in group.topics
                for partition in topic.partitions
                if partition.start_offset >= 0 or include_unset
            }
            for group in answer.response.groups
        }

    return await at_coordinators(admin.router, strings_tuple(group_ids), send)


def _missing_state(group: Any) -> AdminError | None:
    """Return the error of the first partition whose state no broker has at the moment: it is not "no offset"."""
    for topic in group.topics:
        for partition in topic.partitions:
            if partition.error_code in MOVED:
                text = f"the offset of {topic.topic_name}-{partition.partition_index} is not known"
                return AdminError.of_kafka(partition.error_code, group.group_id, text)
    return None


async def alter_share_group_offsets(
    admin: AdminSession, group_id: str, offsets: Mapping[TopicPartition, int], *, validate_only: bool = False
) -> Outcomes:
    """Set the start offsets of a share group without members. The command is repeated, which has the same effect.

    The outcomes are by partition, such as `orders-3`. Errors: 3 unknown partition.

    Args:
        group_id: the group, which is created if it does not exist.
        offsets: the new start offsets.
        validate_only: check the group and the partitions, and set nothing.

    Raises:
        AdminError: 68 the group has members; 69 it is a group of another type.
    """
    from kwire.messages.kafka.alter_share_group_offsets import (
        AlterShareGroupOffsetsRequest,
        AlterShareGroupOffsetsRequestPartition,
        AlterShareGroupOffsetsRequestTopic,
    )

    if validate_only:
        await admin.router.check_command(AlterShareGroupOffsetsRequest)
        await _check_group(admin, group_id, may_be_new=True)
        return await check_outcomes(admin, AlterShareGroupOffsetsRequest, await check_offsets(admin, None, offsets))
    request = AlterShareGroupOffsetsRequest(
        group_id=group_id,
        topics=tuple(
            AlterShareGroupOffsetsRequestTopic(
                topic_name=topic,
                partitions=tuple(
                    AlterShareGroupOffsetsRequestPartition(
                        partition_index=index, start_offset=offsets[TopicPartition(topic, index)]
                    )
                    for index in indexes
                ),
            )
            for topic, indexes in by_topic(offsets).items()
        ),
    )
    # The broker refuses the whole group with one code, or answers for each partition.
    response = await at_coordinator(admin.router, group_id, request, repeatable=True)
    return Outcomes(
        {
            f"{topic.topic_name}-{partition.partition_index}": result_error(
                partition, f"{topic.topic_name}-{partition.partition_index}", is_command=True
            )
            for topic in response.responses
            for partition in topic.partitions
        }
    )


async def delete_share_group_offsets(
    admin: AdminSession, group_id: str, topics: Iterable[str], *, validate_only: bool = False
) -> Outcomes:
    """Delete the offsets of a share group for whole topics. The command is not repeated.

    The outcomes are by topic. Errors: 3 unknown topic, or the group has no offsets for it.

    Args:
        group_id: the group.
        topics: the topics.
        validate_only: check the group and the topics, and delete nothing.

    Raises:
        AdminError: 68 the group has members; 69 unknown group.
        OutcomeUnknown: the response was lost.
    """
    from kwire.messages.kafka.delete_share_group_offsets import (
        DeleteShareGroupOffsetsRequest,
        DeleteShareGroupOffsetsRequestTopic,
    )

    if validate_only:
        await admin.router.check_command(DeleteShareGroupOffsetsRequest)
        await _check_group(admin, group_id)
        offsets = (await list_share_group_offsets(admin, [group_id]))[group_id]
        if isinstance(offsets, AdminError):
            raise offsets
        known = {partition.topic for partition in offsets}
        checked = {
            name: None if name in known else AdminError.of_kafka(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, name)
            for name in strings_tuple(topics)
        }
        return await check_outcomes(admin, DeleteShareGroupOffsetsRequest, Outcomes(checked))
    request = DeleteShareGroupOffsetsRequest(
        group_id=group_id,
        topics=tuple(DeleteShareGroupOffsetsRequestTopic(topic_name=name) for name in strings_tuple(topics)),
    )
    response = await at_coordinator(admin.router, group_id, request)
    return Outcomes(
        {topic.topic_name: result_error(topic, topic.topic_name, is_command=True) for topic in response.responses}
    )


async def _check_group(admin: AdminSession, group_id: str, *, may_be_new: bool = False) -> None:
    """Check that a group is a share group without members.

    Args:
        may_be_new: true if the change creates a group that does not exist.

    Raises:
        AdminError: 68 the group has members; 69 unknown group, or a group of another type.
    """
    group = (await describe_groups(admin, [group_id]))[group_id]
    if may_be_new and isinstance(group, AdminError) and group.code == ErrorCode.GROUP_ID_NOT_FOUND:
        return
    of_type = (await describe_groups_of_type(admin, [group_id], GroupType.SHARE))[group_id]
    refusal = of_type if isinstance(of_type, AdminError) else error_if_active(group)
    if refusal is not None:
        raise refusal
