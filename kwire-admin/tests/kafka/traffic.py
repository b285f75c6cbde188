"""A producer and a slow consumer, to have a lag."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any, Self

import confluent_kafka

if TYPE_CHECKING:
    from tests.real_kafka import KafkaCluster


class Traffic:
    """A producer and a consumer of one partition, each with a speed that the test sets.

    Args:
        cluster: the cluster.
        topic: the topic; both use its partition 0.
        group: the group of the consumer.

    Attributes:
        produced: records in each round of the producer.
        consumed: records in each round of the consumer, which commits after them.
    """

    ROUND = 0.1
    """Seconds between two rounds."""

    def __init__(self, cluster: KafkaCluster, topic: str, group: str) -> None:
        self.produced = 0
        self.consumed = 0
        self._topic = topic
        self._ended = threading.Event()
        self._producer = confluent_kafka.Producer({"bootstrap.servers": cluster.bootstrap})
        self._consumer = confluent_kafka.Consumer(
            {"bootstrap.servers": cluster.bootstrap, "group.id": group, "enable.auto.commit": False}
        )
        self._consumer.assign([confluent_kafka.TopicPartition(topic, 0, 0)])
        self._threads = [threading.Thread(target=work) for work in (self._produce, self._consume)]

    def __enter__(self) -> Self:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        for thread in self._threads:
            thread.join()
        self._consumer.close()

    def produce(self, records: int) -> None:
        """Produce some records now."""
        for _ in range(records):
            self._producer.produce(self._topic, b"record", partition=0)
        self._producer.flush(60)

    def _produce(self) -> None:
        while not self._ended.wait(self.ROUND):
            self.produce(self.produced)

    def _consume(self) -> None:
        while not self._ended.wait(self.ROUND):
            records: list[Any] = self._consumer.consume(self.consumed, timeout=0.5) if self.consumed else []
            if records:
                self._consumer.commit(message=records[-1], asynchronous=False)
