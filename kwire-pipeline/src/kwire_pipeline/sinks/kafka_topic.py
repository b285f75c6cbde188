"""A Kafka topic that receives incidents as JSON, with the incident's id as key.

It uses confluent-kafka, which the extra `kafka` installs. The key is the id of the first notice about an incident, so
on a compacted topic, the last record of a key is the last state of an incident. The header `idempotency-key` is the
key of the notice: a record that a crash repeats has the same one, and the same bytes.
"""

from __future__ import annotations

import hashlib
import json
import re
from typing import TYPE_CHECKING, Any

from kwire_pipeline.sinks.sink import SinkFailed

if TYPE_CHECKING:
    from collections.abc import Mapping

    from confluent_kafka import KafkaError

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
                self._topic,
                json.dumps(notice.as_json()).encode(),
                notice.id.encode(),
                headers={"idempotency-key": notice.key.encode()},
                on_delivery=delivered,
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
