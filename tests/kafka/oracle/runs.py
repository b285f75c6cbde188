"""All runs that are compared."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import TYPE_CHECKING

from kwire.client.admin import AdminError, BlockingAdminClient
from kwire.cluster.zookeeper import connect
from kwire.cluster.zookeeper.consumers import ConsumerOffset
from kwire.cluster.zookeeper.store import make_path
from kwire.compat.registry import OLD_RELEASES
from tests.eventually import eventually_sync
from tests.kafka.oracle.comparison import Case, Comparison, normal, run_own
from tests.kafka.oracle.releases import CLASSES

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kwire.testing.kafka import Kafka39
    from tests.kafka.oracle.release_tools import ReleaseTools

HERE = Path(__file__).parent
MOVING = "is still in progress"


def old_cases() -> list[Case]:
    """Return the cases of releases with ZooKeeper, release by release."""
    lines = (HERE / "zookeeper_cases.txt").read_text(encoding="utf-8").splitlines()
    numbers = {release: [*map(int, release.split("."))] for release in OLD_RELEASES}
    return [
        Case(release, case)
        for release in OLD_RELEASES
        for since, _, case in (line.partition(" ") for line in lines)
        if numbers[release] >= [*map(int, since.removesuffix("+").split("."))]
    ]


def compare_old(tools: ReleaseTools, theirs: Kafka39, ours: Kafka39, folder: Path) -> Iterator[Comparison]:
    """Run each case of the old releases on two clusters, one for Kafka's tool and one for kwire's script."""
    topic = ""
    for case in old_cases():
        if topic != (topic := f"t{case.release.replace('.', '-')}"):
            _write_files(folder, topic)
            for cluster in (theirs, ours):
                _create_internal_topics(cluster)
                asyncio.run(_add_group(cluster.zookeeper, f"g-{topic}", topic))
        yield _compare(tools, case, theirs, ours, folder, topic)


def _compare(tools: ReleaseTools, case: Case, theirs: Kafka39, ours: Kafka39, folder: Path, topic: str) -> Comparison:
    both = []
    for cluster in (theirs, ours):
        values = {"zookeeper": cluster.zookeeper, "bootstrap": cluster.bootstrap}
        words = [word.format(**values, topic=topic, group=f"g-{topic}", files=folder) for word in case.line.split()]
        while True:
            if cluster is theirs:
                script, *arguments = words
                main = arguments.pop(0) if script == "kafka-run-class" else CLASSES[case.release][script]
                printed = tools.run(case.release, main, *arguments)
            else:
                printed = run_own(words, case.release)
            found = normal(case.line, printed, {value: name.upper() for name, value in values.items()})
            if MOVING not in found.out:  # else the controller has not finished
                break
        both.append(found)
    return Comparison(case, *both)


def _create_internal_topics(cluster: Kafka39) -> None:
    """Make the brokers create the topic of offsets, as some tools do."""
    with BlockingAdminClient(cluster.bootstrap) as admin:
        eventually_sync(
            lambda: not isinstance(admin.list_group_offsets(["g"])["g"], AdminError), "the topic of offsets"
        )


def _write_files(folder: Path, topic: str) -> None:
    partition = {"topic": topic, "partition": 0}
    documents = {
        "plan": {"version": 1, "partitions": [{**partition, "replicas": [1]}]},
        "badbroker": {"version": 1, "partitions": [{**partition, "replicas": [9]}]},
        "move": {"version": 1, "topics": [{"topic": topic}]},
        "el": {"partitions": [partition]},
        "bad": {"partitions": [{"topic": "nosuch", "partition": 0}]},
    }
    for name, document in documents.items():
        (folder / f"{name}.json").write_text(json.dumps(document), encoding="utf-8")


async def _add_group(zookeeper: str, group: str, topic: str) -> None:
    """Write a consumer group without consumers that has an offset of each of three partitions."""
    store = await connect(zookeeper)
    for folder in ("ids", f"owners/{topic}"):
        await make_path(store, f"/consumers/{group}/{folder}")
    for partition in range(3):
        path = ConsumerOffset.path(group, topic, partition)
        await make_path(store, path)
        await store.set(path, b"0")
    await store.close()
