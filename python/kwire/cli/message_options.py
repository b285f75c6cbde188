"""Options of the commands that read and write messages, and the messages that they choose."""

from __future__ import annotations

import click

from kwire._util.light_typing import TYPE_CHECKING, Any, NamedTuple, TypeVar
from kwire.cli.input_sources import InvalidInput
from kwire.cli.message_names import DIALECTS, UnknownName, find_all_by_name, find_by_name
from kwire.declare.introspect import describe
from kwire.messages import UnknownMessage
from kwire.terminal.parameter_types import Named

if TYPE_CHECKING:
    from collections.abc import Callable

    from kwire.cli.frames import FrameKind
    from kwire.declare import Message
    from kwire.messages import Kind

Command = TypeVar("Command", bound="Callable[..., Any]")


dialect_option = click.option(
    "-d",
    "--dialect",
    type=click.Choice(DIALECTS),
    default="kafka",
    show_default=True,
    help="Use the messages of Apache Kafka, or of the drafts of KIP-4.",
)


def message_options(command: Command) -> Command:
    """Add `--message`, `--version`, and `--dialect`."""
    for option in (
        dialect_option,
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


class MessageChoice(NamedTuple):
    """The kind, message, and version that the command line names; None where it does not."""

    dialect: str
    kind: FrameKind | None = None
    cls: type[Message] | None = None
    version: int | None = None

    @classmethod
    def of_options(cls, name: str | None, dialect: str, version: int | None, kind: FrameKind | None) -> MessageChoice:
        """Return the choice of the values of `message_options` and `frame_options`.

        Raises:
            click.UsageError: the message or its version does not exist.
        """
        if name is None:
            return cls(dialect, kind, None, version)
        try:
            message = find_by_name(name, dialect, version=version, kind=None if kind == "body" else kind)
        except UnknownMessage as error:
            raise click.BadParameter(str(error), param_hint="--message") from None
        if kind in ("request", "response") and describe(message).kind != kind:
            raise click.BadParameter(f"{message.__name__} is not a {kind}", param_hint="--message")
        if version is not None and version not in message.versions:
            raise click.BadParameter(
                f"version {version} is not supported: {message.__name__} has versions {message.versions}",
                param_hint="--version",
            )
        return cls(dialect, kind, message, _only_version(message) if version is None else version)

    def of_document(self, document: dict[str, Any], *, needs_version: bool = False) -> tuple[type[Message], int | None]:
        """Return the message and version of a document; what it does not name, the command line does.

        Args:
            document: the document.
            needs_version: False if a message may say its version itself, which is None then.

        Raises:
            InvalidInput: neither names the message, or its version.
        """
        version = document.get("version", document.get("api_version", self.version))
        if isinstance(version, bool) or not isinstance(version, int | None):
            raise InvalidInput(f"invalid version: {version!r}")
        message = self.cls
        if isinstance(document.get("message"), str):
            kind: Kind | None = "response" if self.kind == "response" else None
            message = find_by_name(document["message"], self.dialect, version=version, kind=kind)
        if message is None:
            raise InvalidInput("unknown message: neither the document nor --message names it")
        version = _only_version(message) if version is None else version
        if version is None and (needs_version or not says_version(message)):
            raise InvalidInput(
                "unknown version: neither the document nor --version names one; "
                f"{message.__name__} has versions {message.versions}"
            )
        return message, version


def _only_version(message: type[Message]) -> int | None:
    return message.versions.lowest if message.versions.lowest == message.versions.highest else None


def says_version(message: type[Message]) -> bool:
    """Return whether a message begins with its version: it is the value of a record or the data of a group."""
    # Records of topics without keys have their type before their version (`kwire.records.internal`).
    return describe(message).kind == "data" and not message.__name__.endswith("Record")


def named_messages(name: str, dialect: str, version: int | None) -> list[type[Message]]:
    """Return the messages of an argument NAME that have a version: request and response for the name of an API.

    Raises:
        click.BadParameter: there are none.
    """
    try:
        classes = find_all_by_name(name, dialect)
    except UnknownName as error:
        raise click.BadParameter(str(error), param_hint="NAME") from None
    matching = [cls for cls in classes if version is None or version in cls.versions]
    if not matching:
        ranges = " and ".join(f"{cls.__name__} has versions {cls.versions}" for cls in classes)
        raise click.BadParameter(f"version {version} is not supported: {ranges}", param_hint="--version")
    return matching
