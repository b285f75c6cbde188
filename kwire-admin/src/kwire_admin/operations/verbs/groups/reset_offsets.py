"""`kafka groups reset-offsets`."""

from __future__ import annotations

from pathlib import Path

from kwire._util.light_dataclasses import dataclass
from kwire._util.light_typing import Annotated
from kwire._util.readable import counted
from kwire.client.admin import AdminError, CommittedOffset, Outcomes, TopicPartition
from kwire.client.admin.groups import error_if_active
from kwire.messages.kafka.error_codes import ErrorCode
from kwire_admin.operations.declaration import Failed, Failure, Rows, operation
from kwire_admin.operations.offset_resets import (
    DURATION,
    CommittedTarget,
    OffsetShift,
    PlannedOffset,
    ResetTarget,
    format_offsets,
    parse_duration,
    plan_offsets,
    read_offsets,
    time_before,
)
from kwire_admin.operations.parameters import Argument, Choice, Conflict, Danger, InvalidArgument, Option
from kwire_admin.operations.partitions import PARTITIONS, partitions_of
from kwire_admin.operations.positions import RESET, parse_position
from kwire_admin.operations.run import Run
from kwire_admin.operations.verbs.groups import alter_offsets, is_share_group, list_offsets

Position = Annotated[
    str | None,
    Option(
        "earliest, latest, current, an offset, or a time with its zone, such as 2026-11-22T08:00Z.",
        "WHERE",
        syntax=RESET,
    ),
]
Shift = Annotated[
    int | None,
    Option(
        "This number of messages from the committed offset on; negative to go back.",
        "N",
        minimum=-(2**63),
        maximum=2**63 - 1,
    ),
]
Duration = Annotated[
    str | None, Option("To the time that was this long ago, such as PT30M or P1DT12H.", "DURATION", syntax=DURATION)
]
OffsetFile = Annotated[
    Path | None, Option("To the offsets of a CSV file, such as an exported one.", "FILE", document=True)
]
Topics = Annotated[
    list[str],
    Option(
        "Only this topic, or one partition as TOPIC:N [default: all with offsets].",
        "TOPIC",
        "topics",
        syntax=PARTITIONS,
    ),
]
ExportFile = Annotated[Path | None, Option("Export the new offsets to a CSV file, in a dry run as well.", "FILE")]


@dataclass(frozen=True, slots=True)
class OffsetChange:
    """A committed offset that is reset.

    Attributes:
        name: the group.
        topic: the topic.
        partition: the partition.
        before: the committed offset before; None if there was none.
        after: the committed offset afterwards.
        difference: after minus before; None without an offset before. A negative number of messages is read again, a
            positive one is skipped.
        status: `reset`, or `would be reset` in a dry run; `unchanged` if the offset is committed already.
    """

    name: str
    topic: str
    partition: int
    before: int | None
    after: int
    difference: int | None
    status: str


@operation(
    Danger.DESTROYS,
    choices=(
        Choice(("to", "shift_by", "by_duration", "from_file"), most=1),
        Choice(("from_file", "topic"), least=0, most=1),  # the file names the partitions
    ),
    dialects=("kafka",),
    examples=(
        "groups reset-offsets billing --to earliest --topic orders --dry-run",
        "groups reset-offsets billing --to 2026-11-22T08:00:00+00:00 --yes",
        "groups reset-offsets billing --to 1200 --topic orders:0 --yes",
        "groups reset-offsets billing --shift-by -100 --yes",
        "groups reset-offsets billing --by-duration PT2H --dry-run",
        "groups reset-offsets billing --to current --export before.csv --dry-run",
        "groups reset-offsets billing --from-file before.csv --yes",
    ),
)
async def reset_offsets(
    run: Run,
    group: Annotated[str, Argument("Id of the group, which must not have active members.", "GROUP", "groups")],
    to: Position = None,
    shift_by: Shift = None,
    by_duration: Duration = None,
    from_file: OffsetFile = None,
    topic: Topics = [],
    export: ExportFile = None,
) -> Rows[OffsetChange]:
    """Reset the committed offsets of a group, or the start offsets of a share group.

    A shift stops at the ends of the log. An offset outside of the log is an error.
    """
    target = _target(group, to, shift_by, by_duration, from_file)
    if target == {}:
        raise InvalidArgument(f"{from_file} has no offsets of {group}")
    before = await list_offsets(run.admin, group)
    if isinstance(before, AdminError):
        return [Failure(group, before)]
    error = await _error_of_group(run, group)
    is_new = error is not None and error.code == ErrorCode.GROUP_ID_NOT_FOUND
    if error is not None and not is_new:
        return [Failure(group, error)]
    plan, rows = await _plan(run, group, before, topic, target)
    if from_file is not None and rows:
        raise Failed(rows, f"{from_file} names partitions without an answer: {len(rows)}; nothing was changed")
    if export is not None:
        run.files.write(export, format_offsets({partition: planned.after for partition, planned in plan.items()}))
    forgets = set() if target is CommittedTarget.CURRENT else await _with_acknowledgements(run, group, before, plan)
    changed = {
        partition: planned.after
        for partition, planned in plan.items()
        if planned.after != planned.before or partition in forgets
    }
    if is_new and changed:
        run.warn(f"There is no group {group}: this creates it.")
    if changed and not run.dry_run:
        run.show_plan([_change(group, partition, plan[partition], "would be reset") for partition in changed])
        run.confirm(f"Reset {counted(len(changed), 'offset')} of {group}?")
    outcomes = await alter_offsets(run.admin, group, changed, validate_only=run.dry_run) if changed else Outcomes({})
    rows += [Failure(item, error) for item, error in outcomes.errors.items()]
    for partition, planned in plan.items():
        if str(partition) not in outcomes.errors:
            done = "would be reset" if run.dry_run else "reset"
            rows.append(_change(group, partition, planned, done if partition in changed else "unchanged"))
    return rows


async def _error_of_group(run: Run, group: str) -> AdminError | None:
    """Return why brokers refuse offsets of a group: it is active, or hidden. They create one that does not exist."""
    return error_if_active((await run.admin.describe_groups([group]))[group])


async def _plan(
    run: Run, group: str, before: dict[TopicPartition, CommittedOffset], topics: list[str], target: ResetTarget
) -> tuple[dict[TopicPartition, PlannedOffset], Rows[OffsetChange]]:
    """Return the plan of each partition, and the failures of the others.

    Raises:
        Conflict: no partition is named, or a requested offset is outside of the log.
    """
    partitions = [*target] if isinstance(target, dict) else sorted(before)
    if topics:
        partitions = await partitions_of(run.admin, topics)
    if not partitions:
        raise Conflict(f"group {group} has no committed offsets: name the topics with --topic")
    plan: dict[TopicPartition, PlannedOffset] = {}
    rows: Rows[OffsetChange] = []
    for partition, planned in (await plan_offsets(run.admin, before, partitions, target)).items():
        if isinstance(planned, AdminError):
            rows.append(Failure(str(partition), planned))
            continue
        # A shift stops at the ends of the log; any other target outside of it is a mistake.
        if not isinstance(target, OffsetShift):
            _check_within_log(partition, planned)
        plan[partition] = planned
    beyond = [partition for partition, planned in plan.items() if planned.is_beyond]
    if beyond:
        others = f" and {counted(len(beyond) - 1, 'other partition')} have" if len(beyond) > 1 else " has"
        run.warn(f"{beyond[0]}{others} no message at this time or later: the end of the log is meant.")
    return plan, rows


async def _with_acknowledgements(
    run: Run,
    group: str,
    before: dict[TopicPartition, CommittedOffset],
    plan: dict[TopicPartition, PlannedOffset],
) -> set[TopicPartition]:
    """Return the partitions of a share group with acknowledged records after the start offset.

    A reset to the start offset is a change there: the broker forgets the acknowledgements, and delivers the records
    again. Without a lag of the broker (before Kafka 4.2), that cannot be excluded.
    """
    if not await is_share_group(run.admin, group):
        return set()
    return {
        partition
        for partition, planned in plan.items()
        if partition in before and before[partition].lag != planned.end - before[partition].offset
    }


def _target(
    group: str, to: str | None, shift_by: int | None, by_duration: str | None, from_file: Path | None
) -> ResetTarget:
    """Return the target that exactly one of the options names.

    Raises:
        InvalidArgument: its value is invalid.
    """
    if shift_by is not None:
        return OffsetShift(shift_by)
    if by_duration is not None:
        return time_before(parse_duration(by_duration))
    if from_file is not None:
        return read_offsets(from_file, group)
    return CommittedTarget.CURRENT if to == CommittedTarget.CURRENT.value else parse_position(to or "")


def _check_within_log(partition: TopicPartition, planned: PlannedOffset) -> None:
    """Check that the offset is the requested one. A consumer beyond its log starts at an end of its own choice.

    Raises:
        Conflict: the requested offset is outside of the log.
    """
    if planned.requested > planned.after:
        raise Conflict(f"offset {planned.requested} of {partition} is after the end of the log at {planned.end}")
    if planned.requested < planned.after:
        raise Conflict(f"offset {planned.requested} of {partition} is before the start of the log at {planned.start}")


def _change(group: str, partition: TopicPartition, planned: PlannedOffset, status: str) -> OffsetChange:
    before, after = planned.before, planned.after
    difference = None if before is None else after - before
    return OffsetChange(group, partition.topic, partition.partition, before, after, difference, status)
