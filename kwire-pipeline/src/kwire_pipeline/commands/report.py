"""`kwire report`: write an HTML page about the history of a cluster."""

from __future__ import annotations

import sys
import tempfile
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import click

from kwire.terminal.colors import paint_for
from kwire.terminal.options import color_option, existing_place, require, time_window_options
from kwire_pipeline.cli.library_errors import library_errors

if TYPE_CHECKING:
    from kwire.terminal.colors import Choice


@click.command()
@click.argument("out", metavar="OUT.html", type=click.Path(path_type=Path, dir_okay=False))
@click.option(
    "--gold",
    type=click.Path(file_okay=False),
    metavar="DIR",
    help="Report on the tables that `kwire pipeline` has written to this folder or URI.",
)
@click.option(
    "--capture",
    type=click.Path(),
    metavar="PATH",
    help="Report on this capture or Parquet file of frames: a path or URI.",
)
@time_window_options
@color_option
def report(
    out: Path,
    gold: str | None,
    capture: str | None,
    since: datetime | None,
    until: datetime | None,
    color: Choice,
) -> int:
    """Write an HTML page about what happened to a cluster.

    The page starts with the current problems and how long they have existed. It is one HTML file that loads nothing
    else. For a capture, Spark first computes the incidents in a temporary folder; this needs Java and takes about ten
    seconds.

    \b
    Examples:
      kwire report kafka.html --gold /data/kafka
      kwire report kafka.html --gold /data/kafka --since 2026-11-21T14:00 --until 2026-11-21T15:00
      kwire report kafka.html --capture OUT
    """
    if (gold is None) == (capture is None):
        raise click.UsageError("expected either --gold DIR or --capture PATH")
    for module in ("pyarrow", "plotly", "jinja2"):
        require(module, "report")
    for option, given in (("--gold", gold), ("--capture", capture)):
        if given is not None:
            existing_place(given, option)
    from kwire_pipeline.report import write_report
    from kwire_pipeline.report.summary import SummaryLevel

    place = capture if gold is None else gold
    assert place is not None
    with library_errors(place, "check the storage and its files"):
        if gold is not None:
            now = datetime.now(UTC) if until is None else None
            summaries = write_report(out, gold=gold, since=since, until=until, now=now)
        else:
            require("pyspark", "spark")
            from kwire_pipeline.report.local_pipeline import build_gold

            with tempfile.TemporaryDirectory(prefix="kwire-report-") as folder:
                print(f"building gold from {place} ...", file=sys.stderr)
                build_gold(place, Path(folder))
                summaries = write_report(out, gold=folder, since=since, until=until)
    paint = paint_for(sys.stdout, color)
    for cluster_id, summary in summaries:
        headline = summary.headline if summary.level is SummaryLevel.OK else paint("error", summary.headline)
        print(f"{cluster_id}: {headline}")
    print(f"{out} ({out.stat().st_size / 1e6:.1f} MB)")
    return 0
