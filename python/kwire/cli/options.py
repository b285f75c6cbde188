"""What several commands ask in the same words, and how their answers are checked."""

from __future__ import annotations

import math
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, TypeVar

import click

from kwire.cli.names import DIALECTS, UnknownName, named
from kwire.declare.introspect import describe
from kwire.messages import UnknownMessage

if TYPE_CHECKING:
    from collections.abc import Callable

    from kwire.cli.frames import FrameKind
    from kwire.declare import Message

Command = TypeVar("Command", bound="Callable[..., Any]")


class FiniteRange(click.FloatRange):
    """A number of that range which is one: not ``nan``, which no range refuses, and not ``inf``."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        number: float = super().convert(value, param, ctx)
        if not math.isfinite(number):
            self.fail(f"{value} is no finite number.", param, ctx)
        return number


class Time(click.DateTime):
    """A time in any form of ISO 8601, as commands print it or shorter. UTC, unless it says otherwise."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> datetime:
        try:
            time = datetime.fromisoformat(value)
        except ValueError:
            self.fail(f"{value!r} is no time: write 2026-11-21T14:05, with seconds and +01:00 if you like.", param, ctx)
        return time if time.tzinfo is not None else time.replace(tzinfo=UTC)


def complete_message(context: click.Context, _parameter: click.Parameter, begun: str) -> list[str]:
    """Names that begin with what is typed, for the shell."""
    from kwire.messages import every

    return [cls.__name__ for cls in every(context.params.get("dialect") or "kafka") if cls.__name__.startswith(begun)]


def which_message(command: Command) -> Command:
    """``--message``, ``--version``, ``--dialect``."""
    for option in (
        click.option(
            "-d",
            "--dialect",
            type=click.Choice(DIALECTS),
            default="kafka",
            show_default=True,
            help="Whose messages: Apache Kafka's as shipped, or the drafts of KIP-4.",
        ),
        click.option("-v", "--version", type=int, metavar="N", help="Version of the message."),
        click.option(
            "-m",
            "--message",
            metavar="NAME",
            shell_complete=complete_message,
            help="Its class, such as MetadataResponse; with --request or --response the API or its key will do.",
        ),
    ):
        command = option(command)
    return command


def whole_frames(command: Command) -> Command:
    """``--request``, ``--response``, ``--sized``."""
    for option in (
        click.option("--sized", is_flag=True, help="Each frame has its four bytes of size before it."),
        click.option("--response", "kind", flag_value="response", help="Whole responses, header and body."),
        click.option("--request", "kind", flag_value="request", help="Whole requests, header and body."),
    ):
        command = option(command)
    return command


def input_words(command: Command) -> Command:
    """``INPUT`` and ``--format``."""
    for option in (
        click.option(
            "-f",
            "--format",
            "content",
            type=click.Choice(["hex", "binary", "json"]),
            help="What the input is, where it is not what it looks like.",
        ),
        click.argument("words", metavar="[INPUT]...", nargs=-1),
    ):
        command = option(command)
    return command


def slice_of_time(command: Command) -> Command:
    """``--since`` and ``--until``."""
    for option in (
        click.option("--until", type=Time(), metavar="TIME", help="Up to then (UTC)."),
        click.option("--since", type=Time(), metavar="TIME", help="From then on (UTC), such as 2026-11-21T14:05."),
    ):
        command = option(command)
    return command


def require(module: str, extra: str) -> None:
    """Raise a ClickException that says what to install where a module is missing."""
    from importlib.util import find_spec

    if find_spec(module) is None:
        raise click.ClickException(f"This needs {module}: pip install 'kwire[{extra}]'.")


def colour(command: Command) -> Command:
    """``--color``."""
    return click.option(
        "--color",
        type=click.Choice(["auto", "always", "never"]),
        default="auto",
        show_default=True,
        help="Colour; auto means on a terminal, unless NO_COLOR is set.",
    )(command)


def chosen_message(
    name: str | None, dialect: str, version: int | None, kind: FrameKind | None
) -> tuple[type[Message] | None, int | None]:
    """The class and version that the options mean; None where they say nothing. Raises UsageError."""
    if name is None:
        return None, version
    try:
        frame_kind = None if kind == "body" else kind
        cls = named(name, dialect, version=version, kind=frame_kind)
    except UnknownName as error:
        raise click.BadParameter(str(error), param_hint="--message") from None
    except UnknownMessage as error:
        raise click.BadParameter(f"{error}.", param_hint="--message") from None
    if kind in ("request", "response") and describe(cls).kind != kind:
        raise click.BadParameter(f"{cls.__name__} is no {kind}.", param_hint="--message")
    if version is not None and version not in cls.versions:
        raise click.BadParameter(
            f"version {version} is not supported: {cls.__name__} has versions {cls.versions}.", param_hint="--version"
        )
    if version is None and cls.versions.lowest == cls.versions.highest:
        version = cls.versions.lowest
    return cls, version
