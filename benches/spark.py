"""The pipeline on Spark: a day of a large cluster, and decoding frames to rows compared with the transport alone.

    python -m benches.spark [--quick]

Every run is a separate process with its own JVM and workers. CPU time and memory are those of the whole process tree,
read from /proc: the CPU time that was used, and the largest sum of resident sizes, sampled four times a second. This
needs Linux. Only ratios within one run are comparable, except time and memory of the history, which have targets.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any

from benches.figure import Figure
from benches.spark_session import spark_session

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import DataFrame

BEGIN = datetime(2026, 11, 20, tzinfo=UTC)
BROKERS = 30
TUNED = {"spark.sql.shuffle.partitions": "4"}
"""Settings for little data on two cores."""

_TICKS = os.sysconf("SC_CLK_TCK")
_PAGE = os.sysconf("SC_PAGE_SIZE")


@dataclass(frozen=True)
class History:
    """Topics of `each` partitions, polled once a minute at one broker; 1 % of the topics change in each poll."""

    topics: int
    each: int
    polls: int

    @property
    def states(self) -> int:
        """The number of partition states in all responses."""
        return self.topics * self.each * self.polls


DAY = History(topics=5_000, each=20, polls=1_440)
QUICK_DAY = History(topics=500, each=20, polls=120)
FRAMES, QUICK_FRAMES = 2_000, 200
"""Number of frames of 200 topics with 10 partitions."""
ROUNDS, QUICK_ROUNDS = 3, 1


def run(quick: bool) -> list[Figure]:
    """Return the figures: history, polls without changes, and CPU time per row."""
    with tempfile.TemporaryDirectory(prefix="kwire-bench-") as folder:
        return [*history(Path(folder), QUICK_DAY if quick else DAY), *decoding(Path(folder), quick)]


# A day of polls


def history(folder: Path, day: History) -> list[Figure]:
    """Measure a capture to gold, and the same with as many polls again that change nothing."""
    once, twice = folder / "once", folder / "twice"
    size = write_capture(once, day, quiet=0)
    write_capture(twice, day, quiet=1)
    busy = measured("history", str(once), str(folder / "out-once"))
    shutil.rmtree(folder / "out-once")
    quiet = measured("history", str(twice), str(folder / "out-twice"))
    shutil.rmtree(folder / "out-twice")
    shutil.rmtree(once)
    shutil.rmtree(twice)
    share = day.polls / DAY.polls * day.topics / DAY.topics  # a quick run has a share of the target
    detail = (
        f"{day.polls:,} frames, {day.states / 1e6:.0f} M partition states, capture {size / 1e6:,.0f} MB; "
        f"silver {busy.output['silver']:.1f} s, gold {busy.output['gold']:.1f} s, CPU {busy.cpu:.0f} s; "
        f"{busy.output['rows']}"
    )
    # CPU time with the start of the JVM, since the duration depends on other processes.
    more = quiet.cpu / busy.cpu * 100 - 100
    took = busy.output["silver"] + busy.output["gold"]
    return [
        Figure(
            "spark: history of a day, capture to gold",
            took,
            " s",
            900 * max(share, 0.1),
            180 * max(share, 0.1),
            False,
            detail,
        ),
        Figure(
            "spark: history of a day, memory", busy.memory / 2**30, " GiB", 4, 2, False, "JVM and workers at the peak"
        ),
        Figure(
            "spark: twice as many polls that change nothing",
            more,
            " %",
            20,
            5,
            False,
            f"CPU {busy.cpu:.0f} s and {quiet.cpu:.0f} s; {quiet.output['rows']}",
        ),
    ]


def write_capture(folder: Path, day: History, *, quiet: int) -> int:
    """Write a capture with `quiet` polls without changes after each other one, and return its size in bytes."""
    from dataclasses import replace

    from kwire import encode
    from kwire.capture import Capture
    from kwire.capture.rows import Row
    from kwire.messages.kafka.metadata import MetadataResponse

    random = Random(0)
    topics = [_topic(number, day.each) for number in range(day.topics)]
    message = MetadataResponse(
        brokers=_brokers(), cluster_id="bench-cluster-00000000", controller_id=1, topics=tuple(topics)
    )
    with Capture(folder, roll_seconds=1e9, sync_seconds=1e9) as capture:
        for poll in range(day.polls):
            if poll:
                for number in random.sample(range(day.topics), max(day.topics // 100, 1)):
                    topics[number] = _changed(topics[number], random)
                message = replace(message, topics=tuple(topics))
            frame = poll.to_bytes(4, "big") + b"\0" + encode(message, version=12)
            for more in range(1 + quiet):
                at = BEGIN + timedelta(seconds=60 * poll + 30 * more)
                capture.append(Row(at, 1, "broker-1:9092", 3, 12, frame=frame, duration_us=20_000), message)
    return sum(path.stat().st_size for path in folder.rglob("*.parquet"))


def _brokers() -> tuple[Any, ...]:
    from kwire.messages.kafka.metadata import MetadataResponseBroker

    return tuple(
        MetadataResponseBroker(node_id=id, host=f"broker-{id}.kafka.example.com", port=9092, rack=f"r{id % 3}")
        for id in range(1, BROKERS + 1)
    )


def _topic(number: int, each: int) -> Any:
    from uuid import UUID

    from kwire.messages.kafka.metadata import MetadataResponsePartition, MetadataResponseTopic

    def partition(index: int) -> MetadataResponsePartition:
        first = (number + index) % BROKERS
        replicas = tuple((first + step) % BROKERS + 1 for step in (0, 1, 2))
        return MetadataResponsePartition(
            error_code=0,
            partition_index=index,
            leader_id=replicas[0],
            leader_epoch=0,
            replica_nodes=replicas,
            isr_nodes=replicas,
        )

    return MetadataResponseTopic(
        error_code=0,
        name=f"team-{number % 50}.orders-{number:05}.events",
        topic_id=UUID(int=number + 1),
        partitions=tuple(partition(index) for index in range(each)),
    )


def _changed(topic: Any, random: Random) -> Any:
    """One partition in another state: a replica falls out of the ISR or comes back, or the leader moves on."""
    from dataclasses import replace

    partitions = list(topic.partitions)
    place = random.randrange(len(partitions))
    old = partitions[place]
    if len(old.isr_nodes) == len(old.replica_nodes):
        new = replace(old, isr_nodes=old.replica_nodes[:2])
    elif random.random() < 0.5:
        new = replace(old, isr_nodes=old.replica_nodes)
    else:
        new = replace(
            old, isr_nodes=old.replica_nodes, leader_id=old.replica_nodes[1], leader_epoch=old.leader_epoch + 1
        )
    partitions[place] = new
    return replace(topic, partitions=tuple(partitions))


def do_history(capture: str, out: str) -> None:
    """Run in a separate process, and print the durations."""
    from kwire.spark import Pipeline

    spark = spark_session("1g", TUNED)
    spark.range(1).count()
    begun = time.monotonic()
    pipeline = Pipeline(spark, out)
    report = pipeline.ingest_capture(capture)
    silver = time.monotonic() - begun
    pipeline.gold()
    gold = time.monotonic() - begun - silver
    rows = f"{report.rows.get('partitions', 0):,} rows of partitions"
    print(json.dumps({"silver": silver, "gold": gold, "rows": rows}), flush=True)


# Frames to rows


def decoding(folder: Path, quick: bool) -> list[Figure]:
    """Measure the CPU time per row, compared with returning prepared batches and with kio."""
    frames = QUICK_FRAMES if quick else FRAMES
    _write_frames(folder / "frames.parquet", frames)
    rounds = QUICK_ROUNDS if quick else ROUNDS
    done = measured("decoding", str(folder / "frames.parquet"), str(rounds))
    rows = frames * 2_000
    ready, kwire, kio = (statistics.median(done.output[name]) / rows * 1e6 for name in ("ready", "kwire", "kio"))
    detail = (
        f"us of CPU a row, JVM and workers: ready batches {ready:.2f}, kwire {kwire:.2f}, kio {kio:.2f}; {rows:,} rows"
    )
    return [
        Figure("spark: frames to rows, CPU over the transport's", kwire / ready, "x", 1.1, 1.0, False, detail),
        Figure("spark: frames to rows, less CPU than kio in mapInArrow", kio / kwire, "x", 3, 4, True, detail),
    ]


def _write_frames(path: Path, frames: int) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    from kwire import encode
    from kwire.messages.kafka.metadata import MetadataResponse

    different = []
    for start in range(8):
        topics = tuple(_topic(1000 * start + number, 10) for number in range(200))
        message = MetadataResponse(brokers=_brokers()[:10], cluster_id="c", controller_id=1, topics=topics)
        different.append(encode(message, version=12))
    bodies = pa.array([different[number % 8] for number in range(frames)], pa.binary())
    pq.write_table(pa.table({"body": bodies}), path, row_group_size=max(frames // 4, 1))


def do_decoding(path: str, rounds: str) -> None:
    """Run in a separate process: the ways alternate; the CPU time covers the process tree."""
    from kwire.messages.kafka.metadata import MetadataResponse
    from kwire.spark import decode_frames

    spark = spark_session("2g", TUNED)
    frames = spark.read.parquet(path)
    kwire = decode_frames(frames, MetadataResponse, version=12, frame="body", header=False, keep=[])
    ways = {
        "ready": frames.mapInArrow(_Ready(kwire.schema).hand_over, kwire.schema),
        "kwire": kwire,
        "kio": frames.mapInArrow(_with_kio, _KIO_COLUMNS),
    }
    taken: dict[str, list[float]] = {name: [] for name in ways}
    for way in ways.values():  # start the workers and compile the code
        _consume(way)
    for _ in range(int(rounds)):
        for name, way in ways.items():
            before = cpu_of(os.getpid())
            _consume(way)
            taken[name].append(cpu_of(os.getpid()) - before)
    print(json.dumps(taken), flush=True)


def _consume(rows: DataFrame) -> None:
    rows.write.format("noop").mode("overwrite").save()


class _Ready:
    """Return the same prepared batch until the number of rows is reached."""

    def __init__(self, schema: Any) -> None:
        self._schema = schema

    def hand_over(self, batches: Iterator[Any]) -> Iterator[Any]:
        from pyspark.sql.pandas.types import to_arrow_schema

        from kwire.messages.kafka.metadata import MetadataResponse
        from kwire.spark.frames import FrameDecoding

        schema = to_arrow_schema(self._schema)
        for batch in batches:
            if not batch.num_rows:
                continue
            task = FrameDecoding(MetadataResponse, 12, "topics.partitions", False, (), schema)
            [ready] = task.run(iter([batch.slice(0, 40)]))
            for _ in range(batch.num_rows // 40):
                yield ready


_KIO_COLUMNS = (
    "name string, topic_id string, partition_index int, leader_id int, leader_epoch int, error_code int, "
    "replica_nodes array<int>, isr_nodes array<int>, offline_replicas array<int>"
)
"""Fewer columns than kwire returns, which is to the advantage of kio."""


def _with_kio(batches: Iterator[Any]) -> Iterator[Any]:
    import pyarrow as pa
    from kio.schema.metadata.v12 import MetadataResponse
    from kio.serial import entity_reader

    read = entity_reader(MetadataResponse)
    lists, number = pa.list_(pa.int32()), pa.int32()
    types = (pa.string(), pa.string(), number, number, number, number, lists, lists, lists)
    names = [column.split()[0] for column in _KIO_COLUMNS.split(", ")]
    for batch in batches:
        for start in range(0, batch.num_rows, 40):
            columns: list[list[Any]] = [[] for _ in types]
            add = [column.append for column in columns]
            for body in batch.column(0).slice(start, 40).to_pylist():
                for topic in read(body, 0)[0].topics:
                    topic_id = str(topic.topic_id)
                    for partition in topic.partitions:
                        add[0](topic.name)
                        add[1](topic_id)
                        add[2](partition.partition_index)
                        add[3](partition.leader_id)
                        add[4](partition.leader_epoch)
                        add[5](partition.error_code)
                        add[6](partition.replica_nodes)
                        add[7](partition.isr_nodes)
                        add[8](partition.offline_replicas)
            arrays = [pa.array(column, type) for column, type in zip(columns, types, strict=True)]
            yield pa.RecordBatch.from_arrays(arrays, names=names)


# Processes and their resources


@dataclass(frozen=True)
class Measured:
    """The output of a process, its CPU time in seconds, and its peak memory in bytes, children included."""

    output: dict[str, Any]
    cpu: float
    memory: int


def measured(what: str, *arguments: str) -> Measured:
    """Run `do_<what>` in a separate process."""
    command = [sys.executable, "-m", "benches.spark", "--do", what, *arguments]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    watch = _Watch(process.pid)
    watch.start()
    output, errors = process.communicate()
    watch.ended.set()
    watch.join()
    if process.returncode:
        raise RuntimeError(errors[-4000:])
    return Measured(json.loads(output.splitlines()[-1]), watch.cpu, watch.memory)


class _Watch(threading.Thread):
    def __init__(self, process_id: int) -> None:
        super().__init__(daemon=True)
        self._process_id = process_id
        self.ended = threading.Event()
        self.memory = 0
        self.cpu = 0.0

    def run(self) -> None:
        while not self.ended.wait(0.25):
            self.memory = max(self.memory, sum(resident(process) for process in tree(self._process_id)))
            self.cpu = max(self.cpu, cpu_of(self._process_id))


def tree(process_id: int) -> list[int]:
    """Return a process and its descendants."""
    parents: dict[int, list[int]] = {}
    for path in Path("/proc").glob("[0-9]*"):
        if (fields := _stat(int(path.name))) is not None:
            parents.setdefault(int(fields[1]), []).append(int(path.name))
    found = [process_id]
    for process in found:
        found += parents.get(process, [])
    return found


def cpu_of(process_id: int) -> float:
    """Return the CPU seconds of a process and its descendants, including ended ones."""
    stats = [fields for process in tree(process_id) if (fields := _stat(process)) is not None]
    return sum(sum(int(fields[place]) for place in (11, 12, 13, 14)) for fields in stats) / _TICKS


def resident(process_id: int) -> int:
    """Return the resident bytes that a process does not share: pages from before a fork count for the parent."""
    try:
        pages = (Path("/proc") / str(process_id) / "statm").read_text().split()
    except (FileNotFoundError, ProcessLookupError):
        return 0
    return (int(pages[1]) - int(pages[2])) * _PAGE


def _stat(process_id: int) -> list[str] | None:
    """Return the fields after the name: state, parent, ..."""
    try:
        return (Path("/proc") / str(process_id) / "stat").read_text().rpartition(")")[2].split()
    except (FileNotFoundError, ProcessLookupError):
        return None


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benches.spark", description="Measure the pipeline on Spark.")
    parser.add_argument("--quick", action="store_true", help="run a small cluster for two hours")
    parser.add_argument("--do", nargs="+", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.do:
        {"history": do_history, "decoding": do_decoding}[given.do[0]](*given.do[1:])
        return
    for figure in run(given.quick):
        print(figure)


if __name__ == "__main__":
    main()
