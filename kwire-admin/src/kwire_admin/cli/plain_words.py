"""Command lines of verbs without anything unusual, parsed without click, whose import takes longer than a command.

Options are written in full, and values are valid. For everything else, such as help, mistakes, files of secrets, and
clusters of the configuration file, `parse` returns None, and click has the last word. Tests compare the values of both.
"""

from __future__ import annotations

import os
from enum import Enum
from functools import partial

from kwire._util.light_typing import TYPE_CHECKING, Any, NamedTuple
from kwire.terminal.environment import OUTPUTS, VARIABLES, WAIT_S, variables_for
from kwire_admin.operations.parameters import Argument, Danger
from kwire_admin.operations.registry import find_noun, find_verb

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from kwire_admin.operations.declaration import Operation
    from kwire_admin.operations.parameters import Parameter

__all__ = ["PlainCommand", "parse"]


class PlainCommand(NamedTuple):
    """A verb and its values, as click would have parsed them.

    Attributes:
        verb: the verb.
        chosen: the values of the options that all verbs have.
        values: the values of the other options and of the arguments.
    """

    verb: Operation
    chosen: dict[str, Any]
    values: dict[str, Any]


class Unusual(Exception):
    """Something that click parses."""


class PlainOption(NamedTuple):
    """An option with a value, or a flag.

    Attributes:
        name: the name of the parameter.
        convert: returns the value of a text, or raises ValueError; None for a flag.
        many: True if the option can be given several times.
    """

    name: str
    convert: Callable[[str], Any] | None
    many: bool = False


def _output(text: str) -> str:
    if text not in OUTPUTS:
        raise ValueError(text)
    return text


def _timeout(text: str) -> float:
    seconds = float(text)
    if not 0 < seconds < float("inf"):
        raise ValueError(text)
    return seconds


def _wait(text: str) -> float:
    seconds = float(text)
    if not seconds >= 0:
        raise ValueError(text)
    return seconds


COMMON = {
    "-b": PlainOption("bootstrap", str),
    "--bootstrap": PlainOption("bootstrap", str),
    "--timeout": PlainOption("timeout", _timeout),
    "-o": PlainOption("output", _output),
    "--output": PlainOption("output", _output),
    "--debug": PlainOption("debug", None),
}
"""The options of every verb that choose no file."""


def parse(arguments: Sequence[str]) -> PlainCommand | None:
    """Return the verb that a command line names, and its values; None if click has to parse it."""
    try:
        return _parse(arguments)
    except (Unusual, ValueError):
        return None


def _parse(arguments: Sequence[str]) -> PlainCommand:
    words = iter(arguments)
    general: dict[str, Any] = {}
    noun = find_noun(_read_options(words, COMMON, general) or "")
    name = next(words, "-")
    verb = None if noun is None or name.startswith("-") else find_verb(noun, name)
    if verb is None or verb.ends_options or verb.without_effect or verb.common_parameters:
        raise Unusual
    options = _options(verb)
    if not COMMON.keys().isdisjoint(options):
        raise Unusual
    given: dict[str, Any] = {}
    positional: list[str] = []
    while (word := _read_options(words, COMMON | options, given)) is not None:
        positional.append(word)
    chosen: dict[str, Any] = {"cluster": None, "command_config": None, "overrides": ()}
    for option in COMMON.values():
        chosen[option.name] = given.get(option.name, general.get(option.name))
    _check_cluster(chosen, verb)
    return PlainCommand(verb, chosen, _values(verb, options, given, positional))


def _read_options(words: Iterator[str], options: dict[str, PlainOption], given: dict[str, Any]) -> str | None:
    """Read options up to the next other word, and return that word; None at the end.

    Args:
        given: receives the values.
    """
    for word in words:
        if not word.startswith("-"):
            return word
        name, equals, value = word.partition("=") if word.startswith("--") else (word, "", "")
        option = options.get(name)
        if option is None or (equals and option.convert is None):
            raise Unusual
        if option.convert is None:
            given[option.name] = True
            continue
        text = value if equals else next(words, "-")
        if text.startswith("-") or not text:  # click knows what is meant
            raise Unusual
        converted = option.convert(text)
        given[option.name] = (*given.get(option.name, ()), converted) if option.many else converted
    return None


def _check_cluster(chosen: dict[str, Any], verb: Operation) -> None:
    """Check that the choice of the cluster needs no file, and that its addresses are valid."""
    from kwire.protocol.endpoint import Endpoint

    variables = variables_for(chosen)
    bootstrap = chosen["bootstrap"] or variables.get("bootstrap")
    if verb.connects is not True or not bootstrap or not variables.keys() <= {"bootstrap"}:
        raise Unusual
    if os.environ.get(VARIABLES["command_config"]):
        raise Unusual
    Endpoint.parse_all(bootstrap, "PLAINTEXT")


def _options(verb: Operation) -> dict[str, PlainOption]:
    """Return the options of a verb by the words for them."""
    options: dict[str, PlainOption] = {}
    for parameter in verb.parameters:
        if not isinstance(parameter.declared, Argument):
            option = PlainOption(parameter.name, None if parameter.flag else _converter(parameter), parameter.many)
            options |= dict.fromkeys(parameter.declared.names(parameter.name), option)
    if verb.danger > Danger.READS:
        options |= dict.fromkeys(("-n", "--dry-run"), PlainOption("dry_run", None))
    if verb.waits:
        options["--wait"] = PlainOption("wait", _wait)
    if verb.highest_danger is Danger.DESTROYS:
        options |= dict.fromkeys(("-y", "--yes"), PlainOption("yes", None))
    return options


def _converter(parameter: Parameter) -> Callable[[str], Any]:
    """Return the function that converts a text to a value of a parameter, as click does."""
    if parameter.choices is not None:
        return partial(_choose, parameter.choices)
    if parameter.type in (str, int, float):
        convert: Callable[[str], Any] = parameter.type
        return convert
    return _unusual


def _choose(choices: tuple[str, ...], text: str) -> str:
    if text not in choices:  # click ignores case
        raise ValueError(text)
    return text


def _unusual(text: str) -> Any:
    raise Unusual(text)


def _values(
    verb: Operation, options: dict[str, PlainOption], given: dict[str, Any], positional: list[str]
) -> dict[str, Any]:
    """Return the values of all parameters.

    Raises:
        Unusual: a value is missing or left over.
    """
    values: dict[str, Any] = {}
    words = iter(positional)
    takes_all = False
    for parameter in verb.parameters:
        name, many = parameter.name, parameter.many
        if not isinstance(parameter.declared, Argument):
            if parameter.required and not many and name not in given:
                raise Unusual
            values[name] = given.get(name, () if many else _default(parameter))
            continue
        if takes_all:  # click gives the arguments after a list their words first
            raise Unusual
        takes_all = many
        if many:
            values[name] = tuple(map(_converter(parameter), words))
        elif (word := next(words, None)) is not None:
            values[name] = _converter(parameter)(word)
        elif parameter.required:
            raise Unusual
        else:
            values[name] = _default(parameter)
    if next(words, None) is not None:
        raise Unusual
    defaults = {"dry_run": False, "wait": WAIT_S, "yes": False}
    for option in options.values():
        if option.name in defaults:
            values.setdefault(option.name, given.get(option.name, defaults[option.name]))
    return values


def _default(parameter: Parameter) -> Any:
    default = parameter.default
    return default.value if isinstance(default, Enum) else default
