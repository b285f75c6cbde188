"""The tutorial of the command `kafka`, word for word, on secured clusters."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING

import confluent_kafka
import pytest

from kwire.client import BlockingAdminClient
from kwire.client.admin import NewTopic, TopicPartition
from tests.cli.running import environment
from tests.docs.pages import DOCS, blocks, console_examples

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.real_kafka import KafkaCluster
    from tests.real_kafka.security import ClusterSecurity

PAGE = DOCS / "tutorial-kafka.md"
COMMITTED = {0: 3, 1: 5}


@pytest.fixture
def billing(secured: KafkaCluster, security: ClusterSecurity) -> Iterator[None]:
    """The topic and the group of the tutorial: ten messages in each partition, and committed offsets."""
    config = security.config("SCRAM-SHA-512")
    with BlockingAdminClient(secured.bootstrap, config=config) as admin:
        admin.create_topics({"orders": NewTopic(partitions=2, replication_factor=1)}).raise_first()
        admin.wait_until_created({"orders": 2})
        producer = confluent_kafka.Producer(
            {
                "bootstrap.servers": secured.listener("SASL_PLAINTEXT"),
                "security.protocol": "SASL_PLAINTEXT",
                "sasl.mechanism": "PLAIN",
                "sasl.username": "admin",
                "sasl.password": security.users["admin"].reveal(),
            }
        )
        for index in range(20):
            producer.produce("orders", b"order", partition=index % 2)
        assert producer.flush(60) == 0
        offsets = {TopicPartition("orders", partition): offset for partition, offset in COMMITTED.items()}
        admin.alter_group_offsets("billing", offsets).raise_first()
        yield
        admin.delete_groups(["billing"]).raise_first()
        admin.delete_topics(["orders"]).raise_first()


@pytest.mark.usefixtures("billing")
def test_every_command_prints_what_the_tutorial_shows(
    secured: KafkaCluster, security: ClusterSecurity, tmp_path: Path
) -> None:
    [properties] = blocks(PAGE, "properties")
    password = security.users["admin"].reveal()
    (tmp_path / "client.properties").write_text(
        properties.replace('username="alice" password="alice-secret"', f'username="admin" password="{password}"'),
        encoding="utf-8",
    )
    (tmp_path / "client.properties").chmod(0o600)
    (tmp_path / "ca.pem").write_text(security.authority.certificate, encoding="utf-8")
    variables = next(block for block in blocks(PAGE, "sh") if "KWIRE_BOOTSTRAP" in block)
    exported = variables.replace("broker-1:9093", secured.bootstrap)
    kafka = f'kafka() {{ {sys.executable} -P -m kwire "$@"; }}\n'

    for line, output in console_examples(PAGE):
        done = subprocess.run(
            ["bash", "-c", f"{exported}{kafka}{line}"],
            cwd=tmp_path,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            env=environment(PYTHONPATH=os.pathsep.join(sys.path)),
            check=False,
        )
        assert done.stdout == output, line
