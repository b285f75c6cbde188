"""The tool `list-topic`."""

from __future__ import annotations

from typing import Annotated

from kwire_admin.operations.declaration import ANYWHERE, Need, operation
from kwire_admin.operations.parameters import Option
from kwire_zookeeper_tools.tool_run import ToolRun
from kwire_zookeeper_tools.topic_command import describe_topics, is_unavailable, is_under_replicated


@operation(
    runs_on=ANYWHERE,
    needs={Need.BROKERS, Need.ZOOKEEPER},
    replaces="kafka.admin.ListTopicCommand",
    examples=("--zookeeper localhost:2181", "--zookeeper localhost:2181 --topic orders --under-replicated-partitions"),
)
async def list_topic(
    run: ToolRun,
    topic: Annotated[str | None, Option("Only this topic [default: all].", "TOPIC")] = None,
    unavailable_partitions: Annotated[bool, Option("Only partitions without a leader.")] = False,
    under_replicated_partitions: Annotated[bool, Option("Only partitions with missing replicas.")] = False,
) -> None:
    """Print topics with their partitions, as Kafka 0.8.0 lists them."""
    only = is_under_replicated if under_replicated_partitions else is_unavailable if unavailable_partitions else None
    await describe_topics(run, await run.admin(), topic, only=only)
