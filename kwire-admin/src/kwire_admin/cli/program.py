"""The `kafka` command: the verbs of all nouns beside the commands of `kwire`."""

from __future__ import annotations

import click

from kwire import __version__
from kwire._util.light_typing import Any, ClassVar
from kwire.cli.program import CONTEXT, CommandGroup, command_names, find_command, short_help
from kwire.terminal.cluster_options import admin_option, cluster_options
from kwire_admin.cli import pager
from kwire_admin.cli.kafka_habits import first_word_hint
from kwire_admin.operations import registry

__all__ = ["program"]

FIRST_STEPS = """\
Five things to try:

  kafka -b HOST:9092 topics list             list the topics of a cluster
  kafka -b HOST:9092 groups lag              show how far consumers are behind
  kafka -b HOST:9092 cluster health          check a cluster for what is wrong
  kwire messages Metadata                    show the fields and versions of Kafka's messages
  kwire sniff --to HOST:9092                 show each request of a client with its response

kafka help lists all commands, and kafka help COMMAND describes one.
"""


class AdminGroup(CommandGroup):
    """A group that imports a subcommand, or the verbs of a noun, when it is called."""

    first_steps: ClassVar = FIRST_STEPS

    def list_commands(self, ctx: click.Context) -> list[str]:
        del ctx
        return sorted({*command_names(), *registry.nouns()})

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return the verbs of a noun, or a subcommand. A noun is found without a look at other products."""
        noun = registry.find_noun(cmd_name)
        if noun is None:
            return super().get_command(ctx, cmd_name)
        from kwire_admin.cli.verb_command import NounGroup

        return NounGroup(noun, lambda: find_command(cmd_name))

    def is_command(self, ctx: click.Context, args: list[str]) -> bool:
        """Return whether the first word is a command; `describe topics` is a noun after a verb."""
        is_verb_first = args[0] == "describe" and len(args) > 1 and registry.find_noun(args[1]) is not None
        return not is_verb_first and super().is_command(ctx, args)

    def hint(self, ctx: click.Context, args: list[str]) -> str:
        """Return what may have been meant, such as `topics describe` for `describe topics`."""
        noun = registry.find_noun(args[1]) if len(args) > 1 else None
        names = () if noun is None else registry.verb_names(noun)
        habit = first_word_hint(args[0])
        if habit is not None and noun is None:
            return f": {habit}"
        if noun is not None:
            return f": write the noun first: {noun} {args[0] if args[0] in names else '|'.join(names)}"
        return super().hint(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the lists of nouns and of other subcommands with their short help."""
        del ctx
        with formatter.section("Administration"):
            formatter.write_dl([(noun, registry.noun_help(noun)) for noun in registry.nouns()])
        with formatter.section("Commands"):
            formatter.write_dl([(name, short_help(name)) for name in command_names() if name not in registry.nouns()])


@click.group(
    cls=AdminGroup,
    params=[*cluster_options()],
    context_settings=CONTEXT,
    epilog="Exit codes: 0 success; 1 some of the input is invalid, or an item was refused; 2 wrong usage; 3 the "
    "cluster is unreachable or a timeout expired; 4 authentication or authorization failed; 5 the outcome of a change "
    "is unknown; 6 a check found a problem; 130 interrupted.",
)
@admin_option
@click.option("--no-pager", is_flag=True, help="Print rows that do not fit the terminal without a pager.")
@click.version_option(__version__, message="kwire %(version)s", help="Show the version and exit.")
@click.pass_context
def program(ctx: click.Context, /, admin: bool, no_pager: bool, **cluster: Any) -> None:
    """Administer Kafka clusters, watch their metadata, and decode and encode Kafka's protocol.

    `kafka` and `kwire` are two names of the same program.

    \b
    Examples:
      kafka -b broker-1:9092 topics list
      kafka -b broker-1:9092 topics create orders --partitions 12 --replication-factor 3
      kafka -b broker-1:9093 --command-config client.properties topics list
      kwire decode --message MetadataResponse --version 13 000000000100ffffffff01000000
      kwire decode --request --output hexdump frame.bin
      kwire decode frames.jsonl.xz | jq 'select(.error)'
      kwire messages MetadataResponse
      kwire capture --bootstrap broker-1:9092 OUT

    `kafka COMMAND --help` describes a command.
    """
    del admin  # every noun is administration
    if no_pager:
        pager.no_pager()
    ctx.obj = cluster  # what verbs take if it is not given after them
