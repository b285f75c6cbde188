"""``kwire report``: a page that says what happened to a cluster."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import click

from kwire.cli.colors import paint_for
from kwire.cli.options import colour, require, slice_of_time

if TYPE_CHECKING:
    from datetime import datetime

    from kwire.cli.colors import Choice


@click.command()
@click.argument("out", metavar="OUT.html", type=click.Path(path_type=Path, dir_okay=False))
@click.option(
    "--gold",
    type=click.Path(path_type=Path, file_okay=False),
    metavar="DIR",
    help="A folder of the pipeline's, with gold.",
)
@click.option("--capture", type=click.Path(path_type=Path), metavar="PATH", help="A capture, or a file of frames.")
@slice_of_time
@colour
def report(
    out: Path,
    gold: Path | None,
    capture: Path | None,
    since: datetime | None,
    until: datetime | None,
    color: Choice,
) -> int:
    """Write a page that says what happened to a cluster.

    On top is what is wrong now, and since when. One HTML file with everything in it, that loads nothing. Of a capture,
    Spark makes gold first, in a temporary folder; that takes Java and some ten seconds.

    \b
    Examples:
      kwire report kafka.html --gold /data/kafka
      kwire report kafka.html --gold /data/kafka --since 2026-11-21T14:00 --until 2026-11-21T15:00
      kwire report kafka.html --capture OUT
    """  # noqa: D301  # \b is click's mark
    if (gold is None) == (capture is None):
        raise click.UsageError("Name what to report of: either --gold DIR or --capture PATH.")
    for option, path in (("--gold", gold), ("--capture", capture)):
        if path is not None and not path.exists():
            raise click.BadParameter(f"{path} does not exist.", param_hint=option)
    require("pyarrow", "report")
    require("plotly", "report")
    from kwire.report import write_report

    times = {"since": since, "until": until}
    if gold is not None:
        said = write_report(out, gold=gold, **times)
    else:
        require("pyspark", "spark")
        from kwire.report.local_pipeline import build_gold

        assert capture is not None
        with tempfile.TemporaryDirectory(prefix="kwire-report-") as folder:
            print(f"making gold of {capture} ...", file=sys.stderr)
            build_gold(capture, Path(folder))
            said = write_report(out, gold=folder, **times)
    paint = paint_for(sys.stdout, color)
    for cluster_id, verdict in said:
        headline = verdict.headline if verdict.level == "well" else paint("fault", verdict.headline)
        print(f"{cluster_id}: {headline}")
    print(f"{out} ({out.stat().st_size / 1e6:.1f} MB)")
    return 0
