"""The tool `delete-topic`."""

from __future__ import annotations

from typing import Annotated

from kwire_admin.operations.declaration import ANYWHERE, Need, operation
from kwire_admin.operations.parameters import Danger, Option
from kwire_zookeeper_tools import topic_command
from kwire_zookeeper_tools.tool_run import ToolRun


@operation(
    Danger.DESTROYS,
    runs_on=ANYWHERE,
    needs={Need.BROKERS, Need.ZOOKEEPER},
    replaces="kafka.admin.DeleteTopicCommand",
    examples=("--zookeeper localhost:2181 --topic orders",),
)
async def delete_topic(run: ToolRun, topic: Annotated[str, Option("The name of the topic.", "TOPIC")]) -> None:
    """Delete a topic, with the options of Kafka 0.8.1."""
    await topic_command.delete_topics(run, await run.admin(), [topic])
