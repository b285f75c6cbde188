"""A topic of a real Kafka as a sink of incidents, also when the process that sends them is killed."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING, Any

import confluent_kafka
import pytest

from kwire_pipeline.sinks import IncidentNotice, NoticeStatus, SinkFailed
from kwire_pipeline.sinks.delivery import SinkDelivery
from kwire_pipeline.sinks.kafka_topic import KafkaTopicSink
from tests.kafka.administrator import Administrator

if TYPE_CHECKING:
    from pathlib import Path

    from tests.real_kafka import KafkaCluster

AT = datetime(2026, 11, 21, 14, tzinfo=UTC)
LONG_AGO = datetime(2020, 1, 1, tzinfo=UTC)


def incident(id: str, *, ended: bool = False) -> dict[str, Any]:
    return {
        "incident_id": id,
        "cluster_id": "c",
        "kind": "broker_killed",
        "broker_id": 2,
        "caused_by": None,
        "topics": None,
        "began_at": AT,
        "first_sign_at": AT,
        "ended_at": AT if ended else None,
    }


KILLED_PROCESS = """
import os, signal, sys
from tests.kafka import test_incident_topic as this
from kwire_pipeline.sinks.kafka_topic import KafkaTopicSink
from kwire_pipeline.sinks.delivery import SinkDelivery

bootstrap, topic, out, when = sys.argv[1:]
sink = KafkaTopicSink(bootstrap, topic)
send = sink.send

def send_and_die(notice):
    if when == "after":
        send(notice)
    os.kill(os.getpid(), signal.SIGKILL)

sink.send = send_and_die
SinkDelivery(out, sink, this.LONG_AGO).publish(lambda _: [this.incident("killed")])
"""


def list_of(rows: list[dict[str, Any]], _: object) -> list[dict[str, Any]]:
    return rows


def received(cluster: KafkaCluster, topic: str) -> list[tuple[str, str, str]]:
    """Return the key, status, and header of each record of a topic with one partition."""
    consumer = confluent_kafka.Consumer(
        {"bootstrap.servers": cluster.bootstrap, "group.id": "reader", "enable.partition.eof": True}
    )
    consumer.assign([confluent_kafka.TopicPartition(topic, 0, 0)])
    found = []
    while (record := consumer.poll(60)) is not None and record.error() is None:
        headers: Any = record.headers()
        [(name, value)] = headers
        assert name == "idempotency-key"
        found.append(((record.key() or b"").decode(), json.loads(record.value() or b"")["status"], value.decode()))
    assert record is not None
    consumer.close()
    return found


def test_topic_receives_each_notice_as_json(cluster: KafkaCluster, tmp_path: Path) -> None:
    Administrator(cluster).create("incidents", 1)
    sink = KafkaTopicSink(cluster.bootstrap, "incidents")
    delivery = SinkDelivery(str(tmp_path), sink, LONG_AGO)
    for rows in ([incident("a")], [incident("a", ended=True), incident("b")], [incident("b")]):
        delivery.publish(partial(list_of, rows))
    delivery.release()

    assert received(cluster, "incidents") == [
        ("a", "firing", "a-firing"),
        ("a", "resolved", "a-resolved"),
        ("b", "firing", "b-firing"),
    ]


@pytest.mark.parametrize("when", ["before", "after"])
def test_kill_loses_no_notice_and_repeats_it_with_the_same_key(
    cluster: KafkaCluster, tmp_path: Path, when: str
) -> None:
    topic = f"killed-{when}"
    Administrator(cluster).create(topic, 1)
    command = [sys.executable, "-c", KILLED_PROCESS, cluster.bootstrap, topic, str(tmp_path), when]
    assert subprocess.run(command, check=False, timeout=120).returncode == -signal.SIGKILL
    assert len(received(cluster, topic)) == (when == "after")

    sink = KafkaTopicSink(cluster.bootstrap, topic)
    delivery = SinkDelivery(str(tmp_path), sink, LONG_AGO)
    assert delivery.publish(lambda _: [incident("killed")]).accepted == 1

    firing = [("killed", "firing", "killed-firing")] * (2 if when == "after" else 1)
    assert received(cluster, topic) == firing
    assert delivery.publish(lambda _: [incident("killed")]).accepted == 0
    delivery.publish(lambda _: [incident("classified again", ended=True)])
    delivery.release()
    assert received(cluster, topic) == [*firing, ("killed", "resolved", "killed-resolved")]


def test_record_that_is_too_large_is_refused_for_good(cluster: KafkaCluster) -> None:
    sink = KafkaTopicSink(cluster.bootstrap, "incidents", {"message.max.bytes": 1000})

    with pytest.raises(SinkFailed) as failure:
        sink.send(IncidentNotice(NoticeStatus.FIRING, incident("a") | {"cause": "x" * 2000}))
    assert failure.value.is_final


def test_unreachable_cluster_is_a_failed_sink() -> None:
    sink = KafkaTopicSink("127.0.0.1:1", "incidents", {"message.timeout.ms": 1000})

    with pytest.raises(SinkFailed, match="topic incidents did not accept an incident"):
        sink.send(IncidentNotice(NoticeStatus.FIRING, incident("a")))
