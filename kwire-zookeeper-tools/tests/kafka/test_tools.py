"""Tools against real brokers of both versions, and on the files that they write."""

from __future__ import annotations

import subprocess
import time
import uuid
from typing import TYPE_CHECKING, Any

import confluent_kafka
import pytest

from kwire import records
from kwire.client import Connection
from kwire.client.admin import AdminClient, NewTopic, TopicPartition
from kwire.client.record_fetcher import FetchedRecords, RecordFetcher
from kwire.client.record_sender import RecordSender
from tests.cli.running import Running
from tests.kafka.test_records import RECORDS, produce
from tests.real_kafka.jars import jars
from tests.zookeeper_tools.tools.running import output, run

if TYPE_CHECKING:
    from pathlib import Path

    from tests.real_kafka import Kafka39, Kafka44, KafkaCluster

NOW = time.time_ns() // 1_000_000
VALUES = ["null" if record.value is None else record.value.decode() for record in RECORDS]


@pytest.fixture
async def topic(cluster: KafkaCluster) -> str:
    """Return a topic with two partitions, and 300 records in the first one."""
    return await topic_with_records(cluster)


async def topic_with_records(cluster: KafkaCluster) -> str:
    name = f"tools-{uuid.uuid4().hex[:8]}"
    async with await AdminClient.open(cluster.bootstrap) as admin:
        # The records are years old, so the broker would delete them as soon as it looks for old segments.
        made = await admin.create_topics(
            {name: NewTopic(partitions=2, replication_factor=1, configs={"retention.ms": "-1"})}
        )
        made.raise_first()
        await admin.wait_until_created([name])
    async with await Connection.open(cluster.bootstrap) as connection:
        assert await produce(connection, name, records.encode(RECORDS, compression="lz4")) == 0
    return name


async def test_get_offset_shell(cluster: KafkaCluster, topic: str) -> None:
    brokers = ("--broker-list", cluster.bootstrap)
    assert await output("get-offset-shell", *brokers, "--topic", topic) == [f"{topic}:0:300", f"{topic}:1:0"]
    assert await output("get-offset-shell", *brokers, "--topic", topic, "--time", "-2", "--partitions", "0") == [
        f"{topic}:0:0"
    ]
    from_middle = ("--time", str(RECORDS[150].timestamp))
    assert await output("get-offset-shell", *brokers, "--topic", topic, *from_middle) == [
        f"{topic}:0:150"  # the other partition has no record as new
    ]
    unknown = await run("get-offset-shell", *brokers, "--topic", "nosuch")
    assert unknown.exit_status == 1
    assert "Could not match any topic-partitions with the specified filters" in str(unknown.error)


async def test_dump_log_segments_of_a_broker(cluster: KafkaCluster, topic: str) -> None:
    folder = cluster.folder / "broker-1" / "data" / f"{topic}-0"
    [log] = folder.glob("*.log")
    lines = await output("dump-log-segments", "--files", log, "--print-data-log")
    assert lines[1] == "Log starting offset: 0"
    assert "count: 300" in lines[2]
    assert "compresscodec: lz4" in lines[2]
    assert lines[2].endswith("isvalid: true")
    assert len(lines) == 303
    assert lines[4] == (
        f"| offset: 1 CreateTime: {RECORDS[1].timestamp} keySize: 5 valueSize: 8 sequence: -1 headerKeys: [header-0] "
        f"key: key-1 payload: value 1 "
    )
    for index in (*folder.glob("*.index"), *folder.glob("*.timeindex")):
        assert (await run("dump-log-segments", "--files", index)).error is None


async def test_simple_consumer_shell(cluster: KafkaCluster, topic: str) -> None:
    arguments = ("--broker-list", cluster.bootstrap, "--topic", topic, "--no-wait-at-logend")
    assert await output("simple-consumer-shell", *arguments) == VALUES
    assert await output("simple-consumer-shell", *arguments, "--offset", "298", "--replica", "1") == VALUES[298:]
    assert await output("simple-consumer-shell", *arguments, "--max-messages", "1", "--print-offsets") == [
        VALUES[0],
        "next offset = 1",
    ]
    assert (await output("simple-consumer-shell", *arguments, "--print-keys", "--max-messages", "2"))[1] == (
        f"key-1\t{VALUES[1]}"
    )
    separated = ("--property", "print.key=true", "--property", "key.separator=:", "--max-messages", "2")
    assert (await output("simple-consumer-shell", *arguments, *separated))[1] == f"key-1:{VALUES[1]}"
    silent = ("--formatter", "kafka.tools.NoOpMessageFormatter")
    assert await output("simple-consumer-shell", *arguments, *silent) == []
    unknown = await run("simple-consumer-shell", *arguments, "--formatter", "kafka.tools.Nosuch")
    assert "expected DefaultMessageFormatter or NoOpMessageFormatter" in str(unknown.error)
    assert await output("simple-consumer-shell", *arguments, "--partition", "1") == []
    outside = await run("simple-consumer-shell", *arguments, "--offset", "999")
    assert outside.exit_status == 1
    assert f"offset 999 of {topic}-0" in str(outside.error)
    assert "OFFSET_OUT_OF_RANGE" in str(outside.error)


async def test_consumer_that_waits_is_ended_by_its_time_limit(cluster: KafkaCluster, topic: str) -> None:
    result = await run(
        "simple-consumer-shell", "--broker-list", cluster.bootstrap, "--topic", topic, "--time-limit", "3"
    )
    assert (result.exit_status, result.output.splitlines()) == (3, VALUES)


async def test_replay_log_producer(cluster: KafkaCluster, topic: str) -> None:
    target = f"{topic}-replayed"
    async with await AdminClient.open(cluster.bootstrap) as admin:
        (await admin.create_topics({target: NewTopic(partitions=1, configs={"retention.ms": "-1"})})).raise_first()
        await admin.wait_until_created([target])
    arguments = ("--broker-list", cluster.bootstrap, "--inputtopic", topic, "--outputtopic", target)
    assert await output("replay-log-producer", *arguments, "--messages", "100") == [
        f"100 records copied from {topic} to {target}"
    ]
    reported = await output("replay-log-producer", *arguments, "--sync", "--reporting-interval", "1")
    assert reported[-1] == f"300 records copied from {topic} to {target}"
    assert all(line.endswith("records copied so far") for line in reported[:-1])
    shown = ("--broker-list", cluster.bootstrap, "--topic", target, "--no-wait-at-logend")
    assert await output("simple-consumer-shell", *shown) == VALUES[:100] + VALUES


async def test_mirror_maker_continues_where_it_stopped(kafka39: Kafka39, kafka44: Kafka44) -> None:
    topic = await topic_with_records(kafka39)
    async with await AdminClient.open(kafka44.bootstrap) as admin:
        made = await admin.create_topics({topic: NewTopic(partitions=1, configs={"retention.ms": "-1"})})
        made.raise_first()
    clusters = ("--source", kafka39.bootstrap, "--target", kafka44.bootstrap)
    mirror = ("mirror-maker", *clusters, "--whitelist", topic, "--group", topic, "--until-caught-up")
    assert await output(*mirror) == ["copying 2 partitions of 1 topic", "300 records copied"]
    shown = ("--broker-list", kafka44.bootstrap, "--topic", topic, "--no-wait-at-logend")
    assert await output("simple-consumer-shell", *shown) == VALUES

    assert (await output(*mirror))[-1] == "0 records copied"
    async with await Connection.open(kafka39.bootstrap) as connection:
        assert await produce(connection, topic, records.encode(RECORDS[:5], compression="gzip")) == 0
    assert (await output(*mirror))[-1] == "5 records copied"
    assert await output("simple-consumer-shell", *shown) == VALUES + VALUES[:5]
    nothing = await run(*mirror[:-1], "--whitelist", "nosuch")
    assert nothing.error == "mirror-maker: no topic of the source matches the expression"


async def test_mirror_maker_goes_on_after_refused_records(kafka39: Kafka39, kafka44: Kafka44) -> None:
    topic = await topic_with_records(kafka39)
    async with await AdminClient.open(kafka44.bootstrap) as admin:
        small = NewTopic(
            partitions=1, configs={"retention.ms": "-1", "max.message.bytes": "60"}
        )  # a batch of one record has more
        (await admin.create_topics({topic: small})).raise_first()
    clusters = ("--source", kafka39.bootstrap, "--target", kafka44.bootstrap)
    mirror = ("mirror-maker", *clusters, "--whitelist", topic, "--group", topic, "--until-caught-up")
    aborted = await run(*mirror)
    assert "MESSAGE_TOO_LARGE" in str(aborted.error)
    going_on = (*mirror, "--abort.on.send.failure", "false", "--offset.commit.interval.ms", "100")
    assert (await output(*going_on))[-1] == "0 records copied, 300 refused by the target"
    unclear = await run(*mirror, "--abort.on.send.failure", "no")
    assert "expected true or false, found 'no'" in str(unclear.error)


async def test_mirror_maker_copies_neither_aborted_records_nor_markers(
    kafka39: Kafka39, kafka44: Kafka44, tmp_path: Path
) -> None:
    topic = await topic_with_records(kafka44)
    end_transactions(kafka44, topic, 1, False, True, False)
    source, target = tmp_path / "source.properties", tmp_path / "target.properties"
    source.write_text(f"bootstrap.servers={kafka44.bootstrap}\ngroup.id={topic}\n")
    target.write_text(f"bootstrap.servers={kafka39.bootstrap}\n")
    mirror = ("mirror-maker", "--consumer.config", source, "--producer.config", target, "--num.streams", "2")
    assert (await output(*mirror, "--include", topic, "--until-caught-up"))[-1] == "301 records copied"
    assert topic in await output("consumer-groups", "--command-config", source, "--list")
    shown = ("--broker-list", kafka39.bootstrap, "--topic", topic, "--partition", "1", "--no-wait-at-logend")
    assert await output("simple-consumer-shell", *shown) == ["committed: True"]


async def test_mirror_maker_commits_when_it_is_canceled(kafka39: Kafka39, kafka44: Kafka44) -> None:
    topic = await topic_with_records(kafka39)
    clusters = ("--source", kafka39.bootstrap, "--target", kafka44.bootstrap, "--include", topic, "--group", topic)
    ended = await run("mirror-maker", *clusters, "--time-limit", "5")
    assert ended.exit_status == 3
    assert "300 records copied" in ended.output.splitlines()
    assert (await output("mirror-maker", *clusters, "--until-caught-up"))[-1] == "0 records copied"


async def test_consumer_groups(cluster: KafkaCluster, topic: str) -> None:
    brokers = ("--bootstrap-server", cluster.bootstrap)
    async with await AdminClient.open(cluster.bootstrap) as admin:
        (await admin.alter_group_offsets(topic, {TopicPartition(topic, 0): 100})).raise_first()
    assert topic in await output("consumer-groups", *brokers, "--list")
    described = await output("consumer-groups", *brokers, "--describe", "--group", topic)
    assert [line.split() for line in described if line] == [
        f"Consumer group '{topic}' has no active members.".split(),
        ["GROUP", "TOPIC", "PARTITION", "CURRENT-OFFSET", "LOG-END-OFFSET", "LAG", "CONSUMER-ID", "HOST", "CLIENT-ID"],
        [topic, topic, "0", "100", "300", "200", "-", "-", "-"],
    ]
    states = await output("consumer-groups", *brokers, "--describe", "--state", "--group", topic)
    assert states[-1].split()[-2:] == ["Empty", "0"]
    deleted = f"Deletion of requested consumer groups ('{topic}') was successful."
    assert await output("consumer-groups", *brokers, "--delete", "--group", topic) == [deleted]
    gone = await run("consumer-groups", *brokers, "--delete", "--group", topic)
    assert f"* Group '{topic}' could not be deleted" in gone.output
    assert gone.exit_status == 1
    assert (await run("consumer-groups", *brokers, "--describe")).exit_status == 2


async def test_killed_mirror_maker_loses_no_record(kafka39: Kafka39, kafka44: Kafka44) -> None:
    topic = f"killed-{uuid.uuid4().hex[:8]}"
    partition = TopicPartition(topic, 0)
    values = [b"value %d" % number for number in range(60_000)]
    async with await AdminClient.open(kafka39.bootstrap) as admin:
        (await admin.create_topics({topic: NewTopic(partitions=1)})).raise_first()
        await admin.wait_until_created([topic])
        for start in range(0, len(values), 100):  # many small batches
            batch = [(at, NOW, None, value) for at, value in enumerate(values[start : start + 100])]
            await RecordSender(admin).send({partition: records.encode(batch)})
    clusters = ("--source", kafka39.bootstrap, "--target", kafka44.bootstrap, "--include", topic, "--group", topic)
    with Running("tools", "run", "mirror-maker", *clusters, "--commit-interval", "0.01") as running:
        assert running.stdout.readline().startswith(b"copying 1 partition")
        assert b"records copied, progress committed" in running.stdout.readline()
    assert (await run("mirror-maker", *clusters, "--until-caught-up")).error is None
    found: list[bytes | None] = []
    async with await AdminClient.open(kafka44.bootstrap) as admin:
        fetcher = RecordFetcher(admin, max_wait_ms=100)
        while True:
            fetched = (await fetcher.fetch({partition: len(found)}))[partition]
            assert isinstance(fetched, FetchedRecords)
            found += [
                record.value for record in records.decode(fetched.records).records() if record.offset >= len(found)
            ]
            if len(found) >= fetched.high_watermark:
                break
    assert list(dict.fromkeys(found)) == values, "every record is there, in the order of the source"


async def test_dump_log_segments_prints_what_kafka_prints(kafka39: Kafka39) -> None:
    topic = await topic_with_records(kafka39)
    async with await Connection.open(kafka39.bootstrap) as connection:
        assert await produce(connection, topic, records.encode(RECORDS[:3], compression="zstd")) == 0
    end_transactions(kafka39, topic, 1, False, True)
    for partition in (0, 1):
        [log] = (kafka39.folder / "broker-1" / "data" / f"{topic}-{partition}").glob("*.log")
        found = await run("dump-log-segments", "--files", log, "--print-data-log")
        assert found.output.splitlines() == dumped_by_kafka(log)


def dumped_by_kafka(log: Path) -> list[str]:
    java = ("java", "-Xmx128m", "-cp", f"{jars('kafka39')}/*", "kafka.tools.DumpLogSegments")
    dump = [*java, "--files", str(log), "--print-data-log"]
    return subprocess.run(dump, capture_output=True, text=True, check=True).stdout.splitlines()


def end_transactions(cluster: KafkaCluster, topic: str, partition: int, *commits: bool) -> None:
    """Run transactions of one record, and commit or abort each of them."""
    producer: Any = confluent_kafka.Producer({"bootstrap.servers": cluster.bootstrap, "transactional.id": topic})
    producer.init_transactions(30)
    for is_committed in commits:
        producer.begin_transaction()
        producer.produce(topic, f"committed: {is_committed}", partition=partition)
        producer.flush(30)
        (producer.commit_transaction if is_committed else producer.abort_transaction)(30)
