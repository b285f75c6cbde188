"""Random histories of clusters, as silver: brokers fail, lag behind, and disagree, and topics come, change, and go."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta
from random import Random
from typing import TYPE_CHECKING, Any
from uuid import UUID

import pyarrow as pa

from kwire import frame
from kwire.capture.rows import Row
from kwire.messages.kafka.metadata import (
    MetadataRequest,
    MetadataResponse,
    MetadataResponseBroker,
    MetadataResponsePartition,
    MetadataResponseTopic,
)
from kwire_pipeline.silver.tables import SILVER_SCHEMAS
from tests.pipeline import recorded

if TYPE_CHECKING:
    from collections.abc import Iterator

BROKERS = (1, 2, 3)
INTERVAL = timedelta(minutes=2)
REQUEST = frame.encode_request(MetadataRequest(topics=None), version=12, correlation_id=1)[4:]

Topics = tuple[MetadataResponseTopic, ...]


def silver(random: Random, clusters: int, start: datetime, rounds: int) -> dict[str, pa.Table]:
    """Return the silver of some clusters whose brokers are polled every two minutes."""
    rows = [row for number in range(clusters) for row in _polls(random, f"cluster-{number}", start, rounds)]
    tables = recorded.silver(sorted(rows, key=lambda row: row.polled_at))
    configs, polls = [], []
    for number in range(clusters):
        for at in sorted(random.sample(range(rounds), 4)):
            time = start + at * INTERVAL + timedelta(seconds=30)
            for broker in BROKERS[:2]:
                own = {"cluster_id": f"cluster-{number}", "broker_id": broker}
                when = time + timedelta(milliseconds=broker)
                polls.append({**own, "polled_at": when, "endpoint": "", "api_key": 32, "kind": "full"})
                for topic in ("t0", "t1"):
                    config = {"resource_type": "topic", "resource": topic, "key": "min.insync.replicas"}
                    value = {"change": "set", "value": str(1 + at % 2), "source": 1 + 4 * (at % 2)}
                    configs.append({**own, "at": when, **config, **value})
    for name, more in (("configs", configs), ("polls", polls)):
        schema = SILVER_SCHEMAS[name].arrow
        tables[name] = pa.concat_tables([tables[name], pa.Table.from_pylist(more, schema=schema)])
    return tables


def _polls(random: Random, cluster: str, start: datetime, rounds: int) -> Iterator[Row]:
    topics: dict[str, MetadataResponseTopic] = {name: _topic(random, name) for name in ("t0", "t1", "t2")}
    views: dict[int, Topics] = {}
    failing: dict[int, int] = {}
    lagging: dict[int, int] = {}
    for number in range(rounds):
        if random.random() < 0.2:
            _change(random, topics)
        broker = random.choice(BROKERS)
        if random.random() < 0.04:
            failing[broker] = number + random.randrange(1, 12)
        if random.random() < 0.07:
            lagging[broker] = number + random.randrange(1, 20)
        for broker in BROKERS:
            at = start + number * INTERVAL + timedelta(milliseconds=100 * broker)
            row = Row(at, broker, f"broker-{broker}:9092", api_key=3, api_version=12, cluster_id=cluster)
            if failing.get(broker, 0) > number:
                yield row._replace(error="connect: ConnectionRefusedError: Connection refused")
                continue
            if lagging.get(broker, 0) <= number or broker not in views:
                views[broker] = tuple(topics.values())
            message = MetadataResponse(
                brokers=tuple(MetadataResponseBroker(node_id=id, host=f"k{id}", port=9092) for id in BROKERS),
                cluster_id=cluster,
                controller_id=1,
                topics=views[broker],
            )
            body = frame.encode_response(message, version=12, correlation_id=1)[4:]
            yield row._replace(frame=body, request=REQUEST)


def _change(random: Random, topics: dict[str, MetadataResponseTopic]) -> None:
    name = random.choice(["t0", "t1", "t2", "t3"])
    kind = random.choice(["partition", "partition", "partition", "add", "delete", "recreate"])
    topic = topics.get(name)
    if topic is None or kind == "recreate":
        topics[name] = _topic(random, name)
    elif kind == "delete":
        del topics[name]
    elif kind == "add":
        topics[name] = replace(topic, partitions=(*topic.partitions, _partition(random, len(topic.partitions))))
    else:
        partitions = list(topic.partitions)
        place = random.randrange(len(partitions))
        partitions[place] = _changed(random, partitions[place])
        topics[name] = replace(topic, partitions=tuple(partitions))


def _topic(random: Random, name: str) -> MetadataResponseTopic:
    return MetadataResponseTopic(
        error_code=0,
        name=name,
        topic_id=UUID(int=random.getrandbits(128)),
        is_internal=False,
        partitions=tuple(_partition(random, index) for index in range(random.randrange(1, 4))),
    )


def _partition(random: Random, index: int) -> MetadataResponsePartition:
    replicas = tuple(random.sample(BROKERS, 2))
    return MetadataResponsePartition(
        error_code=0,
        partition_index=index,
        leader_id=replicas[0],
        leader_epoch=0,
        replica_nodes=replicas,
        isr_nodes=replicas,
        offline_replicas=(),
    )


def _changed(random: Random, partition: MetadataResponsePartition) -> MetadataResponsePartition:
    changes: dict[str, Any] = random.choice(
        [
            {"isr_nodes": partition.replica_nodes[:1]},
            {"isr_nodes": partition.replica_nodes},
            {"leader_id": -1},
            {"leader_id": partition.replica_nodes[-1], "leader_epoch": partition.leader_epoch + 1},
            {"replica_nodes": tuple(random.sample(BROKERS, 3)), "leader_epoch": partition.leader_epoch + 1},
        ]
    )
    return replace(partition, **changes)
