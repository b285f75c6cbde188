"""Partitions, as arguments name them: `orders` for all partitions of a topic, `orders:0` for one."""

from __future__ import annotations

from kwire._util.light_typing import TYPE_CHECKING
from kwire.client.admin import AdminError
from kwire_admin.operations.parameters import INDEX, Syntax

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kwire.client.admin import AdminClient, TopicPartition
    from kwire_admin.operations.run import Run


PARTITION = Syntax(rf"([\s\S]+):({INDEX})", "a partition: write TOPIC:N, such as orders:0")
PARTITIONS = Syntax(rf"[^:]+|[\s\S]+:{INDEX}", PARTITION.expected)
"""A topic for all of its partitions, or one partition."""


def parse_partition(text: str) -> TopicPartition:
    """Return the partition for a text such as `orders:0`.

    Raises:
        InvalidArgument: the text is not a partition.
    """
    from kwire.client.admin import TopicPartition

    topic, index = PARTITION.match(text).groups()
    return TopicPartition(topic, int(index))


async def partitions_of(admin: AdminClient, texts: Sequence[str]) -> list[TopicPartition]:
    """Return the partitions for texts, each once.

    Args:
        texts: names of topics, for all of their partitions, and partitions such as `orders:0`.

    Raises:
        AdminError: a topic does not exist.
        InvalidArgument: a text is not a partition.
    """
    partitions, errors = await visible_partitions(admin, texts)
    for error in errors.values():
        raise error
    return partitions


async def visible_partitions(
    admin: AdminClient, texts: Sequence[str]
) -> tuple[list[TopicPartition], dict[str, AdminError]]:
    """Return the partitions for texts, each once, and the errors of topics that cannot be described.

    Raises:
        InvalidArgument: a text is not a partition.
    """
    from kwire.client.admin import TopicPartition

    for text in texts:
        PARTITIONS.match(text)
    topics = [text for text in texts if ":" not in text]
    described = await admin.describe_topics(topics) if topics else {}
    partitions: list[TopicPartition] = []
    errors: dict[str, AdminError] = {}
    for text in texts:
        if ":" in text:
            partitions.append(parse_partition(text))
            continue
        topic = described[text]
        if isinstance(topic, AdminError):
            errors[text] = topic
        else:
            partitions += [TopicPartition(text, partition.partition) for partition in topic.partitions]
    return list(dict.fromkeys(partitions)), errors


async def topics_marked_for_deletion(run: Run) -> frozenset[str] | None:
    """Return the topics that the controller has yet to delete; None on Kafka, which does not tell."""
    if run.admin.dialect != "kip4":
        return None
    return frozenset(await run.admin.list_topics_marked_for_deletion())
