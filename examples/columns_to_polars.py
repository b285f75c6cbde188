"""Count the leaders of each broker with polars, straight from the bytes of Metadata responses.

    pip install kwire polars
    python columns_to_polars.py broker-1:9092

`kwire.columns` decodes many responses into one Arrow table with a row for each partition, without a Python object for
any of them. The table shows whether all brokers report the same leaders.
"""

from __future__ import annotations

import sys

import polars as pl

import kwire
from kwire.client import BlockingPoller
from kwire.messages.kafka import MetadataResponse


def read_responses(bootstrap: str) -> tuple[dict[int, bytes], int]:
    """Return one Metadata response of each broker by its id, and the version of the responses."""
    responses: dict[int, bytes] = {}
    version = -1
    with BlockingPoller(bootstrap, dialect="kafka", interval=1.0) as poller:
        for poll in poller:
            if isinstance(poll.message, MetadataResponse) and poll.payload is not None and poll.broker_id >= 0:
                responses[poll.broker_id] = poll.payload
                version = poll.api_version
                if len(responses) == len(poll.message.brokers):
                    break
    return responses, version


def count_leaders(responses: dict[int, bytes], version: int) -> pl.DataFrame:
    """Return how many partitions each broker leads, as reported by each broker."""
    batch = kwire.columns(
        MetadataResponse, list(responses.values()), version=version, rows="topics.partitions", header=True
    )
    reporting = pl.DataFrame({"frame": range(len(responses)), "reported_by": list(responses)})
    return (
        pl.DataFrame(batch)
        .with_columns(pl.col("frame").cast(pl.Int64))
        .join(reporting, on="frame")
        .group_by("reported_by", "leader_id")
        .agg(pl.len().alias("partitions"))
        .sort("reported_by", "leader_id")
    )


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: python columns_to_polars.py HOST:PORT,...")
    print(count_leaders(*read_responses(sys.argv[1])))
