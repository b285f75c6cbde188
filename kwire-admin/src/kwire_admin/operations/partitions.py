"""Partitions: how arguments name them, which ones a cluster has, and the states by which operators choose them."""

from __future__ import annotations

from enum import StrEnum

from kwire._util.light_typing import TYPE_CHECKING, Annotated, TypeAlias
from kwire.client.admin import AdminError
from kwire.messages.kafka.error_codes import ErrorCode
from kwire_admin.operations.parameters import INDEX, Argument, InvalidArgument, Syntax

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from kwire.client.admin import AdminClient, ConfigValue, PartitionDescription, TopicDescription, TopicPartition
    from kwire_admin.operations.run import Run


PARTITION = Syntax(rf"([\s\S]+):({INDEX})", "a partition: write TOPIC:N, such as orders:0")
PARTITIONS = Syntax(rf"[^:]+|[\s\S]+:{INDEX}", PARTITION.expected)
"""A topic for all of its partitions, or one partition."""
NamedPartitions: TypeAlias = Annotated[
    list[str],
    Argument("Topics, or partitions as TOPIC:N.", "TOPIC[:N]", "topics", syntax=PARTITIONS, item="topic or partition"),
]
AllOrNamedPartitions: TypeAlias = Annotated[
    list[str], Argument("Topics, or partitions as TOPIC:N [default: all].", "TOPIC[:N]", "topics", syntax=PARTITIONS)
]
"""Positional parameters of verbs."""


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
    from kwire.client.admin import TopicPartition

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


MIN_ISR = "min.insync.replicas"
"""The config of a topic: producers with acks=all are refused while fewer replicas are in sync."""


class PartitionTrouble(StrEnum):
    """A state that needs the attention of an operator."""

    UNDER_REPLICATED = "under-replicated"
    OFFLINE = "offline"
    NOT_PREFERRED = "not-preferred"
    UNDER_MIN_ISR = "under-min-isr"
    AT_MIN_ISR = "at-min-isr"

    @property
    def needs_min_isr(self) -> bool:
        """True if the config MIN_ISR of the topic decides."""
        return self in (PartitionTrouble.UNDER_MIN_ISR, PartitionTrouble.AT_MIN_ISR)

    def matches(self, partition: PartitionDescription, min_isr: int) -> bool:
        """Return whether a partition is in this state.

        Args:
            min_isr: the config MIN_ISR of its topic; any number unless `needs_min_isr`.
        """
        match self:
            case PartitionTrouble.UNDER_REPLICATED:
                return len(partition.isr) < len(partition.replicas)
            case PartitionTrouble.OFFLINE:
                return partition.leader is None
            case PartitionTrouble.NOT_PREFERRED:
                return bool(partition.replicas) and partition.leader != partition.replicas[0]
            case PartitionTrouble.UNDER_MIN_ISR:
                return len(partition.isr) < min_isr
        return len(partition.isr) == min_isr


async def min_isrs(admin: AdminClient, topics: Iterable[str]) -> dict[str, int | AdminError]:
    """Return the config MIN_ISR of topics, which brokers report with its default, or why it is not known.

    Raises:
        KwireError: the brokers do not answer.
    """
    from kwire.client.admin import ConfigResource, ConfigResourceType

    resources = {ConfigResource(ConfigResourceType.TOPIC, name): name for name in topics}
    configs = await admin.describe_configs(resources)
    return {
        resources[resource]: values if isinstance(values, AdminError) else min_isr(resources[resource], values)
        for resource, values in configs.items()
    }


def min_isr(topic: str, configs: Mapping[str, ConfigValue]) -> int | AdminError:
    """Return the config MIN_ISR of a topic; Kafka's default of 1 if the cluster does not report it.

    An error if a broker reports something else than a number.
    """
    config = configs.get(MIN_ISR)
    if config is None or config.value is None:
        return 1
    try:
        return int(config.value)
    except ValueError:
        text = f"the broker reports {MIN_ISR}={config.value}, which is not a number"
        return AdminError.of_kafka(ErrorCode.UNKNOWN_SERVER_ERROR, topic, text)
