"""Analyzes a capture: runs the pipeline, prints the incidents, and writes the HTML report.

The capture is the only input.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

from examples.demo.terminal import DemoContext, paint, print_line, step
from kwire_pipeline.report import write_report
from kwire_pipeline.report.cluster_history import ClusterHistory
from kwire_pipeline.report.history_reader import read_histories
from kwire_pipeline.report.local_pipeline import build_gold
from kwire_pipeline.report.phrasing import (
    IncidentGroup,
    format_duration,
    format_time,
    incident_group,
    incident_impact,
    incident_title,
)


def report_incidents(source: Path, context: DemoContext, page: str) -> None:
    """Print what happened in a capture, and write `page`."""
    with tempfile.TemporaryDirectory(prefix="kwire-demo-") as folder:
        out = Path(folder)
        with step("pipeline run: frames to silver to gold"):
            build_gold(source, out)
        with step("HTML report written"):
            [(_, summary)] = write_report(context.pages / page, gold=out)
        for history in read_histories(out):
            print_incidents(history)
        print_line(f"{paint('title', summary.headline)} {' '.join(summary.details)}")
        print_line(f"Open the report in a browser: {context.pages / page}")


def print_incidents(history: ClusterHistory) -> None:
    """Print a line for each incident, with its time and impact."""
    polls = sum(each.polls for each in history.brokers)
    times = f"{format_time(history.began)} to {format_time(history.ended)} UTC"
    counts = f"{len(history.brokers)} brokers, {polls:,} polls, {len(history.incidents)} incidents"
    print_line(f"\nCluster {history.cluster_id}, {times}: {counts}")
    for each in history.incidents:
        duration = "ongoing" if each.ended is None else format_duration(each.ended - each.began)
        is_outage = incident_group(each) is IncidentGroup.OUTAGE
        title, impact = incident_title(each), incident_impact(each)
        print_line(f"  {format_time(each.began)}  {duration:>8}  {paint('error', title) if is_outage else title}")
        if is_outage and impact:
            print_line(f"{'':22}{paint('quiet', impact)}")
