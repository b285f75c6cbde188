"""Partitions, as arguments name them: `orders` for all partitions of a topic, `orders:0` for one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kwire.client.admin import AdminError, TopicPartition
from kwire.operations.parameters import InvalidArgument

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kwire.client.admin import AdminClient


def parse_partition(text: str) -> TopicPartition:
    """Return the partition for a text such as `orders:0`.

    Raises:
        InvalidArgument: the text is not a partition.
    """
    topic, _, index = text.rpartition(":")
    if not topic or not index.isdecimal():
        raise InvalidArgument(f"{text!r} is not a partition: write TOPIC:N, such as orders:0")
    return TopicPartition(topic, int(index))


async def partitions_of(admin: AdminClient, texts: Sequence[str]) -> list[TopicPartition]:
    """Return the partitions for texts, each once.

    Args:
        texts: names of topics, for all of their partitions, and partitions such as `orders:0`.

    Raises:
        AdminError: a topic does not exist.
        InvalidArgument: a text is not a partition.
    """
    topics = [text for text in texts if ":" not in text]
    described = await admin.describe_topics(topics) if topics else {}
    partitions: list[TopicPartition] = []
    for text in texts:
        if ":" in text:
            partitions.append(parse_partition(text))
            continue
        topic = described[text]
        if isinstance(topic, AdminError):
            raise topic
        partitions += [TopicPartition(text, partition.partition) for partition in topic.partitions]
    return list(dict.fromkeys(partitions))
