"""The lag of groups of all types, from their offsets, the ends of the logs, and the partitions of their members.

Examples:
    >>> from kwire.client.admin import NewTopic, TopicPartition
    >>> admin.create_topics({"refunds": NewTopic(partitions=1)}).raise_first()
    >>> admin.wait_until_created({"refunds": 1})
    >>> admin.alter_group_offsets("refunding", {TopicPartition("refunds", 0): 0}).raise_first()
    >>> admin.group_lags(["refunding"])["refunding"].total
    0
    >>> admin.delete_groups(["refunding"]).raise_first()
    >>> admin.delete_topics(["refunds"]).raise_first()
"""

from __future__ import annotations

from kwire._util.light_typing import TYPE_CHECKING, TypeAlias
from kwire.client.admin.errors import AdminError
from kwire.client.admin.group_values import LATEST, GroupLag, GroupType
from kwire.client.admin.groups import describe_listed, list_group_offsets, list_groups
from kwire.client.admin.offsets import list_offsets
from kwire.client.admin.session import strings_tuple
from kwire.client.admin.share_group_offsets import list_share_group_offsets
from kwire.messages.kafka.error_codes import ErrorCode

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from kwire.client.admin.group_values import CommittedOffset, GroupDescription, PartitionOffset, TopicPartition
    from kwire.client.admin.session import AdminSession

    Offsets: TypeAlias = dict[TopicPartition, CommittedOffset]


async def group_lags(
    admin: AdminSession, group_ids: Iterable[str] | None = None, *, unanswered: dict[int, Exception] | None = None
) -> dict[str, GroupLag | AdminError]:
    """Return how far groups of any type are behind, without joining them.

    Partitions with a committed offset have a lag, and so do partitions that are assigned to a member: a consumer that
    is stuck at its first batch has committed nothing. The end of each partition is looked up once for all groups.

    Errors of a group: 15 no broker coordinates it at the moment, so that it is not known whether it exists; 30 the user
    cannot describe it, so that no list has it; 69 unknown group.

    Args:
        group_ids: the groups; None for all, except groups that no broker coordinates (see `list_groups`).
        unanswered: receives the errors of brokers that do not answer; None to raise them, unless groups are named.
    """
    if unanswered is None and group_ids is not None:
        unanswered = {}
    types = {group.group_id: group.type for group in await list_groups(admin, unanswered=unanswered)}
    requested = sorted(types) if group_ids is None else strings_tuple(group_ids)
    described = await describe_listed(admin, requested, types, unanswered or ())
    listed = [group for group in requested if group in types]
    offsets = await _offsets_of_listed(admin, listed, types)
    lags: dict[str, GroupLag | AdminError] = {}
    ends = await _ends(admin, offsets, described)
    for group in requested:
        committed, description = offsets.get(group), described[group]
        if committed is None:
            assert isinstance(description, AdminError), "a group without a listing has an error"
            lags[group] = description
        elif isinstance(committed, AdminError):
            lags[group] = committed
        else:
            lags[group] = _group_lag(group, committed, description, ends)
    return lags


async def _offsets_of_listed(
    admin: AdminSession, groups: Sequence[str], types: Mapping[str, GroupType]
) -> dict[str, Offsets | AdminError]:
    """Return the offsets of groups of any type. A share group has -1 where it has not started."""
    shared = [group for group in groups if types[group] is GroupType.SHARE]
    others = [group for group in groups if types[group] is not GroupType.SHARE]
    offsets: dict[str, Offsets | AdminError] = {}
    if others:
        offsets |= await list_group_offsets(admin, others)
    if shared:
        offsets |= await list_share_group_offsets(admin, shared, include_unset=True)
    return offsets


async def _ends(
    admin: AdminSession,
    offsets: Mapping[str, Offsets | AdminError],
    described: Mapping[str, GroupDescription | AdminError],
) -> dict[TopicPartition, PartitionOffset | AdminError]:
    """Return the ends of all partitions of groups."""
    partitions: set[TopicPartition] = set()
    for committed in offsets.values():
        if not isinstance(committed, AdminError):
            partitions |= committed.keys()
    for description in described.values():
        if not isinstance(description, AdminError):
            partitions |= description.owners.keys()
    return await list_offsets(admin, dict.fromkeys(sorted(partitions), LATEST)) if partitions else {}


def _group_lag(
    group: str,
    committed: Offsets,
    description: GroupDescription | AdminError,
    ends: Mapping[TopicPartition, PartitionOffset | AdminError],
) -> GroupLag:
    """Return the lag of a group. Without its description, the partitions without a commit are not known."""
    from kwire.client.admin.group_responses import partition_lag

    owners = {} if isinstance(description, AdminError) else description.owners
    error = description if isinstance(description, AdminError) else None
    partitions = []
    for partition in sorted(committed.keys() | owners.keys()):
        end = ends[partition]
        # The topics of a streams task can have different numbers of partitions.
        is_unknown = isinstance(end, AdminError) and end.code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        if partition in committed or not is_unknown:
            partitions.append(partition_lag(partition, committed.get(partition), end, owners.get(partition)))
    return GroupLag(group, tuple(partitions), error)
