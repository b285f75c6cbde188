"""Tools for topics, partitions, features, and consumers on a cluster of nodes, with the options of Kafka's tools."""

from __future__ import annotations

import json
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest

from kwire_cluster.local.local_cluster import LocalCluster
from kwire_cluster.zookeeper import ConsumerOffset, ConsumerOwner, ConsumerRegistration, Store, connect, make_path
from kwire_zookeeper_tools.with_zookeeper.topics import DEPRECATED, REPARTITIONED
from tests.eventually import eventually
from tests.zookeeper_tools.tools.running import output, run

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator
    from pathlib import Path


@pytest.fixture(scope="module")
def cluster(java: None) -> Iterator[LocalCluster]:
    with LocalCluster(nodes=2, settings={"supported.features": "group_coordinator:1-3"}) as cluster:
        yield cluster


@pytest.fixture
def zookeeper(cluster: LocalCluster) -> tuple[str, str]:
    return "--zookeeper", cluster.zookeeper.hosts


@pytest.fixture
async def store(cluster: LocalCluster) -> AsyncIterator[Store]:
    store = await connect(cluster.zookeeper.hosts)
    yield store
    await store.close()


async def put(store: Store, path: str, data: bytes) -> None:
    await make_path(store, path)
    await store.set(path, data)


async def test_topics_are_created_described_changed_and_deleted(zookeeper: tuple[str, str]) -> None:
    create = ("--create", "--topic", "command", "--partitions", "2", "--replication-factor", "2")
    assert await output("topics", *zookeeper, *create, "--config", "retention.ms=5") == ['Created topic "command".']
    again = await run("topics", *zookeeper, *create)
    assert again.exit_status == 1
    assert again.error == 'topics: Error while executing topic command : Topic "command" already exists.'
    assert await output("topics", *zookeeper, *create, "--if-not-exists") == []
    assert "command" in await output("topics", *zookeeper, "--list")
    assert await output("topics", *zookeeper, "--list", "--topic", "nosuch") == []

    described = await output("topics", *zookeeper, "--describe", "--topic", "comm.*")
    assert described[0] == "Topic:command\tPartitionCount:2\tReplicationFactor:2\tConfigs:retention.ms=5"
    assert described[1].startswith("\tTopic: command\tPartition: 0\tLeader: ")
    assert await output("topics", *zookeeper, "--describe", "--topic", "command", "--unavailable-partitions") == []
    assert await output("topics", *zookeeper, "--describe", "--topics-with-overrides") == described[:1]

    alter = ("--alter", "--topic", "command")
    assert await output(
        "topics", *zookeeper, *alter, "--config", "segment.ms=7", "--delete-config", "retention.ms", "--partitions", "3"
    ) == [
        *DEPRECATED.splitlines(),
        'Updated config for topic "command".',
        REPARTITIONED,
        "Adding partitions succeeded!",
    ]
    changed = await output("list-topic", *zookeeper, "--topic", "command")
    assert changed[0] == "Topic:command\tPartitionCount:3\tReplicationFactor:2\tConfigs:segment.ms=7"
    assert await output("list-topic", *zookeeper, "--under-replicated-partitions") == []

    assert await output("topics", *zookeeper, "--delete", "--topic", "command") == [
        "Topic command is marked for deletion.",
        "Note: This will have no impact if delete.topic.enable is not set to true.",
    ]
    gone = await run("topics", *zookeeper, "--delete", "--topic", "command")
    assert gone.error == "topics: Error while executing topic command : Topic command does not exist"
    assert await output("topics", *zookeeper, "--delete", "--topic", "command", "--if-exists") == []


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ([], "Command must include exactly one action: --list, --describe, --create, --alter or --delete"),
        (["--list", "--create"], "Command must include exactly one action"),
        (["--create"], 'Missing required argument "[topic]"'),
        (["--list", "--topic", "("], "'(' is not a regular expression"),
        (["--create", "--topic", "x", "--replica-assignment", "one"], "'one' is not a replica assignment"),
        (
            ["--create", "--topic", "x", "--partitions", "2", "--replication-factor", "9"],
            "replication factor: 9 larger than available brokers: 2",
        ),
        (
            ["--create", "--topic", "x", "--partitions", "0", "--replication-factor", "1"],
            "number of partitions must be larger than 0",
        ),
        (
            ["--create", "--topic", "x", "--partitions", "2", "--replication-factor", "0"],
            "replication factor must be larger than 0",
        ),
    ],
)
async def test_wrong_use_of_topics_is_one_sentence(words: list[str], sentence: str, zookeeper: tuple[str, str]) -> None:
    result = await run("topics", *zookeeper, *words)
    assert result.exit_status in {1, 2}
    assert result.error is not None
    assert sentence in result.error
    assert "\n" not in result.error


async def test_tools_of_kafka_0_8_0(zookeeper: tuple[str, str]) -> None:
    create = ("create-topic", *zookeeper, "--topic", "old")
    assert await output(*create, "--replica-assignment-list", "1:2,2:1") == ['Created topic "old".']
    add = ("add-partitions", *zookeeper, "--topic", "old")
    succeeded = [REPARTITIONED, "Adding partitions succeeded!"]
    assert await output(*add, "--partition", "1") == succeeded
    added = (*add, "--partition", "2", "--replica-assignment-list")
    assert (await run(*added, "1:2")).error == "add-partitions: the assignment has 1 partition, expected 2"
    assert await output(*added, "1:2,2:1") == succeeded
    assert (await run(*add, "--partition", "0")).error == "add-partitions: --partition: expected at least 1, found 0"
    lines = await output("list-topic", *zookeeper, "--topic", "old")
    assert [line.split("\t")[4] for line in lines[1:3] + lines[4:]] == [
        "Replicas: 1,2", "Replicas: 2,1", "Replicas: 1,2", "Replicas: 2,1",
    ]  # fmt: skip
    assert (await run("delete-topic", *zookeeper, "--topic", "o.d")).exit_status == 1  # not an expression
    deleted = await output("delete-topic", *zookeeper, "--topic", "old")
    assert deleted[0] == "Topic old is marked for deletion."


async def test_reassignment_is_generated_executed_and_verified(zookeeper: tuple[str, str], tmp_path: Path) -> None:
    await output("create-topic", *zookeeper, "--topic", "moved", "--replica-assignment-list", "1,1")
    topics = tmp_path / "topics.json"
    topics.write_text('{"topics": [{"topic": "moved"}], "version": 1}')
    generate = ("reassign-partitions", *zookeeper, "--generate", "--topics-to-move-json-file", topics)
    generated = await output(*generate, "--broker-list", "2")
    assert [json.loads(generated[at])["partitions"][0]["replicas"] for at in (2, 5)] == [[1], [2]]
    # As in Kafka, a broker that is not live is left out.
    unknown = await output(*generate, "--broker-list", "2,9")
    assert json.loads(unknown[5])["partitions"][0]["replicas"] == [2]

    plan = tmp_path / "plan.json"
    plan.write_text(generated[5])
    file = ("--reassignment-json-file", plan)
    executed = await output("reassign-partitions", *zookeeper, "--execute", *file)
    assert executed[-1] == (
        'Successfully started reassignment of partitions {"version":1,"partitions":['
        '{"topic":"moved","partition":0,"replicas":[2]},{"topic":"moved","partition":1,"replicas":[2]}]}'
    )
    assert json.loads(executed[2]) == json.loads(generated[2])

    async def completed() -> list[str] | None:
        printed = (await run("reassign-partitions", *zookeeper, "--verify", *file)).output.splitlines()
        done = printed == [
            "Status of partition reassignment:",
            "Reassignment of partition [moved,0] completed successfully",
            "Reassignment of partition [moved,1] completed successfully",
        ]
        return printed if done else None

    lines: Any = await eventually(completed, "the reassignment is complete")
    assert len(lines) == 3
    for text, sentence in (
        ("rubbish", "is not JSON"),
        ('{"partitions": []}', "failed due to Partition reassignment list cannot be empty"),
        ('{"partitions": [{"topic": "moved", "partition": 0, "replicas": [1, 1]}]}', "duplicate entries: moved-0"),
    ):
        plan.write_text(text)
        wrong = await run("reassign-partitions", *zookeeper, "--execute", *file)
        assert (wrong.exit_status, sentence in str(wrong.error)) == (1, True), wrong.error


async def test_preferred_leaders_are_elected(zookeeper: tuple[str, str], tmp_path: Path) -> None:
    await output("create-topic", *zookeeper, "--topic", "elected", "--replica-assignment-list", "1:2")
    chosen = tmp_path / "partitions.json"
    chosen.write_text('{"partitions": [{"topic": "elected", "partition": 0}]}')
    elected = await output("preferred-replica-leader-election", *zookeeper, "--path-to-json-file", chosen)
    assert elected == ["Successfully started preferred replica election for partitions Set([elected,0])"]
    [everything] = await output("preferred-replica-leader-election", *zookeeper)
    assert "[elected,0]" in everything


async def test_broker_is_relieved_of_its_leaders(zookeeper: tuple[str, str]) -> None:
    await output("create-topic", *zookeeper, "--topic", "relieved", "--replica-assignment-list", "2:1")
    result = await run(
        "shutdown-broker", *zookeeper, "--broker", "2", "--num.retries", "2", "--retry.interval.ms", "10"
    )

    async def leader() -> str | None:
        described = await output("list-topic", *zookeeper, "--topic", "relieved")
        found = described[1].split("\t")[3]
        return found if found == "Leader: 1" else None

    moved: Any = await eventually(leader, "the leader has moved")
    assert moved == "Leader: 1"
    assert "shutdown status: " in result.output
    unknown = await run("shutdown-broker", *zookeeper, "--broker", "7")
    assert unknown.error == "shutdown-broker: broker 7 is not registered in ZooKeeper"


async def test_features_are_described_and_changed(cluster: LocalCluster) -> None:
    brokers = ("--bootstrap-server", cluster.bootstrap)
    [line] = await output("features", *brokers, "describe")
    assert line.startswith(
        "Feature: group_coordinator\tSupportedMinVersion: 1\tSupportedMaxVersion: 3\tFinalizedMinVersionLevel: 1\t"
        "FinalizedMaxVersionLevel: 3\tEpoch: "
    )
    assert await output("features", *brokers) == [line]
    lowered = await output("features", *brokers, "downgrade", "--feature", "group_coordinator=2")
    assert lowered == ["group_coordinator was downgraded to 2."]
    assert await output("features", *brokers, "upgrade-all", "--dry-run") == ["group_coordinator can be upgraded to 3."]
    assert await output("features", *brokers, "upgrade-all") == ["group_coordinator was upgraded to 3."]
    assert await output("features", *brokers, "downgrade-all") == []
    for options in ((), ("--dry-run",)):
        failed = await run("features", *brokers, "upgrade", "--feature", "group_coordinator=9", *options)
        could = "Can not" if options else "Could not"
        assert failed.output.startswith(f"{could} upgrade group_coordinator to 9. "), failed.output
        assert (failed.exit_status, failed.error) == (1, "features: 1 out of 1 operation(s) failed.")
    assert (await run("features", *brokers, "upgrade")).error == (
        "features: You must specify at least one feature to upgrade"
    )


async def test_configs_are_described_and_changed(cluster: LocalCluster) -> None:
    brokers = ("--bootstrap-server", cluster.bootstrap)
    await output("create-topic", *brokers, "--topic", "configured")
    entity = ("--entity-type", "topics", "--entity-name", "configured")
    changed = ("--add-config", "retention.ms=5,cleanup.policy=[compact,delete]")
    assert await output("configs", *brokers, "--alter", *entity, *changed) == [
        "Completed updating config for topic configured."
    ]

    async def described(lines: int) -> list[str] | None:  # nodes learn about the change one after the other
        found = await output("configs", *brokers, "--describe", *entity)
        return found if len(found) == lines else None

    after: Any = await eventually(partial(described, 3), "the configs are set")
    assert [line.partition(" synonyms=")[0] for line in after] == [
        "Dynamic configs for topic configured are:",
        "  cleanup.policy=compact,delete sensitive=false",
        "  retention.ms=5 sensitive=false",
    ]
    await output("configs", *brokers, "--alter", *entity, "--delete-config", "retention.ms,cleanup.policy")
    cleared: Any = await eventually(partial(described, 1), "the configs are deleted")
    assert cleared == after[:1]
    assert (await run("configs", *brokers, "--describe")).exit_status == 2
    assert (await run("configs", *brokers, "--alter", *entity)).exit_status == 2
    misspelt = await run("configs", *brokers, "--alter", *entity, "--delete-config", "retention.m")
    assert (misspelt.exit_status, misspelt.error) == (1, "configs: Invalid config(s): retention.m")


async def test_consumer_offsets_are_checked(zookeeper: tuple[str, str], store: Store) -> None:
    await put(store, ConsumerOffset.path("checked", "orders", 0), b"42")
    await put(store, ConsumerOwner.path("checked", "orders", 0), b"checked_host-1-0")
    lines = await output("consumer-offset-checker", *zookeeper, "--group", "checked", "--broker-info")
    assert lines[0].split() == ["Group", "Topic", "Pid", "Offset", "logSize", "Lag", "Owner"]
    assert lines[1].split() == ["checked", "orders", "0", "42", "-", "unknown", "checked_host-1-0"]
    assert lines[2] == "BROKER INFO"
    assert len(lines) == 5
    unknown = await run("consumer-offset-checker", *zookeeper, "--group", "nosuch")
    assert unknown.error == "consumer-offset-checker: ZooKeeper has no offsets of the group nosuch"


async def test_rebalance_is_verified(zookeeper: tuple[str, str], store: Store) -> None:
    await output("create-topic", *zookeeper, "--topic", "balanced", "--partition", "2")
    verify = ("verify-consumer-rebalance", *zookeeper, "--group", "balance")
    assert (await run(*verify)).error == "verify-consumer-rebalance: group balance has no live consumers in ZooKeeper"
    subscriptions = (
        ConsumerRegistration("white_list", {"balan.*": 1}),
        ConsumerRegistration("static", {"balanced": 1}),
    )
    for number, subscribed in enumerate(subscriptions):
        await put(store, ConsumerRegistration.path("balance", f"balance_host-{number}"), subscribed.encode())
    await put(store, ConsumerOwner.path("balance", "balanced", 0), b"balance_host-0-0")
    incomplete = await run(*verify)
    assert incomplete.exit_status == 1
    assert incomplete.output.splitlines() == ["[balanced,1] has no owner", "Rebalance operation failed !"]
    await put(store, ConsumerOwner.path("balance", "balanced", 1), b"balance_host-9-0")
    assert "[balanced,1] is owned by balance_host-9-0, which is not a live consumer" in (await run(*verify)).output
    await store.set(ConsumerOwner.path("balance", "balanced", 1), b"balance_host-1-0")
    assert await output(*verify) == ["Rebalance operation successful !"]
