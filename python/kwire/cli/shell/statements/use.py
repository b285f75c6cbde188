"""`use topic orders;`: what the statements that follow are about."""

from __future__ import annotations

import click

from kwire.cli.parameter_types import Named
from kwire.cli.shell.session import shell_session
from kwire.cli.suggestions import with_suggestion
from kwire.client.admin import AdminClient, AdminError
from kwire.verbs.verb import Failure


@click.group(invoke_without_command=True)
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
    if name is not None:

        async def find(admin: AdminClient) -> object:
            found = (await admin.describe_topics([name]))[name]
            return await with_suggestion(admin, Failure(name, found)) if isinstance(found, AdminError) else found

        found = session.ask(find)
        if isinstance(found, Failure):
            session.report(str(found.error), name)
            return 1
    session.topic = name
    return 0


@use.command
@click.argument("name", type=Named("groups"), required=False)
def group(name: str | None) -> int:
    """Use a group; without a name, no group."""
    shell_session().group = name
    return 0


@use.command
@click.argument("name", type=Named("clusters"))
def cluster(name: str) -> int:
    """Use a cluster of the configuration file."""
    shell_session().use_cluster(name)
    return 0
