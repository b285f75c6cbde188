"""Reassignments: how fast plans are made, how close to the optimum they are, and what kills leave behind.

    python -m benches.reassignment [--quick]

- Plans: from a snapshot to a plan, with replicas at random on all brokers but a fifth or tenth, and sizes that are
  distributed lognormally with sigma 1.5. The worst of the cases counts. Planning uses one thread, and its time is that
  of the processor, so that other programs on the machine do not count.
- Kafka's own proposal: `kafka-reassign-partitions --generate` (3.9.1) for the same topics and brokers, asked of a fake
  cluster. It does not look at where replicas are. Both are measured in bytes of the same partitions.
- Kills: an execution on three real brokers is killed at a random moment, then continued or cancelled by turns, which is
  killed as well every third time and repeated. Throttles that brokers or topics have afterwards count.
"""

from __future__ import annotations

import asyncio
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, NamedTuple

import confluent_kafka

from benches.administration import TOOLS
from benches.figure import Figure
from benches.program import print_figures
from kwire.client.admin import AdminClient, ConfigResource, ConfigResourceType, ConfigSource, NewTopic
from kwire.reassignment import AssignmentFile, Balance, BrokerSnapshot, ClusterSnapshot, PartitionSnapshot, PlanRequest
from kwire.reassignment.plan import Plan, moves_of
from kwire.reassignment.planning.planner import plan
from kwire.reassignment.snapshot_reader import read_snapshot
from kwire.reassignment.throttle import RATES, REPLICAS
from kwire.testing import FakeCluster
from kwire.testing.kafka import Kafka39, Kafka44
from kwire.testing.kafka.jars import jars_of

if TYPE_CHECKING:
    from kwire.testing.kafka import KafkaCluster

GIB = 2**30
COMMAND = "org.apache.kafka.tools.reassign.ReassignPartitionsCommand"
LONGEST = 8.0
"""Seconds until a kill: an execution of the benchmark takes about as long."""


class Size(NamedTuple):
    """Number of plans, and number of killed executions on each version of Kafka."""

    turns: int
    kills: int


FULL = Size(5, 25)
QUICK = Size(2, 2)


def run(quick: bool) -> list[Figure]:
    size = QUICK if quick else FULL
    return [
        *planning(size),
        against_generate(),
        *(kills(kind, size.kills) for kind in (Kafka39, Kafka44)),
    ]


def snapshot(partitions: int, brokers: int, *, empty: int, racks: int, seed: int = 1) -> ClusterSnapshot:
    """Return a cluster with three replicas of each partition on random brokers, in different racks if there are any."""
    drawn = random.Random(seed)
    used = range(brokers - empty)
    groups = [[broker for broker in used if broker % racks == rack] for rack in range(racks)] or [
        [broker] for broker in used
    ]
    states = []
    for index in range(partitions):
        replicas = tuple(drawn.choice(group) for group in drawn.sample(groups, 3))
        size = int(drawn.lognormvariate(0, 1.5) * GIB)
        states.append(PartitionSnapshot(f"topic-{index // 100:05}", index % 100, replicas, size, replicas[0], replicas))
    return ClusterSnapshot(
        tuple(BrokerSnapshot(broker, f"rack-{broker % racks}" if racks else None) for broker in range(brokers)),
        tuple(states),
    )


# Plans


def planning(size: Size) -> list[Figure]:
    goals = {
        "count and leaders": {Balance.COUNT: 1.0, Balance.LEADERS: 1.0},
        "size": {Balance.SIZE: 1.0},
        "count": {Balance.COUNT: 1.0},
    }
    seconds: dict[int, dict[str, float]] = {}
    ratios: dict[str, dict[str, float]] = {"replicas": {}, "bytes": {}}
    for partitions, brokers, empty in ((10_000, 30, 6), (200_000, 100, 10)):
        times: dict[str, float] = {}
        for racks in (0, 3, 5):
            found = snapshot(partitions, brokers, empty=empty, racks=racks)
            for name, balance in goals.items():
                case = f"{name}, {racks or 'no'} racks"
                samples = []
                for _ in range(size.turns if partitions <= 10_000 else 1):
                    started = time.process_time()
                    proof = plan(found, PlanRequest(balance=balance)).proof
                    samples.append(time.process_time() - started)
                    assert proof is not None
                    assert proof.balanced
                    ratios[proof.measure][f"{partitions}, {case}"] = proof.ratio
                times[case] = median(samples)
        seconds[partitions] = times
    return [
        _worst("plan for 10,000 partitions on 30 brokers, processor time", seconds[10_000], "s", 2, 0.5),
        _worst("plan for 200,000 partitions on 100 brokers, processor time", seconds[200_000], "s", 60, 10),
        _worst("replicas moved over the lower bound, by count", ratios["replicas"], "x", 1.0, 1.0),
        _worst("bytes moved over the lower bound, by size", ratios["bytes"], "x", 1.02, 1.005),
    ]


def _worst(name: str, values: dict[str, float], unit: str, at_least: float, goal: float) -> Figure:
    case = max(values, key=lambda name: values[name])
    detail = f"worst of {len(values)} cases: {case}"
    return Figure(name, values[case], unit, at_least, goal, higher_is_better=False, detail=detail)


# Kafka's own proposal


def against_generate() -> Figure:
    """Compare the bytes moved with those of Kafka's proposal, for brokers that are added and for uneven ones."""
    ratios = {}
    for case, empty in (("6 of 30 brokers added", 6), ("30 uneven brokers", 0)):
        found = snapshot(10_000, 30, empty=empty, racks=0)
        made = plan(found, PlanRequest(balance={Balance.COUNT: 1, Balance.LEADERS: 1}))
        proposed = Plan(found, moves_of(found, generated(found).targets))
        spread = [max(counts) - min(counts) for counts in (_counts(made), _counts(proposed))]
        if spread[0] > spread[1]:
            sys.exit(f"the plan is less even than Kafka's: {spread}")
        ratios[f"{case}: {made.data / GIB:.0f} of {proposed.data / GIB:.0f} GiB"] = made.data / proposed.data
    worst = max(ratios, key=lambda name: ratios[name])
    return Figure(
        "bytes moved, plan over kafka-reassign-partitions --generate",
        ratios[worst],
        "x",
        0.5,
        0.3,
        higher_is_better=False,
        detail="; ".join(ratios),
    )


def _counts(made: Plan) -> list[int]:
    return [load.replicas_after for load in made.loads]


def generated(found: ClusterSnapshot) -> AssignmentFile:
    """Return the proposal of Kafka's tool for the topics and brokers of a snapshot."""
    topics = sorted({partition.topic for partition in found.partitions})
    ids = [broker.id for broker in found.brokers]
    with (
        FakeCluster(brokers=ids, topics=topics, partitions=100) as cluster,
        tempfile.NamedTemporaryFile("w", suffix=".json") as file,
    ):
        json.dump({"version": 1, "topics": [{"topic": topic} for topic in topics]}, file)
        file.flush()
        arguments = ["--bootstrap-server", cluster.bootstrap, "--broker-list", ",".join(map(str, ids))]
        arguments += ["--generate", "--topics-to-move-json-file", file.name]
        ran = subprocess.run(
            [
                "java",
                "-Xmx256m",
                "-cp",
                f"{jars_of(TOOLS)}/*",
                COMMAND,
                *arguments,
            ],
            capture_output=True,
            text=True,
            check=True,
        )
    return AssignmentFile.from_json(ran.stdout.partition("Proposed partition reassignment configuration")[2].strip())


# Kills


def kills(kind: type[KafkaCluster], count: int) -> Figure:
    """Count the throttles that are left after kills at random moments."""
    drawn = random.Random(7)
    left: dict[str, int] = {}
    moments = []
    with kind(3) as cluster, tempfile.TemporaryDirectory() as folder:
        asyncio.run(fill(cluster))
        for turn in range(count):
            file = Path(folder) / f"{turn}.json"
            asyncio.run(write_plan(cluster, file, drain=1 + turn % 3))
            seconds = drawn.uniform(0, LONGEST)
            moments.append(seconds)
            options = ("--throttle", "1M", "--batch-size", "3M", "--yes", "--force")
            kill_after(start(cluster, folder, "execute", str(file), *options), seconds)
            ending = ("resume", "cancel")[turn % 2]
            if turn % 3 == 2:
                kill_after(start(cluster, folder, ending), drawn.uniform(0, LONGEST / 2))
            ended = start(cluster, folder, ending)
            _, printed = ended.communicate()
            nothing = ("nothing is left", "has no run", "continue with `cancel`")
            if ended.returncode and not any(text in printed for text in nothing):
                sys.exit(f"{ending} failed after a kill: {printed}")
            found = asyncio.run(throttles(cluster))
            if found:
                left[f"kill {turn} after {seconds:.2f} s"] = len(found)
    name = f"throttles left after {count} kills, Kafka {kind.version}"
    return Figure(
        name, sum(left.values()), "", 0, 0, higher_is_better=False, detail=str(left or f"at 0 to {max(moments):.1f} s")
    )


def start(cluster: KafkaCluster, folder: str, verb: str, *arguments: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "kwire", "-b", cluster.bootstrap, "reassign", verb, *arguments]
    return subprocess.Popen(
        [*command, "--journal", folder], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
    )


def kill_after(process: subprocess.Popen[str], seconds: float) -> None:
    try:
        process.communicate(timeout=seconds)
    except subprocess.TimeoutExpired:
        os.kill(process.pid, signal.SIGKILL)
        process.communicate()


async def fill(cluster: KafkaCluster) -> None:
    """Create a topic with twelve partitions of a megabyte each."""
    async with await AdminClient.open(cluster.bootstrap) as admin:
        (await admin.create_topics({"orders": NewTopic(partitions=12, replication_factor=2)})).raise_first()
        await admin.wait_until_created(["orders"])
    producer = confluent_kafka.Producer({"bootstrap.servers": cluster.bootstrap, "acks": "all"})
    for index in range(1200):
        producer.produce("orders", os.urandom(10_000), partition=index % 12)
        producer.poll(0)
    producer.flush(60)


async def write_plan(cluster: KafkaCluster, file: Path, drain: int) -> None:
    async with await AdminClient.open(cluster.bootstrap) as admin:
        found = await read_snapshot(admin)
        made = plan(found, PlanRequest(balance={Balance.COUNT: 1}, drain=frozenset({drain})))
        await asyncio.to_thread(file.write_text, made.file().to_json(), encoding="utf-8")


async def throttles(cluster: KafkaCluster) -> list[str]:
    """Return the throttles that brokers and topics set themselves, a moment after the last change."""
    await asyncio.sleep(0.5)
    async with await AdminClient.open(cluster.bootstrap) as admin:
        resources = [ConfigResource(ConfigResourceType.BROKER, str(broker.id)) for broker in cluster.brokers]
        described = await admin.describe_configs([*resources, ConfigResource(ConfigResourceType.TOPIC, "orders")])
        return [
            f"{resource} {name}={value.value}"
            for resource, configs in described.items()
            if isinstance(configs, dict)
            for name, value in configs.items()
            if name in (*RATES, *REPLICAS) and value.value and value.source is not ConfigSource.DEFAULT
        ]


if __name__ == "__main__":
    print_figures(
        run, "reassignment", "Measure reassignments.", "measure small clusters and few kills, for a first impression"
    )
