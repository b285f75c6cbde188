"""`kwire plan`: show the encoding plan of a message."""

from __future__ import annotations

import click

import kwire
from kwire.cli.frame_json import json_text
from kwire.cli.message_names import DIALECTS, UnknownName, find_all_by_name
from kwire.cli.plan_tree import plan_tree
from kwire.terminal.options import output_option
from kwire.terminal.parameter_types import Named


@click.command()
@click.argument("name", type=Named("messages"))
@click.option("-v", "--version", type=int, metavar="N", help="Show only this version  [default: all]")
@click.option(
    "-d",
    "--dialect",
    type=click.Choice(DIALECTS),
    default="kafka",
    show_default=True,
    help="Use the messages of Apache Kafka, or of the drafts of KIP-4.",
)
@output_option(["text", "tree", "json"], "Print one line per version, one line per field, or JSON.")
def plan(name: str, version: int | None, dialect: str, output: str) -> int:
    """Show how each version of a message is encoded: its fields and types.

    NAME is a message, or an API for its request and its response. The page "Plans of the engine" of the documentation
    describes the grammar.

    \b
    Examples:
      kwire plan MetadataResponse --version 12
      kwire plan Metadata --version 12 --output tree
      diff <(kwire plan OffsetFetch -v 7 -o tree) <(kwire plan OffsetFetch -v 8 -o tree)
    """
    try:
        classes = find_all_by_name(name, dialect)
    except UnknownName as error:
        raise click.BadParameter(str(error), param_hint="NAME") from None
    matching = [cls for cls in classes if version is None or version in cls.versions]
    if not matching:
        ranges = " and ".join(f"{cls.__name__} has versions {cls.versions}" for cls in classes)
        raise click.BadParameter(f"version {version} is not supported: {ranges}", param_hint="--version")
    plans = [
        (cls.__name__, shown_version, kwire.plan(cls, version=shown_version))
        for cls in matching
        for shown_version in (cls.versions if version is None else (version,))
    ]
    if output == "json":
        print(
            json_text(
                [{"message": title, "version": shown_version, "plan": text} for title, shown_version, text in plans],
                indent=2,
            )
        )
    elif output == "tree":
        print("\n\n".join("\n".join(plan_tree(text)) for *_, text in plans))
    else:
        print("\n".join(text for *_, text in plans))
    return 0
