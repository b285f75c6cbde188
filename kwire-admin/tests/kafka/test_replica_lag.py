"""`topics describe --lag` while a throttled replica catches up."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import confluent_kafka
import pytest

from tests.cli.administration import Operator
from tests.eventually import eventually_sync
from tests.real_kafka import Kafka39, Kafka44

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.real_kafka import KafkaCluster

MESSAGES = 5000
THROTTLED = ("leader.replication.throttled.replicas=*", "follower.replication.throttled.replicas=*")
SLOW = "1000"
"""Bytes each second: a replica that is not in sync needs more than an hour for all messages."""


@pytest.fixture(scope="module", params=[Kafka39, Kafka44])
def operator(request: pytest.FixtureRequest) -> Iterator[Operator]:
    version: type[KafkaCluster] = request.param
    with version(brokers=2) as cluster:
        yield Operator(cluster.bootstrap)


def lags(operator: Operator, topic: str) -> dict[int, int | None]:
    [described] = operator.json("topics", "describe", topic, "--lag")
    [partition] = described["partitions"]
    return {int(broker): lag for broker, lag in partition["lag"].items()}


def rates(value: str) -> list[str]:
    return [f"{side}.replication.throttled.rate={value}" for side in ("leader", "follower")]


def test_replica_that_catches_up_is_behind(operator: Operator) -> None:
    operator.json("topics", "create", "slow", "--replica-assignment", "1")
    assert lags(operator, "slow") == {1: 0}
    fill(operator.bootstrap)
    operator.json("configs", "set", "topic/slow", *THROTTLED)
    for broker in ("broker/1", "broker/2"):
        operator.json("configs", "set", broker, *rates(SLOW))
    operator.json("topics", "alter", "slow", "-r", "2")

    def is_behind() -> bool:
        lag = lags(operator, "slow")
        return lag.get(1) == 0 and 0 < (lag.get(2) or 0) <= MESSAGES

    eventually_sync(is_behind, "the new replica is behind")
    table = operator.run("topics", "describe", "slow", "--lag").out
    assert "LAG" in table.splitlines()[0]
    assert "LAG" not in operator.run("topics", "describe", "slow").out
    for broker in ("broker/1", "broker/2"):
        operator.json("configs", "delete", broker, *(rate.partition("=")[0] for rate in rates("")), "--yes")
    eventually_sync(lambda: lags(operator, "slow") == {1: 0, 2: 0}, "the new replica has caught up")


def fill(bootstrap: str) -> None:
    settings: dict[str, Any] = {"bootstrap.servers": bootstrap, "linger.ms": 50}
    producer = confluent_kafka.Producer(settings)
    for _ in range(MESSAGES):
        producer.produce("slow", b"x" * 1000)
        producer.poll(0)
    assert producer.flush(60) == 0
