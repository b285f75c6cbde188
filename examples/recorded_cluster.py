"""A part of the demo: three Kafka 3.9.1 brokers that were killed, stopped, shut down and moved about, as a poller saw
them. The pipeline gets the frames and nothing else, and tells what was done.
"""

from __future__ import annotations

from pathlib import Path

from examples.stage import Stage
from examples.story import tell

TAPE = Path(__file__).parent.parent / "tests" / "data" / "tapes" / "zk39-public.parquet"


def show(stage: Stage) -> None:
    """The part."""
    tell(TAPE, stage, "recorded-cluster.html")
