"""Configs, log directories, quorum, features, and transactions of real Kafka, through the command."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

import confluent_kafka
import pytest

from kwire.client.admin import AdminClient, TopicPartition
from tests.cli.administration import Operator
from tests.eventually import eventually_sync

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.real_kafka import Kafka39, Kafka44, KafkaCluster

pytestmark = pytest.mark.change


@contextmanager
def topic(operator: Operator) -> Iterator[Operator]:
    """A topic with one partition."""
    operator.create_topic("operated", 1)
    try:
        yield operator
    finally:
        operator.json("topics", "delete", "operated", "--yes")


@pytest.fixture
def operator(administrator: Operator) -> Iterator[Operator]:
    with topic(administrator) as operator:
        yield operator


@pytest.fixture
def plaintext_operator(cluster: KafkaCluster) -> Iterator[Operator]:
    with topic(Operator(cluster.bootstrap)) as operator:
        yield operator


def test_configs_are_set_one_by_one(operator: Operator) -> None:
    operator.json("configs", "set", "topic/operated", "segment.ms=60000", "--append", "cleanup.policy=compact")
    found = {row["name"]: (row["value"], row["source"]) for row in operator.json("configs", "get", "topic/operated")}
    assert found["retention.ms"] == ("-1", "topic"), "other configs stay as they are"
    assert found["segment.ms"] == ("60000", "topic")
    assert found["cleanup.policy"] == ("delete,compact", "topic")
    operator.json("configs", "delete", "topic/operated", "segment.ms", "cleanup.policy", "--yes")
    [only] = operator.json("configs", "get", "topic/operated", "segment.ms")
    assert only["source"] == "default"

    dry = operator.json("configs", "set", "topic/operated", "segment.ms=1000", "--dry-run")
    assert dry == [{"name": "topic operated", "status": "would be set", "attempts": 1, "shadowed_by": []}]
    [refused] = operator.json("configs", "set", "topic/operated", "segment.ms=x", code=1)
    assert refused["error"]["name"] == "INVALID_CONFIG"


def test_configs_of_a_broker_come_from_the_broker(operator: Operator) -> None:
    static = {row["name"]: row["source"] for row in operator.json("configs", "get", "broker/1", "--all")}
    assert static["log.dirs" if "log.dirs" in static else "log.dir"] == "static"
    operator.json("configs", "set", "broker/default", "log.retention.ms=77777")

    def inherited() -> bool:
        [found] = operator.json("configs", "get", "broker/1", "log.retention.ms")
        return (found["value"], found["source"]) == ("77777", "cluster-default")

    eventually_sync(inherited, "the broker uses the default of the cluster")
    operator.json("configs", "delete", "broker/default", "log.retention.ms", "--yes")
    unknown = operator.run("configs", "get", "broker/9")
    assert (unknown.code, "no live broker has the id 9" in unknown.err) == (1, True)


@pytest.mark.parametrize("text", ["operated", "topics/operated", "topic/", "broker/x"])
def test_invalid_resource_is_explained(text: str, operator: Operator) -> None:
    run = operator.run("configs", "get", text)
    assert run.code == 2
    assert "write TYPE/NAME, such as topic/orders" in run.err or "write broker/ID with a number" in run.err


def test_log_directories_brokers_and_health(operator: Operator) -> None:
    [directory] = operator.json("log-dirs", "list")
    assert directory["broker"] == 1
    assert directory["replicas"] >= 1
    assert 0 < directory["usable"] <= directory["total"]
    by_topic = {row["name"]: row for row in operator.json("logdirs", "list", "--by", "topic")}
    assert by_topic["operated"]["replicas"] == 1
    [broker] = operator.json("brokers", "list")
    assert (broker["broker"], broker["controller"]) == (1, True)
    assert broker["leaders"] >= 1
    healthy = operator.run("-o", "json", "cluster", "health")
    assert (healthy.code, healthy.out) == (0, "[]\n")


def test_quorum_and_features_of_kraft(kafka44: Kafka44) -> None:
    operator = Operator(kafka44.bootstrap)
    [leader, *_] = operator.json("quorum", "describe")
    assert (leader["node"], leader["role"], leader["lag"]) == (1, "leader", 0)
    features = {row["name"]: row for row in operator.json("features", "describe")}
    version = features["metadata.version"]
    assert version["supported_min"] <= version["finalized"] <= version["supported_max"]


def test_cluster_with_zookeeper_has_no_quorum(kafka39: Kafka39) -> None:
    run = Operator(kafka39.bootstrap).run("quorum", "describe")
    assert run.code == 2
    assert "DescribeQuorumRequest" in run.err


async def test_open_transaction_is_listed_and_described(cluster: KafkaCluster, plaintext_operator: Operator) -> None:
    producer = confluent_kafka.Producer({"bootstrap.servers": cluster.bootstrap, "transactional.id": "payments"})
    producer.init_transactions(30)
    producer.begin_transaction()
    producer.produce("operated", b"1")
    assert producer.flush(60) == 0
    [listed] = plaintext_operator.json("transactions", "list", "--state", "Ongoing")
    assert listed["name"] == "payments"
    [described] = plaintext_operator.json("transactions", "describe", "payments")
    assert (described["state"], described["partitions"]) == ("Ongoing", ["operated-0"])
    partition = TopicPartition("operated", 0)
    async with await AdminClient.open(cluster.bootstrap) as admin:
        producers = (await admin.describe_producers([partition]))[partition]
        assert isinstance(producers, tuple)
        assert [producer.transaction_start_offset for producer in producers] == [0]
        assert producers[0].producer_id == described["producer_id"]
    producer.abort_transaction(20)
    [unknown] = plaintext_operator.json("transactions", "describe", "nosuch", code=1)
    assert unknown["error"]["name"] == "TRANSACTIONAL_ID_NOT_FOUND"


def test_verb_of_kip4_clusters_is_refused_in_one_sentence(operator: Operator) -> None:
    run = operator.run("tools", "run", "--broker", "any", "status")
    assert (run.code, run.out) == (2, "")
    assert "running status on a broker is not supported by this cluster: Apache Kafka has no message" in run.err
    assert len(run.err.splitlines()) == 1
