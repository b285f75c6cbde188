"""Offsets of partitions that the options of tools name by a number or a word."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kwire.client.admin import LATEST, AdminError, OffsetSpec
from kwire.client.admin.group_values import NAMED_TIMES
from kwire_admin.operations.parameters import InvalidArgument

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kwire.client.admin import AdminClient, TopicPartition

__all__ = ["offsets_of", "parse_time"]


def parse_time(option: str, text: str) -> OffsetSpec:
    """Return which offset a text names.

    Raises:
        InvalidArgument: the text is neither a name nor a number.
    """
    if text in NAMED_TIMES:
        return OffsetSpec(NAMED_TIMES[text])
    try:
        return OffsetSpec(int(text))
    except ValueError:
        names = ", ".join(NAMED_TIMES)
        raise InvalidArgument(f"{option}: expected {names}, or milliseconds since 1970, found {text!r}") from None


async def offsets_of(
    admin: AdminClient, partitions: Sequence[TopicPartition], spec: OffsetSpec
) -> dict[TopicPartition, int]:
    """Return an offset of each partition; the end of the log if no record is as new as a time.

    Raises:
        AdminError: a leader does not report it.
    """
    offsets: dict[TopicPartition, int] = {}
    for wanted in (spec, LATEST):
        missing = [partition for partition in partitions if partition not in offsets]
        for partition, position in (await admin.list_offsets(dict.fromkeys(missing, wanted))).items():
            if isinstance(position, AdminError):
                raise position
            if position.offset is not None:
                offsets[partition] = position.offset
    return {partition: offsets[partition] for partition in partitions}
