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

    from kwire.spark.sinks.notice import IncidentNotice

TIMEOUT = 30.0
"""Seconds until a record must be acknowledged."""


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
        self._producer = Producer(
            {
                "bootstrap.servers": bootstrap,
                "enable.idempotence": True,
                "message.timeout.ms": round(TIMEOUT * 1000),
                **(settings or {}),
            }
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
