"""The list of commands, and how a run of one ends.

Rules of this file: a command is a name, the module that has it, and a sentence for the list, so that ``kwire --help``
imports none of them.
"""

from __future__ import annotations

import os
import sys
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, cast

import click

from kwire import __version__
from kwire.errors import KwireError

if TYPE_CHECKING:
    from collections.abc import Sequence

COMMANDS = {
    "decode": "Bytes to JSON, tables, or an annotated hex dump.",
    "encode": "JSON to bytes.",
    "validate": "Count which frames of a capture are right and which are wrong.",
    "messages": "List all messages, or the fields of one and what they mean.",
    "plan": "Show what the engine does with a message.",
    "capture": "Poll a cluster's metadata into a folder.",
    "replay": "Tell what changed in a cluster, out of a capture.",
    "report": "Write a page that says what happened to a cluster.",
    "cluster": "Run a cluster of nodes on this machine.",
    "node": "Run one node of a cluster.",
}
"""Each is the module of that name in ``kwire.cli.commands``, and the function of that name in it."""

EXIT_WRONG_INPUT = 1
EXIT_USAGE = 2
EXIT_INTERRUPTED = 130
EXIT_READER_GONE = 141

COMPLETION = "_KWIRE_COMPLETE"


class Program(click.Group):
    """Imports a command when it is called."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        del ctx
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        del ctx
        if cmd_name not in COMMANDS:
            return None
        return cast("click.Command", getattr(import_module(f"kwire.cli.commands.{cmd_name}"), cmd_name))

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The list, out of the table above."""
        del ctx
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))


@click.group(
    cls=Program,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog="Exit codes: 0 all went well, 1 some of the input was wrong, 2 wrong usage, 130 interrupted.",
)
@click.version_option(__version__, message="kwire %(version)s")
def program() -> None:
    """Look into Kafka's admin and metadata protocol: decode, encode, validate and explain its messages.

    \b
    kwire decode --message MetadataResponse --version 13 000000000100ffffffff01000000
    kwire decode --request --output hexdump frame.bin
    kwire decode capture.jsonl.xz | jq 'select(.error)'
    kwire messages MetadataResponse

    INPUT of a command is hex, JSON, the name of a file (.xz and .gz are unpacked), or - for stdin.
    """  # noqa: D301  # \b is click's mark


def run(arguments: Sequence[str]) -> int:
    """Run the command that the arguments name; the exit code."""
    _open_what_is_closed()
    for stream in (sys.stdout, sys.stderr):
        # JSON is UTF-8 wherever it goes; and what a terminal cannot show must not end the run.
        stream.reconfigure(encoding="utf-8", errors="backslashreplace")  # type: ignore[union-attr]  # a real stream
    try:
        code = _run(list(arguments))
        sys.stdout.flush()
    except BrokenPipeError:
        _drop_output()
        return EXIT_READER_GONE
    except OSError as error:
        print(f"Error: {error}", file=sys.stderr)
        try:
            sys.stdout.flush()
        except OSError:  # then this is what was wrong
            _drop_output()
        return EXIT_WRONG_INPUT
    except (KeyboardInterrupt, click.Abort):
        return EXIT_INTERRUPTED
    return code


def _open_what_is_closed() -> None:
    """A stream that whoever started us has closed is None; commands need not know."""
    null = Path(os.devnull)
    sys.stdin = sys.stdin or null.open(encoding="utf-8")
    sys.stdout = sys.stdout or null.open("w", encoding="utf-8")
    sys.stderr = sys.stderr or null.open("w", encoding="utf-8")


def _drop_output() -> None:
    """What is still buffered has nowhere to go, and Python would try, and complain, when it ends."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _run(arguments: list[str]) -> int:
    if COMPLETION in os.environ:
        from click.shell_completion import shell_complete

        return shell_complete(program, {}, "kwire", COMPLETION, os.environ[COMPLETION])
    try:
        with program.make_context("kwire", arguments) as context:
            return int(program.invoke(context) or 0)
    except click.exceptions.Exit as end:
        return end.exit_code
    except click.ClickException as error:
        error.show()
        return error.exit_code
    except KwireError as error:
        sys.stdout.flush()
        print(f"Error: {error}", file=sys.stderr)
        return EXIT_WRONG_INPUT
