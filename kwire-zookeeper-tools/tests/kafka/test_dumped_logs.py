"""`dump-log-segments` on the internal topics of Kafka 4.4.0, against Kafka's own tool of that version."""

from __future__ import annotations

import asyncio
import re
import subprocess
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import confluent_kafka
import pytest

from kwire.client import Connection
from kwire.client.admin import AdminClient, NewTopic, TopicPartition
from tests.eventually import eventually, eventually_sync
from tests.kafka.oracle.release_tools import release_jars
from tests.kafka.test_groups import share_member, streams_member
from tests.kafka.test_tools import end_transactions
from tests.real_kafka import Kafka44
from tests.zookeeper_tools.tools.running import run

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from kwire.declare import Request

confluent: Any = confluent_kafka  # its stubs lack some classes

TOPIC = "dumped"


class Log(NamedTuple):
    """Files of an internal topic.

    Attributes:
        option: the option that decodes their records.
        files: the pattern of their names.
        types: types of records that must occur.
    """

    option: str
    files: str
    types: str


LOGS = (
    # Offsets, classic groups, and consumer (3 to 8), share (10 to 15), and streams groups (17 to 23).
    Log("--offsets-decoder", "__consumer_offsets-*/*.log", "1 2 3 5 6 7 8 10 11 12 13 14 15 17 19 20 21 22 23"),
    Log("--transaction-log-decoder", "__transaction_state-*/*.log", "0"),
    Log("--share-group-state-decoder", "__share_group_state-*/*.log", "0"),
    Log("--cluster-metadata-decoder", "__cluster_metadata-0/*.log", "TOPIC_RECORD PARTITION_RECORD CONFIG_RECORD"),
    Log("--cluster-metadata-decoder", "__cluster_metadata-0/*.checkpoint", "TOPIC_RECORD FEATURE_LEVEL_RECORD"),
)
API = {
    "Decoder": "public interface Decoder<T> { T fromBytes(byte[] bytes); }",
    "StringDecoder": """\
public class StringDecoder implements Decoder<String> {
    public String fromBytes(byte[] bytes) { return new String(bytes, java.nio.charset.StandardCharsets.UTF_8); }
}""",
}
"""The classes of kafka-tools-api that the tool loads; this jar of 4.4.0 is not published. No test decodes with them."""


@pytest.fixture(scope="module")
def java(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, ...]:
    """Return the start of a command line of Kafka's tool."""
    folder = tmp_path_factory.mktemp("tools-api")
    for name, source in API.items():
        (folder / f"{name}.java").write_text(f"package org.apache.kafka.tools.api;\n{source}\n", encoding="utf-8")
    subprocess.run(["javac", "-d", str(folder), *map(str, folder.glob("*.java"))], check=True)
    class_path = f"{folder}:{release_jars('4.4.0')}/*"
    return ("java", "-Xmx128m", "-XX:TieredStopAtLevel=1", "-cp", class_path, "org.apache.kafka.tools.DumpLogSegments")


@pytest.fixture(scope="module")
def data() -> Iterator[Path]:
    """Yield the folder of a stopped broker with records of groups of all types, transactions, and a snapshot."""
    with Kafka44(config={"metadata.log.max.record.bytes.between.snapshots": "2000"}) as cluster:
        folder = cluster.folder / "broker-1" / "data"
        asyncio.run(write_records(cluster))
        snapshots, states = "__cluster_metadata-0/*[1-9]-*.checkpoint", "__share_group_state-*/*.log"
        eventually_sync(lambda: list(folder.glob(snapshots)), "a snapshot of the metadata")
        eventually_sync(lambda: any(log.stat().st_size for log in folder.glob(states)), "the state of the share group")
        cluster.brokers[0].stop()
        yield folder


async def write_records(cluster: Kafka44) -> None:
    """Let the coordinators write records of groups and transactions."""
    async with (
        await AdminClient.open(cluster.bootstrap) as admin,
        await Connection.open(cluster.bootstrap) as connection,
    ):
        topic = NewTopic(partitions=2, replication_factor=1, configs={"retention.ms": "-1"})
        (await admin.create_topics({TOPIC: topic})).raise_first()
        await admin.wait_until_created([TOPIC])
        end_transactions(cluster, TOPIC, 0, True, False)
        for protocol in ("classic", "consumer"):
            consume(cluster, f"{protocol}-group", protocol)
        streams = streams_member("streams-group", TOPIC)
        members: list[Request[Any]] = [share_member("share-group", TOPIC), streams]
        for request in members:
            await eventually(partial(is_accepted, connection, request), "the coordinator accepts the member")
        left = type(streams)(
            group_id=streams.group_id, member_id=streams.member_id, member_epoch=-1, endpoint_information_epoch=0
        )
        assert await is_accepted(connection, left)
        (await admin.alter_group_offsets("streams-group", {TopicPartition(TOPIC, 0): 1})).raise_first()
        (await admin.delete_groups(["streams-group"])).raise_first()


async def is_accepted(connection: Connection, heartbeat: Request[Any]) -> Any:
    response: Any = await connection.send(heartbeat)
    return response.error_code == 0


def consume(cluster: Kafka44, group: str, protocol: str) -> None:
    """Consume the committed record of the topic as the only member of a group, and commit its offset."""
    settings = {"bootstrap.servers": cluster.bootstrap, "group.id": group, "auto.offset.reset": "earliest"}
    consumer = confluent.Consumer({**settings, "group.protocol": protocol, "enable.auto.commit": False})
    try:
        consumer.subscribe([TOPIC])
        eventually_sync(lambda: (message := consumer.poll(0.5)) and not message.error(), "the record")
        consumer.commit(asynchronous=False)
    finally:
        consumer.close()


@pytest.mark.parametrize("log", LOGS, ids=lambda log: log.files)
async def test_internal_topics_are_printed_as_kafka_prints_them(data: Path, java: tuple[str, ...], log: Log) -> None:
    files = ",".join(str(file) for file in sorted(data.glob(log.files)))
    process = await asyncio.create_subprocess_exec(*java, log.option, "--files", files, stdout=subprocess.PIPE)
    printed, _ = await process.communicate()
    expected = printed.decode()

    result = await run("dump-log-segments", log.option, "--files", files)
    assert result.error is None, result
    assert result.output.splitlines() == expected.splitlines()
    assert set(re.findall(r'"type":"(\w+)"', expected)) >= set(log.types.split())
