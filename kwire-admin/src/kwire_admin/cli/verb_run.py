"""Runs of verbs in the command and the shell: checks and questions before a change, output, errors, and exit codes."""

from __future__ import annotations

import sys
from contextlib import redirect_stdout, suppress
from functools import partial

from kwire._util.light_typing import TYPE_CHECKING, Any
from kwire._util.readable import printable, printable_lines
from kwire._util.secret import Secret
from kwire.errors import KwireError
from kwire.protocol.errors import ConnectFailed
from kwire.terminal.cluster import config_path
from kwire.terminal.colors import Paint, paint_for
from kwire.terminal.end_signals import end_signals
from kwire.terminal.problems import INTERRUPTED, REFUSED, UNHEALTHY, UNREACHABLE, exit_code
from kwire.terminal.questions import ask
from kwire.terminal.usage_errors import address_error, is_abort, is_usage_error
from kwire_admin.cli.pager import paged_stdout
from kwire_admin.cli.row_output import print_error, print_output, print_rows
from kwire_admin.operations.declaration import Failed, Failure, TimedOut, Unhealthy
from kwire_admin.operations.parameters import Danger, InvalidArgument, typed
from kwire_admin.operations.registry import needs_asyncio
from kwire_admin.operations.run import Run, run_verb

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from kwire.client.admin import AdminClient, Progress
    from kwire.client.admin.errors import AdminError
    from kwire.terminal.cluster import ClusterChoice
    from kwire.terminal.end_signals import EndSignal
    from kwire_admin.cli.verb_session import VerbSession
    from kwire_admin.operations.declaration import Operation

PLANNED_ROWS = 40
"""Maximum number of rows of a change that are printed before the question about it. Chosen, not measured."""
CLEAR_LINE = "\r\x1b[K"
"""Deletes the present line of a terminal."""


def run_command(verb: Operation, session: VerbSession, chosen: dict[str, Any], values: dict[str, Any]) -> int:
    """Run a verb, print its rows and errors, and return the exit code.

    Args:
        session: the session of the command.
        chosen: the values of the options that all verbs have.
        values: the values of the other options and of the arguments.
    """
    with end_signals() as ended:
        return _run_command(verb, session, chosen, values, ended)


def _run_command(
    verb: Operation, session: VerbSession, chosen: dict[str, Any], values: dict[str, Any], ended: EndSignal
) -> int:
    debug, output = chosen.pop("debug"), chosen.pop("output") or "table"
    if output == "help":
        from kwire_admin.cli.row_help import print_row_help

        print_row_help(verb)
        return 0
    chosen = session.options(chosen)
    options: dict[str, Any] = {name: values.pop(name) for name in ("dry_run", "wait", "yes") if name in values}
    paint = paint_for(sys.stdout)
    run: VerbRun | None = None
    try:
        cluster = session.cluster(chosen, is_required=verb.connects is True)
        write = print_output if output == "table" else None
        run = VerbRun(verb, session, cluster, _arguments(verb, values), options, write)
        rows = run.rows()
    except Unhealthy as answer:
        with paged_stdout():
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
    except NotConfirmed:
        print("Not confirmed: nothing was changed.", file=sys.stderr)
        return INTERRUPTED
    except (KeyboardInterrupt, Exception) as error:
        if isinstance(error, KeyboardInterrupt) or is_abort(error):
            sentence = "Interrupted: nothing was changed." if run is None else run.interrupted()
            with suppress(OSError):  # after SIGHUP, there is no terminal
                print(f"\n{sentence}" if sys.stderr.isatty() else sentence, file=sys.stderr)
            return ended.exit_code
        if is_usage_error(error) and output in ("json", "jsonl"):
            print_error(error)
        raise  # click prints a wrong usage
    session.finish(verb, rows, chosen, all=not any(values.values()), changed=run.changes_something)
    with paged_stdout():
        print_rows(output, verb.result, rows, paint)
    if not rows and output == "table" and verb.nothing is not None and not run.has_warned:
        print(verb.nothing, file=sys.stderr)
    failures = [row for row in rows if isinstance(row, Failure)]
    sys.stdout.flush()
    for failure in failures:
        session.report(str(failure.error), failure.name)
    return exit_code_of_items([failure.error for failure in failures], is_part=len(failures) < len(rows))


def _arguments(verb: Operation, values: dict[str, Any]) -> dict[str, Any]:
    """Return the values of the parameters, with secrets from their files.

    Raises:
        InvalidArgument: a secret cannot be read.
    """
    return {
        parameter.name: _read_secret(parameter.name, values[parameter.name])
        if parameter.type is Secret
        else typed(parameter, values[parameter.name])
        for parameter in verb.parameters
    }


def _read_secret(name: str, file: Path | None) -> Secret:
    """Return a secret: one line of text.

    Args:
        name: its name for people, such as `password`.
        file: its location: `-` for stdin, None to ask on the terminal.

    Raises:
        InvalidArgument: stdin is not a terminal, or the input is not one line of UTF-8.
    """
    if file is None:
        if not (sys.stdin.isatty() and sys.stderr.isatty()):
            raise InvalidArgument(f"give the {name} with --{name}-file FILE; - is stdin")
        import click

        return Secret(click.prompt(name.capitalize(), hide_input=True, confirmation_prompt=True, err=True))
    source = "stdin" if str(file) == "-" else str(file)
    try:
        data = sys.stdin.buffer.read() if source == "stdin" else file.read_bytes()
    except OSError as error:
        raise InvalidArgument(f"cannot read the {name} from {source}: {error.strerror}") from None
    if source != "stdin":
        from kwire.client.security.client_properties import mode_warnings

        for warning in mode_warnings(file):
            print(f"Warning: {warning}", file=sys.stderr)
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        raise InvalidArgument(f"the {name} in {source} is not UTF-8") from None
    line = text.removesuffix("\n").removesuffix("\r")
    if not line or "\n" in line:
        raise InvalidArgument(f"{source} does not contain one line with the {name}")
    return Secret(line)


def sentence_of(error: Exception) -> str:
    """Return an error as one sentence, with what to do about a broker that cannot be reached."""
    advice = ": check the address, and that a broker listens there" if isinstance(error, ConnectFailed) else ""
    return f"{error}{advice}"


def exit_code_of_answer(answer: Unhealthy) -> int:
    """Return the exit code of a verb with an answer that is not good."""
    if isinstance(answer, TimedOut):
        return UNREACHABLE
    return REFUSED if isinstance(answer, Failed) else UNHEALTHY


def exit_code_of_items(errors: Sequence[AdminError], *, is_part: bool) -> int:
    """Return the exit code for the errors of items: the largest of their codes; 0 without errors.

    Args:
        is_part: other items have rows. Partitions without a leader beside them do not make the cluster unreachable, so
            that the command as a whole would have to be repeated.
    """
    code = max(map(exit_code, errors), default=0)
    return REFUSED if is_part and code == UNREACHABLE else code


class NotConfirmed(Exception):
    """The answer to a question is no."""


class VerbRun:
    """One run of a verb in a command.

    | state | from | until |
    |---|---|---|
    | checked | `rows` is called | the file of clusters allows the change |
    | connected | a client is open, unless the verb needs none | the cluster has the expected id |
    | running | the verb has its `Run` | it returns rows, or raises |

    Nothing is sent that changes the cluster before the last state. `interrupted` says in every state what was done:
    nothing, unless `AdminClient.commands` has requests of this run, or the verb has set `Run.interruption`.

    Args:
        verb: the verb.
        session: the session of the command.
        cluster: the cluster, and what is allowed there.
        arguments: the parameters of the verb by name.
        options: the options that the verb has of `dry_run`, `wait`, and `yes`.
        write: prints output as it comes; None if only the rows are printed.

    Attributes:
        has_warned: True after a warning, which explains an empty result better than the sentence of the verb.
    """

    def __init__(
        self,
        verb: Operation,
        session: VerbSession,
        cluster: ClusterChoice,
        arguments: Mapping[str, Any],
        options: Mapping[str, Any],
        write: Callable[[str], None] | None = None,
    ) -> None:
        self.has_warned = False
        self._verb = verb
        self._session = session
        self._cluster = cluster
        self._arguments = arguments
        self._options = options
        self._write = write
        self._admin: AdminClient | None = None
        self._current: Run | None = None
        self._earlier = 0
        """Number of commands of earlier statements."""

    @property
    def changes_something(self) -> bool:
        """True if this run changes something: it is not a dry run, and its arguments change something."""
        return self._verb.danger_of(self._arguments) > Danger.READS and not self._options["dry_run"]

    def rows(self) -> Sequence[Any]:
        """Run the verb, and return its rows and failures.

        Raises:
            KwireError, InvalidArgument, Unhealthy: see the verb.
            click.BadParameter: the address of a broker is invalid.
        """
        return self._session.run(self._run(), needs_asyncio=self._needs_asyncio())

    def interrupted(self) -> str:
        """Return a sentence that says what an interrupted run has done."""
        if self._current is not None and self._current.interruption is not None:
            return self._current.interruption
        commands = () if self._admin is None else self._admin.commands[self._earlier :]
        if not self.changes_something or not commands:
            return "Interrupted: nothing was changed."
        unanswered = [command.request for command in commands if not command.answered]
        if unanswered:
            return (
                f"Interrupted: the outcome of {unanswered[-1]} is unknown. Check the cluster before you repeat the "
                "command."
            )
        return f"Interrupted: the cluster has answered {commands[-1].request}, and may still be applying the change."

    def _needs_asyncio(self) -> bool:
        """Return whether a light loop does not suffice: it has no TLS, and callbacks of users may know asyncio."""
        config = self._cluster.config
        is_plain = config is None or (config.security_protocol == "PLAINTEXT" and config.open_socket is None)
        return not is_plain or needs_asyncio(self._verb.noun)

    async def _run(self) -> Sequence[Any]:
        cluster = self._cluster
        if self.changes_something:
            _check_writable(cluster)
        if not cluster.bootstrap or not self._verb.connects_for(self._arguments):
            if self.changes_something:
                await _check_identity(None, cluster)
            return await run_verb(self._verb, self._new_run(), self._arguments)
        try:
            async with self._session.admin(cluster) as admin:
                self._admin = admin
                self._earlier = len(admin.commands)
                if self.changes_something:
                    await _check_identity(admin, cluster)
                return await run_verb(self._verb, self._new_run(), self._arguments)
        except ValueError as error:
            if isinstance(error, InvalidArgument) or self._admin is not None:
                raise
            raise address_error(error) from None

    def _new_run(self) -> Run:
        options = self._options
        self._current = Run(
            self._admin,
            dry_run=options.get("dry_run", False),
            wait=options.get("wait", 0.0),
            confirm=partial(_confirm, self._cluster, yes=options.get("yes", False)),
            show_plan=partial(_show_plan, self._cluster, yes=options.get("yes", False)),
            on_progress=_show_progress if sys.stderr.isatty() else None,
            warn=self._warn,
            write=self._write,
            note=_note,
            show=_show if sys.stderr.isatty() else _say_nothing,
        )
        return self._current

    def _warn(self, sentence: str) -> None:
        self.has_warned = True
        print(f"Warning: {printable(sentence)}", file=sys.stderr)


def _check_writable(cluster: ClusterChoice) -> None:
    """Check that the configuration file allows changes, before anything is connected to.

    Options of a tool can name the brokers or the ZooKeeper of the same cluster, so the check does not depend on them.

    Raises:
        InvalidArgument: the cluster is read-only.
    """
    if cluster.read_only:
        raise InvalidArgument(f"cluster {cluster.name} is read-only in {config_path()}")


async def _check_identity(admin: AdminClient | None, cluster: ClusterChoice) -> None:
    """Check that a cluster has the id that the configuration file expects.

    Args:
        admin: its client; None if the run has connections of its own, which must not go around the expected id.

    Raises:
        InvalidArgument: it is another one, or this cannot be checked.
    """
    if cluster.cluster_id is None:
        return
    if admin is None:
        raise InvalidArgument(
            f"{config_path()} expects {cluster.cluster_id} for {cluster.name}, which cannot be checked for a tool with "
            "connection options of its own: leave them out, or choose no cluster of the file"
        )
    cluster_id = (await admin.describe_cluster()).cluster_id
    if cluster_id != cluster.cluster_id:
        raise InvalidArgument(
            f"{cluster.bootstrap} belongs to the cluster {cluster_id}, but {config_path()} expects {cluster.cluster_id}"
            f" for {cluster.name}"
        )


def _confirm(cluster: ClusterChoice, question: str, *, yes: bool) -> None:
    """Ask on the terminal. Without a terminal, the answer is no.

    Args:
        yes: the answer was given in advance. It does not take the place of typing the name of the cluster.
    """
    question = printable(question)
    on_terminal = sys.stdin.isatty() and sys.stderr.isatty()
    if yes and not cluster.type_name:
        return
    if not on_terminal:
        needed = (
            f"{config_path()} requires the name {cluster.name} to be typed"
            if cluster.type_name
            else "Confirm with --yes"
        )
        raise InvalidArgument(f"{question} {needed}")
    if cluster.type_name:
        confirmed = ask(f"{question} Type {cluster.name} to confirm: ", sys.stderr) == cluster.name
    else:
        confirmed = _is_yes(f"{question} [y/N]: ")
    if not confirmed:
        raise NotConfirmed


def _is_yes(question: str) -> bool:
    """Ask until the answer is yes, or no, which nothing is as well."""
    while (answer := ask(question, sys.stderr).lower()) not in {"y", "yes", "n", "no", ""}:
        print("Error: answer y or n", file=sys.stderr)
    return answer.startswith("y")


def _show_plan(cluster: ClusterChoice, rows: Sequence[Any], *, yes: bool) -> None:
    """Print the rows of a change to stderr, if a person is asked about it: a number of changes says too little."""
    rows = [row for row in rows if not isinstance(row, Failure)]
    if not rows or (yes and not cluster.type_name) or not (sys.stdin.isatty() and sys.stderr.isatty()):
        return
    with redirect_stdout(sys.stderr):
        print_rows("table", type(rows[0]), rows[:PLANNED_ROWS], Paint(False))
        if len(rows) > PLANNED_ROWS:
            print(f"... and {len(rows) - PLANNED_ROWS} more: --dry-run shows all")


def _note(line: str) -> None:
    """Print a line, in the place of what `_show` has shown."""
    clear = CLEAR_LINE if sys.stderr.isatty() else ""
    print(f"{clear}{printable(line)}", file=sys.stderr, flush=True)


def _show(text: str) -> None:
    print(f"{CLEAR_LINE}{printable(text)}", end="", file=sys.stderr, flush=True)


def _say_nothing(text: str) -> None:
    """Show nothing, because stderr is not a terminal."""


def _show_progress(progress: Progress) -> None:
    end = "\n" if progress.done == progress.total else ""
    print(f"\rWaiting for brokers: {progress.done} of {progress.total}", end=end, file=sys.stderr, flush=True)
