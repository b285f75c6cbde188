"""Scripts: a declaration, and one run with its output, its client, and its exit code."""

from __future__ import annotations

import asyncio
import sys
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TextIO, TypeVar

from kwire._util.json_document import parse_json_document
from kwire._util.readable import printable_lines
from kwire._util.text_files import EncodingError, read_text
from kwire_admin.compat.options import OptionValues, ScriptOption, ScriptUsageError, UnknownOption, format_help, parse

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping, Sequence

    from kwire.client.admin import AdminClient, AdminError

__all__ = [
    "BOOTSTRAP",
    "COMMAND_CONFIG",
    "LAST_WITH_ZOOKEEPER",
    "ZOOKEEPER",
    "Script",
    "ScriptFailed",
    "ScriptRefused",
    "ScriptRun",
    "accepted",
    "java_error",
    "number_read_late",
    "print_version",
    "read_json",
    "shown",
    "write",
]

T = TypeVar("T")

BOOTSTRAP = ScriptOption("bootstrap-server", "REQUIRED: The Kafka server to connect to.", "server to connect to")
COMMAND_CONFIG = ScriptOption("command-config", "Properties file of the client.", "command config property file")
ZOOKEEPER = ScriptOption("zookeeper", "The ZooKeeper of the cluster, with options and output of 0.10.2.", "urls")
LAST_WITH_ZOOKEEPER = "0.10.2.2"
"""The release that scripts with `--zookeeper` follow by default: the last one in which all of them had the option."""
HELP = ScriptOption("help", "Print usage information.")
VERSION = ScriptOption("version", "Display Kafka version.")


JAVA_EXCEPTIONS = {
    "DELEGATION_TOKEN_AUTH_DISABLED": "DelegationTokenDisabled",
    "DELEGATION_TOKEN_REQUEST_NOT_ALLOWED": "UnsupportedByAuthentication",
    "INVALID_TOPIC_EXCEPTION": "InvalidTopic",
    "NON_EMPTY_GROUP": "GroupNotEmpty",
}
"""Exceptions of Kafka whose names do not follow from the names of error codes."""


def java_error(error: AdminError) -> str:
    """Return an error as Kafka's exception prints it."""
    name = JAVA_EXCEPTIONS.get(error.name) or "".join(word.title() for word in error.name.split("_"))
    return f"org.apache.kafka.common.errors.{name}Exception: {error.text}"


class ScriptFailed(Exception):
    """A script could not do its work. The text is what Kafka's script prints; nothing if it is empty.

    Attributes:
        on_stdout: true if the text goes to stdout, where some of Kafka's scripts print their errors.
    """

    def __init__(self, text: str, *, on_stdout: bool = False) -> None:
        super().__init__(text)
        self.on_stdout = on_stdout


class ScriptRefused(ScriptFailed):
    """The script has failed. The text is the reason, which `Script.failure` precedes, as an error of the cluster."""


def number_read_late(values: OptionValues, option: str) -> int | None:
    """Return a number that Kafka's script reads after its options, so that it prints no usage if it is invalid.

    Raises:
        ScriptRefused: it is not a number.
    """
    try:
        return values.number(option)
    except ScriptUsageError as error:
        raise ScriptRefused(str(error)) from None


def accepted(result: T | AdminError) -> T:
    """Return a result, or raise it if it is an error."""
    if isinstance(result, Exception):
        raise result
    return result


class ScriptCaller(Protocol):
    """The run of a tool that is a script, such as `create-topic`: it has the cluster, and takes the output."""

    def write(self, text: str) -> None:
        """Write output as it is."""

    async def admin(self) -> AdminClient:
        """Return a client, which the caller closes."""


class ScriptRun:
    """One run of a script.

    Attributes:
        values: its arguments.
        release: the release with the options and the output that it follows.
        caller: the tool that runs it; None for a program of its own.
        opened: clients and sessions, which are closed at the end.
        has_failures: True if something has failed although the exit code of Kafka's script is 0. A tool fails then.
    """

    def __init__(
        self, values: OptionValues, release: str = LAST_WITH_ZOOKEEPER, caller: ScriptCaller | None = None
    ) -> None:
        self.values = values
        self.release = release
        self.caller = caller
        self.opened = AsyncExitStack()
        self.has_failures = False
        self._admin: AdminClient | None = None

    def is_before(self, release: str) -> bool:
        """Return whether the run follows a release that is older than another one."""
        return [*map(int, self.release.split("."))] < [*map(int, release.split("."))]

    def print(self, line: str = "") -> None:
        """Print a line of output: exactly as Kafka's script to a pipe, and escaped on a terminal."""
        if self.caller is not None:
            self.caller.write(f"{line}\n")
        else:
            print(shown(line, sys.stdout))

    def print_columns(self, rows: Sequence[Sequence[object]]) -> None:
        """Print rows of equal length in columns that end with tabs, as `ToolsUtils.prettyPrintTable` of Kafka does."""
        widths = [max(len(str(row[index])) for row in rows) for index in range(len(rows[0]))]
        for row in rows:
            self.print("\t".join(f"{value!s:<{width}}" for value, width in zip(row, widths, strict=True)) + "\t")

    def print_rows(self, rows: Sequence[Sequence[object]], widths: Sequence[int], *, fixed: bool = False) -> None:
        """Print rows in columns as wide as their longest cell, as the scripts of groups do.

        Args:
            rows: the rows, of equal length. Cells behind the columns that have a width are printed as they are.
            widths: the minimum widths.
            fixed: true for columns that do not grow.
        """
        columns = [
            width if fixed else max(width, *(len(str(row[at])) for row in rows)) for at, width in enumerate(widths)
        ]
        for row in rows:
            cells = [f"{cell!s:<{width}}" for cell, width in zip(row, columns, strict=False)]
            self.print(" ".join([*cells, *map(str, row[len(columns) :])]))

    def warn(self, line: str) -> None:
        """Print a line to stderr. A tool has one output."""
        if self.caller is not None:
            self.caller.write(f"{line}\n")
        else:
            print(shown(line, sys.stderr), file=sys.stderr)

    async def admin(self, timeout_ms: int | None = None, properties: Mapping[str, str] | None = None) -> AdminClient:
        """Return a client of the cluster that `--bootstrap-server` names.

        Args:
            timeout_ms: timeout of its requests in milliseconds; None for the default.
            properties: client properties in place of those in the file of `--command-config`; None for that file.

        Raises:
            ConnectionFault: no broker responds.
            ScriptUsageError: the option is missing, or an address is invalid.
        """
        if self.caller is not None:
            self._admin = await self.caller.admin()
        if self._admin is None:
            from kwire.client.admin import AdminClient

            bootstrap, file = self.values.get("bootstrap-server"), self.values.get("command-config")
            if bootstrap is None:
                raise ScriptUsageError("--bootstrap-server must be specified")
            config = None
            if file is not None:
                from kwire.client.security.client_properties import ClientProperties

                read = ClientProperties.load(file) if properties is None else ClientProperties.parse(properties)
                config = read.connection
            try:
                self._admin = await AdminClient.open(bootstrap, client_id="kwire-compat", config=config)
            except ValueError as error:
                raise ScriptUsageError(str(error)) from None
            self.opened.push_async_callback(self._admin.close)
        if timeout_ms is not None:
            self._admin.timeout = timeout_ms / 1000
        return self._admin

    async def close(self) -> None:
        """Close everything in `opened`."""
        await self.opened.aclose()


@dataclass(frozen=True, slots=True)
class Script:
    """One of Kafka's scripts.

    Attributes:
        name: its name without `.sh`.
        classes: the classes of Kafka behind it, for `kafka-run-class`.
        options: its options.
        function: runs the script; raises ScriptUsageError and ScriptFailed.
        failure: text before an error of the cluster; `{arguments}` stands for the arguments.
        fails_on_stdout: true if such an error goes to stdout.
        names_exceptions: true if the text of an error of the cluster names the exception of Java.
        program: its name in errors of its parser of options, for scripts with commands; empty for others.
        banner: the line before the options if there are no arguments.
        banners: the same line by release, for releases with another one.
        codes: the exit codes after errors of the cluster by release, for releases whose code is not 1.
    """

    name: str
    classes: tuple[str, ...]
    options: tuple[ScriptOption, ...]
    function: Callable[[ScriptRun], Awaitable[None]]
    failure: str = "Error: "
    fails_on_stdout: bool = True
    names_exceptions: bool = False
    program: str = ""
    banner: str = ""
    banners: Mapping[str, str] = field(default_factory=dict)
    codes: Mapping[str, int] = field(default_factory=dict)

    def chosen_options(self, *names: str) -> tuple[ScriptOption, ...]:
        """Return some of the options, for another script that has them as well."""
        return tuple(option for option in self.options if option.name in names)

    def run(self, arguments: Sequence[str], release: str | None = None) -> int:
        """Run the script, and return its exit code: 0, or 1 for any error.

        Args:
            arguments: the arguments without the name of the script.
            release: the release of Kafka whose script defines the output and the exit codes; None for 0.10.2.2 with
                exit code 1 after each error.
        """
        from kwire.client.admin.errors import AdminError
        from kwire.errors import KwireError

        options = (*self.options, HELP, VERSION)
        try:
            values = parse(options, arguments)
            if not arguments or "help" in values:
                banner = self.banners.get(release or "", self.banner)
                if self.program and not arguments:
                    banner = f"{self.program}: error: too few arguments"
                print("\n".join([*filter(None, [banner]), format_help(options)]), file=sys.stderr)
                return 0 if "help" in values else 1
            if "version" in values:
                return print_version()
            return asyncio.run(self._run(values, release or LAST_WITH_ZOOKEEPER))
        except ScriptUsageError as error:
            text = str(error)
            if self.program and isinstance(error, UnknownOption):
                text = f"{self.program}: error: unrecognized arguments: '{error.argument}'"
            print(f"{shown(text, sys.stderr)}\n{format_help(options)}", file=sys.stderr)
        except (KwireError, OSError, ScriptRefused) as error:
            text = getattr(error, "text", None) or str(error)
            if self.names_exceptions and isinstance(error, AdminError):
                text = java_error(error)
            failure = self.failure.replace("{arguments}", " ".join(arguments))
            stream = sys.stdout if self.fails_on_stdout else sys.stderr
            print(shown(f"{failure}{text}", stream), file=stream)
            return self.codes.get(release or "", 1)
        except ScriptFailed as error:
            stream = sys.stdout if error.on_stdout else sys.stderr
            if str(error):
                print(shown(str(error), stream), file=stream)
            return self.codes.get(release or "", 1)
        return 1

    async def _run(self, values: OptionValues, release: str) -> int:
        run = ScriptRun(values, release)
        try:
            await self.function(run)
        finally:
            await run.close()
        return 0


def print_version() -> int:
    """Print the version of kwire, and return the exit code."""
    from kwire import __version__

    print(f"{__version__} (kwire)")
    return 0


def write(text: str) -> None:
    """Write output of a tool: as it is to a pipe, and escaped on a terminal."""
    sys.stdout.write(shown(text, sys.stdout))


def shown(text: str, stream: TextIO) -> str:
    """Return a text as it is for a pipe, and escaped for a terminal."""
    return printable_lines(text) if stream.isatty() else text


def read_json(path: str, empty: ScriptFailed | None = None) -> Any:
    """Return the content of a JSON file.

    Args:
        path: the file.
        empty: the error of a file without text; None for the error of other texts that are not JSON.

    Raises:
        ScriptFailed: the file cannot be read, or is not JSON.
    """
    try:
        text = read_text(Path(path))
        if empty is not None and not text.strip():
            raise empty
        return parse_json_document(text)
    except OSError as error:
        raise ScriptFailed(f"Error: cannot read {path}: {error.strerror}") from None
    except EncodingError as error:
        raise ScriptFailed(f"Error: cannot read {path}: {error}") from None
    except ValueError as error:
        raise ScriptFailed(f"Error: {path} is not JSON: {error}") from None
