"""What a cluster of real processes costs: beside bare kazoo that writes the same znodes, and beside real Kafka.

    python -m benches.cluster [--quick]

Rules of this file: three nodes, one ZooKeeper, one client, all of them processes of their own but the client. The time
runs from the first request until each node tells of every topic; that all partitions have leaders is checked right
after, without waiting. Bare kazoo writes znodes of the same shape to the same server, in turns with it: pipelined, one
request a znode; and, which is the harder yardstick, one transaction a topic, as the controller does.
Real Kafka 3.9.1, three brokers, is asked by confluent-kafka in one call for every 25 topics, which it is fastest with;
it is measured in the full run only.
"""

from __future__ import annotations

import argparse
import asyncio
import time
from statistics import median
from typing import TYPE_CHECKING, Any

from kazoo.client import KazooClient

from benches.bare_kazoo import make_room, write_in_transactions, write_pipelined
from benches.figure import Figure
from kwire.client.admin import AdminClient, NewTopic
from kwire.messages.kip4.admin import AdminRequest
from kwire.messages.kip4.topic_metadata_v1 import TopicMetadataRequest_V1
from kwire.testing.local_cluster import LocalCluster

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from kwire.client import Connection

TOPICS, PARTITIONS, BATCH = 500, 20, 250
KAFKA_TOPICS, KAFKA_BATCH = 100, 25
"""Three brokers of Kafka on one machine take minutes for more, and their clients give up."""


def run(quick: bool) -> list[Figure]:
    turns = 2 if quick else 5
    with LocalCluster(nodes=3, session_timeout=10.0, settings={"auto.create.topics.enable": "false"}) as cluster:
        bare = KazooClient(cluster.zookeeper.hosts)
        bare.start()
        try:
            ours, theirs, whole, fewer = asyncio.run(in_turns(cluster, bare, turns))
        finally:
            bare.stop()
            bare.close()
    name = f"cluster: {TOPICS} topics of {PARTITIONS} partitions created and seen on 3 nodes, beside bare kazoo"
    figures = []
    for how, other in (("pipelined", theirs), ("with a transaction a topic", whole)):
        ratio = median(one / two for one, two in zip(ours, other, strict=True))
        detail = f"{median(ours):.2f} s; bare kazoo {median(other):.2f} s"
        figures.append(Figure(f"{name} {how}", ratio, "x", 1.5, 1.15, False, detail))
    if not quick:
        kafka = real_kafka()
        detail = f"{median(fewer):.2f} s; Kafka 3.9.1 {kafka:.1f} s"
        name = f"cluster: {KAFKA_TOPICS} topics of {PARTITIONS} partitions, times faster than Kafka"
        figures.append(Figure(name, kafka / median(fewer), "x", 5, 5, True, detail))
    return figures


async def in_turns(
    cluster: LocalCluster, bare: Any, turns: int
) -> tuple[list[float], list[float], list[float], list[float]]:
    """Seconds of each turn: ours, bare kazoo's, bare kazoo's with transactions, and ours for as many topics as Kafka is
    asked for. The first turn warms up.
    """
    ours, theirs, whole, fewer = [], [], [], []
    make_room(bare)
    async with await AdminClient.open(cluster.bootstrap) as admin:
        connections = [await admin_connection(node.host, node.port) for node in cluster.nodes]
        for turn in range(turns + 1):
            one = await created(admin, connections, f"t{turn}")
            other = await asyncio.to_thread(seconds, write_pipelined, bare, f"t{turn}")
            another = await asyncio.to_thread(seconds, write_in_transactions, bare, f"w{turn}")
            for_kafka = await created(admin, connections, f"k{turn}", KAFKA_TOPICS)
            if turn:
                fewer.append(for_kafka)
                ours.append(one)
                theirs.append(other)
                whole.append(another)
        for connection in connections:
            await connection.close()
    return ours, theirs, whole, fewer


async def admin_connection(host: str, port: int) -> Connection:
    from kwire.client import Connection

    return await Connection.open(f"{host}:{port}")


async def created(admin: AdminClient, connections: list[Connection], prefix: str, topics: int = TOPICS) -> float:
    names = [f"{prefix}-{number}" for number in range(topics)]
    new = NewTopic(partitions=PARTITIONS, replication_factor=3)
    before = await known(connections[0])
    begun = time.perf_counter()
    batches = [
        asyncio.create_task(admin.create_topics(dict.fromkeys(names[at : at + BATCH], new)))
        for at in range(0, topics, BATCH)
    ]
    for each in batches:
        (await each).raise_first()
    while min([await known(connection) for connection in connections]) < before + topics * PARTITIONS:  # noqa: ASYNC110 - seen from outside
        await asyncio.sleep(0.005)
    taken = time.perf_counter() - begun
    for connection in connections:
        told = await connection.send(TopicMetadataRequest_V1(topic_names=tuple(names)))
        assert all(partition.leader > 0 for topic in told.topics for partition in topic.partitions)
        assert sum(len(topic.partitions) for topic in told.topics) == topics * PARTITIONS
    (await admin.delete_topics(names)).raise_first()
    await admin.wait_until_deleted(names)
    return taken


async def known(connection: Connection) -> int:
    """How many partitions a node knows, in a small answer."""
    import json

    answer = await connection.send(AdminRequest(tool="status", arguments=()))
    partitions: int = json.loads(answer.output)["partitions"]
    return partitions


def seconds(write: Callable[[Any, Sequence[str], int], None], bare: Any, prefix: str) -> float:
    begun = time.perf_counter()
    write(bare, [f"{prefix}-{number}" for number in range(TOPICS)], PARTITIONS)
    return time.perf_counter() - begun


def real_kafka() -> float:
    """Seconds that three brokers of Kafka 3.9.1 take until each lists every partition with a leader."""
    import confluent_kafka.admin

    from kwire.testing.kafka import Kafka39

    confluent: Any = confluent_kafka.admin  # which exports more than its types say
    with Kafka39(brokers=3) as cluster:
        clients = [
            confluent.AdminClient({"bootstrap.servers": f"127.0.0.1:{broker.port}"}) for broker in cluster.brokers
        ]
        clients[0].create_topics([confluent.NewTopic("warm", 1, 3)])["warm"].result(60)
        begun = time.perf_counter()
        for start in range(0, KAFKA_TOPICS, KAFKA_BATCH):
            made = clients[0].create_topics(
                [confluent.NewTopic(f"t-{number}", PARTITIONS, 3) for number in range(start, start + KAFKA_BATCH)],
                request_timeout=120,
            )
            for each in made.values():
                each.result(120)
        for client in clients:
            while led(client) < KAFKA_TOPICS * PARTITIONS:
                time.sleep(0.02)
        return time.perf_counter() - begun


def led(client: Any) -> int:
    topics = client.list_topics(timeout=30).topics.values()
    return sum(partition.leader >= 0 for topic in topics for partition in topic.partitions.values())


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benches.cluster")
    parser.add_argument("--quick", action="store_true")
    for figure in run(parser.parse_args().quick):
        print(figure)


if __name__ == "__main__":
    main()
