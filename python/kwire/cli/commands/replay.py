"""``kwire replay``: what happened to a cluster, out of a capture."""

from __future__ import annotations

import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import click

from kwire.cli.colors import paint_for
from kwire.cli.options import FiniteRange, colour, require, slice_of_time
from kwire.cli.records import json_text

if TYPE_CHECKING:
    from kwire.cli.colors import Choice, Paint
    from kwire.cli.replayed import Event

TROUBLE = {"Silent", "Unreadable", "LeaderLost", "BrokerLeft", "PartitionsMissing"}


@click.command()
@click.argument("capture", metavar="DIR", type=click.Path(path_type=Path))
@slice_of_time
@click.option("--broker", type=int, metavar="ID", help="Only what this broker told.")
@click.option("--speed", type=FiniteRange(min=0, min_open=True), metavar="X", help="1 is as fast as it happened.")
@click.option("-o", "--output", type=click.Choice(["text", "json"]), default="text", show_default=True)
@colour
def replay(
    capture: Path,
    since: datetime | None,
    until: datetime | None,
    broker: int | None,
    speed: float | None,
    output: str,
    color: Choice,
) -> int:
    """Tell what changed in a cluster, out of a capture.

    Every broker tells its own view. DIR is a folder that `kwire capture` or a Poller wrote, also while it is written;
    or a parquet file of frames.

    \b
    Examples:
      kwire replay OUT
      kwire replay OUT --since 2026-11-21T14:05 --until 2026-11-21T14:10 --broker 2
      kwire replay OUT -o json | jq -r 'select(.what == "LeaderMoved") | .topic' | sort | uniq -c
    """  # noqa: D301  # \b is click's mark
    if not capture.exists():
        raise click.BadParameter(f"{capture} does not exist.", param_hint="DIR")
    require("pyarrow", "capture")
    from kwire.cli.replayed import Story, rows_at

    paint = paint_for(sys.stdout, color)
    story = Story()
    for row in rows_at(capture, since=since, until=until, speed=speed):
        if broker is None or row.broker_id == broker:
            for event in story.events(row):
                print(_json(event) if output == "json" else _line(event, paint))
    if output == "text":
        told = story.polls - story.same - story.silent
        print(f"{story.polls} polls: {told} told something, {story.same} the same again, {story.silent} no answer")
    return 0


def _line(event: Event, paint: Paint) -> str:
    time = event.at.astimezone(UTC).strftime("%Y-%m-%d %H:%M:%S.%f")[:-3]
    text = paint("fault", event.text) if event.kind in TROUBLE else event.text
    return f"{paint('quiet', time)}  broker {event.broker_id}  {text}"


def _json(event: Event) -> str:
    said = {
        "at": event.at.astimezone(UTC).isoformat(),
        "broker": event.broker_id,
        "endpoint": event.endpoint,
        "what": event.kind,
    }
    return json_text(said | event.facts, indent=None)
