"""The tool `kafka-migration-tool`."""

from __future__ import annotations

from kwire.tools.tool import ToolFailed, tool
from kwire.tools.tool_run import ToolRun

REASON = (
    "it is not available: it reads from brokers of Kafka 0.7, which speak another protocol, through Java classes of "
    "Kafka 0.7; use the KafkaMigrationTool of Kafka 0.8, and mirror-maker between newer clusters"
)


@tool(replaces="kafka.tools.KafkaMigrationTool", ignores_arguments=True)
async def kafka_migration_tool(run: ToolRun) -> None:
    """Explain why kwire does not migrate clusters of Kafka 0.7."""
    del run
    raise ToolFailed(REASON)
