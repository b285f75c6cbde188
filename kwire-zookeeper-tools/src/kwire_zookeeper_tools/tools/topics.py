"""The tool `topics`."""

from __future__ import annotations

from typing import Annotated

from kwire.client.admin import AdminError
from kwire_admin.operations.declaration import ANYWHERE, Need, ToolFailed, operation
from kwire_admin.operations.parameters import Danger, InvalidArgument, Option
from kwire_zookeeper_tools.tool_run import ToolRun
from kwire_zookeeper_tools.topic_command import (
    alter_topics,
    create_topic,
    delete_topics,
    describe_topics,
    is_unavailable,
    is_under_replicated,
    list_topics,
    matching_topics,
)


@operation(
    runs_on=ANYWHERE,
    needs={Need.BROKERS, Need.ZOOKEEPER},
    dangers={"create": Danger.CHANGES, "alter": Danger.CHANGES, "delete": Danger.DESTROYS},
    without_effect=("--force", "--disable-rack-aware"),  # the controller places replicas, and does not need all racks
    replaces=("kafka.admin.TopicCommand", "org.apache.kafka.tools.TopicCommand"),
    examples=(
        "--bootstrap-server localhost:9092 --list",
        "--zookeeper localhost:2181 --create --topic orders --partitions 3 --replication-factor 2",
        "--describe --topic 'orders.*' --under-replicated-partitions",
    ),
)
async def topics(
    run: ToolRun,
    list_: Annotated[bool, Option("List the names of topics.")] = False,
    describe: Annotated[bool, Option("Print topics with their partitions.")] = False,
    create: Annotated[bool, Option("Create a topic.")] = False,
    alter: Annotated[bool, Option("Change configs and the number of partitions.")] = False,
    delete: Annotated[bool, Option("Delete topics.")] = False,
    topic: Annotated[str | None, Option("The topic; a regular expression, except for --create.", "TOPIC")] = None,
    partitions: Annotated[int | None, Option("The number of partitions.", "N")] = None,
    replication_factor: Annotated[int | None, Option("The number of replicas of a new topic.", "N")] = None,
    replica_assignment: Annotated[
        str | None, Option("The brokers of each partition, such as 1:2,2:3.", "B:B,B:B")
    ] = None,
    config: Annotated[list[str], Option("A config to set.", "KEY=VALUE")] = [],
    delete_config: Annotated[list[str], Option("A config to delete.", "KEY")] = [],
    under_replicated_partitions: Annotated[bool, Option("Describe only partitions with missing replicas.")] = False,
    unavailable_partitions: Annotated[bool, Option("Describe only partitions without a leader.")] = False,
    topics_with_overrides: Annotated[bool, Option("Describe only topics that override configs.")] = False,
    if_exists: Annotated[bool, Option("Do nothing if no topic matches.")] = False,
    if_not_exists: Annotated[bool, Option("Do nothing if the topic exists.")] = False,
) -> None:
    """List, describe, create, change, and delete topics."""
    actions = {"--list": list_, "--describe": describe, "--create": create, "--alter": alter, "--delete": delete}
    if sum(actions.values()) != 1:
        raise InvalidArgument(f"give exactly one of {', '.join(actions)}")
    if under_replicated_partitions + unavailable_partitions + topics_with_overrides > 1:
        raise InvalidArgument(
            "give at most one of --under-replicated-partitions, --unavailable-partitions, --topics-with-overrides"
        )
    # Kafka takes --topic as a regular expression for all actions but --create, so only these look for names.
    admin = await run.admin()
    if list_:
        await list_topics(run, admin, topic)
        return
    if describe:
        only = (
            is_under_replicated if under_replicated_partitions else is_unavailable if unavailable_partitions else None
        )
        await describe_topics(run, admin, topic, only=only, with_overrides_only=topics_with_overrides)
        return
    if topic is None:
        raise InvalidArgument("--topic is missing")
    if create:
        if if_not_exists and not isinstance((await admin.describe_topics([topic]))[topic], AdminError):
            return
        await create_topic(
            run,
            admin,
            topic,
            partitions=partitions,
            replication_factor=replication_factor,
            assignment=replica_assignment,
            configs=config,
        )
        return
    names = list(await matching_topics(admin, topic))
    if not names:
        if if_exists:
            return
        raise ToolFailed(f"no topic matches {topic}")
    if delete:
        await delete_topics(run, admin, names)
        run.print("Note: This will have no impact if delete.topic.enable is not set to true.")
        return
    await alter_topics(
        run,
        admin,
        names,
        partitions=partitions,
        assignment=replica_assignment,
        configs=config,
        deleted_configs=delete_config,
    )
