"""Runs statements, typed by a person or read from a script."""

from __future__ import annotations

import sys
import traceback
from contextlib import redirect_stdout

import click

from kwire._util.light_typing import TYPE_CHECKING, Any, TextIO
from kwire._util.products import install_hint
from kwire.errors import KwireError
from kwire.terminal.end_signals import ENDED
from kwire.terminal.problems import INTERRUPTED, REFUSED, USAGE, exit_code
from kwire_admin.cli.pager import PagedOutput
from kwire_admin.cli.shell.error_position import StatementErrors
from kwire_admin.cli.shell.parser import parse
from kwire_admin.cli.shell.session import Leave
from kwire_admin.cli.shell.statement_group import STATEMENTS
from kwire_admin.cli.verb_run import sentence_of
from kwire_admin.cli.verb_session import KEY
from kwire_admin.operations.parameters import InvalidArgument

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from kwire_admin.cli.shell.parser import Statement
    from kwire_admin.cli.shell.session import ShellSession

__all__ = ["run_script", "run_statement", "run_words_once"]


def run_statement(
    session: ShellSession, source: str, statement: Statement, defaults: Mapping[str, Any], first_line: int | None = None
) -> int:
    """Run a statement, print its errors, and return its exit code.

    Args:
        source: the text that contains the statement.
        defaults: values of `--output`, `--timeout`, and `--debug` for statements without these options.
        first_line: the number of the first line of the source in a script; None if a person has typed it.

    Raises:
        Leave: the shell is to end.
    """
    session.errors = StatementErrors(source, statement, first_line)
    if not session.interactive:
        return _run(session, statement.texts, defaults)
    output = PagedOutput(session.terminal)
    try:
        with redirect_stdout(output):
            try:
                return _run(session, statement.texts, defaults)
            finally:
                output.finish()
    except Leave:
        raise
    except Exception as error:  # noqa: BLE001  # a bug: the shell goes on
        sys.excepthook(type(error), error, error.__traceback__)
        return REFUSED


def run_words_once(session: ShellSession, words: Sequence[str], defaults: Mapping[str, Any]) -> int:
    """Run one statement that is given as words, such as the arguments of a command, and return its exit code."""
    try:
        return _run(session, words, defaults)
    except Leave:
        return 0


def _run(session: ShellSession, words: Sequence[str], defaults: Mapping[str, Any]) -> int:
    try:
        with STATEMENTS.make_context(None, list(words), obj=dict(defaults)) as context:
            context.meta[KEY] = session
            return int(STATEMENTS.invoke(context) or 0)
    except click.exceptions.Exit as end:
        return end.exit_code
    except click.exceptions.NoArgsIsHelpError as error:
        click.echo(error.format_message())
        return error.exit_code
    except click.ClickException as error:
        session.errors.report_usage(error)
        return USAGE
    except BrokenPipeError:  # stdout of a script was closed
        raise
    except (KwireError, InvalidArgument, OSError) as error:
        if defaults.get("debug"):
            traceback.print_exc()
        session.report(sentence_of(error))
        return exit_code(error)
    except ModuleNotFoundError as error:
        hint = install_hint(error)
        if hint is None:
            raise
        session.report(hint)
        return USAGE
    except (KeyboardInterrupt, click.Abort):
        print("\nInterrupted.", file=sys.stderr)
        return INTERRUPTED


def run_script(session: ShellSession, stream: TextIO, defaults: Mapping[str, Any], *, keep_going: bool) -> int:
    """Run the statements of a script as its lines arrive, and return the exit code.

    Args:
        stream: the script.
        keep_going: true to continue after a statement that fails. The exit code belongs to the first failure.

    Raises:
        Leave: the shell is to end.
    """
    source, first_line, done, failed = "", 1, 0, 0
    for line in stream:
        source += line if line.endswith("\n") else f"{line}\n"
        script = parse(source)
        for statement in script.statements:
            code = run_statement(session, source, statement, defaults, first_line)
            sys.stdout.flush()
            done += 1
            failed = failed or code
            if code in ENDED or (code and not keep_going):
                print(f"Stopped after {done} {'statement' if done == 1 else 'statements'}.", file=sys.stderr)
                return code
        first_line += source.count("\n") - script.rest.count("\n")
        source = script.rest
    unfinished = parse(source).unfinished
    if unfinished is not None:
        line_number = first_line + source.count("\n", 0, unfinished.start)
        sentence = f"the statement is not finished: expected {unfinished.missing}"
        print(f"Error: line {line_number}: {sentence} at the end of the script", file=sys.stderr)
        return failed or USAGE
    return failed
