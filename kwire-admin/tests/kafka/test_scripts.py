"""kwire's scripts print what Kafka's own print: the same runs on new clusters, compared with recorded outputs."""

from __future__ import annotations

import json
import re
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from kwire_admin.compat import run_script
from tests.cli.administration import Operator
from tests.eventually import eventually_sync
from tests.kafka.kafka_scripts import kafkas_own
from tests.kafka.script_cases import CASES, RECORDED_CLUSTER_ID, Outcome, words, write_files
from tests.paths import DATA
from tests.real_kafka import Kafka39, Kafka44, KafkaCluster

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.real_kafka.security import ClusterSecurity

GOLDENS = DATA / "scripts"

CHANGING = {"--create", "--alter", "--delete", "--execute", "--delete-offsets", "--cancel", "upgrade"}
"""Words of cases that are run once. Others are repeated, because brokers learn about a change after it was accepted."""
ATTEMPTS, PAUSE = 50, 0.1
DATE = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d")
SAME_CHARACTERS = {
    # Kafka 3.9.1 forgets the end of lines.
    "kafka-consumer-groups --reset-offsets",
    "kafka-consumer-groups --delete-offsets",
    "kafka-reassign-partitions --reassignment-json-file {files}/plan.json --cancel",
    "kafka-reassign-partitions --reassignment-json-file {files}/dirs.json --cancel",
}
"""Beginnings of cases that only differ in spaces and ends of lines."""
OTHER_ERRORS = {
    # Kafka's script prints an empty line before the error, and the class of Java in it.
    "kafka-metadata-quorum describe --status",
    "kafka-metadata-quorum describe --replication",
    "kafka-metadata-quorum --command-config {files}/controller.properties add-controller",
    "kafka-metadata-quorum remove-controller -i 9 -d AAAAAAAAAAAAAAAAAAAACQ",
    "kafka-acls --list",
}
"""Cases in which an error of the cluster has another sentence."""
CHECKED = {
    # Kafka's script checks nothing in a dry run. The voters of these clusters cannot change.
    "kafka-metadata-quorum --command-config {files}/controller.properties add-controller --dry-run",
    (
        "kafka-metadata-quorum remove-controller --controller-id 9 "
        "--controller-directory-id AAAAAAAAAAAAAAAAAAAACQ --dry-run"
    ),
}
"""Dry runs that fail, as the real run would."""


@pytest.fixture(scope="module", params=["3.9.1", "4.4.0"])
def version(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def new_cluster(version: str) -> Iterator[KafkaCluster]:
    """Return a cluster without topics."""
    with Kafka39() if version == "3.9.1" else Kafka44(cluster_id=RECORDED_CLUSTER_ID) as cluster:
        yield cluster


def test_outputs_are_those_of_kafkas_scripts(
    version: str, new_cluster: KafkaCluster, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_files(tmp_path, new_cluster)
    # The script of 3.9.1 has no names for newer levels of metadata.version.
    lines = (GOLDENS / f"{version}.jsonl").read_text(encoding="utf-8").replace("UNKNOWN 33", "4.4-IV2").splitlines()
    recorded = [json.loads(line) for line in lines]
    assert [case for case, *_ in recorded] == CASES
    different = []
    for case, *expected in recorded:
        name, *arguments = words(case, new_cluster, tmp_path)
        left = 1 if CHANGING & set(arguments) else ATTEMPTS
        same = False
        while left and not same:
            left -= 1
            code = run_script(name, arguments)
            printed = capsys.readouterr()
            same = is_same(case, Outcome(*expected), Outcome.of(code, printed.out, printed.err))
            if not same and left:
                time.sleep(PAUSE)
            elif not same:
                different.append((case, expected, (code, *printed)))
    assert not different, "\n".join(map(str, different))


def is_same(case: str, expected: Outcome, found: Outcome) -> bool:
    if case in CHECKED:
        reasons = ("its voters cannot change", "no common version of")
        return found.code == 1 and any(reason in found.sentence for reason in reasons)
    if found.code != expected.code:
        return False
    if found.code and case in OTHER_ERRORS:
        return True
    if any(case.startswith(character) for character in SAME_CHARACTERS):
        return "".join(found.out.split()) == "".join(expected.out.split()) and found.sentence == expected.sentence
    return found.out.rstrip() == expected.out.rstrip() and found.sentence == expected.sentence


def test_zookeeper_in_place_of_brokers(kafka39: Kafka39, capsys: pytest.CaptureFixture[str]) -> None:
    """With `--zookeeper`, output equals Kafka 0.10.2's."""
    zookeeper = ["--zookeeper", kafka39.zookeeper]
    created = ["--create", "--topic", "by-zookeeper", "--partitions", "1", "--replication-factor", "1"]
    assert run_script("kafka-topics", [*zookeeper, *created]) == 0
    assert capsys.readouterr().out == 'Created topic "by-zookeeper".\n'

    def described() -> bool:
        assert run_script("kafka-topics", [*zookeeper, "--describe", "--topic", "by-zookeeper"]) == 0
        return capsys.readouterr().out == (
            "Topic:by-zookeeper\tPartitionCount:1\tReplicationFactor:1\tConfigs:\n"
            "\tTopic: by-zookeeper\tPartition: 0\tLeader: 1\tReplicas: 1\tIsr: 1\n"
        )

    eventually_sync(described, "the topic in the form of Kafka 0.8.2", pause=0.1)


def test_acls_are_printed_as_kafka_prints_them(
    secured39: Kafka39, security: ClusterSecurity, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    properties = security.write_properties(tmp_path / "admin.properties", "PLAIN")
    cluster = ["--bootstrap-server", secured39.bootstrap, "--command-config", str(properties)]
    topic = ["--topic", "acl-topic", "--resource-pattern-type", "prefixed"]
    assert run_script("kafka-acls", [*cluster, "--add", *topic, "--allow-principal", "User:alice", "--producer"]) == 0
    resource = "ResourcePattern(resourceType=TOPIC, name=acl-topic, patternType=PREFIXED)"
    assert f"Adding ACLs for resource `{resource}`: \n" in capsys.readouterr().out

    def listed() -> bool:
        assert run_script("kafka-acls", [*cluster, "--list", *topic]) == 0
        return capsys.readouterr().out.count("permissionType=ALLOW") == 3

    eventually_sync(listed, "the broker applies the ACLs", pause=0.1)
    theirs = kafkas_own("kafka.admin.AclCommand", *cluster, "--list", *topic)
    assert run_script("kafka-acls", [*cluster, "--list", *topic]) == 0
    mine = capsys.readouterr().out
    # A set of Java has no order.
    assert sorted(map(str.strip, mine.split("\n"))) == sorted(map(str.strip, theirs.split("\n")))

    assert run_script("kafka-acls", [*cluster, "--remove", *topic, "--force"]) == 0
    assert run_script("kafka-acls", [*cluster, "--remove", "--topic", "acl-topic", "--operation", "Fly"]) == 1
    assert "Fly" in capsys.readouterr().err


def test_a_token_of_one_script_is_known_to_the_other(
    secured: KafkaCluster, security: ClusterSecurity, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    properties = security.write_properties(tmp_path / "admin.properties", "PLAIN")
    cluster = ["--bootstrap-server", secured.bootstrap, "--command-config", str(properties)]
    describe = ("--describe", "--owner-principal", "User:admin")

    def ours(*options: str) -> str:
        assert run_script("kafka-delegation-tokens", [*cluster, *options]) == 0
        return capsys.readouterr().out

    def theirs(*options: str) -> str:
        return kafkas_own("org.apache.kafka.tools.DelegationTokenCommand", *cluster, *options)

    created = ours("--create", "--max-life-time-period", "-1", "--renewer-principal", "User:alice")
    token, hmac = created.splitlines()[-1].split()[:2]
    eventually_sync(lambda: token in theirs(*describe), "Kafka's script asks a broker that has the token", pause=0.1)
    eventually_sync(lambda: lines(theirs(*describe)) == lines(ours(*describe)), "both print the token", pause=0.1)

    for action in (
        ("--renew", "--hmac", hmac, "--renew-time-period", "3600000"),
        ("--expire", "--hmac", hmac, "--expiry-time-period", "60000"),
    ):
        assert DATE.sub("DATE", theirs(*action)) == DATE.sub("DATE", ours(*action).rstrip())  # theirs forget the end
    ours("--expire", "--hmac", hmac, "--expiry-time-period", "-1")
    eventually_sync(lambda: token not in theirs(*describe), "the token is expired", pause=0.1)


def lines(text: str) -> list[list[str]]:
    """Return the words of the lines in alphabetical order."""
    return sorted(line.split() for line in text.splitlines())


def test_zookeeper_never_means_groups_of_brokers(kafka39: Kafka39, capsys: pytest.CaptureFixture[str]) -> None:
    """Kafka 0.9 and 0.10: `--zookeeper` means groups in ZooKeeper, and `--bootstrap-server` those of brokers."""
    operator = Operator(kafka39.bootstrap)
    operator.json("topics", "create", "shared", "-p", "1", "-r", "1")
    operator.json("groups", "reset-offsets", "same", "--to", "0", "--topic", "shared", "--yes")
    zookeeper = ["--zookeeper", kafka39.zookeeper]

    assert run_script("kafka-consumer-groups", [*zookeeper, "--list"]) == 0
    assert "same" not in capsys.readouterr().out.split()
    assert run_script("kafka-consumer-groups", [*zookeeper, "--describe", "--group", "same"]) == 1
    assert capsys.readouterr().out == "Error: The consumer group 'same' does not exist.\n"
    assert run_script("kafka-consumer-groups", [*zookeeper, "--delete", "--group", "same"]) == 1
    assert capsys.readouterr().out == "Error: Delete for group 'same' failed because group does not exist.\n"
    [lag] = operator.json("groups", "lag", "same", "--partitions")
    assert lag["committed"] == 0
