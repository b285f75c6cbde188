"""Time to create topics on a cluster of real processes, compared with plain kazoo and with Kafka.

    python -m benches.cluster [--quick]

The cluster has three nodes and one ZooKeeper, each in its own process. The time runs from the first request until every
node knows every partition; that all partitions have leaders is checked afterwards, without waiting. Plain kazoo writes
znodes of the same shape to the same server, in turns with the cluster: pipelined, with one request per znode, and with
one transaction per topic, as the controller does, which takes longer. Kafka 3.9.1 with three brokers gets requests
from confluent-kafka with 25 topics each, the fastest size; it is measured in the full run only.
"""

from __future__ import annotations

import asyncio
import time
from statistics import median
from typing import TYPE_CHECKING, Any, NamedTuple

from kazoo.client import KazooClient

from benches.bare_kazoo import create_parents, write_in_transactions, write_pipelined
from benches.figure import Figure
from benches.program import print_figures
from kwire.client import Connection
from kwire.client.admin import AdminClient, NewTopic
from kwire.messages.kip4.admin import AdminRequest
from kwire.messages.kip4.topic_metadata_v1 import TopicMetadataRequest_V1
from kwire.testing.local_cluster import LocalCluster

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

TOPICS, PARTITIONS, BATCH = 500, 20, 250
KAFKA_TOPICS, KAFKA_BATCH = 100, 25
"""More topics take three Kafka brokers on one machine minutes, and clients time out."""


def run(quick: bool) -> list[Figure]:
    turns = 2 if quick else 5
    with LocalCluster(nodes=3, session_timeout=10.0, settings={"auto.create.topics.enable": "false"}) as cluster:
        bare = KazooClient(cluster.zookeeper.hosts)
        bare.start()
        try:
            times = asyncio.run(measure_in_turns(cluster, bare, turns))
        finally:
            bare.stop()
            bare.close()
    name = f"cluster: {TOPICS} topics of {PARTITIONS} partitions created and seen on 3 nodes, beside bare kazoo"
    figures = []
    for how, kazoo in (("pipelined", times.pipelined), ("with a transaction a topic", times.transactions)):
        ratio = median(one / two for one, two in zip(times.cluster, kazoo, strict=True))
        detail = f"{median(times.cluster):.2f} s; bare kazoo {median(kazoo):.2f} s"
        figures.append(Figure(f"{name} {how}", ratio, "x", 1.5, 1.15, False, detail))
    if not quick:
        kafka = kafka_seconds()
        detail = f"{median(times.cluster_like_kafka):.2f} s; Kafka 3.9.1 {kafka:.1f} s"
        name = f"cluster: {KAFKA_TOPICS} topics of {PARTITIONS} partitions, times faster than Kafka"
        figures.append(Figure(name, kafka / median(times.cluster_like_kafka), "x", 5, 5, True, detail))
    return figures


class Times(NamedTuple):
    """Seconds of each turn."""

    cluster: list[float]
    pipelined: list[float]
    transactions: list[float]
    cluster_like_kafka: list[float]
    """With as many topics as Kafka creates."""


async def measure_in_turns(cluster: LocalCluster, bare: Any, turns: int) -> Times:
    """Measure after one turn of warming up."""
    times = Times([], [], [], [])
    create_parents(bare)
    async with await AdminClient.open(cluster.bootstrap) as admin:
        connections = [await Connection.open(f"{node.host}:{node.port}") for node in cluster.nodes]
        for turn in range(turns + 1):
            seconds = (
                await create_topics(admin, connections, f"t{turn}"),
                await asyncio.to_thread(write_seconds, write_pipelined, bare, f"t{turn}"),
                await asyncio.to_thread(write_seconds, write_in_transactions, bare, f"w{turn}"),
                await create_topics(admin, connections, f"k{turn}", KAFKA_TOPICS),
            )
            if turn:
                for column, value in zip(times, seconds, strict=True):
                    column.append(value)
        for connection in connections:
            await connection.close()
    return times


async def create_topics(admin: AdminClient, connections: list[Connection], prefix: str, topics: int = TOPICS) -> float:
    """Create topics, and return the seconds until every node knows them."""
    names = [f"{prefix}-{number}" for number in range(topics)]
    new = NewTopic(partitions=PARTITIONS, replication_factor=3)
    before = await count_partitions(connections[0])
    started = time.perf_counter()
    batches = [
        asyncio.create_task(admin.create_topics(dict.fromkeys(names[at : at + BATCH], new)))
        for at in range(0, topics, BATCH)
    ]
    for batch in batches:
        (await batch).raise_first()
    while min([await count_partitions(connection) for connection in connections]) < before + topics * PARTITIONS:
        await asyncio.sleep(0.005)
    taken = time.perf_counter() - started
    for connection in connections:
        response = await connection.send(TopicMetadataRequest_V1(topic_names=tuple(names)))
        assert all(partition.leader > 0 for topic in response.topics for partition in topic.partitions)
        assert sum(len(topic.partitions) for topic in response.topics) == topics * PARTITIONS
    (await admin.delete_topics(names)).raise_first()
    await admin.wait_until_deleted(names)
    return taken


async def count_partitions(connection: Connection) -> int:
    """Return how many partitions a node knows, from a small response."""
    import json

    response = await connection.send(AdminRequest(tool="status", arguments=()))
    partitions: int = json.loads(response.output)["partitions"]
    return partitions


def write_seconds(write: Callable[[Any, Sequence[str], int], None], bare: Any, prefix: str) -> float:
    started = time.perf_counter()
    write(bare, [f"{prefix}-{number}" for number in range(TOPICS)], PARTITIONS)
    return time.perf_counter() - started


def kafka_seconds() -> float:
    """Return the seconds until each of three Kafka 3.9.1 brokers lists every partition with a leader."""
    import confluent_kafka.admin

    from kwire.testing.kafka import Kafka39

    confluent: Any = confluent_kafka.admin  # its type stubs are incomplete
    with Kafka39(brokers=3) as cluster:
        clients = [
            confluent.AdminClient({"bootstrap.servers": f"127.0.0.1:{broker.port}"}) for broker in cluster.brokers
        ]
        clients[0].create_topics([confluent.NewTopic("warm", 1, 3)])["warm"].result(60)
        started = time.perf_counter()
        for start in range(0, KAFKA_TOPICS, KAFKA_BATCH):
            made = clients[0].create_topics(
                [confluent.NewTopic(f"t-{number}", PARTITIONS, 3) for number in range(start, start + KAFKA_BATCH)],
                request_timeout=120,
            )
            for node in made.values():
                node.result(120)
        for client in clients:
            while count_leaders(client) < KAFKA_TOPICS * PARTITIONS:
                time.sleep(0.02)
        return time.perf_counter() - started


def count_leaders(client: Any) -> int:
    topics = client.list_topics(timeout=30).topics.values()
    return sum(partition.leader >= 0 for topic in topics for partition in topic.partitions.values())


if __name__ == "__main__":
    print_figures(run, "cluster", "Measure the creation of topics.", "measure two turns, without Kafka")
