"""A Kafka topic that receives incidents as JSON, with the incident's id as key.

It uses confluent-kafka, which the extra `kafka` installs. On a compacted topic, the last record of a key is the last
state of an incident.
"""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING, Any

from kwire.spark.sinks.publisher import SinkFailed

if TYPE_CHECKING:
    from collections.abc import Mapping

    from confluent_kafka import Consumer

    from kwire.spark.sinks.notice import IncidentNotice

TIMEOUT = 30.0
"""Seconds until a record must be acknowledged."""

LAST_RECORDS = 1000
"""How many records of each partition are searched for a notice after a crash."""


class KafkaTopicSink:
    """Produces a record for each notice and waits for its acknowledgment.

    Args:
        bootstrap: addresses of brokers.
        topic: an existing topic, or one that brokers create automatically.
        settings: further settings of librdkafka, such as TLS and SASL.
    """

    def __init__(self, bootstrap: str, topic: str, settings: Mapping[str, Any] | None = None) -> None:
        from confluent_kafka import Producer

        self._topic = topic
        self._settings = {"bootstrap.servers": bootstrap, **(settings or {})}
        self._producer = Producer(
            {"enable.idempotence": True, "message.timeout.ms": round(TIMEOUT * 1000), **self._settings}
        )
        self.name = f"kafka-{hashlib.sha256(f'{bootstrap} {topic}'.encode()).hexdigest()[:16]}"

    def send(self, notice: IncidentNotice) -> None:
        """Produce a record."""
        from confluent_kafka import KafkaException

        failures: list[object] = []

        def delivered(error: object, _: object) -> None:
            if error is not None:
                failures.append(error)

        try:
            self._producer.produce(
                self._topic, json.dumps(notice.as_json()).encode(), notice.id.encode(), on_delivery=delivered
            )
            waiting = self._producer.flush(TIMEOUT + 1)
        except (BufferError, KafkaException) as error:
            raise SinkFailed(f"topic {self._topic}", error) from error
        if failures or waiting:
            raise SinkFailed(f"topic {self._topic}", failures[0] if failures else "no acknowledgment")

    def has_received(self, notice: IncidentNotice) -> bool:
        """Return whether the last records of the topic have a notice (`LAST_RECORDS` of each partition)."""
        from confluent_kafka import Consumer, KafkaException, TopicPartition

        settings = {"group.id": self.name, "enable.auto.commit": False, "enable.partition.eof": True}
        consumer = Consumer({**self._settings, **settings})
        try:
            listed = consumer.list_topics(self._topic, TIMEOUT).topics[self._topic]
            starts = []
            for partition in listed.partitions:
                first, end = consumer.get_watermark_offsets(TopicPartition(self._topic, partition), TIMEOUT)
                starts.append(TopicPartition(self._topic, partition, max(first, end - LAST_RECORDS)))
            consumer.assign(starts)
            return self._finds(notice, consumer, partitions=len(starts))
        except KafkaException as error:
            raise SinkFailed(f"topic {self._topic}", error) from error
        finally:
            consumer.close()

    def _finds(self, notice: IncidentNotice, consumer: Consumer, partitions: int) -> bool:
        """Return whether one of the records up to the ends of all partitions is the notice."""
        while partitions:
            record = consumer.poll(TIMEOUT)
            if record is None:
                raise SinkFailed(f"topic {self._topic}", "its last records cannot be read")
            error = record.error()
            if error is not None:
                if error.name() != "_PARTITION_EOF":
                    raise SinkFailed(f"topic {self._topic}", error)
                partitions -= 1
            elif record.key() == notice.id.encode() and json.loads(record.value() or b"{}")["status"] == notice.status:
                return True
        return False
