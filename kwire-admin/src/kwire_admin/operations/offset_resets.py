"""Resets of committed offsets: targets, the planned offset of each partition, and their CSV file.

`kafka groups reset-offsets` and the script `kafka-consumer-groups --reset-offsets` plan here. They differ in one point:
the verb refuses an offset outside of the log, and the script takes the nearer end of the log, as Kafka's does.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from enum import Enum
from io import StringIO

from kwire._util.concurrency import gather
from kwire._util.light_typing import TYPE_CHECKING, NamedTuple, TypeAlias
from kwire.client.admin import EARLIEST, LATEST, AdminError, OffsetSpec, TopicPartition
from kwire_admin.operations.parameters import Conflict, InvalidArgument, Syntax, read_argument

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from kwire.client.admin import AdminClient, CommittedOffset

NUMBER = re.compile("[0-9]{1,18}")
"""A partition or an offset of a file, with the digits of `positions.POSITION`. `int` refuses 4,300 digits and more."""
SECONDS = r"[0-9]{1,9}(?:\.[0-9]{1,9})?S"
TIME_OF_DURATION = f"T(?:[0-9]{{1,9}}H(?:[0-9]{{1,9}}M)?(?:{SECONDS})?|[0-9]{{1,9}}M(?:{SECONDS})?|{SECONDS})"
DURATION = Syntax(
    f"P(?:[0-9]{{1,8}}D(?:{TIME_OF_DURATION})?|{TIME_OF_DURATION})",
    "a duration: write PnDTnHnMnS, such as PT30M or P1DT12H",
)
"""Durations as in `--by-duration` of Kafka's script: ISO 8601 with days, hours, minutes, and seconds."""
UNITS = {"D": "days", "H": "hours", "M": "minutes", "S": "seconds"}


class CommittedTarget(Enum):
    """The committed offset as a target: it stays, or becomes the end of the log if there is none."""

    CURRENT = "current"


class OffsetShift(NamedTuple):
    """A distance from the committed offset as a target, limited to the log.

    Attributes:
        by: number of messages; negative to go back.
    """

    by: int


ResetTarget: TypeAlias = OffsetSpec | int | OffsetShift | CommittedTarget | Mapping[TopicPartition, int]
"""A target for all partitions, or the offset of each. A time after the last message means the end of the log."""


class NoCommittedOffset(Conflict):
    """A partition without a committed offset cannot be shifted.

    Attributes:
        partition: the partition.
    """

    def __init__(self, partition: TopicPartition) -> None:
        super().__init__(f"{partition} has no committed offset to shift: name another target for it")
        self.partition = partition


class PlannedOffset(NamedTuple):
    """The reset of one partition.

    Attributes:
        before: the committed offset; None if there is none.
        requested: the offset that the target means.
        after: the offset to commit, which is within the log unless it is the committed one.
        start: the first offset of the log.
        end: the offset after the last message.
        is_beyond: true if the target is a time after the last message, so that the end of the log takes its place.
    """

    before: int | None
    requested: int
    after: int
    start: int
    end: int
    is_beyond: bool = False

    @classmethod
    def of(cls, target: ResetTarget, before: int | None, requested: int | None, start: int, end: int) -> PlannedOffset:
        """Return the plan of a partition.

        Args:
            requested: the offset of the target; None for the end of the log.
        """
        offset = end if requested is None else requested
        keeps = target is CommittedTarget.CURRENT
        return cls(before, offset, offset if keeps else min(max(offset, start), end), start, end)


async def plan_offsets(
    admin: AdminClient,
    committed: Mapping[TopicPartition, CommittedOffset],
    partitions: Sequence[TopicPartition],
    target: ResetTarget,
) -> dict[TopicPartition, PlannedOffset | AdminError]:
    """Return the reset of each partition, or the error of its leader.

    Args:
        committed: the committed offsets of the group.
        target: a mapping has an offset for each of the partitions.

    Raises:
        NoCommittedOffset: see the class.
    """
    requested = {partition: _requested(target, partition, committed) for partition in partitions}
    specs = [EARLIEST, LATEST, *([target] if isinstance(target, OffsetSpec) else [])]
    starts, ends, *at_target = await gather(*(admin.list_offsets(dict.fromkeys(partitions, spec)) for spec in specs))
    plan: dict[TopicPartition, PlannedOffset | AdminError] = {}
    for partition in partitions:
        start, end = starts[partition], ends[partition]
        offset = at_target[0][partition] if at_target else None
        if isinstance(start, AdminError) or isinstance(end, AdminError) or isinstance(offset, AdminError):
            plan[partition] = next(answer for answer in (start, end, offset) if isinstance(answer, AdminError))
            continue
        before = committed[partition].offset if partition in committed else None
        wanted = requested[partition] if offset is None else offset.offset
        planned = PlannedOffset.of(target, before, wanted, start.offset or 0, end.offset or 0)
        plan[partition] = planned._replace(is_beyond=offset is not None and offset.offset is None)
    return plan


def _requested(
    target: ResetTarget, partition: TopicPartition, committed: Mapping[TopicPartition, CommittedOffset]
) -> int | None:
    """Return the offset that a target means without a look at the log; None for the end of the log."""
    before = committed[partition].offset if partition in committed else None
    match target:
        case int():
            return target
        case CommittedTarget():
            return before
        case OffsetShift():
            if before is None:
                raise NoCommittedOffset(partition)
            return before + target.by
        case OffsetSpec():
            return None
    return target[partition]


def parse_duration(text: str) -> timedelta:
    """Return the duration for a text such as `P1DT2H30M`.

    Raises:
        InvalidArgument: the text is not a duration.
    """
    DURATION.match(text)
    return timedelta(**{UNITS[unit]: float(number) for number, unit in re.findall("([0-9.]+)([DHMS])", text)})


def time_before(duration: timedelta, now: datetime | None = None) -> OffsetSpec:
    """Return the time that was a duration ago; 1970 for an earlier one."""
    ago = (now or datetime.now(UTC)).timestamp() - duration.total_seconds()
    return OffsetSpec(max(int(ago * 1000), 0))


def format_offsets(offsets: Mapping[TopicPartition, int]) -> str:
    """Return offsets as CSV with topic, partition, and offset, as Kafka's script exports one group."""
    text = StringIO()
    csv.writer(text, lineterminator="\n").writerows((*partition, offset) for partition, offset in offsets.items())
    return text.getvalue()


def read_offsets(file: Path, group: str) -> dict[TopicPartition, int]:
    """Return the offsets of a group in a CSV file that `format_offsets` or Kafka's script has written.

    Lines of an export of several groups begin with the group; others are skipped.

    Raises:
        InvalidArgument: the file cannot be read, a line is not topic, partition, and offset, or a partition is there
            twice.
    """
    lines = csv.reader(read_argument(file).split("\n"), strict=True)
    try:
        return _offsets(file, enumerate(lines, 1), group)
    except csv.Error as error:
        raise InvalidArgument(f"{file} is not a CSV file: {error}") from None


def _shown(cells: Sequence[str]) -> str:
    line = ",".join(cells)
    return line if len(line) <= 100 else f"{line[:100]}..."


def _offsets(file: Path, lines: Iterable[tuple[int, list[str]]], group: str) -> dict[TopicPartition, int]:
    offsets: dict[TopicPartition, int] = {}
    for number, cells in lines:
        if not cells or (len(cells) == 4 and cells[0] != group):
            continue
        topic, partition, offset = cells[-3:] if len(cells) in (3, 4) else ("", "", "")
        if not (topic and NUMBER.fullmatch(partition) and NUMBER.fullmatch(offset)):
            raise InvalidArgument(f"line {number} of {file}: expected topic,partition,offset, found {_shown(cells)}")
        key = TopicPartition(topic, int(partition))
        if key in offsets:
            raise InvalidArgument(f"line {number} of {file}: {key} has two offsets")
        offsets[key] = int(offset)
    return offsets
