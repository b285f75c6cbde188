"""`kwire plan`: show the encoding plan of a message."""

from __future__ import annotations

import click

import kwire
from kwire.cli.frame_json import json_text
from kwire.cli.message_options import dialect_option, named_messages
from kwire.terminal.options import output_option
from kwire.terminal.parameter_types import Named


@click.command()
@click.argument("name", type=Named("messages"))
@click.option("-v", "--version", type=int, metavar="N", help="Show only this version  [default: all]")
@dialect_option
@output_option(["text", "json"], "Print one line per version, or JSON.")
def plan(name: str, version: int | None, dialect: str, output: str) -> int:
    """Show how each version of a message is encoded: its fields and types.

    NAME is a message, or an API for its request and its response. The page "Plans of the engine" of the documentation
    describes the grammar; `kwire messages NAME --version N` shows a line for each field.

    \b
    Examples:
      kwire plan MetadataResponse --version 12
      kwire plan Metadata
    """
    plans = [
        (cls.__name__, shown_version, kwire.plan(cls, version=shown_version))
        for cls in named_messages(name, dialect, version)
        for shown_version in (cls.versions if version is None else (version,))
    ]
    if output == "json":
        print(
            json_text(
                [{"message": title, "version": shown_version, "plan": text} for title, shown_version, text in plans],
                indent=2,
            )
        )
    else:
        print("\n".join(text for *_, text in plans))
    return 0
