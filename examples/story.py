"""A cluster's story, out of a capture or a tape: the pipeline runs, incidents are printed, a page is written.

Rules of this file: nothing is known here but what was captured.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

from examples.stage import Stage, paint, say, step
from kwire.report import write_report
from kwire.report.cluster_history import ClusterStory, read
from kwire.report.local_pipeline import build_gold, local_spark
from kwire.report.phrasing import clock, group, impact, lasting, title


def tell(source: Path, stage: Stage, page: str) -> None:
    """What happened in ``source``, and where the page is that shows it."""
    with tempfile.TemporaryDirectory(prefix="kwire-demo-") as folder:
        out = Path(folder)
        start_spark(stage)
        with step("the pipeline: frames to silver to gold"):
            build_gold(source, out)
        with step("a page of it"):
            [(_, verdict)] = write_report(stage.pages / page, gold=out)
        for story in read(out):
            incidents(story)
        say(f"{paint('title', verdict.headline)} {' '.join(verdict.details)}")
        say(f"The page, to be opened in a browser: {stage.pages / page}")


def start_spark(stage: Stage) -> None:
    """Once for all parts."""
    from pyspark.sql import SparkSession

    if SparkSession.getActiveSession() is None:
        with step("Spark started on this machine, with two workers"):
            folder = stage.until_the_end.enter_context(tempfile.TemporaryDirectory(prefix="kwire-demo-"))
            stage.until_the_end.enter_context(local_spark(Path(folder) / "spark"))


def incidents(story: ClusterStory) -> None:
    """A line for each, with its time, and what it did."""
    polls = sum(each.polls for each in story.brokers)
    times = f"{clock(story.began)} to {clock(story.ended)} UTC"
    counts = f"{len(story.brokers)} brokers, {polls:,} polls, {len(story.incidents)} incidents"
    say(f"\nCluster {story.cluster_id}, {times}: {counts}")
    for each in story.incidents:
        lasted = "still on" if each.ended is None else lasting(each.ended - each.began)
        what = paint("fault", title(each)) if group(each) == "outage" else title(each)
        touched = impact(each)
        say(f"  {clock(each.began)}  {lasted:>8}  {what}")
        if group(each) == "outage" and touched:
            say(f"{'':22}{paint('quiet', touched)}")
