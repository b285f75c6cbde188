"""The clusters that other tests rely on: they come up, can be killed and come back, and say what is missing."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from kwire.testing.kafka import Cluster, Kafka39, Kafka44, StartFailed


def runs(process_id: int) -> bool:
    return Path(f"/proc/{process_id}").exists()


def test_a_broker_is_told_by_its_log_to_be_what_it_should_be(cluster: Cluster) -> None:
    [broker] = cluster.brokers

    assert broker.process_id is not None
    assert f"Kafka version: {cluster.version}" in (cluster.folder / "broker-1" / "log").read_text(encoding="utf-8")


def test_a_killed_broker_comes_back_on_its_port_and_nothing_is_left_in_the_end() -> None:
    with Kafka39(config={"zookeeper.session.timeout.ms": "2000"}) as cluster:
        [broker] = cluster.brokers
        first = broker.process_id or 0
        broker.kill()
        assert not runs(first)

        broker.start()

        broker.wait_until_metadata_lists(1)
        second = broker.process_id or 0
        assert second not in (first, 0)

    assert not runs(second)
    assert not cluster.folder.exists()


def test_a_broker_that_cannot_start_is_shown_with_what_it_wrote() -> None:
    cluster = Kafka44(config={"num.io.threads": "many"})

    with pytest.raises(StartFailed) as raised:
        cluster.start()

    assert raised.value.exit_code
    assert "Invalid value many for configuration num.io.threads" in raised.value.output


def test_without_java_and_maven_it_says_what_is_missing(tmp_path: Path) -> None:
    program = "from kwire.testing.kafka import Kafka39; Kafka39()"
    environment = {**os.environ, "PATH": str(tmp_path), "XDG_CACHE_HOME": str(tmp_path)}

    run = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=False)

    assert run.returncode != 0
    assert "nothing was tested with it:\n  - Java 17 or newer (`java`)" in run.stderr
    assert "\n  - Maven (`mvn`): fetches the jars that kafka39.xml names" in run.stderr
