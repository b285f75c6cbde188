"""Options that several commands share, and the checks of their values."""

from __future__ import annotations

import sys
from functools import wraps
from pathlib import Path

import click

from kwire._util.light_typing import TYPE_CHECKING, Any, TypeVar
from kwire.terminal.parameter_types import FiniteRange, Time

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from kwire.client.security import ClientProperties
    from kwire.client.security.values import PasswordSource
    from kwire.storage.location import Location

Command = TypeVar("Command", bound="Callable[..., Any]")


def gathered(**kinds: Any) -> Callable[[Callable[..., int]], Callable[..., int]]:
    """Pass the values of options to a command in named tuples: each has the options that its fields name.

    Args:
        kinds: the classes of the tuples, by the parameter of the command.
    """

    def gather(command: Callable[..., int]) -> Callable[..., int]:
        @wraps(command)
        def gathering(*arguments: Any, **options: Any) -> int:
            groups = {
                parameter: kind(**{name: options.pop(name) for name in kind._fields})
                for parameter, kind in kinds.items()
            }
            return command(*arguments, **groups, **options)

        return gathering

    return gather


def existing_place(given: str, hint: str) -> Location:
    """Return the folder or file that an argument names: a path, or a URI of an object store or HDFS.

    Args:
        given: the value of the option or argument.
        hint: its name.

    Raises:
        BadParameter: it does not exist, or kwire does not support the scheme.
    """
    from kwire.storage.location import Location, UnsupportedLocation

    try:
        place = Location.parse(given, any_name=True)
        if not place.is_path:
            require("deltalake", "report")
        if place.kind() is None:
            raise click.BadParameter(f"{given} does not exist", param_hint=hint)
    except UnsupportedLocation as error:
        raise click.BadParameter(str(error), param_hint=hint) from None
    except OSError as error:
        raise click.BadParameter(f"{given} cannot be read: {error}", param_hint=hint) from None
    return place


def time_window_options(command: Command) -> Command:
    """Add `--since` and `--until`."""
    for option in (
        click.option("--until", type=Time(), metavar="TIME", help="End at this time (UTC)."),
        click.option(
            "--since", type=Time(), metavar="TIME", help="Start at this time (UTC), such as 2026-11-21T14:05."
        ),
    ):
        command = option(command)
    return command


def command_config_option(command: Command) -> Command:
    """Add `--command-config`; `load_command_config` reads the file."""
    description = "Connect with the settings of this client.properties [environment: KWIRE_COMMAND_CONFIG]."
    return file_option("--command-config", description=description)(command)


def load_command_config(
    path: Path, overrides: Mapping[str, str] | None = None, password: PasswordSource | None = None
) -> ClientProperties:
    """Read the file of `--command-config` and print its warnings. See `ClientProperties.load` for the other arguments.

    Raises:
        click.BadParameter: the file cannot be read, or its content is invalid.
    """
    from kwire.client.security import ClientProperties, SecurityConfigError

    try:
        return ClientProperties.load(
            path, overrides=overrides, password=password, warn=lambda text: print(f"Warning: {text}", file=sys.stderr)
        )
    except SecurityConfigError as error:
        raise click.BadParameter(str(error), param_hint="--command-config") from None
    except OSError as error:
        raise click.BadParameter(f"cannot read {path}: {error.strerror}", param_hint="--command-config") from None


def file_option(*names: str, description: str) -> Callable[[Command], Command]:
    """Add an option with the path of a file."""
    return click.option(*names, type=click.Path(path_type=Path, dir_okay=False), metavar="FILE", help=description)


def ready_file_option(content: str, condition: str) -> Callable[[Command], Command]:
    """Add `--ready-file`.

    Args:
        content: the content of the file.
        condition: the time at which it is written.
    """
    return file_option("--ready-file", description=f"Write {content} as JSON once {condition}.")


def interval_option(*names: str, description: str, least: float, default: float = 1.0) -> Callable[[Command], Command]:
    """Add an option with seconds, at least `least`. `names`: its names; `--interval` by default."""
    return click.option(
        *(names or ("--interval",)),
        type=FiniteRange(min=least),
        default=default,
        show_default=True,
        metavar="SECONDS",
        help=description,
    )


def polled_input_options(command: Command) -> Command:
    """Add an option for each further input of a poller; its value is the interval in seconds, or None."""
    from kwire.client.polled_inputs import INPUTS

    for name, polled in reversed(INPUTS.items()):
        option = click.option(
            f"--{name.replace('_', '-')}",
            type=FiniteRange(min=1),
            metavar="SECONDS",
            help=f"Also poll {polled.doc} at this interval.",
        )
        command = option(command)
    return command


def color_option(command: Command) -> Command:
    """Add `--color`."""
    return click.option(
        "--color",
        type=click.Choice(["auto", "always", "never"]),
        default="auto",
        show_default=True,
        help="Color the output; auto means on a terminal, unless NO_COLOR is set.",
    )(command)


def output_option(choices: list[str], description: str) -> Callable[[Command], Command]:
    """Add `--output`; the first choice is the default."""
    return click.option(
        "-o", "--output", type=click.Choice(choices), default=choices[0], show_default=True, help=description
    )


def require(module: str, extra: str) -> None:
    """Check that a module is installed.

    Raises:
        click.ClickException: the module is missing; the message names the extra to install.
    """
    from importlib.util import find_spec

    if find_spec(module) is None:
        raise click.ClickException(f"this command needs {module}: pip install 'kwire[{extra}]'")
