"""A cluster in a file: exported from 3.9.1, applied to an empty 4.4.0 and to nodes, interrupted, and continued.

The clusters are those of this module, because a document is about a whole cluster.
"""

from __future__ import annotations

import json
import signal
import subprocess
from typing import TYPE_CHECKING, Any

import pytest

from kwire_admin.operations.config_journal import journal_path
from kwire_cluster import LocalCluster
from tests.cli.administration import Operator
from tests.cli.running import COMMAND, INTERRUPTIBLE
from tests.eventually import eventually_sync
from tests.real_kafka import Kafka39, Kafka44

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.real_kafka.security import ClusterSecurity

COMMANDS = """
topics create orders -p 6 -r 1 --config retention.ms=86400000 --config cleanup.policy=compact,delete
topics create billing -p 2 -r 1
configs set broker/default log.retention.ms=70000000
configs set broker/1 log.cleaner.threads=2
quotas set producer_byte_rate=1048576 --user alice
quotas set request_percentage=12.5 --user alice --client-id <default>
quotas set connection_creation_rate=10 --ip 127.0.0.9
acls add topic:orders group:billing --principal User:alice --operation READ
acls add topic:audit- --prefixed --principal User:bob --operation WRITE --deny --host 10.0.0.1
""".strip().splitlines()


@pytest.fixture(scope="module")
def properties(security: ClusterSecurity, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return security.write_properties(tmp_path_factory.mktemp("properties") / "admin.properties", "PLAIN")


@pytest.fixture(scope="module")
def source(security: ClusterSecurity, properties: Path) -> Iterator[Operator]:
    """A cluster of 3.9.1 with something in every section that it has."""
    with Kafka39(security=security) as cluster:
        operator = Operator(cluster.bootstrap, properties)
        for command in COMMANDS:
            assert operator.run(*command.split()).code == 0, command
        assert operator.run("users", "set", "carol", "--password-file", "-", stdin="correct horse").code == 0
        yield operator


@pytest.fixture(scope="module")
def document(source: Operator, tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("documents") / "source.yaml"
    exported = source.run("configs", "export")
    assert exported.code == 0, exported.err
    file.write_text(exported.out, encoding="utf-8")
    return file


@pytest.fixture(scope="module")
def empty(security: ClusterSecurity) -> Iterator[Kafka44]:
    with Kafka44(security=security) as cluster:
        yield cluster


def test_exported_document_has_every_section_and_no_secret(document: Path, source: Operator) -> None:
    text = document.read_text(encoding="utf-8")
    for line in ("brokers:", "topics:", "quotas:", "users:", "acls:", "  carol:", "    partitions: 6"):
        assert line in text.splitlines()
    assert "groups:" not in text, "3.9.1 with ZooKeeper has no configs of groups"
    assert "correct horse" not in text
    assert source.run("configs", "diff", document).code == 0
    again = source.run("-o", "json", "configs", "apply", document, "--yes")
    assert (again.code, json.loads(again.out)) == (0, [])


SPELLINGS = """
    configs: {retention.ms: '+604800000', min.cleanable.dirty.ratio: .5, cleanup.policy: 'compact, delete',
      preallocate: True, leader.replication.throttled.replicas: ''}
"""


def test_values_in_another_spelling_converge(source: Operator, tmp_path: Path) -> None:
    file = tmp_path / "spellings.yaml"
    file.write_text(f"kwire: 1\ntopics:\n  spelled:\n    partitions: 1\n    replication_factor: 1{SPELLINGS}", "utf-8")
    for _ in range(2):
        applied = source.run("configs", "apply", file, "--yes")
        assert applied.code == 0, applied.err
        assert source.run("-o", "json", "configs", "diff", file).code == 0
    assert source.run("topics", "alter", "spelled", "--config", "preallocate=TRUE").code == 0
    assert source.run("topics", "delete", "spelled", "--yes").code == 0


def test_document_of_39_is_applied_to_an_empty_44(
    document: Path, empty: Kafka44, properties: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # A journal of this test alone: clusters of tests share their id, which names the file.
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    target = Operator(empty.bootstrap, properties)
    wrong = target.run("configs", "apply", document, "--yes")
    assert wrong.code == 2
    assert "is of the cluster" in wrong.err
    # A cluster of 4.4 stores this default by itself (KIP-966).
    [refused] = target.json("configs", "apply", document, "--other-cluster", "--yes", code=1)
    assert (refused["resource"], refused["name"], refused["status"]) == (
        "broker/default",
        "min.insync.replicas",
        "refused",
    )
    options: list[str | Path] = [document, "--other-cluster", "--skip-refused"]
    planned = target.json("configs", "apply", *options, "--dry-run", code=6)
    assert [row["reason"] for row in planned if row["status"] == "manual"] == [
        "needs a password: `kafka users set carol --mechanism SCRAM-SHA-512`"
    ]
    assert {row["resource"] for row in planned} == {
        *("broker/default", "broker/1", "topic/orders", "topic/billing", "quota/ip 127.0.0.9", "quota/user alice"),
        *("quota/user alice, client-id <default>", "user/carol"),
        *("acl/topic:orders", "acl/group:billing", "acl/prefixed topic:audit-"),
    }
    applied = target.json("configs", "apply", *options, "--yes", code=6)
    assert [{**row, "status": row["status"].removeprefix("would be ")} for row in planned] == applied
    assert target.run("users", "set", "carol", "--password-file", "-", stdin="correct horse").code == 0
    assert target.run("configs", "diff", *options).code == 0
    [exported] = target.json("configs", "export", "--json")
    described = json.loads(exported["document"])
    assert described["groups"] == described["client_metrics"] == {}
    audit = target.json("configs", "audit")
    assert {"acl/topic:orders", "topic/orders", "broker/1"} <= {row["resource"] for row in audit}
    assert {row["outcome"] for row in audit} == {"made"}

    # What someone changes is refused, unless it is as the document says.
    base = tmp_path / "base.json"
    base.write_text(exported["document"], encoding="utf-8")
    described["topics"]["orders"]["configs"]["retention.ms"] = 3_600_000
    described["topics"]["orders"]["partitions"] = 8
    changed = tmp_path / "changed.json"
    changed.write_text(json.dumps(described), encoding="utf-8")
    assert target.run("configs", "set", "topic/orders", "retention.ms=7").code == 0
    [conflict] = target.json("configs", "apply", changed, "--if-unchanged", base, "--yes", code=1)
    assert (conflict["name"], conflict["old"], conflict["status"]) == ("retention.ms", "7", "changed since")
    assert target.run("configs", "set", "topic/orders", "retention.ms=3600000").code == 0
    [grown] = target.json("configs", "apply", changed, "--if-unchanged", base, "--yes")
    assert (grown["name"], grown["old"], grown["new"], grown["status"]) == ("partitions", "6", "8", "changed")


def test_document_of_39_is_applied_to_nodes(document: Path) -> None:
    with LocalCluster(nodes=1) as cluster:
        nodes = Operator(cluster.bootstrap)
        refused = nodes.run("configs", "apply", document, "--other-cluster", "--yes")
        assert refused.code == 2
        assert "the cluster has no quotas" in refused.err
        options: list[str | Path] = [document, "--other-cluster", "--skip-refused"]
        applied = nodes.run("configs", "apply", *options, "--yes")
        assert applied.code == 6, applied.err  # users need passwords
        assert "Warning: quotas are left out: a quota of clients is not supported by this cluster" in applied.err
        assert "Warning: broker/default log.retention.ms is left out" in applied.err
        assert "Warning: broker/1 log.cleaner.threads is left out" in applied.err
        for user, mechanism in (
            ("carol", "SCRAM-SHA-512"),
            *((u, m) for u in ("admin", "alice") for m in ("SCRAM-SHA-256", "SCRAM-SHA-512")),
        ):
            assert (
                nodes.run("users", "set", user, "--mechanism", mechanism, "--password-file", "-", stdin="pw").code == 0
            )
        assert nodes.run("configs", "diff", *options).code == 0
        [exported] = nodes.json("configs", "export", "--json")
        assert json.loads(exported["document"])["topics"]["orders"] == {
            "partitions": 6,
            "replication_factor": 1,
            "configs": {"cleanup.policy": "compact,delete", "retention.ms": "86400000"},
        }


@pytest.mark.parametrize("fault", ["interrupted", "killed", "broker"])
def test_applying_again_continues_after_a_fault(
    fault: str, empty: Kafka44, properties: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ctrl-C, kill -9 of the command, and kill -9 of the broker, while some of the topics are created."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    target = Operator(empty.bootstrap, properties)
    file = tmp_path / "topics.json"
    topics = {f"{fault}-{number}": {"partitions": 1, "replication_factor": 1} for number in range(350)}
    file.write_text(json.dumps({"kwire": 1, "cluster": empty.cluster_id, "topics": topics}), encoding="utf-8")
    words = ["-b", target.bootstrap, "--command-config", str(properties), "--timeout", "10"]
    process = subprocess.Popen(
        [*INTERRUPTIBLE, *COMMAND, *words, "configs", "apply", str(file), "--yes"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    journal = journal_path(empty.cluster_id)

    def is_a_step_made() -> bool:
        assert process.poll() is None, process.communicate()
        return journal.exists() and len(journal.read_text().splitlines()) >= 2

    eventually_sync(is_a_step_made, "a step is made")
    if fault == "broker":
        empty.brokers[0].kill()
    else:
        process.send_signal(signal.SIGINT if fault == "interrupted" else signal.SIGKILL)
    _, err = process.communicate(timeout=120)
    assert process.returncode != 0, "all steps were made before the fault"
    if fault == "interrupted":
        assert "of 700 changes are made" in err
        assert "The same command continues." in err
    if fault == "broker":
        assert "of 700 changes, at topics" in err
        assert "The same command continues" in err
        empty.brokers[0].start()
    before = target.json("topics", "list", f"{fault}-*")
    assert 0 < len(before) < 350
    audit = target.json("configs", "audit", "--newest", "1000")
    assert {"made"} <= {row["outcome"] for row in audit} <= {"made", "unknown"}
    created = [row for row in target.json("configs", "apply", file, "--yes") if row["status"] != "kept"]
    assert 0 < len(created) < 700
    assert {row["status"] for row in created} == {"created"}
    left: list[dict[str, Any]] = target.json("configs", "apply", file, "--dry-run")
    assert {row["status"] for row in left} <= {"kept"}
