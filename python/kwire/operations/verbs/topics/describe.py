"""`kafka topics describe`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Annotated
from uuid import UUID

from kwire.client.admin import AdminError, PartitionDescription, TopicDescription
from kwire.operations.declaration import Failure, Rows, operation
from kwire.operations.parameters import Argument, Option
from kwire.operations.rows import column
from kwire.operations.run import Run
from kwire.operations.verbs.visibility import explain_if_hidden


class PartitionFilter(StrEnum):
    """The partitions that a description shows."""

    UNDER_REPLICATED = "under-replicated"
    OFFLINE = "offline"
    NOT_PREFERRED = "not-preferred"

    def matches(self, partition: PartitionDescription) -> bool:
        """Return whether the description shows a partition."""
        match self:
            case PartitionFilter.UNDER_REPLICATED:
                return len(partition.isr) < len(partition.replicas)
            case PartitionFilter.OFFLINE:
                return partition.leader is None
        return bool(partition.replicas) and partition.leader != partition.replicas[0]


@dataclass(frozen=True, slots=True)
class PartitionDetails:
    """A partition. See `kwire.client.admin.PartitionDescription`."""

    partition: int
    leader: int | None
    replicas: tuple[int, ...]
    isr: tuple[int, ...]
    offline_replicas: tuple[int, ...] | None
    leader_epoch: int | None
    lag: Mapping[int, int | None] | None = field(metadata=column(table=False))


@dataclass(frozen=True, slots=True)
class TopicDetails:
    """A topic with its partitions. See `kwire.client.admin.TopicDescription`."""

    name: str
    topic_id: UUID | None = field(metadata=column(table=False))
    internal: bool = field(metadata=column(table=False))
    replication_factor: int | None = field(metadata=column(table=False))
    configs: Mapping[str, str] = field(metadata=column(table=False))
    partitions: tuple[PartitionDetails, ...] = field(metadata=column(rows=True))


@operation(
    nothing="No topics.",
    examples=("topics describe orders", "topics describe --only under-replicated", "topics describe orders -o json"),
)
async def describe(
    run: Run,
    names: Annotated[list[str], Argument("Names of the topics [default: all].", "NAME", "topics")],
    only: Annotated[list[PartitionFilter], Option("Only these partitions, and topics that have some.")] = [],
) -> Rows[TopicDetails]:
    """Describe topics with their partitions and configs."""
    rows: Rows[TopicDetails] = []
    topics = await run.admin.describe_topics(names, configs=True)
    if only and not names and (reason := await explain_if_hidden(run, len(topics), "topics")) is not None:
        run.warn(f"{reason}.")
    for name, topic in sorted(topics.items()):
        if isinstance(topic, AdminError):
            rows.append(Failure(name, topic))
            continue
        shown = [each for each in topic.partitions if not only or any(filter.matches(each) for filter in only)]
        if shown or not only:
            rows.append(_details(topic, shown))
    return rows


def _details(topic: TopicDescription, partitions: list[PartitionDescription]) -> TopicDetails:
    return TopicDetails(
        topic.name,
        topic.topic_id,
        topic.is_internal,
        len(topic.partitions[0].replicas) if topic.partitions else None,
        topic.configs or {},
        tuple(
            PartitionDetails(
                each.partition,
                each.leader,
                each.replicas,
                each.isr,
                each.offline_replicas,
                each.leader_epoch,
                each.lag or None,
            )
            for each in partitions
        ),
    )
