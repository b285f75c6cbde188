"""`--delete-offsets` of `kafka-consumer-groups` and `kafka-streams-groups`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kwire.client.admin import AdminError, TopicPartition
from kwire_admin.compat.options import ScriptUsageError
from kwire_admin.compat.script import ScriptRefused, accepted, java_error

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from kwire.client.admin import AdminClient
    from kwire_admin.compat.script import ScriptRun

__all__ = ["NEWEST", "delete_offsets", "partitions_of_topics"]

NEWEST = "4.4.0"
"""The release with other tables of offsets that were reset or deleted."""
PARTITION_LEVEL = ("GROUP_SUBSCRIBED_TO_TOPIC", "TOPIC_AUTHORIZATION_FAILED", "UNKNOWN_TOPIC_OR_PARTITION")
"""Errors of a deletion of offsets that are errors of single partitions."""


async def partitions_of_topics(admin: AdminClient, topics: Iterable[str]) -> list[TopicPartition]:
    """Return the partitions of topics. A topic can have a list of partitions, such as `orders:0,1`.

    Raises:
        AdminError: a topic cannot be described.
        ScriptRefused: a partition does not exist.
        ScriptUsageError: a partition is not a number.
    """
    chosen: list[TopicPartition] = []
    for text in topics:
        topic, colon, indexes = text.partition(":")
        described = accepted((await admin.describe_topics([topic]))[topic])
        try:
            requested = {int(index) for index in indexes.split(",")} if colon else None
        except ValueError:
            raise ScriptUsageError(f"Invalid partition '{indexes}' specified in topic arg '{text}''") from None
        existing = {partition.partition for partition in described.partitions}
        if requested is not None and not requested <= existing:
            unknown = ", ".join(f"{topic}-{index}" for index in sorted(requested - existing))
            raise ScriptRefused(f'The partitions "{unknown}" do not exist')
        chosen += [TopicPartition(topic, index) for index in sorted(existing if requested is None else requested)]
    return chosen


async def delete_offsets(
    run: ScriptRun, admin: AdminClient, topics: Sequence[str], others: Sequence[TopicPartition] = (), *, is_old: bool
) -> None:
    """Delete offsets. An error of the group is an error of each of its partitions, as in Kafka.

    Args:
        topics: topics, each with partitions if it has a colon.
        others: partitions of other topics.
        is_old: true for the lines of 3.9.1.
    """
    [group] = run.values.all("group")[:1]
    rows: dict[tuple[str, int], AdminError | None] = {}
    partitions = [*others]
    for text in topics:
        try:
            partitions += await partitions_of_topics(admin, [text])
        except AdminError as error:
            rows[text.partition(":")[0], -1] = error
    of_group: AdminError | None = None
    try:
        outcomes = await admin.delete_group_offsets(group, partitions) if partitions else {}
        rows |= {partition: outcomes.get(str(partition)) for partition in partitions}
    except AdminError as error:
        of_group = error
        rows |= dict.fromkeys(partitions, error)
    run.has_failures = any(rows.values())
    of_partitions = next((error for (_, index), error in rows.items() if error is not None and index >= 0), None)
    run.print(_deletion_text(group, topics, of_group or of_partitions, is_old=is_old))
    run.print()
    cells: list[tuple[str, object, str]] = [("TOPIC", "PARTITION", f"{'STATUS':<15}")]
    for (topic, index), failure in sorted(rows.items(), key=lambda row: row[0]):
        unknown = "Not Provided" if is_old else "-"
        reason = "" if failure is None else f"{':' if is_old else ''}{java_error(failure)}"
        status = f"Error: {reason}" if reason else "Successful"
        cells.append((topic, unknown if index < 0 else index, f"{status:<15}"))
    run.print_rows(cells, (30, 15) if is_old else (15, 10), fixed=is_old)


def _deletion_text(group: str, topics: Sequence[str], error: AdminError | None, *, is_old: bool) -> str:
    """Return the line above the table of offsets that were deleted."""
    if error is None:
        return (
            f"Request succeed for deleting offsets with topic {','.join(topics)} group {group}"
            if is_old
            else f"Request succeeded for deleting offsets from group {group}."
        )
    if error.name in PARTITION_LEVEL:
        return "\nError: Encountered some partition" + (
            " level error, see the follow-up details:" if is_old else "-level error, see the follow-up details."
        )
    texts = {
        "INVALID_GROUP_ID": f"'{group}' is not valid.",
        "GROUP_ID_NOT_FOUND": f"'{group}' does not exist.",
        "GROUP_AUTHORIZATION_FAILED": f"Access to '{group}' is not authorized.",
        "NON_EMPTY_GROUP": f"Deleting offsets of a consumer group '{group}' is forbidden if the group is not empty.",
    }
    if error.name in texts:
        return f"\nError: {texts[error.name] if is_old else error.text}"
    return f"\nError: Encounter{'' if is_old else 'ed'} some unknown error: {error.name}"
