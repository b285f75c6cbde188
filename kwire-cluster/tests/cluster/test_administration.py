"""The administration commands on a cluster of kwire's nodes."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

import pytest

from kwire.client.admin import AdminClient, NewTopic
from kwire.messages.kip4.error_codes import ErrorCode
from kwire_cluster.local.local_cluster import LocalCluster
from tests.cli.administration import Operator, check_cluster, check_topics
from tests.cli.running import kwire
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
from tests.operations.verbs.pairs import check_pairs

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.cli.running import Run


@pytest.fixture(scope="module")
def cluster(java: None) -> Iterator[LocalCluster]:
    features = {"supported.features": "group_coordinator:1-3,transaction_coordinator:1-4:2"}
    with LocalCluster(nodes=2, settings=features) as cluster:
        yield cluster


@pytest.fixture(scope="module")
def operator(cluster: LocalCluster) -> Operator:
    return Operator(cluster.bootstrap)


def test_topics(operator: Operator) -> None:
    check_topics(operator, ErrorCode.TOPIC_ALREADY_EXISTS)


def test_cluster(operator: Operator) -> None:
    check_cluster(operator, [1, 2])


@pytest.mark.usefixtures("java")
def test_health_names_the_problem_and_exits_with_6() -> None:
    expected = {("broker-unreachable", 2, None), ("under-replicated", 1, "sick")}
    with LocalCluster(nodes=2) as cluster:
        operator = Operator(cluster.bootstrap)
        operator.json("topics", "create", "sick", "-p", "1", "-r", "2")
        assert operator.json("cluster", "health") == []
        cluster.kill_node(2)

        def unhealthy() -> Run | None:
            """Return the run that lists the partition; before it, the killed node may be leader or controller."""
            run = operator.run("-o", "json", "cluster", "health")
            if run.code != 6:
                return None
            found = {(row["problem"], row["broker"], row["name"]) for row in json.loads(run.out)}
            return run if found >= expected else None

        problems = eventually_sync(unhealthy, "the node is missed")
        assert problems is not None
        assert re.search(r"the cluster has [23] problems\.", problems.err)  # its address is reported twice for a while


def test_expected_cluster_id_is_checked(operator: Operator, tmp_path: Path) -> None:
    [cluster] = operator.json("cluster", "describe")
    config = tmp_path / "config.toml"
    creation = ("-c", "dev", "topics", "create", "guarded", "-p", "1", "-r", "1")
    for expected, code in (("another", 2), (cluster["cluster_id"], 0)):
        config.write_text(f'[clusters.dev]\nbootstrap = "{operator.bootstrap}"\ncluster_id = "{expected}"\n')
        run = kwire(*creation, KWIRE_CONFIG=str(config))
        assert run.code == code, run
        assert (f"belongs to the cluster {cluster['cluster_id']}, but" in run.err) == (code == 2)
    operator.json("topics", "delete", "guarded", "--yes")


def test_brokers(operator: Operator) -> None:
    assert [row["broker"] for row in operator.json("brokers", "list")] == [1, 2]


def test_operation_that_the_drafts_lack_is_one_sentence(operator: Operator) -> None:
    run = operator.run("groups", "list")
    assert run.code == 2
    assert len(run.err.splitlines()) == 1
    assert run.err.startswith(
        "Error: kafka groups list is not supported by this cluster: it works on a cluster of Apache"
    )


def test_features(operator: Operator) -> None:
    """KIP-584: 'the latest entire set of finalized cluster-wide features, as well as the entire set of features
    supported by the broker serving this read request'.
    """
    rows = operator.json("features", "describe", "--safe")
    assert [(row["name"], row["broker"]) for row in rows] == [
        *(("group_coordinator", 1), ("group_coordinator", 2)),
        *(("transaction_coordinator", 1), ("transaction_coordinator", 2)),
    ]
    addresses = {row["broker"]: (row["host"], row["port"]) for row in operator.json("brokers", "list")}
    assert all((row.pop("host"), row.pop("port")) == addresses[row["broker"]] for row in rows)
    group, _, transaction, _ = rows
    assert (group.pop("lowest_safe"), group.pop("reason")) == (0, None)
    assert (transaction.pop("lowest_safe"), transaction.pop("reason")) == (2, "nodes declare it in supported.features")
    levels = {"supported_min": 1, "epoch": 0, "broker": 1}
    assert [group, transaction] == [
        {"name": "group_coordinator", "supported_max": 3, "finalized": 3, **levels},
        {"name": "transaction_coordinator", "supported_max": 4, "finalized": 4, **levels},
    ]
    [lacked] = operator.json("features", "upgrade", "transaction_coordinator=5", code=1)
    assert "level 5 is not supported by the brokers 1, 2 (1 to 4)" in lacked["error"]["message"]
    [refused] = operator.json("features", "upgrade", "group_coordinator=2", code=1)
    assert "requires that downgrades are allowed" in refused["error"]["message"]
    lowered = operator.json("features", "downgrade", "group_coordinator=2", "transaction_coordinator=3", "--yes")
    assert [row["status"] for row in lowered] == ["downgraded", "downgraded"]
    described = {row["name"]: (row["finalized"], row["epoch"]) for row in operator.json("features", "describe")}
    assert described == {"group_coordinator": (2, 1), "transaction_coordinator": (3, 1)}
    both = ("group_coordinator=3", "--downgrade", "transaction_coordinator=2", "--yes")
    assert [row["status"] for row in operator.json("features", "upgrade", *both)] == ["upgraded", "downgraded"]
    unsafe = operator.json("features", "downgrade", "transaction_coordinator=1", "--yes", code=1)
    assert "its lowest safe level" in unsafe[0]["error"]["message"]


def test_configs_of_topics_are_set_one_by_one(operator: Operator) -> None:
    operator.json("topics", "create", "configured", "-p", "1", "-r", "1", "--config", "retention.ms=7")
    [changed] = operator.json("configs", "set", "topic/configured", "segment.ms=60000")
    assert (changed["name"], changed["status"]) == ("topic configured", "set")

    def stored(expected: dict[str, str]) -> bool:
        """Return whether a node has these configs. The other node may know a change a moment later."""
        rows = operator.json("configs", "get", "topic/configured")
        return {row["name"]: row["value"] for row in rows} == expected

    eventually_sync(lambda: stored({"retention.ms": "7", "segment.ms": "60000"}), "both configs are set")
    operator.json("configs", "delete", "topic/configured", "segment.ms", "--yes")
    eventually_sync(lambda: stored({"retention.ms": "7"}), "one config is deleted")
    misspelled = operator.run("configs", "get", "topic/configurd")
    assert (misspelled.code, "did you mean configured" in misspelled.err) == (1, True)
    operator.json("topics", "delete", "configured", "--yes")


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["get", "group/any"], "a config of a group is not supported by this cluster"),
        (["set", "topic/any", "--append", "cleanup.policy=compact"], "appending to a config is not supported"),
    ],
    ids=["group", "append"],
)
def test_config_that_the_drafts_lack_is_one_sentence(arguments: list[str], sentence: str, operator: Operator) -> None:
    run = operator.run("configs", *arguments)
    assert (run.code, run.out) == (2, "")
    assert sentence in run.err
    assert len(run.err.splitlines()) == 1


def test_tools_are_listed_and_run_on_a_node(operator: Operator) -> None:
    here = {row["name"] for row in operator.json("tools", "list")}
    listed = {row["name"] for row in operator.json("tools", "list", "--broker", "any")}
    assert listed == here | {"acls", "config", "help", "status", "users"}
    [status] = operator.json("tools", "run", "--broker", "2", "status")
    assert (status["broker"], status["exit_status"]) == (2, 0)
    assert json.loads(status["output"])["id"] == 2
    assert "help\tList the tools" in operator.run("tools", "run", "help").out
    [dry] = operator.json("tools", "run", "--dry-run", "status")
    assert (dry["exit_status"], dry["output"]) == (None, "status would be run on a node, if it has the tool\n")


def test_tool_that_fails_exits_with_1(operator: Operator) -> None:
    failed = operator.run("tools", "run", "status", "unexpected")
    assert failed.code == 1
    assert failed.out == "status: got unexpected extra argument (unexpected)\n"
    assert failed.err == "tool status ended with exit status 2.\n"
    unknown = operator.run("tools", "run", "stats")
    assert unknown.code == 1
    assert "unknown tool 'stats': the tools are " in unknown.err


def test_tool_prints_the_same_here_and_on_a_node(operator: Operator, cluster: LocalCluster) -> None:
    here = operator.run("tools", "run", "export-zk-offsets", "--zookeeper", cluster.zookeeper.hosts)
    there = operator.run("tools", "run", "--broker", "1", "export-zk-offsets")
    assert here == there
    assert here.code == 0


def test_settings_of_brokers_are_set_exported_and_applied(operator: Operator, tmp_path: Path) -> None:
    """KAFKA-1694: 'setting this goes through the CLI and the handleAdminRequest()'"""
    [changed] = operator.json("configs", "set", "broker/default", "max.connections=500")
    assert (changed["name"], changed["status"]) == ("broker default", "set")
    operator.json("configs", "set", "broker/2", "max.connections=400", "num.partitions=2")
    operator.json("configs", "delete", "broker/2", "num.partitions", "--yes")
    shadow = {"node": 2, "name": "max.connections", "value": "400", "source": "broker", "error": None}
    for words in (("--dry-run",), ()):
        [changed] = operator.json("configs", "set", "broker/default", "max.connections=500", *words)
        assert changed["shadowed_by"] == [shadow], words
    table = operator.run("configs", "set", "broker/default", "max.connections=500").out
    assert "node 2: max.connections=400 (broker)" in table
    found = {row["name"]: row for row in operator.json("configs", "get", "broker/2", "max.connections")}
    assert (found["max.connections"]["value"], found["max.connections"]["source"]) == ("400", "broker")
    [exported] = operator.json("configs", "export", "--json", "--only", "brokers")
    document = json.loads(exported["document"])
    assert document["brokers"] == {"default": {"max.connections": "500"}, "2": {"max.connections": "400"}}
    file = tmp_path / "configs.json"
    file.write_text(json.dumps({"kwire": 1, "brokers": {"default": {"max.connections": 600}}}))
    difference = {"resource": "broker/default", "name": "max.connections", "old": "500", "new": "600", "reason": None}
    kept = {"resource": "broker/2", "name": "max.connections", "old": "400", "new": None, "status": "kept"}
    kept |= {"reason": "not in the document: --prune deletes it"}
    dry = operator.json("configs", "apply", str(file), "--dry-run")
    assert dry == [{**difference, "status": "would be changed"}, kept]
    applied = operator.json("configs", "apply", str(file), "--yes")
    assert applied == [{**difference, "status": "changed"}, kept]
    assert operator.json("configs", "apply", str(file), "--yes") == [kept]
    audit = operator.json("configs", "audit", "--newest", "2")
    assert [(row["resource"], row["old"], row["new"]) for row in audit] == [
        ("broker/2", "2", None),
        ("broker/default", "500", "600"),
    ]


def test_audit_lists_the_changes_of_a_topic(operator: Operator) -> None:
    operator.json("topics", "create", "audited", "--partitions", "1", "--replication-factor", "2")
    operator.json("topics", "create", "audited-too", "--partitions", "1", "--replication-factor", "1")
    operator.json("topics", "alter", "audited", "--partitions", "2")
    operator.json("configs", "set", "topic/audited", "retention.ms=1000")
    operator.json("topics", "create", "audited", "--partitions", "1", "--replication-factor", "1", code=1)
    operator.json("topics", "delete", "audited", "--yes")
    rows = operator.json("configs", "audit", "--topic", "audited")
    assert {row["resource"] for row in rows} == {"topic/audited"}
    assert all("127.0.0.1:" in row["author"] for row in rows)
    assert [(row["old"], row["new"]) for row in rows if row["name"] == "partitions"] == [
        (None, "1"),
        ("1", "2"),
        ("2", None),
    ]
    assert [(row["old"], row["new"]) for row in rows if row["name"] == "retention.ms"] == [
        (None, "1000"),
        ("1000", None),
    ]
    assert operator.json("configs", "audit", "--topic", "audited", "--newest", "2") == rows[-2:]
    assert operator.json("configs", "audit", "--topic", "never-existed") == []


def test_invalid_setting_of_a_broker_is_one_sentence(operator: Operator) -> None:
    [refused] = operator.json("configs", "set", "broker/default", "max.connection=5", code=1)
    assert "max.connection: unknown setting: did you mean max.connections" in refused["error"]["message"]
    [checked] = operator.json("configs", "set", "broker/default", "max.connections=5", "--dry-run")
    assert checked["status"] == "would be set"


async def test_dry_run_says_what_the_real_run_does(cluster: LocalCluster, tmp_path: Path) -> None:
    (tmp_path / "password").write_text("correct horse", encoding="utf-8")
    for name, document in {"acls": ACLS, **DOCUMENTS}.items():
        (tmp_path / f"{name}.json").write_text(json.dumps(document), encoding="utf-8")
    for name, replica in (("same", 1), ("unknown", 99)):
        partitions = [{"topic": "dry", "partition": 0, "replicas": [replica]}]
        (tmp_path / f"{name}.json").write_text(json.dumps({"version": 1, "partitions": partitions}), encoding="utf-8")
    values: dict[str, object] = {
        "folder": tmp_path,
        "setting": "config.change.retention.ms",
        "directory": "",
        "live": 0,
    }
    values |= {"feature": "group_coordinator", "level": 2, "next_level": 3, "token": ""}
    async with await AdminClient.open(cluster.bootstrap) as admin:
        for case in cases_of(ACCEPTED, "kip4"):
            assert not (await check_case(admin, case, values)).is_refused, case
        for case in cases_of(REFUSED, "kip4"):
            assert (await check_case(admin, case, values)).is_refused, case
        for case in cases_of(generated_cases(1, rounds=4), "kip4"):
            await check_case(admin, case, values)
        for case in LAST:
            assert not (await check_case(admin, case, values)).is_refused, case


async def test_what_does_not_exist_is_neither_set_nor_unset(
    cluster: LocalCluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))  # has the runs of reassignments
    async with await AdminClient.open(cluster.bootstrap) as admin:
        (await admin.create_topics({"paired": NewTopic(partitions=1, replication_factor=1)})).raise_first()
        await admin.wait_until_created(["paired"])
        await check_pairs(admin, "paired")
        (await admin.delete_topics(["paired"])).raise_first()
