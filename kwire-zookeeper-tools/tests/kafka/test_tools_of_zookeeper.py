"""Tools that find a real cluster of Kafka 3.9 through ZooKeeper, and tools for its replicas."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from kwire import records
from kwire.client.admin import AdminClient, TopicPartition
from kwire.client.record_sender import RecordSender
from kwire.records import Record
from tests.eventually import eventually
from tests.real_kafka import Kafka39
from tests.zookeeper_tools.tools.running import output, run

if TYPE_CHECKING:
    from collections.abc import Iterator

TIME = 1_700_000_000_000


@pytest.fixture(scope="module")
def pair() -> Iterator[Kafka39]:
    """Return a cluster with two brokers."""
    with Kafka39(brokers=2) as cluster:
        yield cluster


async def fill(cluster: Kafka39, topic: str, count: int) -> None:
    """Append records to partition 0."""
    made = [Record(offset=at, timestamp=TIME, key=None, value=b"value %d" % at) for at in range(count)]
    async with await AdminClient.open(cluster.bootstrap) as admin:
        await RecordSender(admin).send({TopicPartition(topic, 0): records.encode(made)})


async def test_topics_and_offsets_through_zookeeper(kafka39: Kafka39, tmp_path: Path) -> None:
    zookeeper = ("--zookeeper", kafka39.zookeeper)
    create = ("--create", "--topic", "found", "--partitions", "2", "--replication-factor", "1")
    assert await output("topics", *zookeeper, *create, "--config", "retention.ms=-1") == ['Created topic "found".']
    assert (await output("topics", *zookeeper, "--describe", "--topic", "found"))[:2] == [
        "Topic:found\tPartitionCount:2\tReplicationFactor:1\tConfigs:retention.ms=-1",
        "\tTopic: found\tPartition: 0\tLeader: 1\tReplicas: 1\tIsr: 1",
    ]
    assert "found" in await output("topics", *zookeeper, "--list")
    entity = ("--entity-type", "topics", "--entity-name", "found")
    await output("configs", *zookeeper, "--alter", *entity, "--add-config", "segment.ms=7000")
    assert await output("configs", *zookeeper, "--describe", *entity) == [
        "Configs for topic 'found' are retention.ms=-1,segment.ms=7000"
    ]
    await output("add-partitions", *zookeeper, "--topic", "found", "--partition", "1", "--replica-assignment-list", "1")
    assert len(await output("list-topic", *zookeeper, "--topic", "found")) == 4
    [elected] = await output("preferred-replica-leader-election", *zookeeper)
    assert elected.startswith("Successfully started preferred replica election for partitions Set([")

    await fill(kafka39, "found", 10)
    properties = tmp_path / "consumer.properties"
    properties.write_text(f"group.id=app\nzookeeper.connect={kafka39.zookeeper}\n")
    assert await output("update-offsets-in-zk", "earliest", properties, "found") == [
        "updating partition 0 with new offset: 0",
        "updating partition 1 with new offset: 0",
        "updating partition 2 with new offset: 0",
        "updated the offset for 3 partitions",
    ]
    lines = await output("consumer-offset-checker", *zookeeper, "--group", "app", "--topic", "found")
    assert (
        lines[0]
        == "Group           Topic                          Pid Offset          logSize         Lag             Owner"
    )
    assert lines[1].split() == ["app", "found", "0", "0", "10", "10", "none"]
    described = ("consumer-groups", *zookeeper, "--describe", "--group", "app")
    assert (await output(*described))[1:4] == [  # after a note
        "",
        "TOPIC                          PARTITION  CURRENT-OFFSET  LOG-END-OFFSET  LAG        CONSUMER-ID" + " " * 39,
        "found                          0          0               10              10         -" + " " * 49,
    ]
    await output("update-offsets-in-zk", "latest", properties, "found")
    assert await output("export-zk-offsets", *zookeeper, "--group", "app") == [
        "/consumers/app/offsets/found/0:10",
        "/consumers/app/offsets/found/1:0",
        "/consumers/app/offsets/found/2:0",
    ]
    properties.write_text("zookeeper.connect=x\n")
    nameless = await run("update-offsets-in-zk", "latest", properties, "found")
    assert nameless.error == f"update-offsets-in-zk: {properties} has no group.id"
    assert await output("delete-topic", *zookeeper, "--topic", "found") == [
        "Topic found is marked for deletion.",
        "Note: This will have no impact if delete.topic.enable is not set to true.",
    ]


async def test_broker_is_relieved_and_replicas_are_compared(pair: Kafka39) -> None:
    zookeeper = ("--zookeeper", pair.zookeeper)
    create = ("topics", *zookeeper, "--create", "--config", "retention.ms=-1", "--topic")
    await output(*create, "verified", "--replica-assignment", "1:2")
    await output(*create, "relieved", "--replica-assignment", "2:1")
    await fill(pair, "verified", 50)
    verify = ("replica-verification-tool", "--broker-list", pair.bootstrap, "--topic-white-list", "verified")
    assert await output(*verify) == ["1 partition, 50 records compared on 2 replicas, 0 differences"]

    assert await output("shutdown-broker", *zookeeper, "--broker", "2") == ["shutdown status: complete"]

    async def leader() -> str | None:
        described = await output("topics", *zookeeper, "--describe", "--topic", "relieved")
        found = described[1].split("\t")[3]
        return found if found == "Leader: 1" else None

    moved: Any = await eventually(leader, "the leader has moved")
    assert moved == "Leader: 1"

    pair.brokers[1].stop()
    [log] = (pair.folder / "broker-2" / "data" / "verified-0").glob("*.log")
    damage(log)
    pair.brokers[1].start()

    async def in_sync() -> str | None:
        return None if await output("list-topic", *zookeeper, "--under-replicated-partitions") else "in sync"

    found: Any = await eventually(in_sync, "all replicas are in sync", within=60)
    assert found == "in sync"
    differing = await run(*verify)
    assert (differing.exit_status, differing.error) == (1, "replica-verification-tool: replicas differ in 1 place")
    assert differing.output.splitlines() == [
        "verified-0: offset 7 differs between brokers 1 and 2",
        "1 partition, 50 records compared on 2 replicas, 1 difference",
    ]
    nothing = await run(*verify[:-1], "nosuch")
    assert nothing.error == "replica-verification-tool: no topic matches the expression"


def damage(log: Path) -> None:
    """Change the record at offset 7, with a valid checksum."""
    [batch] = records.decode(log.read_bytes()).batches
    changed = [
        Record(offset=record.offset, timestamp=record.timestamp, key=None, value=b"VALUE 7")
        if record.offset == 7
        else record
        for record in batch.records
    ]
    data = records.encode(changed, partition_leader_epoch=batch.partition_leader_epoch)
    assert len(data) == log.stat().st_size
    log.write_bytes(data)
