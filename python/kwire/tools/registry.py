"""The tools that are installed: kwire's own, and those of packages.

kwire's own tools are found by their files: the function of its name in a module of `kwire.tools.own`. A package names a
tool in its entry points, in the group `kwire.tools`; the name of the entry point is that of the tool:

    [project.entry-points."kwire.tools"]
    count-topics = "my_package.count_topics:count_topics"
"""

from __future__ import annotations

from functools import cache
from importlib import import_module
from importlib.metadata import entry_points
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from kwire.tools.tool import Tool

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

__all__ = ["GROUP", "BrokenTool", "find_tool", "find_tools", "tool_names"]

GROUP = "kwire.tools"
FOLDER = Path(__file__).with_name("own")


class BrokenTool(Exception):
    """A tool of a package cannot be used.

    Attributes:
        name: the name of the tool.
        value: what the entry point names.
        reason: why it cannot be used.
    """

    def __init__(self, name: str, value: str, reason: str) -> None:
        super().__init__(name, value, reason)
        self.name = name
        self.value = value
        self.reason = reason

    def __str__(self) -> str:
        return f"tool {self.name} of {self.value} cannot be used: {self.reason}"


class FoundTools(NamedTuple):
    """The tools that are installed, and those that cannot be used."""

    tools: dict[str, Tool]
    broken: list[BrokenTool]


@cache
def own_names() -> tuple[str, ...]:
    """Return the names of kwire's own tools in alphabetical order."""
    return tuple(sorted(path.stem.replace("_", "-") for path in FOLDER.glob("*.py") if path.stem != "__init__"))


def tool_names() -> list[str]:
    """Return the names of all tools in alphabetical order, also of those that cannot be used. It imports none."""
    return sorted({*own_names(), *(point.name for point in entry_points(group=GROUP))})


def find_tool(name: str) -> Tool | None:
    """Return a tool, or None for an unknown name. A tool of kwire goes before one of a package.

    Raises:
        BrokenTool: the tool of a package cannot be imported, or is not a tool.
    """
    if name in own_names():
        return _own_tool(name)
    points = [point for point in entry_points(group=GROUP) if point.name == name]
    return _load(points[0]) if points else None


def find_tools() -> FoundTools:
    """Return all tools. One that cannot be used does not affect the others."""
    tools = {name: _own_tool(name) for name in own_names()}
    broken: list[BrokenTool] = []
    for point in entry_points(group=GROUP):
        try:
            if point.name in tools:
                raise BrokenTool(point.name, point.value, "another tool has this name")
            tools[point.name] = _load(point)
        except BrokenTool as error:
            broken.append(error)
    return FoundTools(dict(sorted(tools.items())), broken)


def _own_tool(name: str) -> Tool:
    module = name.replace("-", "_")
    tool = getattr(import_module(f"kwire.tools.own.{module}"), module)
    assert isinstance(tool, Tool)
    return tool


def _load(point: EntryPoint) -> Tool:
    """Import the tool of a package.

    Raises:
        BrokenTool: see `find_tool`.
    """
    try:
        tool = point.load()
        if not isinstance(tool, Tool):
            raise TypeError(f"expected a function declared with @tool, found {type(tool).__name__}")
        if tool.name != point.name:
            raise ValueError(f"the tool is named {tool.name}")
        for parameter in tool.parameters:
            if not parameter.declared.help:
                raise ValueError(f"parameter {parameter.name} has no help")
    except Exception as error:
        raise BrokenTool(point.name, point.value, f"{type(error).__name__}: {error}") from error
    return tool
