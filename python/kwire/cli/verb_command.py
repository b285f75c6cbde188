"""Verbs as commands: options from parameters, a client of the cluster, and output."""

from __future__ import annotations

import inspect
import sys
from enum import Enum
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from kwire.cli.cluster_options import cluster_options, merge
from kwire.cli.colors import Paint
from kwire.cli.parameter_types import Named
from kwire.cli.row_help import print_row_help
from kwire.cli.row_output import print_error, print_output, print_rows
from kwire.cli.secret_input import read_secret
from kwire.cli.verb_errors import INTERRUPTED, exit_code, exit_code_of_answer, exit_code_of_items, sentence_of
from kwire.cli.verb_run import NotConfirmed, VerbRun
from kwire.cli.verb_session import current_session
from kwire.errors import KwireError
from kwire.parameters import InvalidArgument
from kwire.readable import printable, printable_lines
from kwire.secret import Secret
from kwire.verbs import find_verb, noun_help, similar, verb_help, verbs
from kwire.verbs.verb import Argument, Danger, Failure, Unhealthy

if TYPE_CHECKING:
    from kwire.verbs.verb import Parameter, Verb


class NounGroup(click.Group):
    """The verbs of a noun, each imported when it is called.

    Args:
        noun: the noun.
        beside: a command group with the same name; its commands are listed beside the verbs.
    """

    def __init__(self, noun: str, beside: click.Group | None = None) -> None:
        texts = (noun_help(noun), inspect.cleandoc(beside.help or "") if beside is not None else None)
        super().__init__(
            noun,
            help="\n\n".join(text for text in texts if text),
            commands=beside.commands if beside is not None else None,
        )
        self._noun = noun

    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted((*verbs(self._noun), *super().list_commands(ctx)))

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        command = super().get_command(ctx, cmd_name)
        if command is None and (verb := find_verb(self._noun, cmd_name)) is not None:
            return verb_command(verb)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find a command, and suggest similar ones for a misspelled name."""
        name = args[0]
        if self.get_command(ctx, name) is None and not name.startswith("-"):
            names = self.list_commands(ctx)
            suggested = similar(name, tuple(names))
            hint = f"did you mean {' or '.join(suggested)}?" if suggested else f"there are {', '.join(names)}"
            raise click.UsageError(f"{self._noun} has no command {name!r}: {hint}", ctx)
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the list of verbs with their short help."""
        rows = []
        for name in self.list_commands(ctx):
            command = super().get_command(ctx, name)
            rows.append((name, verb_help(self._noun, name) if command is None else command.get_short_help_str(100)))
        with formatter.section("Commands"):
            formatter.write_dl(rows)


def verb_command(verb: Verb[Any]) -> click.Command:
    """Return the command of a verb."""
    parameters: list[click.Parameter] = [_click_parameter(each) for each in verb.parameters()]
    if verb.danger > Danger.READS:
        parameters.append(
            click.Option(["-n", "--dry-run"], is_flag=True, help="Report what would change, and change nothing.")
        )
    if verb.waits:
        parameters.append(
            click.Option(
                ["--wait"],
                type=click.FloatRange(0),
                default=30.0,
                show_default=True,
                metavar="SECONDS",
                help="Time to wait until every broker reports the change; 0 does not wait.",
            )
        )
    if verb.danger is Danger.DESTROYS:
        parameters.append(click.Option(["-y", "--yes"], is_flag=True, help="Do not ask."))

    def callback(**values: Any) -> int:
        return _run_command(verb, values)

    common = cluster_options()
    for option in common:
        if option.name == "output":  # describes the rows before click misses an argument
            option.callback, option.is_eager = partial(_on_output, verb), True

    text = verb.help
    if verb.ends_options:
        text += "\n\nOptions of this command precede the first argument. Everything after it is passed on unchanged."
    examples = "".join(f"\n  kafka -b localhost:9092 {example}" for example in verb.examples)
    return click.Command(
        verb.name,
        callback=callback,
        params=[*parameters, *common],
        help=f"{text}\n\n\b\nExamples:{examples}" if examples else text,
        short_help=verb.help.partition("\n")[0],
        context_settings={"allow_interspersed_args": False} if verb.ends_options else None,
    )


def _on_output(verb: Verb[Any], context: click.Context, _: click.Parameter, value: str | None) -> str | None:
    """Describe the rows of a verb if that is the value of `--output`."""
    if value == "help":
        print_row_help(verb)
        context.exit()
    return value


def _click_parameter(parameter: Parameter) -> click.Parameter:
    declared = parameter.declared
    kind: Any = parameter.type
    default = parameter.default.value if isinstance(parameter.default, Enum) else parameter.default
    # For click, a default of None is a value, so a required parameter must not have it.
    given: dict[str, Any] = {} if parameter.many or parameter.required else {"default": default}
    if parameter.choices is not None:
        kind = click.Choice(parameter.choices, case_sensitive=False)
    elif kind is bool:
        kind = None
    elif kind is Path:
        kind = click.Path(path_type=Path)
    elif declared.completes is not None and kind is not Secret:
        kind = Named(declared.completes, kind)
    if isinstance(declared, Argument):
        metavar = declared.metavar or parameter.name.upper()
        required = parameter.required and not parameter.many
        shown = f"[{metavar}]..." if parameter.many else metavar if required else f"[{metavar}]"
        return click.Argument(
            [parameter.name],
            type=kind,
            nargs=-1 if parameter.many else 1,
            required=required,
            metavar=shown,
            **given,
        )
    if kind is Secret:  # never in the arguments of a process, which all users of the machine can read
        return click.Option(
            [f"--{parameter.name.replace('_', '-')}-file", parameter.name],
            type=click.Path(path_type=Path, dir_okay=False, allow_dash=True),
            metavar=declared.metavar,
            help=f"{declared.help} Read from this file; - is stdin [default: ask].",
        )
    return click.Option(
        [*declared.names(parameter.name), parameter.name],
        type=kind,
        is_flag=parameter.flag,
        multiple=parameter.many,
        required=parameter.required,
        **given,
        metavar=declared.metavar,
        help=_repeatable(declared.help) if parameter.many else declared.help,
    )


def _repeatable(text: str) -> str:
    """Return the help of an option that can be repeated, which other callers of a verb pass as a list."""
    sentence, bracket, default = text.removesuffix(".").partition(" [")
    return f"{sentence}. Can be given several times{bracket}{default}."


def _run_command(verb: Verb[Any], values: dict[str, Any]) -> int:
    context = click.get_current_context()
    session = current_session(context)
    chosen = merge(context.obj or {}, values)
    debug, output = chosen.pop("debug"), chosen.pop("output") or "table"
    if output == "help":
        print_row_help(verb)
        return 0
    chosen = session.options(chosen)
    options: dict[str, Any] = {name: values.pop(name) for name in ("dry_run", "wait", "yes") if name in values}
    paint = Paint(on=sys.stdout.isatty())
    run: VerbRun | None = None
    try:
        cluster = session.cluster(chosen, is_required=verb.connects is True)
        write = print_output if output == "table" else None
        run = VerbRun(verb, session, cluster, _arguments(verb, values), options, write)
        rows = run.rows()
    except Unhealthy as answer:
        print_rows(output, verb.result, answer.rows, paint)
        print(f"{printable(answer.summary)}.", file=sys.stderr)
        return exit_code_of_answer(answer)
    except (KwireError, InvalidArgument) as error:
        if debug:
            import traceback

            print(printable_lines(traceback.format_exc()), end="", file=sys.stderr)
        if output in ("json", "jsonl"):
            print_error(error)
        session.report(sentence_of(error))
        return exit_code(error)
    except click.ClickException as error:  # wrong usage; click prints it
        if output in ("json", "jsonl"):
            print_error(error)
        raise
    except NotConfirmed:
        print("Not confirmed: nothing was changed.", file=sys.stderr)
        return INTERRUPTED
    except (KeyboardInterrupt, click.Abort):
        sentence = "Interrupted: nothing was changed." if run is None else run.interrupted()
        print(f"\n{sentence}" if sys.stderr.isatty() else sentence, file=sys.stderr)
        return INTERRUPTED
    session.finish(verb, rows, chosen, all=not any(values.values()), changed=run.changes_something)
    print_rows(output, verb.result, rows, paint)
    if not rows and output == "table" and verb.nothing is not None and sys.stderr.isatty():
        print(verb.nothing, file=sys.stderr)
    failures = [row for row in rows if isinstance(row, Failure)]
    sys.stdout.flush()
    for failure in failures:
        session.report(str(failure.error), failure.name)
    return exit_code_of_items([failure.error for failure in failures])


def _arguments(verb: Verb[Any], values: dict[str, Any]) -> dict[str, Any]:
    """Return the values of the parameters: lists instead of tuples, members of enums, and secrets.

    Raises:
        InvalidArgument: a secret cannot be read.
    """
    arguments = {}
    for parameter in verb.parameters():
        value = values[parameter.name]
        if parameter.type is Secret:
            value = read_secret(parameter.name, value)
        elif isinstance(parameter.type, type) and issubclass(parameter.type, Enum):
            value = [parameter.type(each) for each in value] if parameter.many else value and parameter.type(value)
        arguments[parameter.name] = list(value) if parameter.many else value
    return arguments
