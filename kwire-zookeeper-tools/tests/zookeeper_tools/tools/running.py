"""Runs tools by their names."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kwire_zookeeper_tools import Environment, find_tool, run_tool_words

if TYPE_CHECKING:
    from pathlib import Path

    from kwire_zookeeper_tools import ToolRunResult


async def run(name: str, *words: str | Path, environment: Environment | None = None) -> ToolRunResult:
    """Run a tool with the arguments of a command line."""
    tool = find_tool(name)
    assert tool is not None, name
    return await run_tool_words(tool, [str(word) for word in words], environment or Environment())


async def output(name: str, *words: str | Path, environment: Environment | None = None) -> list[str]:
    """Run a tool that must succeed, and return its lines."""
    result = await run(name, *words, environment=environment)
    assert result.error is None, result
    return result.output.splitlines()
