"""`kwire replay`: list the metadata changes in a capture."""

from __future__ import annotations

import sys
from datetime import UTC, datetime

import click

from kwire._util.light_typing import TYPE_CHECKING
from kwire._util.readable import counted, printable
from kwire.cli.frame_json import json_text
from kwire.terminal.colors import paint_for
from kwire.terminal.options import color_option, existing_place, output_option, require, time_window_options
from kwire.terminal.parameter_types import FiniteRange

if TYPE_CHECKING:
    from kwire.metadata.event_stream import PollEvent
    from kwire.terminal.colors import Choice, Paint

PROBLEMS = {"Unreachable", "InvalidResponse", "LeaderLost", "BrokerLeft", "PartitionsMissing"}


@click.command()
@click.argument("capture", metavar="DIR", type=click.Path())
@time_window_options
@click.option("--broker", type=int, metavar="ID", help="List only changes that this broker reported.")
@click.option(
    "--speed",
    type=FiniteRange(min=0, min_open=True),
    metavar="X",
    help="Replay at this speed; 1 is real time  [default: no delay]",
)
@output_option(["text", "json"], "Print lines of text or JSON.")
@color_option
def replay(
    capture: str,
    since: datetime | None,
    until: datetime | None,
    broker: int | None,
    speed: float | None,
    output: str,
    color: Choice,
) -> int:
    """List the metadata changes in a capture.

    Each change is listed for every broker that reports it. DIR is a folder that `kwire capture` or a Poller has written
    or is writing, or a Parquet file of frames, also in an object store or HDFS, such as s3://bucket/captures/prod.

    \b
    Examples:
      kwire replay OUT
      kwire replay OUT --since 2026-11-21T14:05 --until 2026-11-21T14:10 --broker 2
      kwire replay OUT -o json | jq -r 'select(.what == "LeaderMoved") | .topic' | sort | uniq -c
    """
    require("pyarrow", "capture")
    place = existing_place(capture, "DIR")
    from kwire.capture.table_import import read_rows
    from kwire.metadata.event_stream import EventStream

    paint = paint_for(sys.stdout, color)
    stream = EventStream()
    for row in read_rows(place, since=since, until=until, speed=speed):
        if broker is None or row.broker_id == broker:
            for event in stream.events(row):
                print(_json(event) if output == "json" else _line(event, paint))
    if output == "text":
        full = stream.polls - stream.same - stream.failed
        print(f"{counted(stream.polls, 'poll')}: {full} full, {stream.same} unchanged, {stream.failed} failed")
    return 0


def _line(event: PollEvent, paint: Paint) -> str:
    time = event.at.astimezone(UTC).strftime("%Y-%m-%d %H:%M:%S.%f")[:-3]
    text = printable(event.text)
    text = paint("error", text) if event.kind in PROBLEMS else text
    return f"{paint('quiet', time)}  broker {event.broker_id}  {text}"


def _json(event: PollEvent) -> str:
    document = {
        "at": event.at.astimezone(UTC).isoformat(),
        "broker": event.broker_id,
        "endpoint": event.endpoint,
        "what": event.kind,
    }
    return json_text(document | event.facts, indent=None)
