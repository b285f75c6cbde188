"""`kafka topics alter`."""

from __future__ import annotations

from kwire._util.light_typing import Annotated
from kwire._util.readable import counted
from kwire.client.admin import ConfigChange, ConfigResource, ConfigResourceType, TopicChange, TopicDescription
from kwire_admin.operations.argument_checks import Choice
from kwire_admin.operations.declaration import Rows, operation
from kwire_admin.operations.parameters import (
    CONFIG,
    REPLICA_ASSIGNMENT,
    Argument,
    Danger,
    NotFound,
    Option,
    parse_assignment,
    parse_configs,
)
from kwire_admin.operations.run import Run
from kwire_admin.operations.verbs.changes import ItemChange, changes
from kwire_admin.operations.verbs.config_changes import unknown_deletion


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
