"""Voters of the KRaft quorum, features, and the registration of brokers, through the command and the admin client."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from kwire.client.admin import AdminClient, AdminError
from kwire_admin.compat import run_script
from tests.cli.administration import Operator
from tests.eventually import eventually_sync
from tests.real_kafka import Kafka44

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.real_kafka import Kafka39

pytestmark = pytest.mark.change


@pytest.fixture(scope="module")
def dynamic() -> Iterator[Kafka44]:
    """Return a cluster with a voter, node 1, and an observer, node 2."""
    with Kafka44(brokers=2, dynamic_quorum=True) as cluster:
        yield cluster


@pytest.fixture
def operator(dynamic: Kafka44) -> Operator:
    return Operator(dynamic.bootstrap)


def roles(operator: Operator) -> dict[int, str]:
    return {row["node"]: row["role"] for row in operator.json("quorum", "describe")}


def test_voter_is_added_and_removed(dynamic: Kafka44, operator: Operator) -> None:
    listener = f"CONTROLLER://{dynamic.controller_endpoint(2)}"
    described = {row["node"]: row for row in operator.json("quorum", "describe")}
    assert {node: row["role"] for node, row in described.items()} == {1: "leader", 2: "observer"}
    assert len(described[2]["directory"]) == 22, "as Kafka prints it"
    assert described[1]["listeners"] == {"CONTROLLER": dynamic.controller_endpoint(1)}
    assert described[2]["listeners"] is None

    assert operator.json("quorum", "add-voter", "2", "--listener", listener, "--dry-run") == [
        {"name": "2", "status": "would be added", "attempts": 1}
    ]
    assert roles(operator)[2] == "observer"
    assert operator.json("quorum", "add-voter", "2", "--listener", listener)[0]["status"] == "added"
    assert roles(operator) == {1: "leader", 2: "voter"}
    directory = described[2]["directory"]
    again = operator.run("quorum", "add-voter", "2", "--listener", listener, "--directory", directory)
    assert (again.code, "DUPLICATE_VOTER" in again.err) == (1, True)

    unconfirmed = operator.run("quorum", "remove-voter", "2")
    assert (unconfirmed.code, "Remove node 2 from the voters? Confirm with --yes" in unconfirmed.err) == (2, True)
    assert operator.json("quorum", "remove-voter", "2", "--yes")[0]["status"] == "removed"
    eventually_sync(lambda: roles(operator) == {1: "leader", 2: "observer"}, "node 2 is an observer again")


def test_script_adds_and_removes_a_voter_and_its_dry_run_checks_both(
    dynamic: Kafka44, operator: Operator, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    directories = {row["node"]: row["directory"] for row in operator.json("quorum", "describe")}
    (tmp_path / "meta.properties").write_text(f"directory.id={directories[2]}\n", encoding="utf-8")
    controller = tmp_path / "controller.properties"
    controller.write_text(
        f"node.id=2\nprocess.roles=controller\nlog.dirs={tmp_path}\ncontroller.listener.names=CONTROLLER\n"
        f"listeners=CONTROLLER://{dynamic.controller_endpoint(2)}\n",
        encoding="utf-8",
    )
    add = ("add-controller", "--command-config", str(controller))
    remove = ("remove-controller", "--controller-id", "2", "--controller-directory-id", directories[2])

    def run(*words: str) -> tuple[int, str]:
        code = run_script("kafka-metadata-quorum", ["--bootstrap-server", dynamic.bootstrap, *words])
        printed = capsys.readouterr()
        return code, printed.out + printed.err

    assert (run(*remove, "--dry-run")[0], run(*remove)[0]) == (1, 1), "node 2 is an observer"
    assert (run(*add, "--dry-run")[0], roles(operator)[2]) == (0, "observer")
    assert (run(*add)[0], roles(operator)[2]) == (0, "voter")
    for dry_run in (["--dry-run"], []):
        assert "already" in run(*add, *dry_run)[1]
        code, text = run(*remove[:-1], "AAAAAAAAAAAAAAAAAAAACQ", *dry_run)
        assert (code, "DRY RUN" in text) == (1, False), "another directory id"
    assert (run(*remove, "--dry-run")[0], roles(operator)[2]) == (0, "voter")
    assert run(*remove)[0] == 0
    eventually_sync(lambda: roles(operator)[2] == "observer", "node 2 is an observer again")


def test_unknown_voter_and_invalid_listener_are_explained(operator: Operator) -> None:
    unknown = operator.run("quorum", "add-voter", "7", "--listener", "CONTROLLER://127.0.0.1:9093")
    assert (unknown.code, "the quorum has 2 as observer, not node 7" in unknown.err) == (2, True)
    for listener in ("127.0.0.1:9093", "CONTROLLER://127.0.0.1", "://127.0.0.1:9093"):
        invalid = operator.run("quorum", "add-voter", "2", "--listener", listener)
        assert (invalid.code, "write NAME://HOST:PORT, such as CONTROLLER://host:9093" in invalid.err) == (2, True)
    directory = operator.run("quorum", "remove-voter", "1", "--directory", "xyz", "--yes")
    assert (directory.code, "'xyz' is not a directory id" in directory.err) == (2, True)


def test_static_quorum_refuses_voters(kafka44: Kafka44) -> None:
    operator = Operator(kafka44.bootstrap)
    refused = operator.run("quorum", "remove-voter", "1", "--directory", "gU0kwl2xRDerQ8v7M9DywA", "--yes")
    assert (refused.code, "UNSUPPORTED_VERSION" in refused.err) == (1, True)


def test_feature_is_downgraded_and_upgraded(operator: Operator) -> None:
    def level(name: str) -> int | None:
        found: dict[str, int | None] = {row["name"]: row["finalized"] for row in operator.json("features", "describe")}
        return found[name]

    highest = level("share.version")
    assert highest is not None
    lower = f"share.version={highest - 1}"
    refused = operator.json("features", "upgrade", lower, code=1)
    assert (refused[0]["name"], refused[0]["error"]["name"]) == ("share.version", "INVALID_UPDATE_VERSION")
    dry = operator.json("features", "downgrade", lower, "--dry-run")
    assert dry == [{"name": "share.version", "status": "would be downgraded", "attempts": 1}]
    assert level("share.version") == highest
    assert operator.json("features", "downgrade", lower, "--yes")[0]["status"] == "downgraded"
    eventually_sync(lambda: level("share.version") == highest - 1, "the level is lower")
    assert operator.json("features", "upgrade", f"share.version={highest}")[0]["status"] == "upgraded"
    eventually_sync(lambda: level("share.version") == highest, "the level is as before")
    invalid = operator.run("features", "upgrade", "share.version=high")
    assert (invalid.code, "write NAME=LEVEL" in invalid.err) == (2, True)


def test_cluster_with_zookeeper_has_neither_voters_nor_registrations(kafka39: Kafka39) -> None:
    operator = Operator(kafka39.bootstrap)
    for command in (
        ("quorum", "add-voter", "2", "--listener", "CONTROLLER://127.0.0.1:9093"),
        ("quorum", "remove-voter", "2", "--yes"),
        ("brokers", "unregister", "7", "--yes"),
    ):
        run = operator.run(*command)
        assert (run.code, "Request" in run.err) == (2, True), run.err
    [refused] = operator.json("features", "upgrade", "metadata.version=20", code=1)
    assert refused["error"]["name"] == "FEATURE_UPDATE_FAILED"
    assert "1 (unknown there)" in refused["error"]["message"], "compared before anything is sent"


async def test_stopped_broker_is_unregistered(dynamic: Kafka44, operator: Operator) -> None:
    running = operator.run("brokers", "unregister", "2", "--yes")
    assert (running.code, "broker 2 is running: stop it before you unregister it" in running.err) == (2, True)
    operator.json("topics", "create", "kept", "--replica-assignment", "2:1")
    operator.json("topics", "create", "lost", "--replica-assignment", "2")
    dynamic.brokers[1].stop()
    eventually_sync(lambda: len(operator.json("brokers", "list")) == 1, "broker 2 has left")
    kept, lost = operator.json("topics", "describe", "kept", "lost")
    assert len(kept["topic_id"]) == 22
    [partition] = kept["partitions"]
    assert (partition["leader"], partition["leader_epoch"], partition["offline_replicas"]) == (1, 1, [2])
    [partition] = lost["partitions"]
    assert (partition["leader"], partition["offline_replicas"]) == (None, [2])
    assert operator.json("brokers", "unregister", "2", "--dry-run")[0]["status"] == "would be unregistered"
    assert operator.json("brokers", "unregister", "2", "--yes")[0]["status"] == "unregistered"
    async with await AdminClient.open(dynamic.bootstrap) as admin:
        with pytest.raises(AdminError, match="broker 2: Broker ID 2 is not currently registered"):
            await admin.unregister_broker(2)
