"""Tools in place of scripts of Kafka: the part `tool-runner`."""

from __future__ import annotations

import asyncio
import sys
from typing import TYPE_CHECKING

from kwire_admin.compat.script import shown, write
from kwire_admin.operations.registry import find_tool
from kwire_zookeeper_tools.tool_run import Environment
from kwire_zookeeper_tools.tool_runner import run_tool_words

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["run_tool"]


def run_tool(name: str, arguments: Sequence[str]) -> int:
    """Run a tool, and return the exit code."""
    tool = find_tool(name)
    assert tool is not None
    result = asyncio.run(run_tool_words(tool, [*arguments], Environment(), write))
    if result.error is not None:
        print(shown(result.error, sys.stderr), file=sys.stderr)
    return 0 if result.exit_status == 0 else 1
