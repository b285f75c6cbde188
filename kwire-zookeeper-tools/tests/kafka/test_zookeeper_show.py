"""`kafka zookeeper show`: the work of the controller of a real 3.9.1, and the brokers in its way."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from kwire_cluster.zookeeper import connect
from tests.cli.administration import Operator
from tests.cli.running import kwire
from tests.eventually import eventually_sync
from tests.real_kafka import Kafka39

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.real_kafka import Kafka44


@pytest.fixture(scope="module")
def cluster() -> Iterator[Kafka39]:
    with Kafka39(brokers=2) as cluster:
        yield cluster


def shown(operator: Operator, *options: str) -> dict[str, dict[str, Any]]:
    return {row["meaning"]: row for row in operator.json("zookeeper", "show", *options)}


async def test_what_waits_for_a_broker_is_named(cluster: Kafka39) -> None:
    operator = Operator(cluster.bootstrap)
    operator.json("topics", "create", "kept", "--replica-assignment", "1")
    operator.json("topics", "create", "lost", "--replica-assignment", "1:2")
    quiet = operator.json("zookeeper", "show")
    assert [row["path"] for row in quiet] == ["/controller", "/controller_epoch", "/brokers/ids"]
    assert quiet[0]["meaning"].startswith(("broker 1 is the controller since 2", "broker 2 is the controller since 2"))
    assert quiet[2] == {"path": "/brokers/ids", "meaning": "live brokers: 1, 2", "blocked_by": None}

    cluster.brokers[1].stop()
    eventually_sync(lambda: len(operator.json("brokers", "list")) == 1, "broker 2 has left")
    operator.run("topics", "delete", "lost", "--yes", "--wait", "0")
    # The API refuses targets that are down; the znode of old tools does not.
    store = await connect(cluster.zookeeper)
    moves = {"version": 1, "partitions": [{"topic": "kept", "partition": 0, "replicas": [1, 2]}]}
    await store.create("/admin/reassign_partitions", json.dumps(moves).encode())
    try:
        eventually_sync(lambda: "topic lost is marked for deletion" in shown(operator), "the deletion is shown")
        rows = shown(operator, "--zookeeper", cluster.zookeeper)
        assert rows["topic lost is marked for deletion"]["blocked_by"] == "broker 2 is down"
        move = rows["kept-0 is to move to 1, 2"]
        assert (move["path"], move["blocked_by"]) == ("/admin/reassign_partitions", "broker 2 is down")
    finally:
        await store.close()


def decoded(path: str, cluster: Kafka39) -> dict[str, str | None]:
    """Return the fields of a znode, from a command that names no broker."""
    done = kwire("-o", "json", "zookeeper", "decode", path, "--zookeeper", cluster.zookeeper)
    assert done.code == 0, done.err
    return {row["field"]: row["value"] for row in json.loads(done.out)}


def test_znodes_are_decoded_without_a_broker(cluster: Kafka39) -> None:
    Operator(cluster.bootstrap).json("topics", "create", "decoded", "--replica-assignment", "1")
    topic = decoded("/brokers/topics/decoded", cluster)
    assert topic["partitions"] == '{"0": [1]}'
    assert topic["written by"] is not None
    assert topic["children"] == "partitions"
    assert decoded("/controller", cluster)["session"] is not None
    assert decoded("/", cluster)["children"] is not None
    missing = kwire("zookeeper", "decode", "/brokers/ids/77", "--zookeeper", cluster.zookeeper)
    assert (missing.code, "there is no znode /brokers/ids/77: /brokers/ids has" in missing.err) == (2, True), (
        missing.err
    )


def test_kraft_cluster_has_none(kafka44: Kafka44) -> None:
    run = Operator(kafka44.bootstrap).run("zookeeper", "show")
    assert (run.code, "a KRaft cluster has none (see `quorum describe`)" in run.err) == (2, True), run.err
