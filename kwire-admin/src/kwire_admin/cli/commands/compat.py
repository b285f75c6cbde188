"""`kafka compat`: Kafka's own scripts on top of kwire."""

from __future__ import annotations

from pathlib import Path

import click

from kwire_admin.compat.registry import NEW_RELEASES, OLD_RELEASES


@click.group()
def compat() -> None:
    """Install programs with the names and options of Kafka's scripts.

    \b
    Examples:
      kwire compat install ~/kafka-scripts
    """


@compat.command()
@click.argument("folder", metavar="DIR", type=click.Path(path_type=Path, file_okay=False))
@click.option(
    "--release", type=click.Choice([*OLD_RELEASES, *NEW_RELEASES]), help="Print and end as this release does."
)
def install(folder: Path, release: str | None) -> int:
    """Write the scripts into a folder, each with and without .sh.

    Put the folder into PATH before Kafka's own scripts to use them instead. A file that is another program is left
    alone, and nothing is written.

    They print the lines of Kafka 3.9.1, and with ZooKeeper those of 0.10.2.2, and then end with 1 after each error.
    With --release, lines and exit codes are those of that release, and only its scripts are written. Old releases
    often end with 0.

    \b
    Examples:
      kwire compat install ~/kafka-scripts
      kwire compat install ~/kafka-scripts --release 0.8.2.2
    """
    from kwire_admin.compat import install as write
    from kwire_admin.compat.registry import scripts_of

    try:
        write(folder, release)
    except OSError as error:
        raise click.ClickException(str(error)) from None
    names = scripts_of(release)
    print(f"{len(names)} scripts in {folder}: {', '.join(names)}")
    return 0
