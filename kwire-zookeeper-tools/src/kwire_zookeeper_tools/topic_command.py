"""Actions of the tools for topics, with the output of Kafka's TopicCommand (Kafka 0.8.2)."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from kwire.client.admin import ConfigResource, ConfigResourceType, NewTopic, NotSupported, TopicChange
from kwire_admin.operations.declaration import ToolFailed
from kwire_admin.operations.parameters import InvalidArgument, parse_assignment, parse_configs
from kwire_admin.operations.partitions import existing_topics
from kwire_admin.operations.topic_filter import TopicFilter
from kwire_admin.operations.verbs.config_changes import unknown_deletion

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from kwire.client.admin import AdminClient, PartitionDescription, TopicDescription
    from kwire_zookeeper_tools.tool_run import ToolRun

    PartitionFilter = Callable[[PartitionDescription], bool]

WAIT_SECONDS = 30.0
"""Time to wait until every broker reports a change."""


def is_under_replicated(partition: PartitionDescription) -> bool:
    """Return whether a replica is not in sync."""
    return len(partition.isr) < len(partition.replicas)


REPARTITIONED = (
    "WARNING: If partitions are increased for a topic that has a key, the partition logic or ordering of the messages "
    "will be affected"
)
"""The line that Kafka 0.8.2 prints before it adds partitions."""


def is_unavailable(partition: PartitionDescription) -> bool:
    """Return whether no broker leads the partition."""
    return partition.leader is None


async def matching_topics(admin: AdminClient, pattern: str | None) -> dict[str, TopicDescription]:
    """Return the topics that an expression matches; all topics without one.

    Raises:
        InvalidArgument: the expression is invalid.
        AdminError: a topic cannot be described.
    """
    topics = TopicFilter(pattern or ".*")
    return {name: topic for name, topic in (await existing_topics(admin)).items() if topics.accepts(name)}


async def list_topics(run: ToolRun, admin: AdminClient, pattern: str | None) -> None:
    """Print the names of topics, and which of them are being deleted."""
    try:
        deleted = set(await admin.list_topics_marked_for_deletion())
    except NotSupported:  # Kafka leaves them out
        deleted = set()
    names = {*await matching_topics(admin, pattern), *filter(TopicFilter(pattern or ".*").accepts, deleted)}
    for name in sorted(names):
        run.print(f"{name} - marked for deletion" if name in deleted else name)


async def describe_topics(
    run: ToolRun,
    admin: AdminClient,
    pattern: str | None,
    *,
    only: PartitionFilter | None = None,
    with_overrides_only: bool = False,
    must_exist: bool = True,
) -> None:
    """Print topics with their partitions.

    Args:
        only: print only these partitions, without lines for topics.
        with_overrides_only: print only topics that override configs, without their partitions.
        must_exist: False to print nothing if no topic matches, as Kafka's tool does.

    Raises:
        ToolFailed: the expression is the name of a topic that does not exist.
    """
    names = sorted(await matching_topics(admin, pattern))
    if must_exist and pattern is not None and not names and re.fullmatch(r"[\w.-]+", pattern):
        raise ToolFailed(f"topic {pattern} does not exist")
    described = await admin.describe_topics(names, configs=True) if names else {}
    for name, topic in described.items():
        if isinstance(topic, Exception):
            raise topic
        # The user may see a topic, and not its configs.
        configs = (
            "-" if topic.configs is None else ",".join(f"{key}={topic.configs[key]}" for key in sorted(topic.configs))
        )
        factor = len(topic.partitions[0].replicas) if topic.partitions else 0
        if only is None and (configs or not with_overrides_only):
            run.print(
                f"Topic:{name}\tPartitionCount:{len(topic.partitions)}\tReplicationFactor:{factor}\tConfigs:{configs}"
            )
        for partition in topic.partitions if not with_overrides_only else ():
            if only is None or only(partition):
                run.print(f"\tTopic: {name}\t{_partition_text(partition)}")


def _partition_text(partition: PartitionDescription) -> str:
    leader = "none" if partition.leader is None else partition.leader
    replicas, isr = (",".join(map(str, brokers)) for brokers in (partition.replicas, partition.isr))
    return f"Partition: {partition.partition}\tLeader: {leader}\tReplicas: {replicas}\tIsr: {isr}"


async def create_topic(
    run: ToolRun,
    admin: AdminClient,
    name: str,
    *,
    partitions: int | None = None,
    replication_factor: int | None = None,
    assignment: str | None = None,
    configs: Sequence[str] = (),
) -> None:
    """Create a topic, and wait until every broker reports it.

    Raises:
        AdminError: the cluster refuses it.
        InvalidArgument: the assignment or a config has another form.
    """
    topic = NewTopic(
        partitions=partitions,
        replication_factor=replication_factor,
        assignment=parse_assignment(assignment),
        configs=parse_configs(configs),
    )
    (await admin.create_topics({name: topic})).raise_first()
    await admin.wait_until_created([name], timeout=WAIT_SECONDS)
    run.print(f'Created topic "{name}".')


async def delete_topics(run: ToolRun, admin: AdminClient, names: Sequence[str]) -> None:
    """Delete topics, and wait until no broker reports them.

    Raises:
        AdminError: the cluster refuses it.
        ChangeTimeout: a topic is still being deleted.
    """
    (await admin.delete_topics(names)).raise_first()
    for name in names:
        run.print(f"Topic {name} is marked for deletion.")
    await admin.wait_until_deleted(names, timeout=WAIT_SECONDS)


async def alter_topics(
    run: ToolRun,
    admin: AdminClient,
    names: Sequence[str],
    *,
    partitions: int | None = None,
    assignment: str | None = None,
    configs: Sequence[str] = (),
    deleted_configs: Sequence[str] = (),
) -> None:
    """Change configs and the number of partitions of topics.

    Raises:
        AdminError: the cluster refuses it.
        InvalidArgument: nothing is to be changed, or a text has another form.
    """
    if partitions is None and not configs and not deleted_configs:
        raise InvalidArgument("nothing to change: give --partitions, --config, or --delete-config")
    set_configs = parse_configs(configs)
    for name in names:
        if set_configs or deleted_configs:
            topic = ConfigResource(ConfigResourceType.TOPIC, name)
            for key in deleted_configs:
                if await unknown_deletion(admin, topic, [key]):
                    raise ToolFailed(f'Unknown configuration "{key}".')  # the sentence of Kafka 0.8 to 0.10
            change = TopicChange(set_configs=set_configs, delete_configs=tuple(deleted_configs))
            (await admin.alter_topics({name: change})).raise_first()
            run.print(f'Updated config for topic "{name}".')
        if partitions is not None:
            run.print(REPARTITIONED)
            await add_partitions(run, admin, name, partitions, await _added(admin, name, partitions, assignment))


async def _added(admin: AdminClient, name: str, total: int, assignment: str | None) -> Mapping[int, Sequence[int]]:
    """Return the brokers of added partitions from an assignment of all partitions, also of the existing ones."""
    assigned = parse_assignment(assignment)
    if assigned and len(assigned) != total:
        raise InvalidArgument(f"the assignment has {len(assigned)} partitions, expected {total}")
    existing = len((await existing_topics(admin, [name]))[name].partitions)
    return {index: brokers for index, brokers in assigned.items() if index >= existing}


async def add_partitions(
    run: ToolRun, admin: AdminClient, name: str, total: int, added: Mapping[int, Sequence[int]]
) -> None:
    """Give a topic a new number of partitions, and wait until every broker reports them.

    Args:
        added: the brokers of each partition that is added; empty to let the cluster choose.

    Raises:
        AdminError: the cluster refuses it.
    """
    change = TopicChange(assignment=added) if added else TopicChange(partitions=total)
    (await admin.alter_topics({name: change})).raise_first()
    await admin.wait_until_created({name: total}, timeout=WAIT_SECONDS)
    run.print("Adding partitions succeeded!")
