"""Lookup of operations by name.

| operations | declared |
|---|---|
| nouns | `NOUNS` of the package `verbs` |
| verbs | the operations in `verbs/<noun>.py`, or in a package of the noun and its modules |
| tools | a function in a module of its name in a package of tools, or in its `ROWS`; an entry point of `kwire.tools` |

Packages of verbs and of tools of other products are entry points of the groups `kwire.nouns` and `kwire.tool_packages`.
An entry point of a tool has the name of the tool:

    [project.entry-points."kwire.tools"]
    count-topics = "my_package.count_topics:count_topics"

Nouns and tools are known without importing an operation. Verbs with imports that take long are in an inner module.
"""

from __future__ import annotations

import os
from functools import cache

from kwire._util.late_names import imported
from kwire._util.light_typing import TYPE_CHECKING, NamedTuple
from kwire._util.products import entry_points

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from importlib.metadata import EntryPoint

    from kwire_admin.operations.declaration import Operation

VERBS = "kwire_admin.operations.verbs"
GROUP = "kwire.tools"
"""The group of entry points of tools."""

VERB_ALIASES = {"ls": "list", "rm": "delete"}
"""Short names of verbs."""


# Verbs


class Noun(NamedTuple):
    """A noun of the command.

    Attributes:
        help: the sentence of the help.
        aliases: its other names, beside its singular.
        needs_asyncio: True if its verbs run in asyncio only.
    """

    help: str
    aliases: tuple[str, ...] = ()
    needs_asyncio: bool = False


@cache
def _own_nouns() -> dict[str, tuple[str, Noun]]:
    return _nouns_of(VERBS)


@cache
def _all_nouns() -> dict[str, tuple[str, Noun]]:
    """Return the module and the declaration of each noun, also of other products."""
    others = (_nouns_of(point.value) for point in entry_points("kwire.nouns"))
    return {name: noun for nouns in (*others, _own_nouns()) for name, noun in nouns.items()}


def _nouns_of(package: str) -> dict[str, tuple[str, Noun]]:
    declared: Mapping[str, Noun] = imported(package).NOUNS
    return {name: (f"{package}.{name.replace('-', '_')}", noun) for name, noun in declared.items()}


def _noun(name: str) -> tuple[str, Noun]:
    """Return the module and the declaration of a noun. One of this product is found without a look at others."""
    return _own_nouns().get(name) or _all_nouns()[name]


@cache
def nouns() -> tuple[str, ...]:
    """Return the nouns in alphabetical order."""
    return tuple(sorted(_all_nouns()))


@cache
def verb_names(noun: str) -> tuple[str, ...]:
    """Return the names of the verbs of a noun in alphabetical order."""
    return tuple(sorted({name for module in _modules_of(noun) for name in _verbs_in(module)}))


def find_noun(name: str) -> str | None:
    """Return the noun for a name: the noun or one of its aliases; None if unknown."""
    for list_nouns in (_own_nouns, _all_nouns):  # entry points are read for unknown names only
        known = list_nouns()
        if name in known:
            return name
        noun = next((noun for noun in known if name in noun_aliases(noun)), None)
        if noun is not None:
            return noun
    return None


def find_verb(noun: str, name: str) -> Operation | None:
    """Return a verb of a noun, or None if it is unknown. `ls` is list, and `rm` is delete."""
    name = VERB_ALIASES.get(name, name)
    return next((verbs[name] for module in _modules_of(noun) if name in (verbs := _verbs_in(module))), None)


def _modules_of(noun: str) -> list[str]:
    """Return the module of a noun, and after it those in its package. A verb in the first one needs no others."""
    module, _ = _noun(noun)
    return [module, *(f"{module}.{inner}" for inner in _modules(module).values())]


@cache
def _verbs_in(module: str) -> dict[str, Operation]:
    """Return the verbs in a module of a noun by name."""
    from kwire_admin.operations.declaration import Operation

    values = vars(imported(module)).values()
    return {value.name: value for value in values if isinstance(value, Operation)}


def noun_aliases(noun: str) -> tuple[str, ...]:
    """Return the other names of a noun: its singular, and its declared aliases."""
    singular, aliases = noun.removesuffix("s"), _noun(noun)[1].aliases
    return aliases if singular == noun else (singular, *aliases)


def needs_asyncio(noun: str) -> bool:
    """Return whether the verbs of a noun run in asyncio only."""
    return _noun(noun)[1].needs_asyncio


def noun_help(noun: str) -> str:
    """Return the sentence of the help of a noun."""
    return _noun(noun)[1].help


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


@cache
def _tool_packages() -> tuple[str, ...]:
    return tuple(point.value for point in entry_points("kwire.tool_packages"))


def kwire_tools() -> tuple[str, ...]:
    """Return the names of the tools of kwire in alphabetical order, without those of nodes."""
    return tuple(sorted(name for package in _tool_packages() for name in (*_modules(package), *_rows(package))))


@cache
def _rows(package: str) -> Mapping[str, Operation]:
    """Return the tools of a package that are rows of a table: its `ROWS`, by name."""
    rows: Mapping[str, Operation] = getattr(imported(package), "ROWS", {})
    return rows


def tool_names() -> list[str]:
    """Return the names of all tools in alphabetical order, also of unusable ones. It imports none."""
    return sorted({*kwire_tools(), *(point.name for point in package_tools())})


def find_tool(name: str) -> Operation | None:
    """Return a tool, or None for an unknown name. A tool of kwire goes before one of a package.

    Raises:
        BrokenTool: the tool of a package cannot be imported, or is not a tool.
    """
    for package in _tool_packages():
        tool = _find(package, name) or _rows(package).get(name)
        if tool is not None:
            return tool
    return next((_load(point) for point in package_tools() if point.name == name), None)


def find_tools(reserved: Iterable[str] = ()) -> InstalledTools:
    """Return all tools. One that cannot be used does not affect the others.

    Args:
        reserved: names that no tool of a package may have.
    """
    tools = {name: tool for name in kwire_tools() if (tool := find_tool(name)) is not None}
    taken = {*tools, *reserved}
    broken: list[BrokenTool] = []
    for point in package_tools():
        try:
            if point.name in taken:
                raise BrokenTool(point.name, point.value, "another tool has this name")
            tools[point.name] = _load(point)
            taken.add(point.name)
        except BrokenTool as error:
            broken.append(error)
    return InstalledTools(dict(sorted(tools.items())), broken)


def package_tools() -> list[EntryPoint]:
    """Return the entry points of tools."""
    return [*entry_points(GROUP)]


def _load(point: EntryPoint) -> Operation:
    """Import the tool of a package.

    Raises:
        BrokenTool: see `find_tool`.
    """
    from kwire_admin.operations.declaration import Operation

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


def operations_of(package: str) -> list[Operation]:
    """Import all operations of a package, in alphabetical order of their names."""
    return [operation for name in sorted(_modules(package)) if (operation := _find(package, name)) is not None]


def names_of(package: str) -> list[str]:
    """Return the names of the operations of a package, without importing them."""
    return sorted(_modules(package))


@cache
def _modules(package: str) -> dict[str, str]:
    """Return the modules of a package by the name in a command line.

    A module with the name of a keyword or a builtin of Python has an underscore at its end.
    """
    files = [file for folder in getattr(imported(package), "__path__", ()) for file in os.listdir(folder)]  # noqa: PTH208  # a command does without pathlib
    modules = (file.removesuffix(".py") for file in files if file.endswith(".py") and file != "__init__.py")
    return {module.strip("_").replace("_", "-"): module for module in modules}


def _find(package: str, name: str) -> Operation | None:
    """Import the operation of a name, which is the function of the module's name; None if there is no module."""
    module = _modules(package).get(name)
    if module is None:
        return None
    operation: Operation = getattr(imported(f"{package}.{module}"), module)
    return operation
