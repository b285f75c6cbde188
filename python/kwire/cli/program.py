"""The `kwire` command: its subcommands, and how a run ends.

A subcommand is the function of its name in the module of that name in `kwire.cli.commands`; adding the file adds the
command. Only `kwire --help` imports all of them.
"""

from __future__ import annotations

import builtins
import errno
import gc
import inspect
import os
import sys
from functools import cache
from importlib import import_module
from io import BufferedWriter, RawIOBase, TextIOWrapper, UnsupportedOperation
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from kwire import __version__
from kwire._util.readable import printable
from kwire.cli.cluster import admin_option, cluster_options
from kwire.cli.kafka_habits import first_word_hint
from kwire.errors import KwireError
from kwire.operations import registry

if TYPE_CHECKING:
    from collections.abc import Sequence

EXIT_INVALID_INPUT = 1
EXIT_INTERRUPTED = 130
EXIT_BROKEN_PIPE = 141
FULL = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EBADF})
"""Errors of writes: no space, the end of a quota or of the size of a file, or a closed stdout."""


FOLDER = Path(__file__).with_name("commands")
"""The modules of the subcommands."""


@cache
def command_names() -> tuple[str, ...]:
    """Return the names of the subcommands in alphabetical order."""
    return tuple(sorted(path.stem.rstrip("_") for path in FOLDER.glob("*.py") if path.stem != "__init__"))


def short_help(name: str) -> str:
    """Return the first line of the help of a subcommand."""
    return inspect.cleandoc(_command(name).help or "").partition("\n")[0]


def _command(name: str) -> click.Command:
    """Import a subcommand. One with the name of a builtin of Python has an underscore at the end of its module."""
    module = f"{name}_" if hasattr(builtins, name) else name
    command: click.Command = getattr(import_module(f"kwire.cli.commands.{module}"), module)
    return command


FIRST_STEPS = """\
Five things to try:

  kwire cluster up                           start a cluster on this machine (needs Java)
  kafka -b HOST:9092 topics list             list the topics of a cluster
  kafka -b HOST:9092 cluster health          check a cluster for what is wrong
  kwire messages Metadata                    show the fields and versions of Kafka's messages
  kwire sniff --to HOST:9092                 show each request of a client with its response

kafka help lists all commands, and kafka help COMMAND describes one.
"""


class LazyGroup(click.Group):
    """A group that imports a subcommand, or the verbs of a noun, when it is called."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Show first steps instead of three pages of help to whoever types the name alone."""
        if not args:
            click.echo(FIRST_STEPS, nl=False)
            ctx.exit()
        return super().parse_args(ctx, args)

    def list_commands(self, ctx: click.Context) -> list[str]:
        del ctx
        return sorted({*command_names(), *registry.nouns()})

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        del ctx
        command = _command(cmd_name) if cmd_name in command_names() else None
        noun = registry.find_noun(cmd_name)
        if noun is None:
            gc.enable()
            return command
        from kwire.cli.verb_command import NounGroup

        return NounGroup(noun, command if isinstance(command, click.Group) else None)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find a subcommand, and suggest similar ones for a misspelled name. `help COMMAND` is `COMMAND --help`."""
        if args[0] == "help":
            if not args[1:]:
                click.echo(ctx.get_help())
                ctx.exit()
            args = [*args[1:], "--help"]
        is_verb_first = args[0] == "describe" and len(args) > 1 and registry.find_noun(args[1]) is not None
        if not args[0].startswith("-") and (is_verb_first or self.get_command(ctx, args[0]) is None):
            raise click.UsageError(f"no such command {args[0]!r}{self._hint(ctx, args)}", ctx)
        return super().resolve_command(ctx, args)

    def _hint(self, ctx: click.Context, args: list[str]) -> str:
        """Return what may have been meant, such as `topics describe` for `describe topics`."""
        noun = registry.find_noun(args[1]) if len(args) > 1 else None
        names = () if noun is None else registry.verb_names(noun)
        habit = first_word_hint(args[0])
        if habit is not None and (noun is None or args[0] == "use"):  # `use topic orders` names no verb
            return f": {habit}"
        if noun is not None:
            return f": write the noun first: {noun} {args[0] if args[0] in names else '|'.join(names)}"
        suggested = registry.similar(args[0], ("--help", *self.list_commands(ctx)))
        return f": did you mean {' or '.join(suggested)}?" if suggested else ""

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the lists of nouns and of other subcommands with their short help."""
        del ctx
        with formatter.section("Administration"):
            formatter.write_dl([(noun, registry.noun_help(noun)) for noun in registry.nouns()])
        with formatter.section("Commands"):
            formatter.write_dl([(name, short_help(name)) for name in command_names() if name not in registry.nouns()])


@click.group(
    cls=LazyGroup,
    params=[*cluster_options()],
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog="Exit codes: 0 success; 1 some of the input is invalid, or an item was refused; 2 wrong usage; 3 the "
    "cluster is unreachable or a timeout expired; 4 authentication or authorization failed; 5 the outcome of a change "
    "is unknown; 6 a check found a problem; 130 interrupted.",
)
@admin_option
@click.version_option(__version__, message="kwire %(version)s", help="Show the version and exit.")
@click.pass_context
def program(ctx: click.Context, /, admin: bool, **cluster: Any) -> None:
    """Administer Kafka clusters, watch their metadata, and decode and encode Kafka's protocol.

    `kafka` and `kwire` are two names of the same program.

    \b
    Examples:
      kafka -b broker-1:9092 topics list
      kafka -b broker-1:9092 topics create orders --partitions 12 --replication-factor 3
      kafka -b broker-1:9093 --command-config client.properties topics list
      kwire decode --message MetadataResponse --version 13 000000000100ffffffff01000000
      kwire decode --request --output hexdump frame.bin
      kwire decode frames.jsonl.xz | jq 'select(.error)'
      kwire messages MetadataResponse
      kwire capture --bootstrap broker-1:9092 OUT

    `kafka COMMAND --help` describes a command.
    """
    del admin  # every noun is administration
    ctx.obj = cluster  # what verbs take if it is not given after them


def run(arguments: Sequence[str]) -> int:
    """Run a subcommand and return the exit code."""
    _open_closed_streams()
    for stream in (sys.stdout, sys.stderr):
        # JSON is always UTF-8. Characters that the terminal cannot show must not end the run.
        stream.reconfigure(encoding="utf-8", errors="backslashreplace")  # type: ignore[union-attr]  # a real stream
    try:
        code = _run(list(arguments))
        sys.stdout.flush()
    except BrokenPipeError:
        _discard_output()
        return EXIT_BROKEN_PIPE
    except OSError as error:
        # Such an error of a file has its name; an error of a stream has none.
        is_output = error.filename is None and error.errno in FULL
        what = f"cannot write the output: {error.strerror}" if is_output else str(error)
        print(f"Error: {printable(what)}", file=sys.stderr)
        try:
            sys.stdout.flush()
        except OSError:  # stdout itself caused the error
            _discard_output()
        return EXIT_INVALID_INPUT
    except (KeyboardInterrupt, click.Abort):
        return EXIT_INTERRUPTED
    return code


def _open_closed_streams() -> None:
    """Open /dev/null in place of standard streams that the parent process has closed, which are None."""
    null = Path(os.devnull)
    sys.stdin = sys.stdin or null.open(encoding="utf-8")
    if sys.stdout is None:
        os.open(os.devnull, os.O_WRONLY)  # keeps the number 1, which the next file or connection would get
        sys.stdout = TextIOWrapper(BufferedWriter(_ClosedOutput()), encoding="utf-8")
    sys.stderr = sys.stderr or null.open("w", encoding="utf-8")


class _ClosedOutput(RawIOBase):
    """The standard output of a process that has none: nothing can be written, and that is an error, not a success."""

    def writable(self) -> bool:
        """Return True: an error of the first write ends the command, as one of a full disk does."""
        return True

    def write(self, data: object) -> int:
        """Raise OSError."""
        del data
        raise OSError(errno.EBADF, "stdout is closed")


def _discard_output() -> None:
    """Redirect stdout to /dev/null: Python flushes its buffer at exit, which would fail again."""
    null = os.open(os.devnull, os.O_WRONLY)
    try:
        os.dup2(null, sys.stdout.fileno())
    except UnsupportedOperation:  # stdout is closed
        sys.stdout = os.fdopen(null, "w")


def _name() -> str:
    """Return the name by which the program was called, for its help."""
    called = Path(sys.argv[0]).stem
    return called if called in ("kafka", "kwire") else "kwire"


def _run(arguments: list[str]) -> int:
    try:
        with program.make_context(_name(), arguments) as context:
            return int(program.invoke(context) or 0)
    except click.exceptions.Exit as end:
        return end.exit_code
    except click.ClickException as error:
        error.show()
        return error.exit_code
    except KwireError as error:
        sys.stdout.flush()
        print(f"Error: {printable(str(error))}", file=sys.stderr)
        return EXIT_INVALID_INPUT
