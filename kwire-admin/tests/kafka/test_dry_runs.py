"""Dry runs on real Kafka, with active groups and live transactions."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import confluent_kafka
import pytest

from kwire.client.admin import AdminClient
from kwire.client.security import ClientProperties
from tests.eventually import eventually_sync
from tests.operations.verbs.dry_runs import (
    ACCEPTED,
    ACLS,
    DOCUMENTS,
    LAST,
    REFUSED,
    cases_of,
    check_case,
    generated_cases,
)

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.real_kafka import KafkaCluster
    from tests.real_kafka.security import ClusterSecurity

LACKING = ("brokers unregister", "quorum ", "features ")
"""Beginnings of cases that a cluster of one broker refuses, although they are right."""


@pytest.fixture(params=["kafka39", "kafka44", "secured44"])
def settings(
    request: pytest.FixtureRequest, security: ClusterSecurity, tmp_path: Path
) -> Iterator[tuple[dict[str, Any], Path | None]]:
    """Return settings of confluent-kafka, and the client.properties of the secured cluster."""
    cluster: KafkaCluster = request.getfixturevalue(request.param)
    settings: dict[str, Any] = {"bootstrap.servers": cluster.bootstrap}
    if request.param != "secured44":
        yield settings, None
        return
    settings |= {
        "security.protocol": "SASL_SSL",
        "sasl.mechanism": "SCRAM-SHA-512",
        "sasl.username": "admin",
        "sasl.password": security.users["admin"].reveal(),
        "ssl.ca.pem": security.authority.certificate,
    }
    yield settings, security.write_properties(tmp_path / "scram.properties", "SCRAM-SHA-512")


async def test_dry_run_says_what_the_real_run_does(
    settings: tuple[dict[str, Any], Path | None], tmp_path: Path
) -> None:
    clients, properties = settings
    config = None if properties is None else ClientProperties.load(properties).connection
    async with await AdminClient.open(clients["bootstrap.servers"], config=config) as admin:
        values = await _values(admin, tmp_path)
        for case in cases_of(ACCEPTED, "kafka"):
            real = await check_case(admin, case, values)
            if properties is not None and not case.startswith(LACKING):
                assert not real.is_refused, (case, real)
        consumer = confluent_kafka.Consumer({**clients, "group.id": "busy", "auto.offset.reset": "earliest"})
        consumer.subscribe(["dry"])
        producer = confluent_kafka.Producer({**clients, "transactional.id": "live"})
        try:
            values["live"] = _begin(producer)
            eventually_sync(lambda: bool(consumer.poll(0.2) or consumer.assignment()), "the group is active")
            consumer.commit(offsets=[confluent_kafka.TopicPartition("dry", 0, 0)], asynchronous=False)
            for case in cases_of(REFUSED, "kafka"):
                assert (await check_case(admin, case, values)).is_refused, case
            for case in cases_of(generated_cases(1, rounds=4), "kafka"):
                await check_case(admin, case, values)
            producer.commit_transaction(30)  # it was not aborted
        finally:
            consumer.close()
        for case in LAST:
            assert not (await check_case(admin, case, values)).is_refused, case


def _begin(producer: confluent_kafka.Producer) -> int:
    """Begin a transaction with a record in partition 1, and return its offset."""
    offsets: list[int | None] = []
    producer.init_transactions(60)
    producer.begin_transaction()
    producer.produce("dry", b"1", partition=1, on_delivery=lambda _, message: offsets.append(message.offset()))
    producer.flush(60)
    [offset] = offsets
    assert offset is not None
    return offset


async def _values(admin: AdminClient, folder: Path) -> dict[str, object]:
    """Return what the cases name, and write their files."""
    (folder / "password").write_text("correct horse", encoding="utf-8")
    for name, document in {"acls": ACLS, **DOCUMENTS}.items():
        (folder / f"{name}.json").write_text(json.dumps(document), encoding="utf-8")
    for name, topic, replica in (("same", "dry", 1), ("unknown", "dry", 99)):
        partitions = [{"topic": topic, "partition": 0, "replicas": [replica]}]
        text = json.dumps({"version": 1, "partitions": partitions})
        (folder / f"{name}.json").write_text(text, encoding="utf-8")
    [directory] = {log_dir.path for log_dir in await admin.describe_log_dirs([1])}
    values: dict[str, object] = {"folder": folder, "directory": directory, "setting": "log.retention.ms"}
    return values | {"token": "nosuch", "feature": "group.version", "level": 0, "next_level": 1, "live": 0}
