"""`kafka topics`."""

from __future__ import annotations

from collections.abc import Mapping
from uuid import UUID

from kwire._util.light_dataclasses import dataclass, field
from kwire._util.light_typing import TYPE_CHECKING, Annotated
from kwire._util.readable import counted
from kwire.client.admin import (
    AdminError,
    PartitionDescription,
    TopicDescription,
    TopicListing,
)
from kwire_admin.operations.changes import ItemChange, carry_out, changes, wait_if_visible
from kwire_admin.operations.declaration import Failure, Rows, operation
from kwire_admin.operations.parameters import (
    CONFIG,
    REPLICA_ASSIGNMENT,
    Argument,
    Choice,
    Danger,
    NotFound,
    Option,
    check_collisions,
    parse_assignment,
    parse_configs,
)
from kwire_admin.operations.partitions import PartitionTrouble, min_isrs, topics_marked_for_deletion
from kwire_admin.operations.rows import column
from kwire_admin.operations.run import Run
from kwire_admin.operations.visibility import explain_if_hidden, warn_if_hidden

if TYPE_CHECKING:
    from kwire.client.admin.session import TopicListings, Topics


@dataclass(frozen=True, slots=True)
class TopicSummary:
    """A topic in a list.

    Attributes:
        name: the name of the topic.
        partitions: the number of partitions.
        replication_factor: the number of replicas of the first partition.
        internal: true if Kafka itself uses the topic.
        topic_id: the id of the topic; None without --details, or if the cluster has no ids.
        configs: the configs that the topic overrides; None without --details.
        marked_for_deletion: true if the controller has yet to delete the topic; None on Kafka, which does not tell.
    """

    name: str
    partitions: int
    replication_factor: int | None
    internal: bool
    topic_id: UUID | None = field(metadata=column(if_known=True))
    configs: Mapping[str, str] | None = field(metadata=column(if_known=True))
    marked_for_deletion: bool | None = field(default=None, metadata=column(if_known=True))


@operation(
    nothing="No topics.",
    lists="topics",
    examples=("topics list", "topics list 'orders-*' --details", "topics list --internal --output json"),
)
async def list_(
    run: Run,
    pattern: Annotated[str | None, Argument("Only topics that match, with * and ? as wildcards.")] = None,
    internal: Annotated[bool, Option("Include internal topics, such as __consumer_offsets.")] = False,
    details: Annotated[bool, Option("Include the id of each topic, and the configs that it overrides.")] = False,
) -> Rows[TopicSummary]:
    """List topics."""
    rows: Rows[TopicSummary] = []
    marked = await topics_marked_for_deletion(run)
    topics: Topics | TopicListings = await (
        run.admin.describe_topics(configs=True) if details else run.admin.topic_listings()
    )
    for name in sorted(topics):
        topic = topics[name]
        if pattern is not None and not _matches(name, pattern):
            continue
        if isinstance(topic, AdminError):
            rows.append(Failure(name, topic))
        elif internal or not topic.is_internal:
            is_marked = None if marked is None else name in marked
            if isinstance(topic, TopicListing):
                rows.append(TopicSummary(*topic, None, None, is_marked))
            else:
                rows.append(TopicSummary(*topic.listing, topic.topic_id, topic.configs, is_marked))
    from kwire_admin.operations.visibility import warn_if_hidden

    await warn_if_hidden(run, len(rows), "topics", filtered=pattern is not None)
    return rows


def _matches(name: str, pattern: str) -> bool:
    from fnmatch import fnmatchcase  # it compiles patterns, which a list of all topics does without

    return fnmatchcase(name, pattern)


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
        least = await min_isrs(run.admin, [name for name, topic in topics.items() if not isinstance(topic, AdminError)])
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


@operation(
    Danger.CHANGES,
    waits=True,
    choices=(
        Choice(("replica_assignment", "partitions"), least=0, most=1),
        Choice(("replica_assignment", "replication_factor"), least=0, most=1),
    ),
    examples=(
        "topics create orders --partitions 12 --replication-factor 3 --config retention.ms=86400000",
        "topics create audit --replica-assignment 1:2,2:3",
    ),
)
async def create(
    run: Run,
    names: Annotated[list[str], Argument("Names of the topics.", "NAME", item="topic")],
    partitions: Annotated[
        int | None,
        Option(
            "Number of partitions [default on Apache Kafka: set by the cluster].",
            "N",
            short="-p",
            minimum=1,
            maximum=2**31 - 1,
        ),
    ] = None,
    replication_factor: Annotated[
        int | None,
        Option(
            "Number of replicas of each partition [default on Apache Kafka: set by the cluster].",
            "N",
            short="-r",
            minimum=1,
            maximum=2**15 - 1,
        ),
    ] = None,
    config: Annotated[list[str], Option("A config of the topics.", "KEY=VALUE", "topic-configs", syntax=CONFIG)] = [],
    replica_assignment: Annotated[
        str | None,
        Option(
            "The brokers of each partition, in place of the numbers, such as 1:2,2:3.",
            "B:B,B:B",
            syntax=REPLICA_ASSIGNMENT,
        ),
    ] = None,
) -> Rows[ItemChange]:
    """Create topics, and wait until every broker reports them."""
    from kwire.client.admin import NewTopic  # lists of topics do without

    check_collisions(names)
    assignment = parse_assignment(replica_assignment)
    topic = NewTopic(
        partitions=partitions,
        replication_factor=replication_factor,
        assignment=assignment,
        configs=parse_configs(config),
    )
    outcomes = await run.admin.create_topics(dict.fromkeys(names, topic), validate_only=run.dry_run)
    created = [name for name, error in outcomes.items() if error is None]
    if created and run.wait and not run.dry_run:
        waiting = run.admin.wait_until_created(created, timeout=run.wait, on_progress=run.on_progress)
        await wait_if_visible(run, waiting)
    return changes(outcomes, "created", dry_run=run.dry_run)


@operation(
    Danger.CHANGES,
    choices=(Choice(("partitions", "replication_factor", "config", "delete_config", "replica_assignment"), most=None),),
    examples=(
        "topics alter orders --partitions 24",
        "topics alter orders --config retention.ms=7 --delete-config segment.ms",
    ),
)
async def alter(
    run: Run,
    names: Annotated[list[str], Argument("Names of the topics.", "NAME", "topics", item="topic")],
    partitions: Annotated[
        int | None, Option("The new number of partitions.", "N", short="-p", minimum=1, maximum=2**31 - 1)
    ] = None,
    replication_factor: Annotated[
        int | None, Option("The new number of replicas.", "N", short="-r", minimum=1, maximum=2**15 - 1)
    ] = None,
    config: Annotated[list[str], Option("A config to set.", "KEY=VALUE", "topic-configs", syntax=CONFIG)] = [],
    delete_config: Annotated[list[str], Option("A config to delete.", "KEY", "topic-configs")] = [],
    replica_assignment: Annotated[
        str | None, Option("The brokers of each partition, such as 1:2,2:3.", "B:B,B:B", syntax=REPLICA_ASSIGNMENT)
    ] = None,
) -> Rows[ItemChange]:
    """Change partitions, replicas, and configs of topics."""
    from kwire.client.admin import ConfigChange, ConfigResource, ConfigResourceType, TopicChange
    from kwire_admin.operations.config_changes import unknown_deletion

    change = TopicChange(
        partitions=partitions,
        replication_factor=replication_factor,
        assignment=parse_assignment(replica_assignment),
        set_configs=parse_configs(config),
        delete_configs=delete_config,
    )
    for name in names if delete_config else ():
        resource = ConfigResource(ConfigResourceType.TOPIC, name)
        plan = await run.admin.plan_config_change(resource, ConfigChange(delete=delete_config))
        if reason := unknown_deletion(run.admin, plan, delete_config):
            raise NotFound(reason)
    unchanged = (
        []
        if partitions is None or change != TopicChange(partitions=partitions, delete_configs=[])
        else [
            name
            for name, topic in (await run.admin.describe_topics(names)).items()
            if isinstance(topic, TopicDescription) and len(topic.partitions) == partitions
        ]
    )
    others = [name for name in names if name not in unchanged]
    rows: Rows[ItemChange] = []
    if partitions is not None:
        rows += [ItemChange(name, f"unchanged: {counted(partitions, 'partition')} already", 0) for name in unchanged]
    if others:
        outcomes = await run.admin.alter_topics(dict.fromkeys(others, change), validate_only=run.dry_run)
        rows += changes(outcomes, "altered", dry_run=run.dry_run)
    return rows


@operation(Danger.DESTROYS, waits=True, examples=("topics delete orders", "topics delete orders audit --yes"))
async def delete(
    run: Run, names: Annotated[list[str], Argument("Names of the topics.", "NAME", "topics", item="topic")]
) -> Rows[ItemChange]:
    """Delete topics and all their records, and wait until no broker reports them."""
    question = f"Delete {', '.join(names)} and all records?"
    outcomes = await carry_out(run, names, question, run.admin.delete_topics)
    deleted = [name for name, error in outcomes.items() if error is None]
    if deleted and run.wait and not run.dry_run:
        await run.admin.wait_until_deleted(deleted, timeout=run.wait, on_progress=run.on_progress)
    return changes(outcomes, "deleted", dry_run=run.dry_run)
