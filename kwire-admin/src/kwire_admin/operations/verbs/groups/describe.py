"""`kafka groups describe`."""

from __future__ import annotations

from collections.abc import Mapping

from kwire._util.light_dataclasses import dataclass, field
from kwire._util.light_typing import Annotated
from kwire.client.admin import GroupDescription, GroupType
from kwire_admin.operations.declaration import Rows, operation
from kwire_admin.operations.parameters import Argument
from kwire_admin.operations.rows import column, rows_of
from kwire_admin.operations.run import Run


@dataclass(frozen=True, slots=True)
class Member:
    """A member of a group. See `kwire.client.admin.GroupMember`."""

    member: str
    instance: str | None
    client: str
    host: str
    assignment: Mapping[str, tuple[int, ...]] | None
    epoch: int | None
    rack: str | None


@dataclass(frozen=True, slots=True)
class GroupDetails:
    """A group with its members. See `kwire.client.admin.GroupDescription`."""

    name: str
    type: GroupType
    state: str
    coordinator: int = field(metadata=column(table=False))
    assignor: str = field(metadata=column(table=False))
    epoch: int | None = field(metadata=column(table=False))
    members: tuple[Member, ...] = field(metadata=column(rows=True))


@operation(
    nothing="No groups.",
    dialects=("kafka",),
    examples=("groups describe billing", "groups describe billing audit --output json"),
)
async def describe(
    run: Run, groups: Annotated[list[str], Argument("Ids of the groups.", "GROUP", "groups", item="group")]
) -> Rows[GroupDetails]:
    """Describe groups with their members and assignments."""
    return rows_of(await run.admin.describe_groups(groups), _details)


def _details(name: str, group: GroupDescription) -> GroupDetails:
    members = (
        Member(
            member.member_id,
            member.instance_id,
            member.client_id,
            member.host,
            member.assignment,
            member.epoch,
            member.rack,
        )
        for member in group.members
    )
    return GroupDetails(name, group.type, group.state, group.coordinator, group.assignor, group.epoch, tuple(members))
