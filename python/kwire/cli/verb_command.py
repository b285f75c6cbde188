"""Verbs as commands: options from parameters, a client of the cluster, and output."""

from __future__ import annotations

import asyncio
import sys
from enum import Enum
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from kwire.cli.cluster_choice import choose_cluster, config_path
from kwire.cli.colors import Paint
from kwire.cli.row_output import FORMATS, print_rows
from kwire.cli.secret_input import read_secret
from kwire.cli.verb_errors import UNHEALTHY, exit_code, exit_code_of_items
from kwire.client.admin.errors import AdminError
from kwire.errors import KwireError
from kwire.messages.kafka.error_codes import ErrorCode
from kwire.secret import Secret
from kwire.verbs import find_verb, noun_help, similar, verb_help, verbs
from kwire.verbs.changes import InvalidArgument
from kwire.verbs.verb import Argument, Danger, Failure, Run, Unhealthy

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kwire.cli.cluster_choice import ClusterChoice
    from kwire.client.admin import Progress
    from kwire.verbs.verb import Parameter, Verb

CLUSTER_PARAMETERS = ("bootstrap", "cluster", "command_config", "timeout", "output")
"""The parameters that may also be given before the noun."""


def cluster_options() -> list[click.Option]:
    """Return the options of all verbs that name the cluster and the output."""
    return [
        click.Option(
            ["-b", "--bootstrap"],
            metavar="HOST:PORT,...",
            envvar="KWIRE_BOOTSTRAP",
            help="Some brokers of the cluster [environment: KWIRE_BOOTSTRAP].",
        ),
        click.Option(
            ["-c", "--cluster"],
            metavar="NAME",
            envvar="KWIRE_CLUSTER",
            help="A cluster of the configuration file [environment: KWIRE_CLUSTER].",
        ),
        click.Option(
            ["--command-config"],
            type=click.Path(path_type=Path, dir_okay=False),
            metavar="FILE",
            envvar="KWIRE_COMMAND_CONFIG",
            help="Connect with the settings of this client.properties [environment: KWIRE_COMMAND_CONFIG].",
        ),
        click.Option(["--timeout"], type=float, metavar="SECONDS", help="Time for each request [default: 30]."),
        click.Option(["-o", "--output"], type=click.Choice(list(FORMATS)), help="Output format [default: table]."),
    ]


class NounGroup(click.Group):
    """The verbs of a noun, each imported when it is called.

    Args:
        noun: the noun.
        beside: a command group with the same name; its commands are listed beside the verbs.
    """

    def __init__(self, noun: str, beside: click.Group | None = None) -> None:
        texts = (noun_help(noun), beside.help if beside is not None else None)
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

    examples = "".join(f"\n  kafka -b localhost:9092 {example}" for example in verb.examples)
    return click.Command(
        verb.name,
        callback=callback,
        params=[*parameters, *cluster_options()],
        help=f"{verb.help}\n\n\b\nExamples:{examples}" if examples else verb.help,
        short_help=verb.help.partition("\n")[0],
    )


def _click_parameter(parameter: Parameter) -> click.Parameter:
    declared = parameter.declared
    kind: Any = parameter.type
    default = parameter.default.value if isinstance(parameter.default, Enum) else parameter.default
    if isinstance(kind, type) and issubclass(kind, Enum):
        kind = click.Choice([each.value for each in kind], case_sensitive=False)
    elif kind is bool:
        kind = None
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
            default=None if parameter.many or required else default,
        )
    if kind is Secret:  # never in the arguments of a process, which all users of the machine can read
        return click.Option(
            [f"--{parameter.name.replace('_', '-')}-file", parameter.name],
            type=click.Path(path_type=Path, dir_okay=False, allow_dash=True),
            metavar=declared.metavar,
            help=declared.help,
        )
    names = [f"--{parameter.name.strip('_').replace('_', '-')}", parameter.name]
    return click.Option(
        [*names, declared.short] if declared.short else names,
        type=kind,
        is_flag=parameter.flag,
        multiple=parameter.many,
        required=parameter.required,
        default=None if parameter.many or parameter.required else default,
        metavar=declared.metavar,
        help=declared.help,
    )


def _run_command(verb: Verb[Any], values: dict[str, Any]) -> int:
    context = click.get_current_context()
    common: dict[str, Any] = context.obj or {}
    chosen = {
        name: given if (given := values.pop(name)) is not None else common.get(name) for name in CLUSTER_PARAMETERS
    }
    output = chosen.pop("output") or "table"
    cluster = choose_cluster(**chosen)
    options: dict[str, Any] = {name: values.pop(name) for name in ("dry_run", "wait", "yes") if name in values}
    try:
        arguments = _arguments(verb, values)
        rows = asyncio.run(_run(verb, cluster, options, arguments))
    except Unhealthy as answer:
        print_rows(output, verb.result, answer.rows, Paint(on=sys.stdout.isatty()))
        print(f"{answer.summary}.", file=sys.stderr)
        return UNHEALTHY
    except (KwireError, InvalidArgument) as error:
        if output in ("json", "jsonl"):
            import json

            name = error.name if isinstance(error, AdminError) else type(error).__name__
            code = error.code if isinstance(error, AdminError) else None
            print(json.dumps({"error": {"code": code, "name": name, "message": str(error)}}))
        print(f"Error: {error}", file=sys.stderr)
        return exit_code(error)
    except KeyboardInterrupt:
        if verb.danger > Danger.READS and not options.get("dry_run"):
            print(
                "Interrupted: the command may or may not have taken effect. Check before you repeat it.",
                file=sys.stderr,
            )
        raise
    print_rows(output, verb.result, rows, Paint(on=sys.stdout.isatty()))
    failures = [row for row in rows if isinstance(row, Failure)]
    sys.stdout.flush()
    for failure in failures:
        print(f"Error: {failure.error}", file=sys.stderr)
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


async def _run(
    verb: Verb[Any], cluster: ClusterChoice, options: dict[str, Any], arguments: dict[str, Any]
) -> Sequence[Any]:
    from kwire.client.admin import AdminClient

    try:
        opening = AdminClient.open(
            cluster.bootstrap, client_id=cluster.client_id, timeout=cluster.timeout, config=cluster.config
        )
        async with await opening as admin:
            if verb.danger > Danger.READS and not options["dry_run"]:
                await _check_allowed(admin, cluster)
            run = Run(
                admin,
                dry_run=options.get("dry_run", False),
                wait=options.get("wait", 0.0),
                confirm=partial(_confirm, cluster, yes=options.get("yes", False)),
                on_progress=_show_progress if sys.stderr.isatty() else None,
                warn=lambda sentence: print(f"Warning: {sentence}", file=sys.stderr),
            )
            rows = await verb(run, **arguments)
            return [await _with_suggestion(admin, row) for row in rows]
    except ValueError as error:  # an invalid address
        if isinstance(error, (KwireError, InvalidArgument)):
            raise
        raise click.BadParameter(str(error), param_hint="--bootstrap") from None


async def _with_suggestion(admin: Any, row: Any) -> Any:
    """Add the most similar topics to the error of an unknown topic."""
    if not isinstance(row, Failure) or row.error.code != ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
        return row
    suggested = similar(row.name, tuple(await admin.list_topics()))
    if not suggested:
        return row
    error = row.error
    text = f"{error.text.rstrip('.')}; did you mean {' or '.join(suggested)}?"
    return Failure(row.name, AdminError(error.code, error.name, error.item, text, error.attempts))


async def _check_allowed(admin: Any, cluster: ClusterChoice) -> None:
    """Check what the configuration file requires before something is changed.

    Raises:
        InvalidArgument: the cluster is read-only, or it is another one than expected.
    """
    if cluster.read_only:
        raise InvalidArgument(f"cluster {cluster.name} is read-only in {config_path()}")
    if cluster.cluster_id is not None:
        found = (await admin.describe_cluster()).cluster_id
        if found != cluster.cluster_id:
            raise InvalidArgument(
                f"{cluster.bootstrap} belongs to the cluster {found}, but {config_path()} expects {cluster.cluster_id} "
                f"for {cluster.name}"
            )


def _confirm(cluster: ClusterChoice, question: str, *, yes: bool) -> None:
    """Ask on the terminal. Without a terminal, the answer is no.

    Args:
        yes: the answer was given in advance. It does not take the place of typing the name of the cluster.
    """
    on_terminal = sys.stdin.isatty() and sys.stderr.isatty()
    if cluster.type_name:
        if not on_terminal:
            raise InvalidArgument(f"{question} {config_path()} requires the name {cluster.name} to be typed")
        if click.prompt(f"{question} Type {cluster.name} to confirm", err=True) != cluster.name:
            raise click.Abort
        return
    if yes:
        return
    if not on_terminal:
        raise InvalidArgument(f"{question} Confirm with --yes")
    if not click.confirm(question, err=True):
        raise click.Abort


def _show_progress(progress: Progress) -> None:
    end = "\n" if progress.done == progress.total else ""
    print(f"\rWaiting for brokers: {progress.done} of {progress.total}", end=end, file=sys.stderr, flush=True)
