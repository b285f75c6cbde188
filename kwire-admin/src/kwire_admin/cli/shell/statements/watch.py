"""`watch 2 describe orders;`: a statement again and again."""

from __future__ import annotations

import click

from kwire.terminal.end_signals import ENDED
from kwire_admin.cli.shell.screen import Screen
from kwire_admin.cli.shell.session import shell_session
from kwire_admin.cli.shell.statement_group import run_words


@click.command(context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False})
@click.argument("words", nargs=-1, required=True, type=click.UNPROCESSED, metavar="[SECONDS] STATEMENT")
def watch(words: tuple[str, ...]) -> int:
    """Repeat a statement every 2 seconds, or every SECONDS, until Ctrl-C."""
    seconds, statement = _interval(words)
    session = shell_session()
    if not session.terminal.isatty():
        raise click.UsageError("'watch' needs a terminal")
    with Screen(session.terminal, seconds, " ".join(statement)) as screen:
        while True:
            screen.draw(lambda: _run_once(statement))
            screen.wait()
    return 0


def _run_once(statement: tuple[str, ...]) -> None:
    """Run the statement.

    Raises:
        KeyboardInterrupt: the statement was interrupted. The picture before it stays.
    """
    if run_words(statement) in ENDED:
        raise KeyboardInterrupt


def _interval(words: tuple[str, ...]) -> tuple[float, tuple[str, ...]]:
    """Return the seconds between two runs, and the statement.

    Raises:
        click.UsageError: the statement is missing, or the seconds are not positive.
    """
    try:
        seconds = float(words[0])
    except ValueError:
        return 2.0, words
    if not 0 < seconds < 86400:
        raise click.UsageError(f"expected seconds between 0 and 86400, got '{words[0]}'")
    if len(words) == 1:
        raise click.UsageError(f"expected a statement after '{words[0]}'")
    return seconds, words[1:]
