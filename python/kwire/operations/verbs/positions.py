"""Positions in a log, as arguments write them: `earliest`, `latest`, an offset, or a time."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING

from kwire.client.admin import EARLIEST, LATEST, AdminError, OffsetSpec
from kwire.operations.parameters import InvalidArgument

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from kwire.client.admin import AdminClient, PartitionOffset, TopicPartition


def parse_position(text: str) -> OffsetSpec | int:
    """Return the position that a text names: `earliest`, `latest`, an offset, or a time with its zone.

    Raises:
        InvalidArgument: the text is not a position.
    """
    if text == "earliest":
        return EARLIEST
    if text == "latest":
        return LATEST
    if text.isdecimal():
        return int(text)
    try:
        time = datetime.fromisoformat(text)
    except ValueError:
        time = None
    if time is None or time.tzinfo is None:
        raise InvalidArgument(
            f"{text!r} is not a position: write earliest, latest, an offset, or a time with its zone such as "
            "2026-11-22T08:00:00+00:00"
        )
    return OffsetSpec(int(time.timestamp() * 1000))


async def offsets_at(
    admin: AdminClient, partitions: Sequence[TopicPartition], position: OffsetSpec | int
) -> dict[TopicPartition, int | AdminError]:
    """Return the offset of a position in each partition. A time after the last message means the end of the log.

    Raises:
        InvalidArgument: the offset is after the end of the log.
    """
    ends = await admin.list_offsets(dict.fromkeys(partitions, LATEST))
    answers: Mapping[TopicPartition, PartitionOffset | AdminError] = {}
    if not isinstance(position, int):
        answers = await admin.list_offsets(dict.fromkeys(partitions, position))
    offsets: dict[TopicPartition, int | AdminError] = {}
    for partition, end in ends.items():
        at = answers.get(partition)
        if isinstance(end, AdminError):
            offsets[partition] = end
            continue
        if isinstance(at, AdminError):
            offsets[partition] = at
            continue
        last = end.offset or 0
        offset = position if isinstance(position, int) else at.offset if at and at.offset is not None else last
        if offset > last:
            raise InvalidArgument(f"offset {offset} of {partition} is after the end of the log at {last}")
        offsets[partition] = offset
    return offsets
