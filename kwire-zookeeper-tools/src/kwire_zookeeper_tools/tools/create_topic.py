"""The tool `create-topic`."""

from __future__ import annotations

from typing import Annotated

from kwire_admin.operations.declaration import ANYWHERE, Need, operation
from kwire_admin.operations.parameters import Danger, Option
from kwire_zookeeper_tools import topic_command
from kwire_zookeeper_tools.tool_run import ToolRun


@operation(
    Danger.CHANGES,
    runs_on=ANYWHERE,
    needs={Need.BROKERS, Need.ZOOKEEPER},
    replaces="kafka.admin.CreateTopicCommand",
    examples=("--zookeeper localhost:2181 --topic orders --partition 3 --replica 2",),
)
async def create_topic(
    run: ToolRun,
    topic: Annotated[str, Option("The name of the topic.", "TOPIC")],
    partition: Annotated[int, Option("The number of partitions.", "N")] = 1,
    replica: Annotated[int, Option("The number of replicas.", "N")] = 1,
    replica_assignment_list: Annotated[
        str | None, Option("The brokers of each partition, in place of the numbers, such as 1:2,2:3.", "B:B,B:B")
    ] = None,
) -> None:
    """Create a topic, with the options of Kafka 0.8.0."""
    assigned = replica_assignment_list is not None
    await topic_command.create_topic(
        run,
        await run.admin(),
        topic,
        partitions=None if assigned else partition,
        replication_factor=None if assigned else replica,
        assignment=replica_assignment_list,
    )
