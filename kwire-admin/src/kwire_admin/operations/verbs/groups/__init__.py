"""`kafka groups`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from kwire._util.light_dataclasses import dataclass, field
from kwire._util.light_typing import TYPE_CHECKING, Annotated
from kwire._util.similar_names import did_you_mean
from kwire.client.admin import AdminError, GroupDescription, GroupLag, GroupType, Outcomes, PartitionLag
from kwire_admin.operations.changes import ItemChange, carry_out, changes
from kwire_admin.operations.declaration import Failure, Rows, operation
from kwire_admin.operations.parameters import Argument, Conflict, Danger, NotFound, Option
from kwire_admin.operations.partitions import PARTITIONS, partitions_of
from kwire_admin.operations.rows import column, rows_of
from kwire_admin.operations.run import Run
from kwire_admin.operations.visibility import explain_if_hidden, may_be_incomplete, warn_if_hidden, warn_of_unknown

if TYPE_CHECKING:
    from kwire.client.admin import AdminClient, CommittedOffset, TopicPartition


@dataclass(frozen=True, slots=True)
class GroupSummary:
    """A group in a list. See `kwire.client.admin.GroupListing`."""

    name: str
    type: GroupType
    state: str | None
    protocol: str
    coordinator: int


@operation(
    nothing="No groups.",
    lists="groups",
    dialects=("kafka",),
    examples=("groups list", "groups list 'billing-*' --state empty", "groups list --type share"),
)
async def list_(
    run: Run,
    pattern: Annotated[str | None, Argument("Only groups that match, with * and ? as wildcards.")] = None,
    type: Annotated[list[GroupType], Option("Only groups of this type.")] = [],
    state: Annotated[list[str], Option("Only groups in this state.", "STATE")] = [],
) -> Rows[GroupSummary]:
    """List groups with their types and states."""
    from fnmatch import fnmatchcase  # it imports `re`, and the lag does without

    unanswered: dict[int, Exception] = {}
    rows: Rows[GroupSummary] = [
        GroupSummary(*group)
        for group in await run.admin.list_groups(types=type, states=state, unanswered=unanswered)
        if pattern is None or fnmatchcase(group.group_id, pattern)
    ]
    await warn_of_unknown(run, "groups", unanswered)
    await warn_if_hidden(run, len(rows), "groups", filtered=bool(pattern or type or state))
    return rows


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
    members = tuple(Member(*member) for member in group.members)
    return GroupDetails(name, group.type, group.state, group.coordinator, group.assignor, group.epoch, members)


@dataclass(frozen=True, slots=True)
class Lag:
    """The lag of a group in a partition, a topic, or all topics.

    Attributes:
        name: the group.
        topic: the topic; None for all topics.
        partition: the partition; None for all partitions.
        committed: the committed offset; None for several partitions.
        end: the end of the log; None for several partitions, or if it is not known.
        lag: the messages between; None if it is not known, for several partitions also if one of them is not known.
        client: the client id of the member that reads the partition; None without one, or for several partitions.
        host: the address of the member.
    """

    name: str
    topic: str | None
    partition: int | None
    committed: int | None
    end: int | None
    lag: int | None
    client: str | None = field(default=None, metadata=column(if_known=True))
    host: str | None = field(default=None, metadata=column(if_known=True))


@operation(
    nothing="No committed offsets and no assigned partitions.",
    dialects=("kafka",),
    examples=("groups lag", "groups lag billing --partitions", "groups lag --topic orders"),
)
async def lag(
    run: Run,
    groups: Annotated[list[str], Argument("Ids of the groups [default: all].", "GROUP", "groups")],
    topic: Annotated[list[str], Option("Only these topics.", "TOPIC", "topics")] = [],
    partitions: Annotated[bool, Option("A row for each partition instead of each topic.")] = False,
    total: Annotated[bool, Option("A row for each group instead of each topic.")] = False,
) -> Rows[Lag]:
    """Show how many messages groups are behind, without joining them.

    A partition that is assigned to a member and has no committed offset has a row, too: its lag is not known.
    """
    rows: Rows[Lag] = []
    unanswered: dict[int, Exception] = {}
    lags = await run.admin.group_lags(groups or None, unanswered=unanswered)
    if not groups:
        await warn_of_unknown(run, "groups", unanswered)
    if not groups and (reason := await explain_if_hidden(run, len(lags), "groups")) is not None:
        run.warn(f"{reason}.")
    topics = {p.topic for group in lags.values() if not isinstance(group, AdminError) for p in group.partitions}
    for topic_name in topic:
        if topic_name not in topics:
            run.warn(f"no group has offsets of {topic_name}{did_you_mean(topic_name, tuple(topics))}")
    is_empty = not any(isinstance(group, AdminError) or group.partitions for group in lags.values())
    if groups and is_empty and await may_be_incomplete(run.admin, "topics"):
        run.warn("there may be offsets of topics that this user cannot describe: brokers leave them out.")
    for name, group in lags.items():
        if isinstance(group, AdminError):
            rows.append(Failure(name, group))
            continue
        if group.error is not None:
            run.warn(f"{name}: assigned partitions without a commit are not known ({group.error.reason}).")
        shown = group._replace(partitions=tuple(p for p in group.partitions if not topic or p.topic in topic))
        _warn_of_unknown(run, shown, by_partition=partitions)
        if partitions:
            rows += [_row(name, p) for p in shown.partitions]
        elif total:
            rows.append(Lag(name, None, None, None, None, shown.total))
        else:
            for partition in sorted({p.topic for p in shown.partitions}):
                of_topic = shown._replace(partitions=tuple(p for p in shown.partitions if p.topic == partition))
                rows.append(Lag(name, partition, None, None, None, of_topic.total))
    return rows


def _row(group: str, lag: PartitionLag) -> Lag:
    client, host = (None, None) if lag.member is None else (lag.member.client_id, lag.member.host)
    return Lag(group, lag.topic, lag.partition, lag.committed, lag.end, lag.lag, client, host)


def _warn_of_unknown(run: Run, group: GroupLag, *, by_partition: bool) -> None:
    """Name the partitions with an unknown lag, and the sum of the others.

    Args:
        by_partition: True if each partition has a row, which shows that there is no committed offset.
    """
    unknown = [p for p in group.partitions if p.lag is None and not (by_partition and p.error is None)]
    if unknown:
        first = unknown[0]
        reason = "no committed offset" if first.error is None else first.error.reason
        known = [p.lag for p in group.partitions if p.lag is not None]
        others = f"; the others add up to {sum(known)}" if known else ""
        run.warn(
            f"{group.group_id}: the lag of {len(unknown)} of {len(group.partitions)} partitions is not known "
            f"({first.topic}-{first.partition}: {reason}){others}."
        )


@operation(Danger.DESTROYS, dialects=("kafka",), examples=("groups delete billing", "groups delete billing --dry-run"))
async def delete(
    run: Run, groups: Annotated[list[str], Argument("Ids of the groups.", "GROUP", "groups", item="group")]
) -> Rows[ItemChange]:
    """Delete groups with their committed offsets."""
    question = f"Delete {', '.join(groups)} and all committed offsets?"
    outcomes = await carry_out(run, groups, question, run.admin.delete_groups)
    return changes(outcomes, "deleted", dry_run=run.dry_run)


@operation(
    Danger.DESTROYS,
    dialects=("kafka",),
    examples=("groups delete-offsets billing orders --dry-run", "groups delete-offsets billing orders:0 audit --yes"),
)
async def delete_offsets(
    run: Run,
    group: Annotated[str, Argument("Id of the group.", "GROUP", "groups")],
    topics: Annotated[
        list[str],
        Argument(
            "Topics, or partitions as TOPIC:N. A share group only has topics.",
            "TOPIC[:N]",
            "topics",
            syntax=PARTITIONS,
            item="topic or partition",
        ),
    ],
) -> Rows[ItemChange]:
    """Delete the committed offsets of a group for topics or partitions."""
    shared = await is_share_group(run.admin, group)
    if shared and any(":" in topic for topic in topics):
        raise Conflict(f"{group} is a share group: its offsets are deleted for whole topics")
    offsets = await list_offsets(run.admin, group)
    if isinstance(offsets, AdminError):
        return [Failure(group, offsets)]
    topics_with_offsets = {partition.topic for partition in offsets}
    partitions = [] if shared else await partitions_of(run.admin, [topic for topic in topics if ":" in topic])
    partitions += [
        partition
        for partition in sorted(offsets)
        if not shared and partition.topic in topics and partition not in partitions
    ]
    missing = [topic for topic in topics if ":" not in topic and topic not in topics_with_offsets]
    missing += [str(partition) for partition in partitions if partition not in offsets]
    if missing:
        raise NotFound(f"group {group} has no committed offsets of {', '.join(missing)}")
    by_item = {str(partition): partition for partition in partitions}

    async def delete(items: Sequence[str], *, validate_only: bool = False) -> Outcomes:
        if shared:
            return await run.admin.delete_share_group_offsets(group, items, validate_only=validate_only)
        named = [by_item[item] for item in items]
        return await run.admin.delete_group_offsets(group, named, validate_only=validate_only)

    question = f"Delete the offsets of {group} for {', '.join(topics)}?"
    outcomes = await carry_out(run, topics if shared else by_item, question, delete)
    return changes(outcomes, "deleted", dry_run=run.dry_run)


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
