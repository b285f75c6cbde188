"""A password of a source appears nowhere: not in plans, event logs, pickled readers, and errors."""

from __future__ import annotations

import pickle
import subprocess
import sys
from typing import TYPE_CHECKING

from pyspark.sql.types import BinaryType, StructType

from kwire_pipeline.source.bronze import COLUMNS
from kwire_pipeline.source.datasource import KwireSource
from tests.cli.running import COMMAND, environment

if TYPE_CHECKING:
    from pathlib import Path

    from tests.real_kafka import Kafka44
    from tests.real_kafka.security import ClusterSecurity

WRONG = "wrong-password-7"
RIGHT = "admin-password"


def run(*command: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, capture_output=True, env=environment(), check=False, text=True)


def test_spark_reads_a_secured_cluster_without_showing_the_password(
    secured44: Kafka44, security: ClusterSecurity, tmp_path: Path
) -> None:
    properties = security.write_properties(tmp_path / "client.properties", "PLAIN")
    jaas = security.properties("PLAIN")["sasl.jaas.config"]
    arguments = [secured44.bootstrap, str(properties), str(tmp_path), jaas.replace(RIGHT, WRONG)]

    done = run(sys.executable, "-m", "tests.kafka.live_read", *arguments)

    assert done.returncode == 0, done.stderr[-3000:]
    assert "answered: True" in done.stdout
    for option in ("sasl.jaas.config", "kafka.sasl.jaas.config"):
        assert f"refused {option}: " in done.stdout
        assert f"option '{option}' of format('kwire') is refused" in done.stdout
    events = [path for path in (tmp_path / "events").rglob("*") if path.is_file()]
    logged = "".join(path.read_text() for path in events)
    assert "SparkListenerSQLExecutionStart" in logged
    for text in (logged, done.stdout, done.stderr):
        for secret in (RIGHT, WRONG):
            assert secret not in text


def test_live_source_of_a_stream_connects_with_client_properties(
    secured44: Kafka44, security: ClusterSecurity, tmp_path: Path
) -> None:
    """Spark pickles the source for its own process, which reads the file and polls."""
    schema = StructType()
    for column in COLUMNS:
        schema.add(column, BinaryType())  # a stream that only looks for new rows needs the names
    properties = security.write_properties(tmp_path / "client.properties", "SCRAM-SHA-512")
    options = {
        "path": str(tmp_path / "capture"),
        "bootstrap": secured44.bootstrap,
        "commandConfig": str(properties),
        "interval": "0.1",
    }
    source = KwireSource(options)
    pickled = pickle.dumps(source.streamReader(schema))
    program = (
        "import pickle, sys, time; reader = pickle.load(sys.stdin.buffer)\n"
        "while not reader.latestOffset()['row']: time.sleep(0.05)\n"
    )

    done = subprocess.run(
        [sys.executable, "-c", program], input=pickled, capture_output=True, env=environment(), check=False, timeout=60
    )

    assert done.returncode == 0, done.stderr.decode()
    replayed = run(*COMMAND, "replay", str(tmp_path / "capture"))
    assert "no response" not in replayed.stdout
    assert RIGHT.encode() not in pickled + done.stdout + done.stderr
