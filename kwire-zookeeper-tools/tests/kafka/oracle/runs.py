"""All runs that are compared."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import confluent_kafka

from kwire.client.admin import AdminError, BlockingAdminClient, NewTopic, TopicPartition
from kwire_admin.compat.registry import OLD_RELEASES
from kwire_cluster.zookeeper import connect
from kwire_cluster.zookeeper.consumers import ConsumerOffset
from kwire_cluster.zookeeper.store import make_path
from tests.eventually import eventually_sync
from tests.kafka.oracle.comparison import Case, Comparison, normal, run_own
from tests.kafka.oracle.group_members import join_groups
from tests.kafka.oracle.releases import CLASSES

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.kafka.oracle.release_tools import ReleaseTools
    from tests.real_kafka import KafkaCluster

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


class OldCluster(NamedTuple):
    """A cluster with ZooKeeper: of Kafka 3.9, or of kwire's nodes, which hold no records and no groups of brokers."""

    bootstrap: str
    zookeeper: str
    has_records: bool = True


def compare_old(tools: ReleaseTools, theirs: OldCluster, ours: OldCluster, folder: Path) -> Iterator[Comparison]:
    """Run each case of the old releases on two clusters, one for Kafka's tool and one for kwire's script."""
    topic = ""
    for case in old_cases():
        if topic != (topic := f"t{case.release.replace('.', '-')}"):
            _write_files(folder, topic)
            for cluster in (theirs, ours):
                if cluster.has_records:
                    _create_internal_topics(cluster)
                asyncio.run(_add_group(cluster.zookeeper, f"g-{topic}", topic))
        yield _compare(tools, case, theirs, ours, folder, topic)


def compare_new(tools: ReleaseTools, theirs: KafkaCluster, ours: KafkaCluster, folder: Path) -> Iterator[Comparison]:
    """Run each case of Kafka 4.4.0 on two clusters that have the same topics, groups, and transactions."""
    write_broker_files(folder)
    for cluster in (theirs, ours):
        prepare_brokers(cluster.bootstrap)
    for line in (HERE / "broker_cases.txt").read_text(encoding="utf-8").splitlines():
        yield compare_broker_case(tools, Case("4.4.0", line), theirs.bootstrap, ours.bootstrap, folder)


def compare_broker_case(tools: ReleaseTools, case: Case, theirs: str, ours: str, folder: Path) -> Comparison:
    """Run a case with Kafka's tool and with kwire's script."""
    both = []
    for bootstrap in (theirs, ours):
        script, *arguments = (word.format(bootstrap=bootstrap, files=folder) for word in case.line.split())
        if bootstrap == theirs:
            printed = tools.run(case.release, CLASSES[case.release][script], *arguments)
        else:
            printed = run_own([script, *arguments], None)
        port = bootstrap.rpartition(":")[2]
        both.append(normal(case.line, printed, {bootstrap: "BOOTSTRAP", port: "PORT"}))
    return Comparison(case, *both)


def write_broker_files(folder: Path) -> None:
    """Write the files that cases of new releases name."""
    record = {"topic": "orders", "partition": 0, "offset": 1}
    documents: dict[str, object] = {
        "records": {"version": 1, "partitions": [record]},
        "duplicates": {"version": 1, "partitions": [record, record]},
        "version2": {"version": 2, "partitions": [record]},
        "nopartitions": {"version": 1},
        "nopartition": {"version": 1, "partitions": [{"topic": "orders"}]},
    }
    for name, document in documents.items():
        (folder / f"{name}.json").write_text(json.dumps(document), encoding="utf-8")
    (folder / "empty.properties").write_text("", encoding="utf-8")


def prepare_brokers(bootstrap: str) -> None:
    """Create a topic with an open transaction, and groups of each type."""
    with BlockingAdminClient(bootstrap) as admin:
        admin.create_topics({"orders": NewTopic(partitions=2, replication_factor=1)}).raise_first()
        admin.wait_until_created(["orders"])
        partition = TopicPartition("orders", 0)
        producer = confluent_kafka.Producer(
            {"bootstrap.servers": bootstrap, "transactional.id": "open", "transaction.timeout.ms": 900_000}
        )
        producer.init_transactions()
        producer.begin_transaction()
        for _ in range(3):
            producer.produce(partition.topic, b"record", partition=partition.partition)
        producer.flush()
        eventually_sync(lambda: not admin.alter_group_offsets("billing", {partition: 1}).errors, "an offset of a group")
    asyncio.run(join_groups(bootstrap))


def _compare(
    tools: ReleaseTools, case: Case, theirs: OldCluster, ours: OldCluster, folder: Path, topic: str
) -> Comparison:
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


def _create_internal_topics(cluster: OldCluster) -> None:
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
