"""Groups and log directories of real brokers: polled, captured, and turned into silver, gold, and incidents."""

from __future__ import annotations

import asyncio
import shutil
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import confluent_kafka
import pytest

from kwire.capture import Capture, replay
from kwire.client import PolledRequest, Poller, group_offsets, log_dirs, topic_configs
from kwire.client.admin import AdminClient, ConfigChange, ConfigResource, ConfigResourceType
from kwire_pipeline.gold.config_deviations import set_desired_configs
from kwire_pipeline.pipeline import Pipeline
from kwire_pipeline.silver.tables import SILVER_SCHEMAS
from tests.kafka.administrator import Administrator
from tests.pipeline.recorded import silver_rows
from tests.pipeline.session import start_session
from tests.real_kafka import Kafka44

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from pyspark.sql import SparkSession

    from kwire.client import Poll
    from tests.real_kafka import KafkaCluster

INTERVAL = 0.2
LIST_OFFSETS, CONFIGS, LOG_DIRS = 2, 32, 35
STORAGE_ERROR = 56


@pytest.fixture(scope="module")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    session = start_session(tmp_path_factory.mktemp("spark"))
    yield session
    session.stop()


class Clients:
    """A producer, and the position of a group, on one partition."""

    def __init__(self, cluster: KafkaCluster, topic: str, group: str) -> None:
        self._topic = topic
        self._producer = confluent_kafka.Producer({"bootstrap.servers": cluster.bootstrap})
        self._consumer = confluent_kafka.Consumer({"bootstrap.servers": cluster.bootstrap, "group.id": group})

    def produce(self, records: int) -> None:
        for _ in range(records):
            self._producer.produce(self._topic, b"record", partition=0)
        assert self._producer.flush(60) == 0

    def commit(self, offset: int) -> None:
        position = confluent_kafka.TopicPartition(self._topic, 0, offset)
        [committed] = self._consumer.commit(offsets=[position], asynchronous=False)
        assert committed.error is None

    def close(self) -> None:
        self._consumer.close()


class Watch:
    """Polls a cluster into a capture until something was polled."""

    def __init__(self, cluster: KafkaCluster, folder: Path) -> None:
        self._cluster = cluster
        self.folder = folder

    async def until(self, is_seen: Callable[[Poll[Any]], bool]) -> None:
        requests = [
            PolledRequest(group_offsets(), INTERVAL, separate_connection=True),
            PolledRequest(log_dirs(), INTERVAL, separate_connection=True),
            PolledRequest(topic_configs(), INTERVAL, separate_connection=True),
        ]
        with Capture(self.folder) as capture:
            async with (
                asyncio.timeout(120),
                Poller(self._cluster.bootstrap, interval=INTERVAL, requests=requests, capture=capture) as poller,
            ):
                async for poll in poller:
                    if poll.message is not None and is_seen(poll):
                        return


def ends_at(topic: str, offset: int) -> Callable[[Poll[Any]], bool]:
    """Return whether a poll has a log end."""

    def check(poll: Poll[Any]) -> bool:
        if poll.api_key != LIST_OFFSETS or poll.message is None:
            return False
        ends = {topic.name: topic.partitions[0].offset for topic in poll.message.topics}
        return ends.get(topic) == offset

    return check


def rows_of(folder: Path) -> dict[str, list[dict[str, Any]]]:
    """Return the rows of silver for a capture."""
    found = silver_rows(replay(folder))
    return {
        name: [dict(zip(SILVER_SCHEMAS[name].names, row, strict=True)) for row in rows] for name, rows in found.items()
    }


async def test_groups_and_log_directories_become_rows(cluster: KafkaCluster, tmp_path: Path) -> None:
    await asyncio.to_thread(Administrator(cluster).create, "watched-events", 1)
    clients = Clients(cluster, "watched-events", "watched-readers")
    watch = Watch(cluster, tmp_path)
    await asyncio.to_thread(clients.produce, 10)
    await asyncio.to_thread(clients.commit, 4)
    await watch.until(ends_at("watched-events", 10))
    await asyncio.to_thread(clients.commit, 9)
    await asyncio.to_thread(clients.produce, 1)
    await watch.until(ends_at("watched-events", 11))
    clients.close()

    rows = rows_of(tmp_path)

    offsets = [row["committed_offset"] for row in rows["group_offsets"] if row["group"] == "watched-readers"]
    assert offsets == [4, 9]
    assert [row["log_end"] for row in rows["log_ends"] if row["topic"] == "watched-events"] == [10, 11]
    [group] = [row for row in rows["groups"] if row["group"] == "watched-readers"]
    assert (group["change"], group["state"], group["type"]) == ("set", "Empty", "classic")
    [directory] = {row["log_dir"] for row in rows["log_dirs"]}
    assert all(0 < row["usable_bytes"] < row["total_bytes"] for row in rows["log_dirs"])
    size = [row for row in rows["topic_sizes"] if row["topic"] == "watched-events"][-1]
    assert (size["log_dir"], size["replicas"]) == (directory, 1)
    assert size["bytes"] > 0
    assert not rows["bad_frames"]


async def test_stalled_group_is_an_incident_until_it_commits(
    kafka44: Kafka44, spark: SparkSession, tmp_path: Path
) -> None:
    await asyncio.to_thread(Administrator(kafka44).create, "idle-events", 1)
    clients = Clients(kafka44, "idle-events", "idle-readers")
    watch, pipeline = Watch(kafka44, tmp_path / "live"), Pipeline(spark, str(tmp_path / "out"))
    await asyncio.to_thread(clients.produce, 10)
    for offset in (5, 10):
        await asyncio.to_thread(clients.commit, offset)
        await watch.until(ends_at("idle-events", 10))
    for end in (11, 12, 13, 14):
        await asyncio.to_thread(clients.produce, 1)
        await watch.until(ends_at("idle-events", end))
    pipeline.ingest_capture(slowed_down(tmp_path))
    pipeline.gold()

    [stall] = incidents(pipeline, "group_stalled")
    assert (stall.attributes["group"], stall.topics, stall.partition_count) == (
        "idle-readers",
        ["idle-events"],
        1,
    )
    assert stall.ended_at is None
    lag = pipeline.table("consumer_lag").where("`group` = 'idle-readers'").sort("at").collect()
    assert (lag[-1].committed_offset, lag[-1].log_end, lag[-1].lag) == (10, 14, 4)
    assert lag[-1].time_lag > 0
    assert max(row.max_lag for row in lag) >= 5

    await asyncio.to_thread(clients.commit, 14)
    await watch.until(ends_at("idle-events", 14))
    clients.close()
    pipeline.ingest_capture(slowed_down(tmp_path))
    pipeline.gold()

    [ended] = incidents(pipeline, "group_stalled")
    assert ended.incident_id == stall.incident_id
    assert ended.ended_at is not None
    [now] = pipeline.table("consumer_lag").where("`group` = 'idle-readers'").sort("at").tail(1)
    assert (now.lag, now.time_lag) == (0, 0.0)


async def test_offline_log_directory_is_an_incident(spark: SparkSession, tmp_path: Path) -> None:
    good, failing = tmp_path / "good", tmp_path / "failing"
    config = {"log.dirs": f"{good},{failing}", "log.flush.offset.checkpoint.interval.ms": "500"}

    def is_offline(poll: Poll[Any]) -> bool:
        if poll.api_key != LOG_DIRS or poll.message is None:
            return False
        return any(result.error_code == STORAGE_ERROR for result in poll.message.results)

    with Kafka44(config=config) as cluster:
        watch = Watch(cluster, tmp_path / "live")
        await watch.until(lambda poll: poll.api_key == LOG_DIRS)
        shutil.rmtree(failing)
        await watch.until(is_offline)
    pipeline = Pipeline(spark, str(tmp_path / "out"))
    pipeline.ingest_capture(str(tmp_path / "live"))
    pipeline.gold()

    [offline] = incidents(pipeline, "log_dir_offline")
    assert (offline.broker_id, offline.attributes["log_dir"], offline.ended_at) == (1, str(failing), None)
    usage = {row.log_dir: row.offline for row in pipeline.table("disk_usage").sort("at").collect()}
    assert usage == {str(good): False, str(failing): True}


async def test_config_that_differs_from_the_desired_one_is_an_incident(
    kafka44: Kafka44, spark: SparkSession, tmp_path: Path
) -> None:
    await asyncio.to_thread(Administrator(kafka44).create, "drifting-orders", 1, retention_ms="5000")
    watch, pipeline = Watch(kafka44, tmp_path / "live"), Pipeline(spark, str(tmp_path / "out"))
    async with await AdminClient.open(kafka44.bootstrap) as admin:
        cluster_id = (await admin.describe_cluster()).cluster_id
        resource = ConfigResource(ConfigResourceType.TOPIC, "drifting-orders")
        desired = {("topic", "drifting-orders"): {"retention.ms": "5000", "cleanup.policy": "delete"}}
        assert set_desired_configs(pipeline.out, cluster_id or "", desired) == 2
        assert set_desired_configs(pipeline.out, cluster_id or "", desired) == 0
        await watch.until(has_config("drifting-orders", "retention.ms", "5000"))
        change = ConfigChange(set={"retention.ms": "6000", "segment.ms": "70000"})
        (await admin.alter_configs({resource: change})).raise_first()
        await watch.until(has_config("drifting-orders", "segment.ms", "70000"))
        ingest(pipeline, watch)

        [drifted] = incidents(pipeline, "config_drifted")
        assert (drifted.attributes["resource"], drifted.ended_at) == ("topic/drifting-orders", None)
        deviations = pipeline.table("config_deviations").sort("key").collect()
        assert [(row.key, row.desired_value, row.value, row.valid_to) for row in deviations] == [
            ("retention.ms", "5000", "6000", None),
            ("segment.ms", None, "70000", None),
        ]

        change = ConfigChange(set={"retention.ms": "5000"}, delete=("segment.ms",))
        (await admin.alter_configs({resource: change})).raise_first()
        await watch.until(has_config("drifting-orders", "retention.ms", "5000"))
        ingest(pipeline, watch)

    [ended] = incidents(pipeline, "config_drifted")
    assert ended.incident_id == drifted.incident_id
    assert ended.ended_at is not None


def has_config(topic: str, key: str, value: str) -> Callable[[Poll[Any]], bool]:
    """Return whether a poll has a config."""

    def check(poll: Poll[Any]) -> bool:
        if poll.api_key != CONFIGS or poll.message is None:
            return False
        found = [result for result in poll.message.results if result.resource_name == topic]
        return any((config.name, config.value) == (key, value) for result in found for config in result.configs)

    return check


def ingest(pipeline: Pipeline, watch: Watch) -> None:
    pipeline.ingest_capture(str(watch.folder))
    pipeline.gold()


def slowed_down(folder: Path) -> str:
    """Return a capture of the polls so far as if five seconds had passed between two polls."""
    rows = list(replay(folder / "live"))
    began = rows[0].polled_at
    with Capture(folder / "slow") as capture:
        known = sum(1 for _ in replay(folder / "slow"))
        for number, row in enumerate(rows[known:], known):
            capture.append(row._replace(polled_at=began + number * timedelta(seconds=5), kind=None))
    return str(folder / "slow")


def incidents(pipeline: Pipeline, kind: str) -> list[Any]:
    found: list[Any] = pipeline.table("incidents").where(f"kind = '{kind}'").collect()
    return found
