"""`use topic orders;`: what the statements that follow are about."""

from __future__ import annotations

import click

from kwire.terminal.parameter_types import Named
from kwire.terminal.problems import REFUSED
from kwire_admin.cli.shell.session import shell_session


class Usable(click.Group):
    """The kinds of things that a shell can use."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find what is used, and list what can be used for another word."""
        if args[0] not in self.commands:
            raise click.UsageError(f"expected topic, group, or cluster, got '{args[0]}'", ctx)
        return super().resolve_command(ctx, args)


@click.group(cls=Usable, invoke_without_command=True)
@click.pass_context
def use(context: click.Context) -> None:
    """Choose the topic, group, or cluster that further statements are about.

    describe, stats, and set are about the topic in use, and stats about the group in use.
    """
    if context.invoked_subcommand is None:
        session = shell_session()
        click.echo(f"cluster {session.choice.name or session.choice.bootstrap}")
        for kind, name in (("topic", session.topic), ("group", session.group)):
            click.echo(f"{kind} {name or '-'}")


@use.command
@click.argument("name", type=Named("topics"), required=False)
def topic(name: str | None) -> int:
    """Use a topic; without a name, no topic."""
    session = shell_session()
    if name is not None and not session.have_topics([name]):
        return REFUSED
    session.topic = name
    return 0


@use.command
@click.argument("name", type=Named("groups"), required=False)
def group(name: str | None) -> int:
    """Use a group; without a name, no group."""
    session = shell_session()
    if name is not None and not session.have_group(name):
        return REFUSED
    session.group = name
    return 0


@use.command
@click.argument("name", type=Named("clusters"))
def cluster(name: str) -> int:
    """Use a cluster of the configuration file."""
    shell_session().use_cluster(name)
    return 0
