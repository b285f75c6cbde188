"""Exit codes and first lines of scripts for empty and refused input, as runs of Kafka's tools of 3.9.1 have them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from kwire.testing import FakeCluster
from kwire_admin.compat import run_script
from tests.for_rows import for_rows

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture(scope="module")
def cluster() -> Iterator[FakeCluster]:
    with FakeCluster(1, topics=["orders"], partitions=2) as fake:
        fake.set_ends("orders", {0: 10, 1: 10})
        fake.set_group("idle", {"orders": {0: 1}})
        yield fake


REFUSED = (
    "kafka-configs --alter --topic orders --add-config ''",
    "kafka-configs --describe --entity-type brokers --entity-name x",
    "kafka-configs --alter --broker x --add-config log.retention.ms=5",
    "kafka-configs --describe --entity-type ips --entity-name x.invalid",
    "kafka-configs --describe --entity-type broker-loggers",
    "kafka-configs --describe --topic orders --add-config a=b",
    "kafka-get-offsets --topic-partitions orders --topic orders",
    "kafka-get-offsets --topic orders --topic-partitions orders:0 --partitions 0",
    "kafka-get-offsets --topic ''",
    "kafka-reassign-partitions --list --reassignment-json-file {empty}",
    "kafka-consumer-groups --reset-offsets --group idle --topic orders:x --to-earliest --dry-run",
)
"""Command lines that end with 1."""
PRINTED = (
    "kafka-get-offsets --partitions ''",
    "kafka-log-dirs --describe --broker-list ''",
    "kafka-leader-election --election-type preferred --path-to-json-file {empty}",
    "kafka-consumer-groups --describe --group idle --timeout x",
    "kafka-consumer-groups --reset-offsets --group idle --topic nosuch --to-earliest --dry-run",
    "kafka-consumer-groups --reset-offsets --group idle --topic orders:99 --to-earliest --dry-run",
    "kafka-consumer-groups --reset-offsets --group idle --topic orders --to-offset x --dry-run",
    "kafka-consumer-groups --reset-offsets --group idle --topic orders --to-datetime yesterday --dry-run",
    "kafka-consumer-groups --reset-offsets --group idle --from-file /nosuch --dry-run",
)
"""Command lines that end with 0, some of them after an error on stdout."""


def run_line(cluster: FakeCluster, folder: Path, line: str) -> int:
    """Run a command line with `--bootstrap-server`."""
    empty = folder / "empty.json"
    empty.write_text('{"version": 1, "partitions": []}', encoding="utf-8")
    name, *words = (word.replace("''", "").format(empty=empty) for word in line.split(" "))
    return run_script(name, ["--bootstrap-server", cluster.bootstrap, *words])


@for_rows("line", REFUSED)
def test_refused_input_ends_with_1(
    cluster: FakeCluster, tmp_path: Path, capsys: pytest.CaptureFixture[str], line: str
) -> None:
    assert run_line(cluster, tmp_path, line) == 1
    shown = capsys.readouterr()
    assert "Traceback" not in shown.err
    assert (shown.err + shown.out).strip()


@for_rows("line", PRINTED)
def test_input_that_kafka_answers_with_0_ends_with_0(
    cluster: FakeCluster, tmp_path: Path, capsys: pytest.CaptureFixture[str], line: str
) -> None:
    assert run_line(cluster, tmp_path, line) == 0
    if "consumer-groups" in line:
        assert "\nError: Executing consumer group command failed due to " in capsys.readouterr().out


def test_cluster_that_cannot_be_reached_ends_with_1() -> None:
    assert run_script("kafka-consumer-groups", ["--bootstrap-server", "127.0.0.1:1", "--list"]) == 1
