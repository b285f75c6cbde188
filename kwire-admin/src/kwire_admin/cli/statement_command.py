"""Statements of the shell as commands: KAFKA-1694 asks for both."""

from __future__ import annotations

import inspect

import click

from kwire._util.light_typing import Any
from kwire.terminal.cluster import with_environment
from kwire.terminal.cluster_options import cluster_options, merge

__all__ = ["statement_command"]


def statement_command(name: str, text: str) -> click.Command:
    """Return the command that runs one statement of the shell on the cluster that its options name.

    Args:
        name: the statement.
        text: the help of the command.
    """

    @click.command(
        name,
        help=inspect.cleandoc(text),
        params=[*cluster_options()],
        context_settings={"ignore_unknown_options": True},
    )
    @click.argument("words", nargs=-1, type=click.UNPROCESSED, metavar="[WORDS]...")
    @click.pass_context
    def command(context: click.Context, /, words: tuple[str, ...], **values: Any) -> int:
        from kwire_admin.cli.shell.runner import run_words_once
        from kwire_admin.cli.shell.session import ShellSession

        chosen = with_environment(merge(context.obj or {}, values))
        defaults = {option: chosen.pop(option) for option in ("output", "debug")}
        with ShellSession(chosen, interactive=False) as session:
            return run_words_once(session, [name, *words], defaults)

    return command
