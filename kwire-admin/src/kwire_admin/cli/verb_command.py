"""Verbs as commands: groups of nouns, and the options of a verb."""

from __future__ import annotations

import inspect
from functools import cached_property, partial

import click

from kwire._util.light_typing import TYPE_CHECKING, Any
from kwire._util.products import missing_hint
from kwire._util.similar_names import similar
from kwire.terminal.cluster_options import cluster_options, merge
from kwire.terminal.environment import WAIT_S
from kwire_admin.cli.kafka_habits import with_option_hint
from kwire_admin.cli.row_help import print_row_help
from kwire_admin.cli.verb_run import run_command
from kwire_admin.cli.verb_session import current_session
from kwire_admin.operations.command_line import click_parameters
from kwire_admin.operations.parameters import Danger
from kwire_admin.operations.registry import find_verb, noun_help, verb_names

if TYPE_CHECKING:
    from collections.abc import Callable

    from kwire_admin.operations.declaration import Operation


class HintingCommand(click.Command):
    """A verb, or a group of verbs. Its errors of options know the options of Kafka's scripts."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse the options, and say what is meant by one of Kafka's scripts."""
        try:
            return super().parse_args(ctx, args)
        except click.NoSuchOption as error:
            raise with_option_hint(error) from None


class NounGroup(HintingCommand, click.Group):
    """The verbs of a noun, each imported when it is called.

    Args:
        noun: the noun.
        find_beside: returns a group of commands with the same name, which are listed beside the verbs, or None. It is
            called for help, and for a command besides the verbs.
    """

    def __init__(self, noun: str, find_beside: Callable[[], click.Command | None] | None = None) -> None:
        super().__init__(noun, help=noun_help(noun))
        self._noun = noun
        self._find_beside = find_beside

    @cached_property
    def _beside(self) -> click.Group | None:
        beside = self._find_beside() if self._find_beside is not None else None
        return beside if isinstance(beside, click.Group) else None

    def format_help(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the help of the noun, and of the group beside it."""
        if self._beside is not None:
            self.help = f"{noun_help(self._noun)}\n\n{inspect.cleandoc(self._beside.help or '')}"
        super().format_help(ctx, formatter)

    def list_commands(self, ctx: click.Context) -> list[str]:
        beside = self._beside.list_commands(ctx) if self._beside else ()
        return sorted((*verb_names(self._noun), *beside))

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        verb = find_verb(self._noun, cmd_name)
        if verb is not None:
            return verb_command(verb)
        return self._beside.get_command(ctx, cmd_name) if self._beside else None

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find a command, and suggest similar ones for a misspelled name."""
        name = args[0]
        if self.get_command(ctx, name) is None and not name.startswith("-"):
            names = self.list_commands(ctx)
            suggested = similar(name, tuple(names))
            hint = f"did you mean {' or '.join(suggested)}?" if suggested else f"there are {', '.join(names)}"
            missing = missing_hint(self._noun)
            if missing is not None:  # the noun has more commands in another product
                hint = f"{hint}; if {missing}"
            raise click.UsageError(f"{self._noun} has no command {name!r}: {hint}", ctx)
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the list of verbs with their short help."""
        rows = []
        for name in self.list_commands(ctx):
            command = self.get_command(ctx, name)
            assert command is not None
            rows.append((name, command.get_short_help_str(100)))
        with formatter.section("Commands"):
            formatter.write_dl(rows)


def verb_command(verb: Operation) -> click.Command:
    """Return the command of a verb."""
    parameters = click_parameters(verb)
    if verb.danger > Danger.READS:
        parameters.append(
            click.Option(["-n", "--dry-run"], is_flag=True, help="Report what would change, and change nothing.")
        )
    if verb.waits:
        parameters.append(
            click.Option(
                ["--wait"],
                type=click.FloatRange(0),
                default=WAIT_S,
                show_default=True,
                metavar="SECONDS",
                help="Time to wait until every broker reports the change; 0 does not wait.",
            )
        )
    if verb.highest_danger is Danger.DESTROYS:
        parameters.append(click.Option(["-y", "--yes"], is_flag=True, help="Do not ask."))

    def callback(**values: Any) -> int:
        context = click.get_current_context()
        chosen = merge(context.obj or {}, values)
        return run_command(verb, current_session(context), chosen, values)

    common = cluster_options()
    for option in common:
        if option.name == "output":  # describes the rows before click misses an argument
            option.callback, option.is_eager = partial(_on_output, verb), True

    text = verb.help
    if verb.ends_options:
        text += "\n\nOptions of this command precede the first argument. Everything after it is passed on unchanged."
    examples = "".join(f"\n  kafka -b localhost:9092 {example}" for example in verb.examples)
    return HintingCommand(
        verb.name,
        callback=callback,
        params=[*parameters, *common],
        help=f"{text}\n\n\b\nExamples:{examples}" if examples else text,
        short_help=verb.summary,
        context_settings={"allow_interspersed_args": False} if verb.ends_options else None,
    )


def _on_output(verb: Operation, context: click.Context, _: click.Parameter, value: str | None) -> str | None:
    """Describe the rows of a verb if that is the value of `--output`."""
    if value == "help":
        print_row_help(verb)
        context.exit()
    return value
