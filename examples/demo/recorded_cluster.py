"""Part of the demo: three Kafka 3.9.1 brokers were killed, paused, shut down, and reassigned while they were polled.

The pipeline gets only the recorded frames and finds out what happened.
"""

from __future__ import annotations

from pathlib import Path

from examples.demo.incident_report import report_incidents
from examples.demo.terminal import DemoContext

RECORDING = Path(__file__).parents[2] / "tests" / "data" / "tapes" / "zk39-public.parquet"


def run(context: DemoContext) -> None:
    """Run this part."""
    report_incidents(RECORDING, context, "recorded-cluster.html")
