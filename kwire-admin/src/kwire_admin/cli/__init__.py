"""The `kafka` command: everything of `kwire.cli`, and the verbs of all nouns.

Exit codes: those of `kwire.terminal.problems`, 130 interrupted, 141 stdout was closed.
"""

from __future__ import annotations

from kwire.cli import main as run_and_exit

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["main", "run"]


def main() -> None:
    """Run the command and exit the process."""
    run_and_exit(run)


def run(words: Sequence[str]) -> int:
    """Run the words of a command line and return the exit code. Completion in a shell must not import the rest.

    Raises:
        BrokenProduct: kwire has another version.
    """
    from kwire._util.products import check_versions
    from kwire_admin import __version__

    check_versions("kwire-admin", __version__)
    match words:
        case ["__complete", *rest]:
            from kwire_admin.cli.completion.completer import complete

            return complete(rest)
        case ["__fetch", *rest]:
            from kwire_admin.cli.completion.refresh import fetch

            return fetch(rest)
    from kwire.cli.entry import run_with_streams

    return run_with_streams(_run, words)


def _run(words: list[str]) -> int:
    """Run a verb without click if its words are plain, and all else with it."""
    from kwire_admin.cli.plain_words import parse

    command = parse(words)
    if command is not None:
        from kwire_admin.cli.verb_run import run_command
        from kwire_admin.cli.verb_session import VerbSession

        return run_command(command.verb, VerbSession(), command.chosen, command.values)
    from kwire.cli.program import invoke
    from kwire_admin.cli.program import program

    return invoke(program, words)
