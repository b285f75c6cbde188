"""`kafka tools new`: write a package with a tool."""

from __future__ import annotations

import re
from pathlib import Path

import click

NAME = re.compile(r"[a-z][a-z0-9]*(?:-[a-z0-9]+)*")


@click.group()
def tools() -> None:
    """`new` writes the package of a tool of your own.

    \b
    Examples:
      kwire tools new count-topics
    """


@tools.command()
@click.argument("name")
@click.option(
    "--folder",
    type=click.Path(path_type=Path, file_okay=False),
    metavar="FOLDER",
    help="The folder of the package. [default: the name]",
)
def new(name: str, folder: Path | None) -> int:
    """Write a package with a tool and its test.

    NAME is the name of the tool, such as count-topics. The package declares the tool in its entry points, so after
    `pip install` of the folder, `kafka tools run NAME` finds it.
    """
    from kwire_zookeeper_tools.tool_template import write_package

    if NAME.fullmatch(name) is None:
        raise click.BadParameter("expected lower-case words with hyphens, such as count-topics.", param_hint="NAME")
    target = folder or Path(name)
    try:
        files = write_package(name, target)
    except OSError as error:
        raise click.ClickException(f"cannot write {error.filename}: {error.strerror}.") from None
    for file in files:
        print(file)
    return 0
