"""The cost of storing an unchanged response in a capture.

    python -m benches.capture [--quick]

The response describes 100,000 partitions, and every second one names another controller, as those of KRaft brokers do.
The baseline is a comparison of as many bytes, measured alternately.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random
from statistics import median
from tempfile import TemporaryDirectory
from time import thread_time

from benches.figure import Figure
from benches.program import print_figures
from kwire import frame
from kwire.capture import Capture, Row
from kwire.messages.kafka.metadata import (
    MetadataRequest,
    MetadataResponse,
    MetadataResponseBroker,
    MetadataResponsePartition,
    MetadataResponseTopic,
)

VERSION = 12
START = datetime(2026, 11, 21, tzinfo=UTC)


def response_payload(topics: int, controller: int) -> bytes:
    """Return a Metadata response of six brokers with 20 partitions per topic."""
    return frame.encode_response(
        MetadataResponse(
            brokers=tuple(
                MetadataResponseBroker(node_id=id, host=f"broker-{id}.example.net", port=9092) for id in range(6)
            ),
            cluster_id="benchmark",
            controller_id=controller,
            topics=tuple(
                MetadataResponseTopic(
                    error_code=0,
                    name=f"topic-{topic:05}",
                    partitions=tuple(
                        MetadataResponsePartition(
                            error_code=0,
                            partition_index=index,
                            leader_id=index % 6,
                            leader_epoch=topic % 9,
                            replica_nodes=(index % 6, (index + 1) % 6, (index + 2) % 6),
                            isr_nodes=(index % 6, (index + 1) % 6, (index + 2) % 6),
                        )
                        for index in range(20)
                    ),
                )
                for topic in range(topics)
            ),
        ),
        version=VERSION,
        correlation_id=1,
    )[4:]


def poll(payload: bytes, at: timedelta, number: int = 0) -> Row:
    """Return a row with the request of a poller and that correlation id."""
    request = frame.encode_request(MetadataRequest(topics=None), version=VERSION, correlation_id=number)[4:]
    return Row(START + at, 1, "broker-1:9092", 3, VERSION, payload, request, duration_us=900 + number * 7919 % 613)


def stored_bytes(polls: int, payloads: tuple[bytes, bytes]) -> int:
    """Return the bytes of parquet for polls of an unchanged cluster, one per second, in one segment."""
    random = Random(0)
    with TemporaryDirectory() as folder:
        with Capture(folder, roll_bytes=1 << 40, roll_seconds=1e9) as capture:
            for number in range(polls):
                at = timedelta(seconds=number, microseconds=random.randrange(2_000))
                capture.append(poll(payloads[number % 2], at, number))
        return sum(path.stat().st_size for path in Path(folder).rglob("*.parquet"))


def run(quick: bool) -> list[Figure]:
    """Measure captures."""
    payloads = response_payload(500 if quick else 5_000, 1), response_payload(500 if quick else 5_000, 2)
    copy = bytes(bytearray(payloads[0]))
    append_times, compare_times = [], []
    with TemporaryDirectory() as folder, Capture(folder, roll_seconds=1e9) as capture:
        capture.append(poll(payloads[0], timedelta(0)))
        for number in range(50 if quick else 400):
            row = poll(payloads[number % 2], timedelta(seconds=1 + number), number)
            started = thread_time()
            capture.append(row)
            appended = thread_time()
            equal = payloads[0] == copy
            compare_times.append(thread_time() - appended)
            append_times.append(appended - started)
            assert equal
    polls = 1_000 if quick else 10_000
    once, twice = stored_bytes(polls, payloads), stored_bytes(2 * polls, payloads)
    size = len(payloads[0])
    return [
        Figure(
            "capture: an answer that repeats, of a comparison of its bytes",
            median(append_times) / median(compare_times),
            "x",
            at_least=6,
            goal=3,
            higher_is_better=False,
            detail=f"{size:,} bytes: {median(append_times) * 1e6:.0f} us, {median(compare_times) * 1e6:.0f} us",
        ),
        Figure(
            "capture: bytes on disk for a poll that changes nothing",
            (twice - once) / polls,
            " B",
            at_least=50,
            goal=20,
            higher_is_better=False,
            detail=f"{once:,} bytes for {polls:,} polls, {twice:,} for twice as many",
        ),
    ]


if __name__ == "__main__":
    print_figures(run, "capture", "Measure captures.", "store small responses a few times, for a first impression")
