"""Replicas that move between the log directories of a broker."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import confluent_kafka
import pytest

from kwire.client.admin import AdminClient, BrokerNotFound, LogDir, NewTopic, NotSupported, TopicPartition
from tests.cli.administration import Operator
from tests.eventually import eventually, eventually_sync
from tests.real_kafka import Kafka39, Kafka44, KafkaCluster

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

ORDERS = TopicPartition("orders", 0)


@pytest.fixture(params=[Kafka39, Kafka44], ids=["3.9.1", "4.4.0"])
def two_directories(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[KafkaCluster]:
    """Return a cluster with one broker that has a rack and two log directories."""
    with request.param(config={"log.dirs": f"{tmp_path}/a,{tmp_path}/b", "broker.rack": "rack-7"}) as cluster:
        yield cluster


async def test_rack_of_a_broker_is_described(two_directories: KafkaCluster) -> None:
    async with await AdminClient.open(two_directories.bootstrap) as admin:
        [broker] = (await admin.describe_cluster()).brokers
        assert broker.rack == "rack-7"
        with pytest.raises(NotSupported, match="kafka zookeeper show --zookeeper HOST:PORT"):
            await admin.list_topics_marked_for_deletion()


async def test_replica_moves_to_another_directory(two_directories: KafkaCluster, tmp_path: Path) -> None:
    async with await AdminClient.open(two_directories.bootstrap) as admin:
        (await admin.create_topics({"orders": NewTopic(partitions=1, replication_factor=1)})).raise_first()
        await admin.wait_until_created(["orders"])

        async def directories() -> tuple[LogDir, LogDir]:
            """Return the directory with the replica, and the other one."""
            first, second = await admin.describe_log_dirs()
            has_it = any((replica.topic, replica.is_future) == ("orders", False) for replica in first.replicas)
            return (first, second) if has_it else (second, first)

        before, target = await directories()
        assert (before.error, target.error) == (None, None)
        outcomes = await admin.alter_replica_log_dirs(1, {ORDERS: target.path})
        assert dict(outcomes) == {"orders-0": None}

        async def moved() -> Any:
            return (await directories())[0].path == target.path

        await eventually(moved, "the replica is in the other directory")
        assert move_with_script(two_directories.bootstrap, before.path, tmp_path) == [
            f"Successfully started moving log directory to {before.path} for replica orders-0 with broker 1 ",
            "Reassignment of replica orders-0-1 completed successfully.",
        ]
        assert move_with_script(two_directories.bootstrap, target.path, tmp_path)[1].endswith("completed successfully.")

        moved_back = Operator(two_directories.bootstrap)
        move = ("log-dirs", "move", "orders", "--broker", "1", "--to", before.path)
        row = {"topic": "orders", "partition": 0, "broker": 1, "before": target.path, "after": before.path}
        assert moved_back.json(*move, "--dry-run") == [row | {"status": "would be moved"}]
        assert moved_back.json(*move) == [row | {"status": "moved"}]
        assert (await directories())[0].path == before.path
        wrong = moved_back.run("log-dirs", "move", "orders:0", "--broker", "1", "--to", "/nosuch")
        assert wrong.code == 2
        assert "broker 1 has no log directory /nosuch: it has " in wrong.err
        [missing] = moved_back.json("log-dirs", "move", "orders:7", "--broker", "1", "--to", target.path, code=1)
        assert missing["error"]["name"] == "UNKNOWN_TOPIC_OR_PARTITION"

        producer = confluent_kafka.Producer({"bootstrap.servers": two_directories.bootstrap})
        for _ in range(5):  # more than the first fetch of a broker, which no quota delays
            producer.produce("orders", bytes(900_000))
        producer.flush(30)
        moved_back.json("configs", "set", "broker/1", "replica.alter.log.dirs.io.max.bytes.per.second=1")
        away = ("log-dirs", "move", "orders", "--broker", "1", "--to", target.path, "--wait", "0")
        moving = row | {"before": before.path, "after": target.path, "status": "moving"}
        assert moved_back.json(*away) == [moving]
        counts = {row["path"]: row["moving"] for row in moved_back.json("log-dirs", "list")}
        assert counts == {before.path: 0, target.path: 1}
        stays = moving | {"after": before.path}
        assert moved_back.json(*move, "--dry-run") == [stays | {"status": "would be cancelled"}]
        assert moved_back.json(*move) == [stays | {"status": "cancelled"}]
        assert moved_back.json(*move) == [stays | {"status": "unchanged"}]

        unknown = await admin.alter_replica_log_dirs(1, {ORDERS: "/nosuch", TopicPartition("orders", 7): before.path})
        assert unknown.errors["orders-0"].name == "LOG_DIR_NOT_FOUND"
        assert unknown.errors["orders-7"].name == "UNKNOWN_TOPIC_OR_PARTITION"
        with pytest.raises(BrokerNotFound):
            await admin.alter_replica_log_dirs(7, {ORDERS: target.path})


def move_with_script(bootstrap: str, path: str, folder: Path) -> list[str]:
    """Move the replica with `kafka-reassign-partitions`, and return what it prints about the log directory."""
    plan = folder / "plan.json"
    entry = {"topic": "orders", "partition": 0, "replicas": [1], "log_dirs": [path]}
    plan.write_text(json.dumps({"version": 1, "partitions": [entry]}))
    script = ("kafka-reassign-partitions", "--bootstrap-server", bootstrap, "--reassignment-json-file", str(plan))

    def printed(action: str) -> list[str]:
        done = subprocess.run(
            [sys.executable, "-m", "kwire_admin.compat", *script, action], capture_output=True, text=True, check=True
        )
        return [line for line in done.stdout.splitlines() if "log directory" in line or "replica orders" in line]

    started = printed("--execute")
    ended = eventually_sync(
        lambda: [line for line in printed("--verify") if "completed" in line], "the replica has moved"
    )
    return started + ended
