"""Administration of real Kafka: the admin client beside confluent-kafka's, and the command beside Kafka's scripts.

    python -m benches.administration [--quick]

- Describe all topics: the CPU time of this process with all its threads, for one call of each client to the same fake
  cluster in another process. Both results have the same topics and partitions.
- Lag of all groups, list all topics, and export all configs: the time of a whole process from its start to its end, in
  turns with the Java program behind Kafka's script, on one broker of Kafka 3.9.1. All outputs go to a file. Python's
  byte code and Kafka's jars are in the page cache after a first turn that does not count.
"""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any, NamedTuple

import confluent_kafka
import confluent_kafka.admin

from benches.figure import Figure
from benches.program import fake_cluster, print_figures
from kwire.client.admin import AdminClient, BlockingAdminClient, NewTopic, TopicDescription, TopicPartition
from tests.real_kafka import Kafka39
from tests.real_kafka.jars import jars, jars_of

if TYPE_CHECKING:
    from collections.abc import Callable

SECONDS = 120
TOOLS = Path(__file__).parent / "kafka-tools.xml"
TOPIC_COMMAND = "org.apache.kafka.tools.TopicCommand"
CONFIG_COMMAND = "kafka.admin.ConfigCommand"
GROUP_COMMAND = "org.apache.kafka.tools.consumer.group.ConsumerGroupCommand"
OVERRIDES = {"retention.ms": "86400000", "cleanup.policy": "compact"}
FAKE_CLUSTER = """\
import sys
from kwire.testing import FakeCluster
with FakeCluster(topics=int(sys.argv[1]), partitions=int(sys.argv[2])) as cluster:
    print(cluster.bootstrap, flush=True)
    sys.stdin.read()
"""


class Size(NamedTuple):
    """Size of the cluster, and number of measurements."""

    described_topics: int
    described_partitions: int
    groups: int
    partitions: int
    listed_topics: int
    turns: int


FULL = Size(5_000, 20, 500, 1_000, 5_000, 5)
QUICK = Size(1_000, 20, 50, 100, 200, 2)


def run(quick: bool) -> list[Figure]:
    size = QUICK if quick else FULL
    figures = [describe_all_topics(size)]
    with Kafka39() as cluster:
        asyncio.run(create_groups(cluster.bootstrap, size))
        figures.append(lag_of_all_groups(cluster.bootstrap, size))
    with Kafka39() as cluster:  # a broker with many groups is busy for minutes
        asyncio.run(create_topics(cluster.bootstrap, size.listed_topics))
        figures.append(list_topics(cluster.bootstrap, size))
        figures.append(export_configs(cluster.bootstrap, size))
    return figures


# CPU time of a call


def describe_all_topics(size: Size) -> Figure:
    served = fake_cluster(FAKE_CLUSTER, size.described_topics, size.described_partitions)
    with served as bootstrap, BlockingAdminClient(bootstrap) as admin:
        theirs = confluent_kafka.admin.AdminClient({"bootstrap.servers": bootstrap, "log_level": 0})
        names = confluent_kafka.TopicCollection(admin.list_topics())

        def describe() -> dict[str, Any]:
            return {name: found.result(SECONDS) for name, found in theirs.describe_topics(names).items()}

        check_descriptions(admin.describe_topics(), describe())
        calls: dict[str, Callable[[], Any]] = {
            "kwire": admin.describe_topics,
            "describe_topics": describe,
            "list_topics": lambda: theirs.list_topics(timeout=SECONDS),
        }
        times: dict[str, list[float]] = {name: [] for name in calls}
        for _ in range(size.turns):
            for name, call in calls.items():
                started = time.process_time()
                call()
                times[name].append(time.process_time() - started)
    seconds = {name: median(samples) for name, samples in times.items()}
    return Figure(
        f"describe {size.described_topics} topics of {size.described_partitions} partitions, CPU time x "
        "confluent-kafka's AdminClient.describe_topics",
        seconds["describe_topics"] / seconds["kwire"],
        "x",
        4,
        10,
        detail=f"{seconds['kwire']:.3f} s; confluent-kafka {seconds['describe_topics']:.3f} s, its list_topics, which "
        f"lacks topic ids and leader epochs, {seconds['list_topics']:.3f} s",
    )


def check_descriptions(ours: dict[str, Any], theirs: dict[str, Any]) -> None:
    """Stop if two clients do not report the same leaders and replicas."""
    found = {
        name: [(partition.partition, partition.leader, partition.replicas) for partition in topic.partitions]
        for name, topic in ours.items()
        if isinstance(topic, TopicDescription)
    }
    expected = {
        name: [
            (partition.id, partition.leader.id, tuple(node.id for node in partition.replicas))
            for partition in topic.partitions
        ]
        for name, topic in theirs.items()
    }
    if found != expected:
        sys.exit("kwire and confluent-kafka describe different topics")


# Times of processes


async def create_groups(bootstrap: str, size: Size) -> None:
    """Create a topic, and groups that have committed an offset in each of its partitions."""
    async with await AdminClient.open(bootstrap, timeout=SECONDS) as admin:
        (
            await admin.create_topics({"orders": NewTopic(partitions=size.partitions, replication_factor=1)})
        ).raise_first()
        await admin.wait_until_created({"orders": size.partitions}, timeout=SECONDS)
        offsets = {TopicPartition("orders", index): 0 for index in range(size.partitions)}
        for number in range(size.groups):
            (await admin.alter_group_offsets(f"group-{number:03}", offsets)).raise_first()


async def create_topics(bootstrap: str, count: int) -> None:
    batch = 50
    async with await AdminClient.open(bootstrap, timeout=SECONDS) as admin:
        for start in range(0, count, batch):
            numbers = range(start, min(start + batch, count))
            new = {
                f"topic-{number:05}": NewTopic(partitions=1, replication_factor=1, configs=OVERRIDES)
                for number in numbers
            }
            (await admin.create_topics(new)).raise_first()
            await admin.wait_until_created(list(new), timeout=SECONDS)


def lag_of_all_groups(bootstrap: str, size: Size) -> Figure:
    theirs = [GROUP_COMMAND, "--describe", "--all-groups", "--timeout", str(SECONDS * 1000)]
    return faster(
        f"lag of {size.groups} groups x {size.partitions} partitions, x kafka-consumer-groups --all-groups",
        bootstrap,
        ["groups", "lag"],
        theirs,
        turns=min(size.turns, 2),  # Kafka's takes a minute
        targets=(10, 30),
    )


def list_topics(bootstrap: str, size: Size) -> Figure:
    return faster(
        f"kafka topics list with {size.listed_topics} topics, x Kafka's TopicCommand --list",
        bootstrap,
        ["topics", "list"],
        [TOPIC_COMMAND, "--list"],
        turns=size.turns,
        targets=(5, 10),
    )


def export_configs(bootstrap: str, size: Size) -> Figure:
    """Compare one export with one `kafka-configs --describe --all` for each topic; each turn runs one of them."""
    return faster(
        f"kafka configs export of {size.listed_topics} topics, x Kafka's ConfigCommand --describe --all for each topic",
        bootstrap,
        ["configs", "export"],
        [CONFIG_COMMAND, "--describe", "--all", "--entity-type", "topics", "--entity-name", "topic-00000"],
        turns=size.turns,
        targets=(100, 300),
        runs=size.listed_topics,
    )


def faster(
    name: str,
    bootstrap: str,
    ours: list[str],
    theirs: list[str],
    *,
    turns: int,
    targets: tuple[float, float],
    runs: int = 1,
) -> Figure:
    """Return how many times faster a command of kwire is than a program of Kafka, both as processes, in turns.

    Args:
        runs: number of runs of Kafka's program that do what one run of kwire does. One of them is measured.
    """
    with tempfile.TemporaryDirectory() as folder:
        environment = os.environ | {"PYTHONPYCACHEPREFIX": folder}
        environment.pop("PYTHONDONTWRITEBYTECODE", None)
        output = Path(folder) / "output"
        command = [sys.executable, "-m", "kwire", "-b", bootstrap, *ours]
        java = [
            "java",
            "-Xmx1g",
            "-cp",
            f"{jars_of(TOOLS)}/*:{jars('kafka39')}/*",
            *theirs,
            "--bootstrap-server",
            bootstrap,
        ]
        seconds_of(command, output, environment)
        mine, kafka = [], []
        for _ in range(turns):
            mine.append(seconds_of(command, output, environment))
            kafka.append(seconds_of(java, output, environment))
    ratio = runs * median(one / two for one, two in zip(kafka, mine, strict=True))
    share = "" if runs == 1 else f" for one of {runs}"
    detail = f"{median(mine):.2f} s; Kafka's {median(kafka):.2f} s{share}, processes with start"
    return Figure(name, ratio, "x", *targets, detail=detail)


def seconds_of(command: list[str], output: Path, environment: dict[str, str]) -> float:
    with output.open("w") as file:
        started = time.perf_counter()
        subprocess.run(command, stdout=file, stderr=subprocess.DEVNULL, env=environment, check=True)
        return time.perf_counter() - started


if __name__ == "__main__":
    print_figures(run, "administration", "Measure administration.", "measure small sizes, for a first impression")
