"""A Kafka topic that receives incidents as JSON, with the incident's id as key.

It uses confluent-kafka, which the extra `kafka` installs. The key is the id of the first notice about an incident, so
on a compacted topic, the last record of a key is the last state of an incident.
"""

from __future__ import annotations

import hashlib
import json
import re
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from kwire_pipeline.sinks.sink import SinkFailed

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from confluent_kafka import Consumer, KafkaError

    from kwire_pipeline.sinks.notice import IncidentNotice

TIMEOUT = 30.0
"""Seconds until a record must be acknowledged."""

REFUSED = frozenset({"MSG_SIZE_TOO_LARGE", "RECORD_LIST_TOO_LARGE", "INVALID_RECORD"})
"""Error codes that the same record always gets; all others may pass."""


def invalid_settings(settings: Mapping[str, str]) -> str:
    """Return why librdkafka refuses settings, without their values; empty if it accepts them."""
    from confluent_kafka import KafkaException, Producer

    try:
        Producer({**settings, "log_level": 0})  # which also reads files of keys and certificates
    except KafkaException as error:
        return re.sub('"[^"]*" for ', "for ", str(error.args[0].str()))  # a value, which could be a secret
    except (TypeError, ValueError):
        return f"librdkafka does not accept {', '.join(settings)}"
    return ""


class KafkaTopicSink:
    """Produces a record for each notice and waits for its acknowledgment.

    Args:
        bootstrap: addresses of brokers.
        topic: an existing topic, or one that brokers create automatically.
        settings: further settings of librdkafka, such as TLS and SASL.
        name: the name of the ledger [default: from the topic and the addresses].
    """

    def __init__(
        self, bootstrap: str, topic: str, settings: Mapping[str, Any] | None = None, name: str | None = None
    ) -> None:
        from confluent_kafka import Producer

        self._topic = topic
        self._settings = {"bootstrap.servers": bootstrap, **(settings or {})}
        self._producer = Producer(
            {"enable.idempotence": True, "message.timeout.ms": round(TIMEOUT * 1000), **self._settings}
        )
        self.name = name or f"kafka-{hashlib.sha256(f'{bootstrap} {topic}'.encode()).hexdigest()[:16]}"

    def send(self, notice: IncidentNotice) -> None:
        """Produce a record. One that is too large for the topic or the brokers is refused for good."""
        from confluent_kafka import KafkaException

        failures: list[KafkaError] = []

        def delivered(error: KafkaError | None, _: object) -> None:
            if error is not None:
                failures.append(error)

        try:
            self._producer.produce(
                self._topic, json.dumps(notice.as_json()).encode(), notice.id.encode(), on_delivery=delivered
            )
            waiting = self._producer.flush(TIMEOUT + 1)
        except BufferError as error:
            raise SinkFailed(f"topic {self._topic}", error, may_have_arrived=False) from error
        except KafkaException as error:
            raise self._failed(error.args[0]) from error
        if failures:
            raise self._failed(failures[0])
        if waiting:
            raise SinkFailed(f"topic {self._topic}", "no acknowledgment")

    def _failed(self, error: KafkaError) -> SinkFailed:
        return SinkFailed(f"topic {self._topic}", error, is_final=error.name() in REFUSED)

    def position(self) -> dict[str, int]:
        """Return the end of each partition; a topic that does not exist yet has none."""
        with self._consumer() as consumer:
            return {str(partition): end for partition, (_, end) in self._offsets(consumer).items()}

    def has_received(self, notice: IncidentNotice, position: Mapping[str, int]) -> bool:
        """Return whether the records after a position have a notice."""
        from confluent_kafka import TopicPartition

        with self._consumer() as consumer:
            starts = []
            for partition, (first, end) in self._offsets(consumer).items():
                start = position.get(str(partition), first)
                # Records before `first` were deleted; a position behind the end is one of an earlier topic.
                starts.append(TopicPartition(self._topic, partition, start if first <= start <= end else first))
            consumer.assign(starts)
            return self._finds(notice, consumer, partitions=len(starts))

    @contextmanager
    def _consumer(self) -> Iterator[Consumer]:
        """Open a consumer that reads without a group, and name the sink if it fails."""
        from confluent_kafka import Consumer, KafkaException

        settings = {"group.id": self.name, "enable.auto.commit": False, "enable.partition.eof": True}
        consumer = Consumer({**self._settings, **settings})
        try:
            yield consumer
        except KafkaException as error:
            raise SinkFailed(f"topic {self._topic}", error) from error
        finally:
            consumer.close()

    def _offsets(self, consumer: Consumer) -> dict[int, tuple[int, int]]:
        """Return the first offset and the end of each partition; none for a topic that does not exist."""
        from confluent_kafka import KafkaException, TopicPartition

        listed = consumer.list_topics(self._topic, TIMEOUT).topics[self._topic]
        if listed.error is not None and listed.error.name() != "UNKNOWN_TOPIC_OR_PART":
            raise KafkaException(listed.error)
        return {
            partition: consumer.get_watermark_offsets(TopicPartition(self._topic, partition), TIMEOUT)
            for partition in listed.partitions
        }

    def _finds(self, notice: IncidentNotice, consumer: Consumer, partitions: int) -> bool:
        """Return whether one of the records up to the ends of all partitions is the notice."""
        while partitions:
            record = consumer.poll(TIMEOUT)
            if record is None:
                raise SinkFailed(f"topic {self._topic}", "its last records could not be read in time")
            error = record.error()
            if error is not None:
                if error.name() != "_PARTITION_EOF":
                    raise SinkFailed(f"topic {self._topic}", error)
                partitions -= 1
            elif record.key() == notice.id.encode() and json.loads(record.value() or b"{}")["status"] == notice.status:
                return True
        return False
