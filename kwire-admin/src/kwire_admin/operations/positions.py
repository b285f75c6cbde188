"""Positions in a log, as arguments write them: `earliest`, `latest`, an offset, or a time."""

from __future__ import annotations

from datetime import datetime

from kwire._util.light_typing import TYPE_CHECKING
from kwire.client.admin import EARLIEST, LATEST, AdminError, OffsetSpec
from kwire_admin.operations.parameters import Conflict, Syntax

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from kwire.client.admin import AdminClient, PartitionOffset, TopicPartition

TIME = (
    # Years from 1970, as negative timestamps are positions of other meanings. February 29 only in leap years.
    "(?:(?:19[7-9][0-9]|[2-9][0-9]{3})-(?:(?:0[13578]|1[02])-(?:0[1-9]|[12][0-9]|3[01])"
    "|(?:0[469]|11)-(?:0[1-9]|[12][0-9]|30)|02-(?:0[1-9]|1[0-9]|2[0-8]))"
    "|(?:19[79][26]|19[8][048]|[2-9][0-9](?:0[48]|[2468][048]|[13579][26])|(?:[2468][048]|[3579][26])00)-02-29)"
    r"[T ](?:[01][0-9]|2[0-3]):[0-5][0-9](?::[0-5][0-9](?:\.[0-9]{1,9})?)?(?:Z|[+-](?:[01][0-9]|2[0-3]):[0-5][0-9])"
)
"""A time with its zone (ISO 8601), such as 2026-11-22T08:00:00+00:00."""
POSITION = Syntax(
    f"earliest|latest|[0-9]{{1,18}}|{TIME}",
    "a position: write earliest, latest, an offset, or a time with its zone such as 2026-11-22T08:00:00+00:00",
)

LOOKUP = Syntax(
    f"earliest|latest|max-timestamp|{TIME}",
    "a position to look up: write earliest, latest, max-timestamp, or a time with its zone",
)
"""A position whose offset brokers look up."""
RESET = POSITION._replace(pattern=f"current|{POSITION.pattern}")
"""A position, or the committed offset."""


def parse_position(text: str) -> OffsetSpec | int:
    """Return the position that a text names: `earliest`, `latest`, an offset, or a time with its zone.

    Raises:
        InvalidArgument: the text is not a position.
    """
    if text == "earliest":
        return EARLIEST
    if text == "latest":
        return LATEST
    POSITION.match(text)
    if text.isdecimal():
        return int(text)
    return OffsetSpec(max(int(datetime.fromisoformat(text).timestamp() * 1000), 0))


async def offsets_at(
    admin: AdminClient, partitions: Sequence[TopicPartition], position: OffsetSpec | int
) -> dict[TopicPartition, int | AdminError]:
    """Return the offset of a position in each partition. A time after the last message means the end of the log.

    Raises:
        Conflict: the offset is after the end of the log.
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
            raise Conflict(f"offset {offset} of {partition} is after the end of the log at {last}")
        offsets[partition] = offset
    return offsets
