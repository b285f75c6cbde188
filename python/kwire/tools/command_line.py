"""The arguments of a tool in the form of a command line, the same in a command and in an Admin request."""

from __future__ import annotations

import argparse
import inspect
from contextlib import suppress
from enum import Enum
from functools import partial
from typing import TYPE_CHECKING, Any, NoReturn

from kwire.parameters import Danger, InvalidArgument, Option
from kwire.tools.tool import Need

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from kwire.parameters import Parameter
    from kwire.tools.tool import Tool

__all__ = ["HelpRequested", "check_words", "danger_of_words", "needs_given_cluster", "parse_words", "usage"]


WITHOUT_EFFECT = "Accepted for the sake of old scripts, without effect."
"""The help of an option that only Kafka's tool needs."""


IGNORED = "without_effect"
"""Where the parser puts the values of such options."""


class HelpRequested(Exception):
    """The words ask for the help of the tool."""


def parse_words(tool: Tool, words: Sequence[str]) -> dict[str, Any]:
    """Return the values of parameters by name. An option that is not given has its default.

    Raises:
        InvalidArgument: the words do not fit the parameters.
        HelpRequested: `--help` is among them.
    """
    parser = _parser(tool)
    found = vars(parser.parse_known_args([*words])[0] if tool.ignores_arguments else parser.parse_args([*words]))
    return {name: value for name, value in found.items() if value is not inspect.Parameter.empty and name != IGNORED}


def check_words(tool: Tool, words: Sequence[str]) -> None:
    """Check that words fit the parameters, or ask for the help.

    Raises:
        InvalidArgument: the words do not fit.
    """
    with suppress(HelpRequested):
        parse_words(tool, words)


def danger_of_words(tool: Tool, words: Sequence[str]) -> Danger:
    """Return what a run with these words does. Invalid words only explain the usage."""
    try:
        return tool.danger_of(parse_words(tool, words))
    except (HelpRequested, InvalidArgument):
        return Danger.READS


def needs_given_cluster(tool: Tool, words: Sequence[str]) -> bool:
    """Return whether a run with these words needs brokers that the words do not name."""
    if Need.BROKERS not in tool.needs:
        return False
    try:
        values = parse_words(tool, words)
    except (HelpRequested, InvalidArgument):
        return False
    return all(values.get(name) is None for name in ("bootstrap_server", "command_config", "zookeeper"))


def usage(tool: Tool) -> str:
    """Return the help of a tool."""
    return _parser(tool).format_help()


class _Parser(argparse.ArgumentParser):
    """A parser that raises instead of writing to stderr and exiting."""

    def error(self, message: str) -> NoReturn:
        raise InvalidArgument(message)

    def print_help(self, file: Any = None) -> None:
        del file
        raise HelpRequested


def _parser(tool: Tool) -> argparse.ArgumentParser:
    description = tool.help
    if tool.replaces:
        description += f"\n\nIt replaces {', '.join(tool.replaces)}."
    examples = "".join(f"  {tool.name} {each}\n" for each in tool.examples)
    parser = _Parser(
        prog=tool.name,
        description=description,
        epilog=f"examples:\n{examples}" if examples else None,
        formatter_class=partial(argparse.RawDescriptionHelpFormatter, width=100),
        allow_abbrev=False,
    )
    taken: set[str] = set()
    for parameter in (*tool.parameters, *tool.common_parameters):
        _add(parser, parameter, taken)
    for declared in tool.without_effect:
        name, _, metavar = declared.partition(" ")
        nothing: dict[str, Any] = {"metavar": metavar} if metavar else {"action": "store_true"}
        parser.add_argument(name, dest=IGNORED, default=argparse.SUPPRESS, help=WITHOUT_EFFECT, **nothing)
    return parser


def _add(parser: argparse.ArgumentParser, parameter: Parameter, taken: set[str]) -> None:
    """Add a parameter. Of its names, those that another one has already are left out."""
    declared = parameter.declared
    options: dict[str, Any] = {"help": declared.help.replace("%", "%%")}
    if parameter.flag:
        options["action"] = "store_true"
    else:
        options |= _value_options(parameter)
    if isinstance(declared, Option):
        names = [name for name in declared.names(parameter.name) if name not in taken]
        taken.update(names)
        parser.add_argument(*names, dest=parameter.name, required=parameter.required, **options)
        return
    if parameter.many:
        options["nargs"] = "*"
    elif not parameter.required:
        options["nargs"] = "?"
    options.pop("action", None)
    parser.add_argument(parameter.name, **options)


def _value_options(parameter: Parameter) -> dict[str, Any]:
    kind = parameter.type
    options: dict[str, Any] = {"metavar": parameter.declared.metavar or parameter.name.upper()}
    if isinstance(kind, type) and issubclass(kind, Enum):
        options |= {"choices": list(kind), "metavar": "|".join(each.value for each in kind)}
    options["type"] = kind
    if parameter.many:
        options |= {"action": "extend", "nargs": "+", "default": [] if parameter.required else parameter.default}
    elif not parameter.required:
        options["default"] = parameter.default
    return options


def check_values(tool: Tool, values: Mapping[str, Any]) -> dict[str, Any]:
    """Return values that a program gives, with the defaults of the others.

    Raises:
        InvalidArgument: a parameter is unknown or missing.
    """
    parameters = {each.name: each for each in (*tool.parameters, *tool.common_parameters)}
    unknown = [name for name in values if name not in parameters]
    if unknown:
        raise InvalidArgument(f"unknown parameter {unknown[0]}: the parameters are {', '.join(parameters)}")
    missing = [name for name, each in parameters.items() if each.required and name not in values]
    if missing:
        raise InvalidArgument(f"parameter {missing[0]} is missing")
    return {name: values.get(name, each.default) for name, each in parameters.items()}
