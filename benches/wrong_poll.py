"""The cost of gold after one poll with the time of a wrong clock, over the cost without it.

    python -m benches.wrong_poll [--quick]

Three brokers are polled each second. One poll is wrong by a minute to ten years, in the first ingest or in a later one.
After each of three ingests gold is built, in this process, and the build with the highest ratio counts.
"""

from __future__ import annotations

import statistics
import sys
import tempfile
import time
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING
from uuid import UUID

import pyarrow as pa

from benches.figure import Figure
from benches.program import print_figures
from kwire import frame
from kwire.capture import Row
from kwire.capture.rows import RowKind, to_batch
from kwire.messages.kafka.metadata import (
    MetadataRequest,
    MetadataResponse,
    MetadataResponseBroker,
    MetadataResponsePartition,
    MetadataResponseTopic,
)

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

START = datetime(2026, 11, 20, 10, tzinfo=UTC)
BROKERS = (1, 2, 3)
INGESTS = (range(90), range(90, 180), range(180, 200))
"""The seconds of the polls of each ingest."""
DISTANCES = {
    "1 minute": timedelta(minutes=1),
    "10 minutes": timedelta(minutes=10),
    "1 hour": timedelta(hours=1),
    "6 hours": timedelta(hours=6),
    "1 day": timedelta(days=1),
    "8 days": timedelta(days=8),
    "40 days": timedelta(days=40),
    "160 days": timedelta(days=160),
    "1 year": timedelta(days=365),
    "10 years": timedelta(days=3_650),
}


def run(quick: bool) -> list[Figure]:
    """Return the highest ratio of a build."""
    costs(None, 0)  # imports
    rounds = 1 if quick else 3
    normal = [statistics.median(part) for part in zip(*(costs(None, 0) for _ in range(rounds)), strict=True)]
    ratios = {}
    for name, distance in DISTANCES.items():
        for sign, word in ((-1, "behind"), (1, "ahead")):
            for ingest in (0, 1):
                cost = [
                    min(part) for part in zip(*(costs(sign * distance, ingest) for _ in range(rounds)), strict=True)
                ]
                ratio = max(seconds / usual for seconds, usual in zip(cost, normal, strict=True))
                ratios[f"{name} {word}, ingest {ingest + 1}"] = ratio
                print(f"{name} {word}, ingest {ingest + 1}: {ratio:.2f}x", file=sys.stderr, flush=True)
    worst = max(ratios, key=ratios.__getitem__)
    shown = ", ".join(f"{name}: {ratio:.2f}" for name, ratio in sorted(ratios.items(), key=lambda item: -item[1])[:5])
    detail = f"worst {worst}; {shown}; normal builds {', '.join(f'{seconds:.2f} s' for seconds in normal)}"
    return [Figure("build after one wrong poll, over a normal build", ratios[worst], "x", 1.5, 1.1, False, detail)]


def costs(distance: timedelta | None, ingest: int) -> list[float]:
    """Return the CPU seconds of each build. A poll of an ingest is wrong by `distance`; None without a wrong one."""
    from kwire_pipeline import Pipeline

    found = []
    with tempfile.TemporaryDirectory(prefix="kwire-bench-") as folder:
        pipeline = Pipeline(_no_spark, folder)
        for number, seconds in enumerate(INGESTS):
            rows = [poll(second, broker) for second in seconds for broker in BROKERS]
            if distance is not None and number == ingest:
                middle = rows[len(rows) // 2]
                rows.append(middle._replace(polled_at=middle.polled_at + distance))
            pipeline.ingest(pa.Table.from_batches([to_batch(rows)]))
            started = time.process_time()
            pipeline.gold()
            found.append(time.process_time() - started)
    return found


def poll(second: int, broker: int) -> Row:
    """Return a response; leaders move every 20 seconds, and topics are added."""
    partitions = tuple(
        MetadataResponsePartition(
            error_code=0,
            partition_index=number,
            leader_id=(second // 20 + number) % 3 + 1,
            leader_epoch=second // 20 + number,
            replica_nodes=BROKERS,
            isr_nodes=BROKERS,
            offline_replicas=(),
        )
        for number in range(3)
    )
    topics = tuple(
        MetadataResponseTopic(
            error_code=0, name=f"t{k}", topic_id=UUID(int=k + 1), is_internal=False, partitions=partitions
        )
        for k in range(3 + second // 30)
    )
    brokers = tuple(MetadataResponseBroker(node_id=node, host=f"b{node}", port=9092) for node in BROKERS)
    message = MetadataResponse(brokers=brokers, cluster_id="c", controller_id=1, topics=topics)
    return Row(
        START + timedelta(seconds=second, milliseconds=100 * broker),
        broker,
        f"b{broker}:9092",
        api_key=3,
        api_version=12,
        cluster_id="c",
        kind=RowKind.FULL,
        frame=frame.encode_response(message, version=12, correlation_id=1)[4:],
        request=frame.encode_request(MetadataRequest(topics=None), version=12, correlation_id=1)[4:],
    )


def _no_spark() -> SparkSession:
    raise AssertionError("so little data needs no Spark")


if __name__ == "__main__":
    print_figures(run, "wrong_poll", "Measure builds of gold after one wrong poll.", "measure one round")
