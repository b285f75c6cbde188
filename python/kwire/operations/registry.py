"""Lookup of operations by name. Files are the list: adding a file adds an operation, and nothing else names it.

| operations | files |
|---|---|
| verbs | the function of its name in `verbs/<noun>/<verb>.py`; the docstring of the package is the help of the noun |
| tools | the function of its name in `tools/<tool>.py`, or an entry point of a package in the group `kwire.tools` |
| tools of nodes | the function of its name in `node_tools/<tool>.py` |

An entry point has the name of the tool:

    [project.entry-points."kwire.tools"]
    count-topics = "my_package.count_topics:count_topics"

Names are known without importing an operation, and one is imported when it is found.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint
    from types import ModuleType

    from kwire.operations.declaration import Operation

__all__ = [
    "GROUP",
    "VERB_ALIASES",
    "BrokenTool",
    "find_noun",
    "find_tool",
    "find_tools",
    "find_verb",
    "kwire_tools",
    "node_tools",
    "noun_aliases",
    "noun_help",
    "nouns",
    "similar",
    "tool_names",
    "verb_names",
]

PACKAGE = "kwire.operations"
FOLDER = Path(__file__).parent
GROUP = "kwire.tools"
"""The group of entry points of tools."""

VERB_ALIASES = {"ls": "list", "rm": "delete"}
"""Short names of verbs."""


# Verbs


@cache
def nouns() -> tuple[str, ...]:
    """Return the nouns in alphabetical order."""
    return tuple(sorted(_spelled(path.parent.name) for path in (FOLDER / "verbs").glob("*/__init__.py")))


@cache
def verb_names(noun: str) -> tuple[str, ...]:
    """Return the names of the verbs of a noun in alphabetical order."""
    return tuple(sorted(_modules(f"verbs.{_module_name(noun)}")))


def find_noun(name: str) -> str | None:
    """Return the noun for a name: the noun or one of its aliases; None if unknown."""
    if name in nouns():
        return name
    return next((noun for noun in nouns() if name in noun_aliases(noun)), None)


def find_verb(noun: str, name: str) -> Operation | None:
    """Return a verb of a noun, or None if it is unknown. `ls` is list, and `rm` is delete."""
    return _find(f"verbs.{_module_name(noun)}", VERB_ALIASES.get(name, name))


@cache
def noun_aliases(noun: str) -> tuple[str, ...]:
    """Return the other names of a noun: its singular, and the tuple ALIASES of its package."""
    listed: tuple[str, ...] = getattr(_noun_package(noun), "ALIASES", ())
    singular = noun.removesuffix("s")
    return listed if singular == noun else (singular, *listed)


@cache
def noun_help(noun: str) -> str:
    """Return the first line of the docstring of a noun's package."""
    return (_noun_package(noun).__doc__ or "").partition("\n")[0]


def _noun_package(noun: str) -> ModuleType:
    """Import the package of a noun, which imports none of its verbs."""
    return import_module(f"{PACKAGE}.verbs.{_module_name(noun)}")


# Tools


class BrokenTool(Exception):
    """A tool of a package cannot be used.

    Attributes:
        name: the name of the tool.
        value: the value of the entry point.
        reason: the reason.
    """

    def __init__(self, name: str, value: str, reason: str) -> None:
        super().__init__(name, value, reason)
        self.name = name
        self.value = value
        self.reason = reason

    def __str__(self) -> str:
        return f"tool {self.name} of {self.value} cannot be used: {self.reason}"


class InstalledTools(NamedTuple):
    """The tools that are installed.

    Attributes:
        tools: usable tools by name.
        broken: tools of packages that cannot be used.
    """

    tools: dict[str, Operation]
    broken: list[BrokenTool]


def kwire_tools() -> tuple[str, ...]:
    """Return the names of the tools of kwire in alphabetical order, without those of nodes."""
    return tuple(sorted(_modules("tools")))


def tool_names() -> list[str]:
    """Return the names of all tools in alphabetical order, also of unusable ones. It imports none."""
    return sorted({*kwire_tools(), *(point.name for point in package_tools())})


def find_tool(name: str) -> Operation | None:
    """Return a tool, or None for an unknown name. A tool of kwire goes before one of a package.

    Raises:
        BrokenTool: the tool of a package cannot be imported, or is not a tool.
    """
    tool = _find("tools", name)
    if tool is not None:
        return tool
    return next((_load(point) for point in package_tools() if point.name == name), None)


def find_tools() -> InstalledTools:
    """Return all tools. One that cannot be used does not affect the others."""
    tools = {name: tool for name in kwire_tools() if (tool := _find("tools", name)) is not None}
    reserved = {*tools, *_modules("node_tools")}
    broken: list[BrokenTool] = []
    for point in package_tools():
        try:
            if point.name in reserved:
                raise BrokenTool(point.name, point.value, "another tool has this name")
            tools[point.name] = _load(point)
            reserved.add(point.name)
        except BrokenTool as error:
            broken.append(error)
    return InstalledTools(dict(sorted(tools.items())), broken)


def node_tools() -> list[Operation]:
    """Return the tools that only nodes run."""
    return [tool for name in sorted(_modules("node_tools")) if (tool := _find("node_tools", name)) is not None]


def package_tools() -> list[EntryPoint]:
    """Return the entry points of tools."""
    from importlib.metadata import entry_points  # takes as long as a command needs to start

    return [*entry_points(group=GROUP)]


def _load(point: EntryPoint) -> Operation:
    """Import the tool of a package.

    Raises:
        BrokenTool: see `find_tool`.
    """
    from kwire.operations.declaration import Operation

    try:
        tool = point.load()
        if not isinstance(tool, Operation):
            raise TypeError(f"expected a function declared with @operation, found {type(tool).__name__}")
        if tool.name != point.name:
            raise ValueError(f"the tool is named {tool.name}")
        for parameter in tool.parameters:
            if not parameter.declared.help:
                raise ValueError(f"parameter {parameter.name} has no help")
    except Exception as error:
        raise BrokenTool(point.name, point.value, f"{type(error).__name__}: {error}") from error
    return tool


# Both


def similar(name: str, candidates: tuple[str, ...]) -> list[str]:
    """Return the candidates most similar to a misspelled name, best first."""
    from difflib import get_close_matches

    return get_close_matches(name, candidates, n=3, cutoff=0.6)


@cache
def _modules(folder: str) -> dict[str, str]:
    """Return the modules of a folder by the name in a command line.

    A module with the name of a keyword or a builtin of Python has an underscore at its end.
    """
    path = FOLDER.joinpath(*folder.split("."))
    return {_spelled(module.stem): module.stem for module in path.glob("*.py") if module.stem != "__init__"}


def _find(folder: str, name: str) -> Operation | None:
    """Import the operation of a name, which is the function of the module's name; None if there is no module."""
    module = _modules(folder).get(name)
    if module is None:
        return None
    operation: Operation = getattr(import_module(f"{PACKAGE}.{folder}.{module}"), module)
    return operation


def _spelled(module: str) -> str:
    """Return the name in a command line for the name of a module."""
    return module.strip("_").replace("_", "-")


def _module_name(spelled: str) -> str:
    return spelled.replace("-", "_")
