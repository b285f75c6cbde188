"""`tests.real_kafka`: start, kill, and restart of brokers, and errors."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from kwire._util.child_process import is_running
from tests.real_kafka import Kafka39, Kafka44, KafkaCluster, StartFailed


def test_broker_logs_its_version(cluster: KafkaCluster) -> None:
    [broker] = cluster.brokers

    assert broker.process_id is not None
    assert f"Kafka version: {cluster.version}" in (cluster.folder / "broker-1" / "log").read_text(encoding="utf-8")


def test_killed_broker_restarts_and_cluster_leaves_nothing() -> None:
    with Kafka39(config={"zookeeper.session.timeout.ms": "2000"}) as cluster:
        [broker] = cluster.brokers
        first = broker.process_id or 0
        broker.kill()
        assert not is_running(first)

        broker.start()

        broker.wait_until_metadata_lists(1)
        second = broker.process_id or 0
        assert second not in (first, 0)

    assert not is_running(second)
    assert not cluster.folder.exists()


def test_start_failure_contains_the_output() -> None:
    cluster = Kafka44(config={"num.io.threads": "many"})

    with pytest.raises(StartFailed) as raised:
        cluster.start()

    assert raised.value.exit_code
    assert "Invalid value many for configuration num.io.threads" in raised.value.output


def test_missing_java_and_maven_are_reported(tmp_path: Path) -> None:
    program = "from tests.real_kafka import Kafka39; Kafka39()"
    environment = {**os.environ, "PATH": str(tmp_path), "XDG_CACHE_HOME": str(tmp_path)}

    run = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=False)

    assert run.returncode != 0
    assert "these programs are missing:\n  - Java 17 or newer (`java`)" in run.stderr
    assert "\n  - Maven (`mvn`): downloads the jars listed in kafka39.xml" in run.stderr
