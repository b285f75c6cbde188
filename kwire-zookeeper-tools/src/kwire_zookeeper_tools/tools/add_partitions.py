"""The tool `add-partitions`."""

from __future__ import annotations

from typing import Annotated

from kwire_admin.operations.declaration import ANYWHERE, Need, operation
from kwire_admin.operations.parameters import Danger, InvalidArgument, Option, parse_assignment
from kwire_admin.operations.partitions import existing_topics
from kwire_zookeeper_tools import topic_command
from kwire_zookeeper_tools.tool_run import ToolRun


@operation(
    Danger.CHANGES,
    runs_on=ANYWHERE,
    needs={Need.BROKERS, Need.ZOOKEEPER},
    replaces="kafka.admin.AddPartitionsCommand",
    examples=("--zookeeper localhost:2181 --topic orders --partition 2",),
)
async def add_partitions(
    run: ToolRun,
    topic: Annotated[str, Option("The name of the topic.", "TOPIC")],
    partition: Annotated[int, Option("How many partitions to add.", "N")],
    replica_assignment_list: Annotated[
        str | None, Option("The brokers of each partition that is added, such as 1:2,2:3.", "B:B,B:B")
    ] = None,
) -> None:
    """Add partitions to a topic, with the options of Kafka 0.8.0: the number is the one to add."""
    if partition < 1:
        raise InvalidArgument(f"--partition: expected at least 1, found {partition}")
    assigned = parse_assignment(replica_assignment_list)
    if assigned and len(assigned) != partition:
        raise InvalidArgument(f"the assignment has {len(assigned)} partitions, expected {partition}")
    admin = await run.admin()
    existing = len((await existing_topics(admin, [topic]))[topic].partitions)
    added = {existing + index: brokers for index, brokers in assigned.items()}
    await topic_command.add_partitions(run, admin, topic, existing + partition, added)
