"""Scripts with commands, such as `kafka-cluster unregister`, whose errors are those of Kafka's parser argparse4j."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from kwire_admin.compat.options import ScriptUsageError, parse_number

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kwire_admin.compat.options import OptionValues

__all__ = ["choose_command", "need_arguments", "read_number"]

T = TypeVar("T")


def choose_command(script: str, values: OptionValues, commands: Mapping[str, T]) -> T:
    """Return the value of the command that the arguments name.

    Raises:
        ScriptUsageError: the command is missing or unknown.
    """
    if len(values.words) != 1:
        raise ScriptUsageError(f"{script}: error: too few arguments")
    [command] = values.words
    if command not in commands:
        choices = ", ".join(map(repr, commands))
        raise ScriptUsageError(f"{script}: error: invalid choice: '{command}' (choose from {choices})")
    return commands[command]


def need_arguments(script: str, values: OptionValues, *names: str) -> None:
    """Check that options are given. A name is as in the usage, such as `--id/-i`.

    Raises:
        ScriptUsageError: one is missing.
    """
    for name in names:
        if name.partition("/")[0].removeprefix("--") not in values:
            raise ScriptUsageError(f"{script}: error: argument {name} is required")


def read_number(script: str, values: OptionValues, name: str, type: str = "Integer") -> int | None:
    """Return the value of an option as a number of a Java type, or None if it is not given.

    Raises:
        ScriptUsageError: it is not a number, or too large for the type.
    """
    text = values.get(name.partition("/")[0].removeprefix("--"))
    if text is None:
        return None
    number = parse_number(text, type)
    if number is None:
        raise ScriptUsageError(
            f"{script}: error: argument {name}: could not convert '{text}' to {type} (For input string: \"{text}\")"
        )
    return number
