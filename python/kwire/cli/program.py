"""The `kwire` command: its subcommands, and how a run ends.

A subcommand is the function of its name in the module of that name in a folder of commands; adding the file adds the
command. The first folder is `kwire.cli.commands`, the others are packages of the entry points `kwire.commands`. Only
`kwire --help` imports all of them.
"""

from __future__ import annotations

import gc
import inspect
import sys
from functools import cache, partial
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

import click

from kwire import __version__
from kwire._util.light_typing import TYPE_CHECKING, Any, ClassVar
from kwire._util.products import BrokenProduct, check_version, entry_points, missing_admin_hint, missing_hint
from kwire._util.similar_names import similar
from kwire.cli.entry import EXIT_INTERRUPTED, run_with_streams

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["CommandGroup", "command_names", "find_command", "invoke", "is_own", "program", "run", "short_help"]

GROUP = "kwire.commands"
"""The group of entry points of packages with commands."""
OWN = "kwire.cli.commands"

FIRST_STEPS = """\
Three things to try:

  kwire messages Metadata                    show the fields and versions of Kafka's messages
  kwire sniff --to HOST:9092                 show each request of a client with its response
  kwire decode --message MetadataResponse --version 13 000000000100ffffffff01000000

kwire help lists all commands, and kwire help COMMAND describes one.
"""


@cache
def _modules(package: str) -> dict[str, str]:
    """Return the modules of a package of commands by the name of the command, without importing them.

    One with the name of a builtin of Python has an underscore at the end of its module.
    """
    spec = find_spec(package)
    folders = () if spec is None else spec.submodule_search_locations or ()
    modules = (path.stem for folder in folders for path in Path(folder).glob("*.py") if path.stem != "__init__")
    return {name.rstrip("_"): f"{package}.{name}" for name in modules}


def is_own(name: str) -> bool:
    """Return whether a command is one of this package."""
    return name in _modules(OWN)


@cache
def command_names() -> tuple[str, ...]:
    """Return the names of the subcommands of all installed products in alphabetical order."""
    return tuple(sorted({*_modules(OWN), *(name for point in entry_points(GROUP) for name in _modules(point.value))}))


def find_command(name: str) -> click.Command | None:
    """Import a subcommand, one of this package first; None if no installed product has it.

    Raises:
        BrokenProduct: it cannot be imported, or its product has another version.
    """
    if is_own(name):
        return _imported(_modules(OWN)[name])
    for point in entry_points(GROUP):
        if name in _modules(point.value):
            check_version(point)
            try:
                return _imported(_modules(point.value)[name])
            except ModuleNotFoundError:
                raise  # main() says which extra has the library
            except Exception as error:
                raise BrokenProduct(
                    f"the command {name} of {point.name} cannot be used: {type(error).__name__}: {error}"
                ) from error
    return None


def _imported(module: str) -> click.Command:
    command: click.Command = getattr(import_module(module), module.rpartition(".")[2])
    return command


def short_help(name: str) -> str:
    """Return the first line of the help of a subcommand, or why it cannot be used."""
    try:
        command = find_command(name)
    except (BrokenProduct, ModuleNotFoundError) as error:
        return f"(cannot be used: {error})"
    assert command is not None
    return inspect.cleandoc(command.help or "").partition("\n")[0]


class CommandGroup(click.Group):
    """A group that imports a subcommand when it is called.

    Attributes:
        first_steps: text for whoever types the name alone, instead of three pages of help.
    """

    first_steps: ClassVar = FIRST_STEPS

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if not args:
            click.echo(self.first_steps, nl=False)
            ctx.exit()
        return super().parse_args(ctx, args)

    def list_commands(self, ctx: click.Context) -> list[str]:
        del ctx
        return [*command_names()]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        del ctx
        command = find_command(cmd_name)
        gc.enable()
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find a subcommand, and suggest similar ones for a misspelled name. `help COMMAND` is `COMMAND --help`."""
        if args[0] == "help":
            if not args[1:]:
                click.echo(ctx.get_help())
                ctx.exit()
            args = [*args[1:], "--help"]
        if not args[0].startswith("-") and not self.is_command(ctx, args):
            raise click.UsageError(f"no such command {args[0]!r}{self.hint(ctx, args)}", ctx)
        return super().resolve_command(ctx, args)

    def is_command(self, ctx: click.Context, args: list[str]) -> bool:
        """Return whether the first word is a command."""
        return self.get_command(ctx, args[0]) is not None

    def hint(self, ctx: click.Context, args: list[str]) -> str:
        """Return what may have been meant, or what has to be installed."""
        missing = missing_hint(args[0])
        if missing is None:
            suggested = similar(args[0], ("--help", *self.list_commands(ctx)))
            missing = f"did you mean {' or '.join(suggested)}?" if suggested else missing_admin_hint()
        return f": {missing}" if missing else ""

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the list of subcommands with their short help."""
        del ctx
        with formatter.section("Commands"):
            formatter.write_dl([(name, short_help(name)) for name in command_names()])


CONTEXT: dict[str, Any] = {"help_option_names": ["-h", "--help"], "max_content_width": 100}
"""Settings of click for the program."""


@click.group(
    cls=CommandGroup,
    context_settings=CONTEXT,
    epilog="Exit codes: 0 success; 1 some of the input is invalid; 2 wrong usage; 3 the cluster is unreachable; 4 "
    "authentication or authorization failed; 130 interrupted.",
)
@click.version_option(__version__, message="kwire %(version)s", help="Show the version and exit.")
def program() -> None:
    """Decode and encode Kafka's protocol, show what a client and a broker say, and record the metadata of a cluster.

    `kafka`, which kwire-admin brings, has these commands too, and commands that administer clusters.

    \b
    Examples:
      kwire decode --message MetadataResponse --version 13 000000000100ffffffff01000000
      kwire decode --request --output hexdump frame.bin
      kwire decode frames.jsonl.xz | jq 'select(.error)'
      kwire messages MetadataResponse
      kwire capture --bootstrap broker-1:9092 OUT

    `kwire COMMAND --help` describes a command.
    """


def run(arguments: Sequence[str], group: click.Group = program) -> int:
    """Run a subcommand and return the exit code.

    Args:
        arguments: the words of the command line, without the name of the program.
        group: the program.
    """
    return run_with_streams(partial(invoke, group), arguments)


def _name() -> str:
    """Return the name by which the program was called, for its help."""
    called = Path(sys.argv[0]).stem
    return called if called in ("kafka", "kwire") else "kwire"


def invoke(group: click.Group, arguments: list[str]) -> int:
    """Parse arguments with click, run the subcommand that they name, and return its exit code."""
    try:
        with group.make_context(_name(), arguments) as context:
            return int(group.invoke(context) or 0)
    except click.exceptions.Exit as end:
        return end.exit_code
    except click.ClickException as error:
        error.show()
        return error.exit_code
    except click.Abort:
        return EXIT_INTERRUPTED
