"""`help;`: the statements, or one of them."""

from __future__ import annotations

import click

from kwire_admin.cli.shell.statement_group import STATEMENTS


@click.command("help")
@click.argument("words", nargs=-1, metavar="[STATEMENT]...")
@click.pass_context
def help_(context: click.Context, words: tuple[str, ...]) -> int:
    """Explain the statements, or one of them, such as topics create."""
    inner = click.Context(STATEMENTS, **STATEMENTS.context_settings)
    left = list(words)
    while left and isinstance(inner.command, click.Group):
        name, command, left = inner.command.resolve_command(inner, left)
        assert command is not None
        inner = click.Context(command, parent=inner, info_name=name)
    if left:
        raise click.UsageError(f"{inner.command.name} has no statement '{left[0]}'", context)
    click.echo(inner.get_help())
    return 0
