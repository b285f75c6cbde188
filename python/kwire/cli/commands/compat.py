"""`kafka compat`: Kafka's own scripts on top of kwire."""

from __future__ import annotations

from pathlib import Path

import click


@click.group()
def compat() -> None:
    """Install programs with the names and options of Kafka's scripts.

    \b
    Examples:
      kwire compat install ~/kafka-scripts
    """


@compat.command()
@click.argument("folder", metavar="DIR", type=click.Path(path_type=Path, file_okay=False))
def install(folder: Path) -> int:
    """Write the scripts into a folder, each with and without .sh.

    Put the folder into PATH before Kafka's own scripts to use them instead. A file that is another program is left
    alone, and nothing is written.

    \b
    Examples:
      kwire compat install ~/kafka-scripts
    """
    from kwire.compat import SCRIPTS
    from kwire.compat import install as write

    try:
        write(folder)
    except OSError as error:
        raise click.ClickException(str(error)) from None
    print(f"{len(SCRIPTS)} scripts in {folder}: {', '.join(SCRIPTS)}")
    return 0
