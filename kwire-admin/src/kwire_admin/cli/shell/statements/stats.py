"""`stats;`: the lag of groups, drawn again and again."""

from __future__ import annotations

import sys

import click

from kwire.terminal.colors import Paint
from kwire.terminal.environment import OUTPUTS
from kwire.terminal.options import interval_option
from kwire.terminal.parameter_types import Named
from kwire.terminal.problems import REFUSED
from kwire_admin.cli.row_output import print_rows
from kwire_admin.cli.shell.lag_history import LagTrend
from kwire_admin.cli.shell.lag_monitor import LagMonitor
from kwire_admin.cli.shell.screen import Screen
from kwire_admin.cli.shell.session import shell_session

SAMPLES = 2
"""The number of samples without a terminal: the least that show a trend."""


@click.command
@click.argument("topics", nargs=-1, type=Named("topics"), metavar="[TOPIC]...")
@click.option("--group", "groups", multiple=True, type=Named("groups"), metavar="GROUP", help="Only these groups.")
@interval_option(description="Time between two samples.", least=0.1)
@click.option(
    "--count",
    type=click.IntRange(min=1),
    metavar="N",
    help="Stop after N samples  [default: at Ctrl-C; 2 without a terminal]",
)
@click.option("--zookeeper", metavar="HOST:PORT", help="Also read the offsets that consumers of Kafka 0.8 keep there.")
@click.option(
    "-o",
    "--output",
    type=click.Choice(OUTPUTS),
    help="Output format without a terminal  [default: table]",
)
@click.pass_obj
def stats(
    defaults: dict[str, str | None],
    /,
    topics: tuple[str, ...],
    groups: tuple[str, ...],
    interval: float,
    count: int | None,
    zookeeper: str | None,
    output: str | None,
) -> int:
    """Draw how far groups are behind: committed offset, log end, lag, its trend, and when it is caught up.

    Without TOPIC, it is about the topic in use, or all topics. On a terminal, the picture is drawn again until Ctrl-C.
    """
    session = shell_session()
    chosen = topics or ((session.topic,) if session.topic is not None else ())
    if chosen and not session.have_topics(chosen):
        return REFUSED
    monitor = LagMonitor(session, chosen, groups or ((session.group,) if session.group is not None else ()), zookeeper)
    output = output or defaults.get("output") or "table"
    if session.terminal.isatty() and output == "table":
        title = f"stats {' '.join(chosen)}".rstrip()
        with Screen(session.terminal, interval, title) as screen:
            session.run(monitor.draw(screen, interval, count))
        return 0
    session.run(monitor.sample(interval, count or SAMPLES))
    print_rows(output, LagTrend, monitor.history.trends(), Paint(on=False))
    for note in monitor.notes():
        print(note, file=sys.stderr)
    return 0
