"""`kafka tools list`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from kwire.verbs.verb import Option, Rows, Run, verb


@dataclass(frozen=True, slots=True)
class ToolSummary:
    """A tool in a list.

    Attributes:
        name: the name of the tool.
        help: what it does.
    """

    name: str
    help: str


@verb(dialects=("kip4",), lists="tools", examples=("tools list", "tools list --broker 1"))
async def list_(
    run: Run, broker: Annotated[int | None, Option("The node [default: any].", "ID", "brokers")] = None
) -> Rows[ToolSummary]:
    """List the tools that a node runs."""
    result = await run.admin.run_tool("help", broker_id=broker)
    lines = (line.partition("\t") for line in result.output.splitlines())
    return [ToolSummary(name, text) for name, _, text in lines]
