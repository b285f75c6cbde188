"""`kafka shell`: statements at a prompt, or from a script."""

from __future__ import annotations

import inspect
import os
import sys
from io import TextIOWrapper
from pathlib import Path

import click

from kwire._util.light_typing import TYPE_CHECKING, Any, TextIO
from kwire.terminal.cluster import with_environment
from kwire.terminal.cluster_options import admin_option, cluster_options, merge

if TYPE_CHECKING:
    from collections.abc import Sequence


@click.command(params=[*cluster_options()])
@admin_option
@click.option("--keep-going", is_flag=True, help="Continue a script after a statement that fails.")
@click.pass_context
def shell(context: click.Context, /, admin: bool, keep_going: bool, **values: Any) -> int:
    """Run commands of kafka at a prompt, or from a script on stdin.

    A statement ends with ; and may span lines. Every command of kafka that administers a cluster is one. The options
    --output, --timeout, and --debug are the defaults of all statements.

    \b
    Examples:
      kafka shell -b localhost:9092
      kafka shell -b localhost:9092 -o json < statements
      echo 'topics list;' | kafka shell -b localhost:9092
    """
    del admin  # every statement is administration
    return run_shell(context, values, keep_going=keep_going)


def run_shell(
    context: click.Context,
    values: dict[str, Any],
    *,
    first: Sequence[str] = (),
    is_only: bool = False,
    keep_going: bool = False,
) -> int:
    """Run a shell until it ends, and return its exit code.

    Args:
        context: the context of the command.
        values: the values of its options that choose the cluster.
        first: the words of a statement that runs before all others. If it fails, nothing else runs.
        is_only: true to end after this statement.
        keep_going: true to continue a script after a statement that fails.

    Raises:
        click.UsageError: the options do not choose a cluster, or the script is not UTF-8.
    """
    from kwire_admin.cli.shell.session import Leave, ShellSession

    chosen = with_environment(merge(context.obj or {}, values))
    defaults = {name: chosen.pop(name) for name in ("output", "debug")}
    interactive = sys.stdin.isatty() and sys.stdout.isatty() and not is_only
    with ShellSession(chosen, interactive=interactive) as session:
        if first:
            from kwire_admin.cli.shell.runner import run_words_once

            code = run_words_once(session, first, defaults)
            if code or is_only:
                return code
        if interactive:
            from kwire_admin.cli.shell.prompt import run_prompt

            return run_prompt(session, defaults)
        from kwire_admin.cli.shell.runner import run_script

        script = _script()
        with Path(os.devnull).open(encoding="utf-8") as sys.stdin:  # no statement reads the rest of the script
            try:
                return run_script(session, script, defaults, keep_going=keep_going)
            except Leave:
                return 0
            except UnicodeDecodeError as error:
                raise click.UsageError(f"expected a script in {error.encoding}: save it as UTF-8") from None


def statement_command(name: str, text: str) -> click.Command:
    """Return the command that runs one statement of the shell: KAFKA-1694 asks for both.

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
        return run_shell(context, values, first=[name, *words], is_only=True)

    return command


def _script() -> TextIO:
    """Return stdin with the encoding that its byte order mark declares, for scripts that were saved on Windows."""
    from kwire._util.text_files import marked_encoding

    buffer = getattr(sys.stdin, "buffer", None)
    encoding = None if buffer is None else marked_encoding(buffer.peek(4)[:4])
    return sys.stdin if buffer is None or encoding is None else TextIOWrapper(buffer, encoding=encoding)
