"""Offsets of groups of any type: committed offsets, and the start offsets of share groups (KIP-932)."""

from __future__ import annotations

from kwire._util.light_typing import TYPE_CHECKING
from kwire.client.admin import GroupType

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kwire.client.admin import AdminClient, AdminError, CommittedOffset, Outcomes, TopicPartition


async def is_share_group(admin: AdminClient, group: str) -> bool:
    """Return whether a group is a share group. A group that does not exist, or has no coordinator, is not."""
    # Whatever is requested next goes to the coordinator, which has the error of a group of another type.
    listed = await admin.list_groups(types=[GroupType.SHARE], unanswered={})
    return any(listing.group_id == group for listing in listed)


async def list_offsets(admin: AdminClient, group: str) -> dict[TopicPartition, CommittedOffset] | AdminError:
    """Return the offsets of a group of any type."""
    if await is_share_group(admin, group):
        return (await admin.list_share_group_offsets([group]))[group]
    return (await admin.list_group_offsets([group]))[group]


async def alter_offsets(
    admin: AdminClient, group: str, offsets: Mapping[TopicPartition, int], *, validate_only: bool = False
) -> Outcomes:
    """Set the offsets of a group of any type, which must not have active members, or check what that would answer.

    Raises:
        AdminError: the group has members.
    """
    if await is_share_group(admin, group):
        return await admin.alter_share_group_offsets(group, offsets, validate_only=validate_only)
    return await admin.alter_group_offsets(group, offsets, validate_only=validate_only)
