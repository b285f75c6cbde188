"""Partitions that the arguments of tools name."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kwire.client.admin import AdminError, TopicPartition
from kwire.parameters import InvalidArgument

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from kwire.client.admin import AdminClient


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


async def existing_partitions(
    admin: AdminClient, topics: Sequence[str] = (), numbers: Collection[int] | None = None
) -> list[TopicPartition]:
    """Return the partitions of topics in alphabetical order.

    Args:
        topics: the topics; all but internal ones if there are none.
        numbers: only these partitions; None for all.

    Raises:
        AdminError: a topic does not exist, or cannot be described.
    """
    described = await admin.describe_topics(topics)
    found: list[TopicPartition] = []
    for name, topic in sorted(described.items()):
        if isinstance(topic, AdminError):
            raise topic
        if topics or not topic.is_internal:
            found += [
                TopicPartition(name, each.partition)
                for each in topic.partitions
                if numbers is None or each.partition in numbers
            ]
    return found
