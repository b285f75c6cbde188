"""MirrorMaker between two real clusters, beside a loop of kafka-python's consumer and producer.

    python -m benches.mirror [--quick]

Both copy the same topic from a broker of Kafka 3.9.1 to one of Kafka 4.4.0, each into a topic of its own, in a process
of its own. The figure is records for each second of CPU time of that process, with its start. A turn of each in
alternation; medians. The records have keys, values of about 100 bytes, and are in batches of lz4.
The results are compared: the target topics have as many records as the source.
"""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import median
from typing import NamedTuple

from benches.figure import Figure
from benches.program import print_figures
from kwire import records
from kwire.client.admin import LATEST, AdminClient, NewTopic, TopicPartition
from kwire.client.record_sender import RecordSender
from kwire.testing.kafka import Kafka39, Kafka44

BATCH = 500
TIME = 1_700_000_000_000
KAFKA_PYTHON = """\
import sys
from kafka import KafkaConsumer, KafkaProducer, TopicPartition
source, target, topic, copy, count = sys.argv[1:]
consumer = KafkaConsumer(bootstrap_servers=source, auto_offset_reset="earliest", enable_auto_commit=False)
consumer.assign([TopicPartition(topic, 0)])
producer = KafkaProducer(bootstrap_servers=target, acks="all", compression_type="lz4", linger_ms=50, batch_size=65536)
copied = 0
while copied < int(count):
    for batch in consumer.poll(1000, max_records=5000).values():
        for record in batch:
            producer.send(copy, record.value, record.key, record.headers, 0, record.timestamp)
            copied += 1
producer.flush()
producer.close()
consumer.close()
"""


class Size(NamedTuple):
    """Number of copied records, and number of repetitions."""

    records: int
    turns: int


FULL = Size(500_000, 3)
QUICK = Size(100_000, 1)


def run(quick: bool) -> list[Figure]:
    """Return the figure of the mirror."""
    size = QUICK if quick else FULL
    with Kafka39() as source, Kafka44() as target:
        asyncio.run(fill(source.bootstrap, "mirrored", size.records))
        ours: list[float] = []
        theirs: list[float] = []
        for turn in range(size.turns):
            ours.append(time_kwire(source.bootstrap, target.bootstrap, turn, size.records))
            theirs.append(time_kafka_python(source.bootstrap, target.bootstrap, turn, size.records))
    kwire, kafka_python = size.records / median(ours), size.records / median(theirs)
    detail = f"kwire {kwire:,.0f}, kafka-python {kafka_python:,.0f} records for a CPU second"
    return [Figure("mirror, x kafka-python", kwire / kafka_python, "x", 3, 10, detail=detail)]


async def fill(bootstrap: str, topic: str, count: int) -> None:
    """Create a topic with records."""
    async with await AdminClient.open(bootstrap) as admin:
        await create(admin, topic)
        sender = RecordSender(admin)
        for start in range(0, count, BATCH):
            batch = [
                (at, TIME + start + at, b"key-%d" % (start + at), b"value %d " % (start + at) * 8, ())
                for at in range(BATCH)
            ]
            data = records.encode(batch, compression="lz4")
            await sender.send({TopicPartition(topic, 0): data})


async def create(admin: AdminClient, topic: str) -> None:
    # The timestamps are old: without retention, the broker would delete the records.
    made = await admin.create_topics({topic: NewTopic(partitions=1, configs={"retention.ms": "-1"})})
    made.raise_first()
    await admin.wait_until_created([topic])


def time_kwire(source: str, target: str, turn: int, count: int) -> float:
    """Return the CPU seconds of the tool. It keeps names, so the target topic is made empty before each turn."""
    asyncio.run(recreate(target, "mirrored"))
    command = [
        sys.executable, "-m", "kwire", "tools", "run", "mirror-maker", "--source", source, "--target", target,
        "--whitelist", "mirrored", "--group", f"turn-{turn}", "--until-caught-up",
    ]  # fmt: skip
    seconds = cpu_seconds(command)
    check(target, "mirrored", count)
    return seconds


async def recreate(bootstrap: str, topic: str) -> None:
    async with await AdminClient.open(bootstrap) as admin:
        if topic in await admin.list_topics():
            (await admin.delete_topics([topic])).raise_first()
            await admin.wait_until_deleted([topic])
        await create(admin, topic)


def time_kafka_python(source: str, target: str, turn: int, count: int) -> float:
    """Return the CPU seconds of the loop."""
    copy = f"copy-{turn}"
    asyncio.run(recreate(target, copy))
    with tempfile.TemporaryDirectory() as folder:
        script = Path(folder) / "copy_records.py"
        script.write_text(KAFKA_PYTHON, encoding="utf-8")
        seconds = cpu_seconds([sys.executable, str(script), source, target, "mirrored", copy, str(count)])
    check(target, copy, count)
    return seconds


def cpu_seconds(command: list[str]) -> float:
    """Run a command, and return the CPU seconds of its process."""
    before = os.times()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, timeout=600)
    after = os.times()
    return after.children_user + after.children_system - before.children_user - before.children_system


def check(bootstrap: str, topic: str, count: int) -> None:
    """Stop if a topic does not have all records."""

    async def end() -> int | None:
        partition = TopicPartition(topic, 0)
        async with await AdminClient.open(bootstrap) as admin:
            found = (await admin.list_offsets({partition: LATEST}))[partition]
        return None if isinstance(found, Exception) else found.offset

    copied = asyncio.run(end())
    if copied != count:
        sys.exit(f"{topic} has {copied} records, expected {count}")


if __name__ == "__main__":
    print_figures(run, "mirror", "Measure MirrorMaker.", "copy few records, for a first impression")
