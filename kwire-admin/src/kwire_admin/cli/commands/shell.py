"""`kafka shell`: statements at a prompt, or from a script."""

from __future__ import annotations

import os
import sys
from io import TextIOWrapper
from pathlib import Path
from typing import Any, TextIO

import click

from kwire.terminal.cluster import with_environment
from kwire.terminal.cluster_options import admin_option, cluster_options, merge


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
    from kwire_admin.cli.shell.leave import Leave
    from kwire_admin.cli.shell.session import ShellSession

    chosen = with_environment(merge(context.obj or {}, values))
    defaults = {name: chosen.pop(name) for name in ("output", "debug")}
    interactive = sys.stdin.isatty() and sys.stdout.isatty()
    with ShellSession(chosen, interactive=interactive) as session:
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


def _script() -> TextIO:
    """Return stdin with the encoding that its byte order mark declares, for scripts that were saved on Windows."""
    from kwire._util.text_files import marked_encoding

    buffer = getattr(sys.stdin, "buffer", None)
    encoding = None if buffer is None else marked_encoding(buffer.peek(4)[:4])
    return sys.stdin if buffer is None or encoding is None else TextIOWrapper(buffer, encoding=encoding)
