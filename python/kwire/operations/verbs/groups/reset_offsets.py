"""`kafka groups reset-offsets`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from kwire.client.admin import AdminError, CommittedOffset, TopicPartition
from kwire.messages.kafka.error_codes import ErrorCode
from kwire.operations.declaration import Failure, Rows, operation
from kwire.operations.parameters import Argument, Danger, InvalidArgument, Option
from kwire.operations.run import Run
from kwire.operations.verbs.group_offsets import alter_offsets, error_if_active, list_offsets
from kwire.operations.verbs.positions import offsets_at, parse_position
from kwire.operations.verbs.topic_partitions import partitions_of


@dataclass(frozen=True, slots=True)
class OffsetChange:
    """A committed offset that is reset.

    Attributes:
        name: the group.
        topic: the topic.
        partition: the partition.
        before: the committed offset before; None if there was none.
        after: the committed offset afterwards.
        status: `reset`, or `would be reset` in a dry run.
    """

    name: str
    topic: str
    partition: int
    before: int | None
    after: int
    status: str


@operation(
    Danger.DESTROYS,
    dialects=("kafka",),
    examples=(
        "groups reset-offsets billing --to earliest --topic orders --dry-run",
        "groups reset-offsets billing --to 2026-11-22T08:00:00+00:00 --yes",
        "groups reset-offsets billing --to 1200 --topic orders:0 --yes",
    ),
)
async def reset_offsets(
    run: Run,
    group: Annotated[str, Argument("Id of the group, which must not have active members.", "GROUP", "groups")],
    to: Annotated[
        str, Option("earliest, latest, an offset, or a time with its zone, such as 2026-11-22T08:00Z.", "WHERE")
    ],
    topic: Annotated[
        list[str],
        Option("Only this topic, or one partition as TOPIC:N [default: all with offsets].", "TOPIC", "topics"),
    ] = [],
) -> Rows[OffsetChange]:
    """Reset the committed offsets of a group, or the start offsets of a share group."""
    spec = parse_position(to)
    before = await list_offsets(run.admin, group)
    if isinstance(before, AdminError):
        return [Failure(group, before)]
    described = (await run.admin.describe_groups([group]))[group]
    is_new = isinstance(described, AdminError) and described.code == ErrorCode.GROUP_ID_NOT_FOUND
    if not is_new and (error := error_if_active(described)) is not None:
        return [Failure(group, error)]
    partitions = await _partitions(run, before, topic)
    if not partitions:
        raise InvalidArgument(f"group {group} has no committed offsets: name the topics with --topic")
    rows: Rows[OffsetChange] = []
    after: dict[TopicPartition, int] = {}
    for each, target in (await offsets_at(run.admin, partitions, spec)).items():
        if isinstance(target, AdminError):
            rows.append(Failure(str(each), target))
        else:
            after[each] = target
    if not run.dry_run and after:
        run.confirm(f"Reset {len(after)} offsets of {group}?")
        outcomes = await alter_offsets(run.admin, group, after)
        rows += [Failure(item, error) for item, error in outcomes.errors.items()]
        after = {each: offset for each, offset in after.items() if outcomes[str(each)] is None}
    status = "would be reset" if run.dry_run else "reset"
    rows += [
        OffsetChange(group, each.topic, each.partition, before[each].offset if each in before else None, offset, status)
        for each, offset in after.items()
    ]
    return rows


async def _partitions(
    run: Run, committed: dict[TopicPartition, CommittedOffset], topics: list[str]
) -> list[TopicPartition]:
    """Return the partitions that are named, or all that have a committed offset."""
    return await partitions_of(run.admin, topics) if topics else sorted(committed)
