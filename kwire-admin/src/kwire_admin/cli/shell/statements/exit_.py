"""`exit;`: the end of the shell."""

from __future__ import annotations

import click

from kwire_admin.cli.shell.session import Leave


@click.command("exit")
def exit_() -> None:
    """Leave the shell, as Ctrl-D does."""
    raise Leave
