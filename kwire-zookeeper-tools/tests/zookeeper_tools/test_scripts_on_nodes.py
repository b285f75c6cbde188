"""Old lines of Kafka's scripts on kwire's nodes: sentences and exit codes as on Kafka."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from kwire.client.admin import BlockingAdminClient, TopicDescription
from kwire_admin.compat import run_script
from kwire_cluster import LocalCluster
from tests.eventually import eventually_sync
from tests.for_rows import for_rows

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

SESSION_SECONDS = 6.0
"""A dead node counts as dead after it. A test waits for that once."""

CREATE = "--create --topic old --partitions 1 --replication-factor"


@pytest.fixture(scope="module")
def cluster(java: None) -> Iterator[LocalCluster]:
    """Three nodes; every test leaves them running."""
    with LocalCluster(nodes=3, session_timeout=SESSION_SECONDS) as cluster:
        yield cluster


@for_rows(
    "words, code, sentence",
    [
        (f"{CREATE} 1", 0, 'Created topic "old".'),
        (f"{CREATE} 1 --if-not-exists", 0, ""),
        (f"{CREATE} 1", 1, 'Topic "old" already exists.'),
        (
            "--create --topic other --partitions 1 --replication-factor 4",
            1,
            "replication factor: 4 larger than available",
        ),
        ("--create --topic a/b --partitions 1 --replication-factor 1", 1, "topic name a/b is illegal"),
        ("--alter --topic old --delete-config nonsense", 1, 'Unknown configuration "nonsense".'),
        ("--alter --topic old --config nonsense=1", 1, 'Unknown configuration "nonsense".'),
        ("--alter --topic old --config retention.ms=7", 0, "Updated config"),
        ("--alter --topic old --delete-config retention.ms", 0, "Updated config"),
        ("--alter --topic old --partitions 1", 1, "The number of partitions for a topic can only be increased"),
        ("--list --topic old", 0, "old"),
        ("--delete --topic old", 0, "marked for deletion"),
    ],
)
def test_topics(
    words: str, code: int, sentence: str, cluster: LocalCluster, capsys: pytest.CaptureFixture[str]
) -> None:
    done = run_script("kafka-topics", ["--zookeeper", cluster.zookeeper_connect, *words.split()], "0.9.0.1")
    printed = capsys.readouterr()
    assert (done, sentence in printed.out) == (code, True), printed


@for_rows(
    "release, line",
    [
        ("0.9.0.1", "Add/Remove entity (topics/clients) configs"),
        ("0.10.2.2", "Add/Remove entity config for a topic, client, user or broker"),
    ],
)
def test_usage_begins_as_in_the_release(release: str, line: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_script("kafka-configs", [], release) == 1
    assert capsys.readouterr().err.splitlines()[0] == line


def test_missing_file_of_partitions_is_named_as_in_the_release(
    cluster: LocalCluster, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["--zookeeper", cluster.zookeeper_connect, "--path-to-json-file", "/nosuch.json"]
    assert run_script("kafka-preferred-replica-election", words, "0.9.0.1") == 0
    printed = capsys.readouterr()
    assert printed.out.splitlines() == [
        "Failed to start preferred replica election",
        "java.io.FileNotFoundException: /nosuch.json (No such file or directory)",
    ]
    assert not printed.err


def test_modern_script_accepts_an_existing_topic(cluster: LocalCluster, capsys: pytest.CaptureFixture[str]) -> None:
    words = [*["--create", "--topic", "again", "--partitions", "1", "--replication-factor", "1", "--if-not-exists"]]
    for _ in range(2):
        assert run_script("kafka-topics", ["--bootstrap-server", cluster.bootstrap, *words]) == 0, capsys.readouterr()
    assert run_script("kafka-topics", ["--bootstrap-server", cluster.bootstrap, "--delete", "--topic", "again"]) == 0


@for_rows("release", ["0.9.0.1", None])
def test_quota_is_stored_as_by_the_old_script_with_a_warning(
    release: str | None, cluster: LocalCluster, capsys: pytest.CaptureFixture[str]
) -> None:
    client = f"app-{release}"
    entity = ["--zookeeper", cluster.zookeeper_connect, "--entity-type", "clients", "--entity-name", client]
    alter = ["--alter", *entity, "--add-config", "producer_byte_rate=1"]
    assert run_script("kafka-configs", alter, release) == 0
    assert "WARN nodes of kwire do not read these configs" in capsys.readouterr().err
    assert run_script("kafka-configs", ["--describe", *entity], release) == 0
    assert capsys.readouterr().out.endswith(" are producer_byte_rate=1\n")
    assert run_script("kafka-configs", ["--alter", *entity, "--delete-config", "producer_byte_rate"], release) == 0


def test_throttle_does_not_keep_replicas_from_moving(
    cluster: LocalCluster, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["--bootstrap-server", cluster.bootstrap]
    assert run_script("kafka-topics", [*words, "--create", "--topic", "moved", "--replica-assignment", "1"]) == 0
    plan = tmp_path / "plan.json"
    moves = {"version": 1, "partitions": [{"topic": "moved", "partition": 0, "replicas": [2]}]}
    plan.write_text(json.dumps(moves), encoding="utf-8")
    file = ["--reassignment-json-file", str(plan)]
    zookeeper = ["--zookeeper", cluster.zookeeper_connect]
    done = run_script("kafka-reassign-partitions", [*zookeeper, *file, "--execute", "--throttle", "1000"])
    printed = capsys.readouterr().out
    assert (done, "Successfully started reassignment of partitions" in printed) == (0, True), printed
    assert run_script("kafka-topics", [*words, "--delete", "--topic", "moved"]) == 0


def test_election_without_a_live_replica_is_an_error(cluster: LocalCluster, capsys: pytest.CaptureFixture[str]) -> None:
    """Nodes report the start of an election by topic, and nothing of partitions without a live replica."""
    words = ["--bootstrap-server", cluster.bootstrap]
    election = [*words, "--election-type", "preferred"]
    for topic, replicas in (("single", "3"), ("double", "3:1")):
        assert run_script("kafka-topics", [*words, "--create", "--topic", topic, "--replica-assignment", replicas]) == 0
    assert run_script("kafka-leader-election", [*election, "--topic", "single", "--partition", "0"]) == 0
    assert "Valid replica already elected for partitions single-0" in capsys.readouterr().out
    with BlockingAdminClient(cluster.bootstrap) as admin:
        cluster.kill_node(3)
        try:
            eventually_sync(lambda: leaders(admin) == [1, None], "node 3 counts as dead")
            for selection in (["--all-topic-partitions"], ["--topic", "single", "--partition", "0"]):
                assert run_script("kafka-leader-election", [*election, *selection]) == 1
                printed = capsys.readouterr().out
                assert "for partition: single-0: org.apache.kafka.common.errors.PreferredLeaderNotAvailable" in printed
        finally:
            cluster.start_node(3)
        eventually_sync(lambda: leaders(admin) == [1, 3], "node 3 leads its only replica again")
        assert run_script("kafka-leader-election", [*election, "--all-topic-partitions"]) == 0, capsys.readouterr()
        assert leaders(admin) == [3, 3]
        assert admin.delete_topics(["single", "double"]).errors == {}
    printed = capsys.readouterr().out
    assert "Successfully completed leader election (PREFERRED) for partitions double-0" in printed


def leaders(admin: BlockingAdminClient) -> list[int | None]:
    topics = admin.describe_topics(["double", "single"])
    return [topic.partitions[0].leader for topic in topics.values() if isinstance(topic, TopicDescription)]
