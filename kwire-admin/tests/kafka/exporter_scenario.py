"""A cluster that loses a broker and a group while it is used, and the comparison of an exporter with Kafka's script."""

from __future__ import annotations

import asyncio
import threading
from contextlib import asynccontextmanager, contextmanager
from typing import TYPE_CHECKING, NamedTuple, Self, TypeAlias

import confluent_kafka
from prometheus_client.parser import text_string_to_metric_families

from kwire.client.admin import AdminClient, NewTopic
from kwire_admin.exporter.metric_table import metric_table
from tests.eventually import eventually
from tests.kafka.kafka_scripts import kafkas_own

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterable, Iterator

    from tests.real_kafka import KafkaCluster

CONFIG = {"offsets.topic.replication.factor": "3", "broker.session.timeout.ms": "6000"}
TOPICS = {"exporter-events": 6, "exporter-orders": 3}
FAST, SLOW, DELETED = "exporter-fast", "exporter-slow", "exporter-deleted"
METRICS: dict[str, tuple[str | None, str, str]] = {
    "kwire": ("kafka_group_partition_committed_offset", "kafka_partition_newest_offset", "kafka_group_partition_lag"),
    "kafka_exporter": (
        "kafka_consumergroup_current_offset",
        "kafka_topic_partition_current_offset",
        "kafka_consumergroup_lag",
    ),
    "kminion": (
        None,  # KMinion has the sum of a topic only
        "kminion_kafka_topic_partition_high_water_mark",
        "kminion_kafka_consumer_group_topic_partition_lag",
    ),
}
"""By names of metrics: committed offset, end of the log, and lag of a partition."""


class GroupOffset(NamedTuple):
    """The line of Kafka's script for a partition with a committed offset of a group."""

    committed: float
    end: float
    lag: float


Offsets: TypeAlias = dict[tuple[str, ...], GroupOffset]
"""By group, topic, and partition."""


class Consumer:
    """A member of a group in a thread. It commits after each record."""

    def __init__(self, bootstrap: str, group: str, pause: float) -> None:
        self.group = group
        self.consumed = 0
        self._pause = pause
        self._ended = threading.Event()
        config = {"group.id": group, "auto.offset.reset": "earliest", "enable.auto.commit": False}
        self._consumer = confluent_kafka.Consumer({"bootstrap.servers": bootstrap, **config})
        self._consumer.subscribe(list(TOPICS))
        self._thread = threading.Thread(target=self._consume)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._thread.join()
        self._consumer.close()

    def _consume(self) -> None:
        while not self._ended.wait(self._pause):
            for record in self._consumer.consume(10, timeout=0.5):
                if record.error() is None:
                    self._consumer.commit(message=record)
                    self.consumed += 1


@contextmanager
def producing(bootstrap: str) -> Iterator[None]:
    """Produce to all partitions in another thread, and flush at the end."""
    ended = threading.Event()
    producer = confluent_kafka.Producer({"bootstrap.servers": bootstrap})

    def produce() -> None:
        while not ended.wait(0.05):
            for topic, partitions in TOPICS.items():
                for index in range(partitions):
                    producer.produce(topic, b"record", partition=index)
            producer.poll(0)
        assert producer.flush(60) == 0

    thread = threading.Thread(target=produce)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


@asynccontextmanager
async def quiet_after_failures(cluster: KafkaCluster) -> AsyncIterator[Offsets]:
    """Produce and consume while a broker dies, delete a group, and yield what Kafka's script prints then.

    Nothing changes any more. One group has a member that has read everything, the other one is empty and behind.
    """
    bootstrap = ",".join(broker.endpoint for broker in cluster.brokers[:2])
    async with await AdminClient.open(bootstrap) as admin:
        (
            await admin.create_topics(
                {name: NewTopic(partitions=TOPICS[name], replication_factor=3) for name in TOPICS}
            )
        ).raise_first()
        await admin.wait_until_created(TOPICS)
        with Consumer(bootstrap, FAST, 0.0) as fast:
            with Consumer(bootstrap, SLOW, 1.0) as slow, Consumer(bootstrap, DELETED, 0.1) as deleted:
                consumers = fast, slow, deleted
                with producing(bootstrap):
                    await have_consumed(consumers, 20)
                    cluster.brokers[2].kill()
                    await have_consumed(consumers, 20)
            (await admin.delete_groups([DELETED])).raise_first()
            yield await eventually(lambda: asyncio.to_thread(_final_offsets, bootstrap), "the group reads all", 300)


async def have_consumed(consumers: Iterable[Consumer], records: int) -> None:
    """Wait until each consumer has read and committed more records."""
    least = [(consumer, consumer.consumed + records) for consumer in consumers]
    await eventually(lambda: all(consumer.consumed >= count for consumer, count in least), "all groups commit", 300)


def _final_offsets(bootstrap: str) -> Offsets:
    """Return the offsets of all groups; empty while FAST is behind."""
    command = "org.apache.kafka.tools.consumer.group.ConsumerGroupCommand"
    text = kafkas_own(command, "--bootstrap-server", bootstrap, "--describe", "--all-groups", "--timeout", "120000")
    rows = [line.split() for line in text.splitlines()]
    offsets: Offsets = {
        (row[0], row[1], row[2]): GroupOffset(*map(float, row[3:6]))
        for row in rows
        if len(row) >= 6 and row[0] in (FAST, SLOW, DELETED) and row[3] != "-"
    }
    assert offsets.keys() >= {(group, topic, "0") for group in (FAST, SLOW) for topic in TOPICS}, text
    return {} if any(offset.lag for key, offset in offsets.items() if key[0] == FAST) else offsets


def differences(page: str, names: str, expected: Offsets) -> list[str]:
    """Return the differences of a page of metrics from Kafka's script: other values, and missing ones."""
    committed, end, lag = METRICS[names]
    expectations = {
        end: {key[1:]: offset.end for key, offset in expected.items()},
        lag: {key: offset.lag for key, offset in expected.items()},
    }
    if committed is not None:
        expectations[committed] = {key: offset.committed for key, offset in expected.items()}
    labels = {metric.name: metric.labels for metric in metric_table().names[names].metrics}
    values: dict[str, dict[tuple[str, ...], float]] = {name: {} for name in expectations}
    for family in text_string_to_metric_families(page):
        for sample in family.samples:
            if sample.name in expectations:
                key = tuple(sample.labels[label] for label in labels[sample.name] if label != "cluster")
                # kafka_exporter shows partitions without a committed offset as -1; other topics are internal.
                if sample.value >= 0 and key[-2] in TOPICS:
                    values[sample.name][key] = sample.value
    return [
        f"{name}{key}: {values[name].get(key)} instead of {wanted.get(key)}"
        for name, wanted in expectations.items()
        for key in sorted(wanted if name == end else wanted.keys() | values[name].keys())  # a log may have no reader
        if values[name].get(key) != wanted.get(key)
    ]
