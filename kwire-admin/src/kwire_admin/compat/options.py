"""Options of Kafka's scripts: one declaration gives the parser and the help.

As in Kafka's parser (jopt-simple), a value follows its option or `=`, an unambiguous beginning of a name is enough, and
one dash is as good as two.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["OptionValues", "ScriptOption", "ScriptUsageError", "UnknownOption", "format_help", "parse", "parse_number"]

BITS = {"Short": 16, "Integer": 32, "Long": 64}
"""Bits of Java's types of numbers."""
LEFT, RIGHT = 39, 39
"""Widths of the columns of a help."""


class ScriptUsageError(Exception):
    """The arguments of a script are invalid. The text is the sentence that Kafka's script prints."""


class UnknownOption(ScriptUsageError):
    """An option is not among those of a script.

    Attributes:
        argument: the option as it was given.
    """

    def __init__(self, text: str, argument: str) -> None:
        super().__init__(text)
        self.argument = argument


@dataclass(frozen=True, slots=True)
class ScriptOption:
    """An option of a script.

    Attributes:
        name: its name without dashes.
        help: its purpose, for the help text.
        value: the placeholder of its value; None for a flag.
        kind: the type of the value in Kafka's help: `String`, `Integer`, or `Long`.
        optional: true if the value may be missing.
        short: its name after one dash; empty without one.
        same_as: the name of the option that takes its value as well, for a deprecated name of an option; empty for
            others.
    """

    name: str
    help: str
    value: str | None = None
    kind: str = "String"
    optional: bool = False
    short: str = ""
    same_as: str = ""


class OptionValues:
    """The arguments of a run.

    Attributes:
        words: the arguments that are not options.
    """

    def __init__(self) -> None:
        self._values: dict[str, list[str]] = {}
        self._kinds: dict[str, str] = {}
        self._in_order: list[tuple[str, str | None]] = []
        self.words: list[str] = []

    def __contains__(self, name: str) -> bool:
        return name in self._values

    def add(self, name: str, value: str | None) -> None:
        """Add an option, and its value if it has one."""
        self._values.setdefault(name, []).extend([] if value is None else [value])

    def add_option(self, option: ScriptOption, value: str | None) -> None:
        """Add an option, and the option for which its name stands."""
        self._in_order.append((option.name, value))
        self._kinds[option.name] = option.kind
        for name in filter(None, (option.name, option.same_as)):
            self.add(name, value)

    def replace(self, name: str, values: Sequence[str]) -> None:
        """Replace the values of an option; without values, it counts as not given."""
        self._values.pop(name, None)
        for value in values:
            self.add(name, value)

    def get(self, name: str) -> str | None:
        """Return the last value of an option; None if it is not given."""
        return self._values[name][-1] if self._values.get(name) else None

    def all(self, name: str) -> list[str]:
        """Return all values of an option."""
        return self._values.get(name, [])

    def in_order(self, *names: str) -> list[tuple[str, str | None]]:
        """Return some options with their values, in the order of the command line."""
        return [given for given in self._in_order if given[0] in names]

    def one_action(self, listed: str) -> str:
        """Return the action that is given.

        Args:
            listed: the actions as the error lists them, such as `--list, --add or --remove`.

        Raises:
            ScriptUsageError: there is none, or several.
        """
        names: list[str] = re.findall(r"--([a-z-]+)", listed)
        chosen = [name for name in names if name in self]
        if len(chosen) != 1:
            raise ScriptUsageError(f"Command must include exactly one action: {listed}")
        return chosen[0]

    def need(self, *names: str) -> None:
        """Check that options are given.

        Raises:
            ScriptUsageError: one is missing.
        """
        for name in names:
            if name not in self:
                raise ScriptUsageError(f'Missing required argument "[{name}]"')

    def forbid(self, with_: str, *names: str) -> None:
        """Check that options are not given beside another one.

        Raises:
            ScriptUsageError: one of them is given.
        """
        for name in names:
            if with_ in self and name in self:
                raise ScriptUsageError(f'Option "[{name}]" can\'t be used with option "[{with_}]"')

    def check_numbers(self) -> None:
        """Check all options that have a number.

        Raises:
            ScriptUsageError: one is not an integer, or too large for its type in Java.
        """
        for name, kind in self._kinds.items():
            if kind in BITS:
                self.number(name)

    def number(self, name: str) -> int | None:
        """Return the value of an option as an integer.

        Raises:
            ScriptUsageError: it is not an integer, or too large for its type in Java.
        """
        text = self.get(name)
        if text is None:
            return None
        number = parse_number(text, self._kinds.get(name, ""))
        if number is None:
            raise ScriptUsageError(f"Cannot parse argument '{text}' of option {name}")
        return number


def parse_number(text: str, kind: str) -> int | None:
    """Return the number for a text; None if it is not a number, or too large.

    Args:
        text: the text.
        kind: one of BITS; any other kind stands for `Long`.
    """
    # `int` takes spaces and underscores as well.
    if not re.fullmatch(r"[+-]?[0-9]{1,100}", text):
        return None
    number, limit = int(text), 1 << BITS.get(kind, BITS["Long"]) - 1
    return number if -limit <= number < limit else None


def parse(options: Sequence[ScriptOption], arguments: Sequence[str]) -> OptionValues:
    """Parse the arguments of a script.

    Raises:
        ScriptUsageError: an option is unknown or ambiguous, or its value is missing.
    """
    values = OptionValues()
    rest = list(arguments)
    while rest:
        argument = rest.pop(0)
        if not argument.startswith("-") or argument == "-":
            values.words.append(argument)
            continue
        name, equals, text = argument.lstrip("-").partition("=")
        option = _find(options, name, argument)
        if option.value is None:
            if equals:
                raise ScriptUsageError(f"Option {option.name} has no value, got {text!r}")
            values.add_option(option, None)
        elif equals:
            values.add_option(option, text)
        elif rest and not (rest[0].startswith("--") and len(rest[0]) > 2):
            values.add_option(option, rest.pop(0))
        elif option.optional:
            values.add_option(option, None)
        else:
            raise ScriptUsageError(f"Option {option.name} requires an argument")
    return values


def _find(options: Sequence[ScriptOption], name: str, argument: str) -> ScriptOption:
    exact = [option for option in options if name and name in (option.name, option.short)]
    matches = exact or [option for option in options if name and option.name.startswith(name)]
    if len(matches) != 1:
        hint = f" ({', '.join(option.name for option in matches)})" if matches else ""
        raise UnknownOption(f"{name} is not a recognized option{hint}", argument)
    return matches[0]


def format_help(options: Sequence[ScriptOption]) -> str:
    """Return the options in two columns, in alphabetical order."""
    from textwrap import wrap

    lines = [f"{'Option':{LEFT}}  Description", f"{'------':{LEFT}}  -----------"]
    for option in sorted(options, key=lambda each: each.name):
        value = "" if option.value is None else f" <{option.kind}: {option.value}>"
        value = f" [{value[2:-1]}]" if option.optional else value
        left = wrap(f"--{option.name}{value}", LEFT, subsequent_indent="  ")
        right = wrap(option.help, RIGHT, subsequent_indent="  ")
        for index in range(max(len(left), len(right))):
            one = left[index] if index < len(left) else ""
            other = right[index] if index < len(right) else ""
            lines.append(f"{one:{LEFT}}  {other}".rstrip())
    return "\n".join(lines)
