"""`kafka topics describe`."""

from __future__ import annotations

from collections.abc import Mapping
from uuid import UUID

from kwire._util.light_dataclasses import dataclass, field
from kwire._util.light_typing import Annotated
from kwire._util.readable import counted
from kwire.client.admin import (
    AdminError,
    ConfigResource,
    ConfigResourceType,
    PartitionDescription,
    TopicDescription,
)
from kwire_admin.operations.declaration import Failure, Rows, operation
from kwire_admin.operations.parameters import Argument, Option
from kwire_admin.operations.partition_states import PartitionTrouble, min_isr
from kwire_admin.operations.rows import column
from kwire_admin.operations.run import Run
from kwire_admin.operations.verbs.topic_partitions import topics_marked_for_deletion
from kwire_admin.operations.verbs.visibility import explain_if_hidden, warn_if_hidden


@dataclass(frozen=True, slots=True)
class PartitionDetails:
    """A partition. See `kwire.client.admin.PartitionDescription`."""

    partition: int
    leader: int | None
    replicas: tuple[int, ...]
    isr: tuple[int, ...]
    offline_replicas: tuple[int, ...] | None
    leader_epoch: int | None
    lag: Mapping[int, int | None] | None = field(metadata=column(if_known=True))


@dataclass(frozen=True, slots=True)
class TopicDetails:
    """A topic with its partitions. See `kwire.client.admin.TopicDescription`.

    `marked_for_deletion` is true if the controller has yet to delete the topic; None on Kafka, which does not tell.
    """

    name: str
    topic_id: UUID | None = field(metadata=column(table=False))
    internal: bool = field(metadata=column(table=False))
    replication_factor: int | None = field(metadata=column(table=False))
    configs: Mapping[str, str] | None = field(metadata=column(if_known=True))
    marked_for_deletion: bool | None = field(metadata=column(if_known=True))
    partitions: tuple[PartitionDetails, ...] = field(metadata=column(rows=True))


@operation(
    nothing="No topics match.",
    examples=(
        "topics describe orders",
        "topics describe --only under-replicated",
        "topics describe --only under-min-isr --only offline",
        "topics describe orders --lag",
        "topics describe orders -o json",
    ),
)
async def describe(
    run: Run,
    names: Annotated[list[str], Argument("Names of the topics [default: all].", "NAME", "topics")],
    only: Annotated[list[PartitionTrouble], Option("Only these partitions, and topics that have some.")] = [],
    lag: Annotated[bool, Option("Show the lag of each replica, with a request to each broker.")] = False,
) -> Rows[TopicDetails]:
    """Describe topics with their partitions and configs."""
    rows: Rows[TopicDetails] = []
    topics = await run.admin.describe_topics(names, configs=True, lag=lag)
    marked = await topics_marked_for_deletion(run)
    if only and not names and (reason := await explain_if_hidden(run, len(topics), "topics")) is not None:
        run.warn(f"{reason}.")
    if not only and not names:
        await warn_if_hidden(run, len(topics), "topics")
    hidden = [name for name, topic in topics.items() if not isinstance(topic, AdminError) and topic.configs is None]
    if hidden:
        run.warn(
            f"the configs of {counted(len(hidden), 'topic')} are not known: this needs DescribeConfigs on the topic, "
            "and brokers that report configs."
        )
    least: dict[str, int | AdminError] = {}
    if any(state.needs_min_isr for state in only):
        least = await _min_isrs(run, [name for name, topic in topics.items() if not isinstance(topic, AdminError)])
    for name, topic in sorted(topics.items()):
        required = least.get(name, 1)
        if isinstance(topic, AdminError):
            rows.append(Failure(name, topic))
        elif isinstance(required, AdminError):
            rows.append(Failure(name, required))  # without its config, nothing is proven about the topic
        else:
            partitions = [
                partition
                for partition in topic.partitions
                if not only or any(state.matches(partition, required) for state in only)
            ]
            if partitions or not only:
                rows.append(_details(topic, partitions, None if marked is None else name in marked))
    return rows


async def _min_isrs(run: Run, topics: list[str]) -> dict[str, int | AdminError]:
    """Return min.insync.replicas of each topic, which brokers report with their default."""
    resources = {ConfigResource(ConfigResourceType.TOPIC, name): name for name in topics}
    configs = await run.admin.describe_configs(resources)
    return {
        resources[resource]: values if isinstance(values, AdminError) else min_isr(resources[resource], values)
        for resource, values in configs.items()
    }


def _details(topic: TopicDescription, partitions: list[PartitionDescription], marked: bool | None) -> TopicDetails:
    return TopicDetails(
        topic.name,
        topic.topic_id,
        topic.is_internal,
        len(topic.partitions[0].replicas) if topic.partitions else None,
        topic.configs,
        marked,
        tuple(
            PartitionDetails(
                partition.partition,
                partition.leader,
                partition.replicas,
                partition.isr,
                partition.offline_replicas,
                partition.leader_epoch,
                partition.lag or None,
            )
            for partition in partitions
        ),
    )
