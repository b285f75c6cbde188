"""Tools against real brokers of both versions, and on the files that they write."""

from __future__ import annotations

import uuid
from typing import TYPE_CHECKING

import pytest

from kwire import records
from kwire.client import Connection
from kwire.client.admin import AdminClient, NewTopic
from tests.kafka.test_records import RECORDS, produce
from tests.tools.running import output, run

if TYPE_CHECKING:
    from kwire.testing.kafka import Cluster


@pytest.fixture
async def topic(cluster: Cluster) -> str:
    """Return a topic with two partitions, and 300 records in the first one."""
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


async def test_get_offset_shell(cluster: Cluster, topic: str) -> None:
    brokers = ("--broker-list", cluster.bootstrap)
    assert await output("get-offset-shell", *brokers, "--topic", topic) == [f"{topic}:0:300", f"{topic}:1:0"]
    assert await output("get-offset-shell", *brokers, "--topic", topic, "--time", "-2", "--partitions", "0") == [
        f"{topic}:0:0"
    ]
    from_middle = ("--time", str(RECORDS[150].timestamp))
    assert await output("get-offset-shell", *brokers, "--topic", topic, *from_middle) == [
        f"{topic}:0:150",
        f"{topic}:1:",
    ]
    unknown = await run("get-offset-shell", *brokers, "--topic", "nosuch")
    assert unknown.exit_status == 1
    assert "nosuch" in str(unknown.error)


async def test_dump_log_segments_of_a_broker(cluster: Cluster, topic: str) -> None:
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
