"""``kwire plan``: what the engine is told about a message."""

from __future__ import annotations

import click

import kwire
from kwire.cli.names import DIALECTS, UnknownName, named_both
from kwire.cli.options import complete_message
from kwire.cli.plan_tree import plan_tree
from kwire.cli.records import json_text


@click.command()
@click.argument("name", shell_complete=complete_message)
@click.option("-v", "--version", type=int, metavar="N", help="One version; without it all of them.")
@click.option("-d", "--dialect", type=click.Choice(DIALECTS), default="kafka", show_default=True, help="Whose message.")
@click.option(
    "-o",
    "--output",
    type=click.Choice(["text", "tree", "json"]),
    default="text",
    show_default=True,
    help="One line a version, or one line a field.",
)
def plan(name: str, version: int | None, dialect: str, output: str) -> int:
    """Show what the engine does with a message.

    NAME is a message, or an API for its request and its response. docs/plans.md has the grammar of the text.

    \b
    Examples:
      kwire plan MetadataResponse --version 12
      kwire plan Metadata --version 12 --output tree
      diff <(kwire plan OffsetFetch -v 7 -o tree) <(kwire plan OffsetFetch -v 8 -o tree)
    """  # noqa: D301  # \b is click's mark
    try:
        classes = named_both(name, dialect)
    except UnknownName as error:
        raise click.BadParameter(str(error), param_hint="NAME") from None
    having = [cls for cls in classes if version is None or version in cls.versions]
    if not having:
        ranges = " and ".join(f"{cls.__name__} has {cls.versions}" for cls in classes)
        raise click.BadParameter(f"No version {version}: {ranges}.", param_hint="--version")
    plans = [
        (cls.__name__, each, kwire.plan(cls, version=each))
        for cls in having
        for each in (cls.versions if version is None else (version,))
    ]
    if output == "json":
        print(json_text([{"message": title, "version": each, "plan": text} for title, each, text in plans], indent=2))
    elif output == "tree":
        print("\n\n".join("\n".join(plan_tree(text)) for *_, text in plans))
    else:
        print("\n".join(text for *_, text in plans))
    return 0
