"""Options of the commands that read and write messages, and the checks of their values."""

from __future__ import annotations

import click

from kwire._util.light_typing import TYPE_CHECKING, Any, TypeVar
from kwire.cli.message_names import DIALECTS, find_by_name
from kwire.declare.introspect import describe
from kwire.messages import UnknownMessage
from kwire.terminal.parameter_types import Named

if TYPE_CHECKING:
    from collections.abc import Callable

    from kwire.cli.frames import FrameKind
    from kwire.declare import Message

Command = TypeVar("Command", bound="Callable[..., Any]")


def message_options(command: Command) -> Command:
    """Add `--message`, `--version`, and `--dialect`."""
    for option in (
        click.option(
            "-d",
            "--dialect",
            type=click.Choice(DIALECTS),
            default="kafka",
            show_default=True,
            help="Use the messages of Apache Kafka, or of the drafts of KIP-4.",
        ),
        click.option("-v", "--version", type=int, metavar="N", help="Use this version of the message."),
        click.option(
            "-m",
            "--message",
            metavar="NAME",
            type=Named("messages"),
            help="Use this message, such as MetadataResponse; with --request or --response also an API or API key.",
        ),
    ):
        command = option(command)
    return command


def frame_options(command: Command) -> Command:
    """Add `--request`, `--response`, and `--sized`."""
    for option in (
        click.option("--sized", is_flag=True, help="Expect or write the size prefix of four bytes before each frame."),
        click.option("--response", "kind", flag_value="response", help="Process responses: header and body."),
        click.option("--request", "kind", flag_value="request", help="Process requests: header and body."),
    ):
        command = option(command)
    return command


def input_options(command: Command) -> Command:
    """Add `INPUT` and `--format`."""
    for option in (
        click.option(
            "-f",
            "--format",
            "input_format",
            type=click.Choice(["hex", "binary", "json"]),
            help="Read the input in this format  [default: detect]",
        ),
        click.argument("words", type=Named("files"), metavar="[INPUT]...", nargs=-1),
    ):
        command = option(command)
    return command


def resolve_message(
    name: str | None, dialect: str, version: int | None, kind: FrameKind | None
) -> tuple[type[Message] | None, int | None]:
    """Return the class and version that the options name; None where they do not name any.

    Raises:
        click.UsageError: the message or its version does not exist.
    """
    if name is None:
        return None, version
    try:
        cls = find_by_name(name, dialect, version=version, kind=None if kind == "body" else kind)
    except UnknownMessage as error:
        raise click.BadParameter(str(error), param_hint="--message") from None
    if kind in ("request", "response") and describe(cls).kind != kind:
        raise click.BadParameter(f"{cls.__name__} is not a {kind}", param_hint="--message")
    if version is not None and version not in cls.versions:
        raise click.BadParameter(
            f"version {version} is not supported: {cls.__name__} has versions {cls.versions}", param_hint="--version"
        )
    if version is None and cls.versions.lowest == cls.versions.highest:
        version = cls.versions.lowest
    return cls, version
