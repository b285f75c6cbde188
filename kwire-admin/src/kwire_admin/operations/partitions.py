"""Partitions that the arguments of tools name."""

from __future__ import annotations

from kwire._util.light_typing import TYPE_CHECKING
from kwire.client.admin import AdminError, TopicPartition
from kwire_admin.operations.parameters import InvalidArgument

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kwire.client.admin import AdminClient, TopicDescription


def parse_numbers(text: str | None) -> tuple[int, ...] | None:
    """Return the numbers of a text such as `0,2`; None for None.

    Raises:
        InvalidArgument: the text has another form.
    """
    if text is None:
        return None
    try:
        return tuple(int(part) for part in text.split(","))
    except ValueError:
        raise InvalidArgument(f"expected numbers separated by commas, found {text!r}") from None


async def existing_partitions(admin: AdminClient, topics: Sequence[str] = ()) -> list[TopicPartition]:
    """Return the partitions of topics in alphabetical order.

    Args:
        topics: the topics; all but internal ones if there are none.

    Raises:
        AdminError: a topic does not exist, or cannot be described.
    """
    return [
        TopicPartition(name, partition.partition)
        for name, topic in (await existing_topics(admin, topics)).items()
        if topics or not topic.is_internal
        for partition in topic.partitions
    ]


async def existing_topics(admin: AdminClient, topics: Sequence[str] = ()) -> dict[str, TopicDescription]:
    """Return topics in alphabetical order; all topics if none are named.

    Raises:
        AdminError: a topic does not exist, or cannot be described.
    """
    partitions_by_topic = {}
    for name, topic in sorted((await admin.describe_topics(topics)).items()):
        if isinstance(topic, AdminError):
            raise topic
        partitions_by_topic[name] = topic
    return partitions_by_topic
