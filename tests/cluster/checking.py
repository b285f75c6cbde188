"""Whether a cluster is sound: nothing half made, nothing left to do, and every node tells what ZooKeeper says.

Rules of this file: it looks from outside, with a bare kazoo client and bare sockets, and says every difference.
"""

from __future__ import annotations

import socket
import time
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING, Any

from kazoo.client import KazooClient
from kazoo.exceptions import NoNodeError
from kazoo.handlers.threading import KazooTimeoutError

import kwire
from kwire import frame
from kwire.cluster.zookeeper import BrokerRegistration, EntityConfig, PartitionState, TopicRegistration
from kwire.messages.kip4.topic_metadata_v1 import TopicMetadataRequest_V1, TopicMetadataResponse_V1

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kwire.declare import Message
    from kwire.testing.local_cluster import LocalCluster, NodeAddress

PATIENCE = 40.0
"""Seconds for a cluster to become sound; it takes one or two, on an idle machine."""


@contextmanager
def zookeeper(cluster: LocalCluster) -> Iterator[Any]:
    client = KazooClient(hosts=cluster.zookeeper.hosts, timeout=10)
    client.start(timeout=20)
    try:
        yield client
    finally:
        client.stop()
        client.close()


def ask(node: NodeAddress, request: Message, *, version: int, timeout: float = 10.0) -> bytes:
    """The body of a node's answer (its response header is the correlation id alone). Raises OSError."""
    asked = frame.encode_request(request, version=version, correlation_id=77, client_id="checking")
    with (
        socket.create_connection((node.host, node.port), timeout=timeout) as connection,
        closing(connection.makefile("rb")) as answers,
    ):
        connection.sendall(asked)
        size = int.from_bytes(answers.read(4), "big")
        payload = answers.read(size)
    if len(payload) < 4 or len(payload) != size:
        raise ConnectionResetError(f"node {node.id} gave no answer")
    assert payload[:4] == (77).to_bytes(4, "big")
    return payload[4:]


Story = dict[str, Any]
"""Brokers, and of each topic its settings and partitions: (replicas, ISR, leader)."""


def told_by_zookeeper(client: Any) -> tuple[Story, list[str]]:
    """What ZooKeeper says, and what in it is half made or left to do."""
    unfinished = []
    topics: dict[str, Any] = {}
    for name in client.get_children(TopicRegistration.root):
        path = TopicRegistration.path(name)
        try:
            registration = TopicRegistration.decode(client.get(path)[0], path)
            config_path = EntityConfig.path("topics", name)
            config = EntityConfig.decode(client.get(config_path)[0], config_path).config
            partitions = {}
            for index, replicas in registration.partitions.items():
                state_path = PartitionState.path(name, index)
                state = PartitionState.decode(client.get(state_path)[0], state_path)
                partitions[index] = (tuple(replicas), tuple(state.isr), state.leader)
                if sorted(state.isr) != sorted(replicas) or state.leader not in replicas:
                    unfinished.append(f"{name}-{index}: {partitions[index]}")
            if registration.adding_replicas or registration.removing_replicas:
                unfinished.append(f"{name}: moves {registration.adding_replicas} {registration.removing_replicas}")
            extra = set(client.get_children(f"{path}/partitions")) - set(map(str, registration.partitions))
            if extra:
                unfinished.append(f"{name}: states of partitions that are not: {sorted(extra)}")
            topics[name] = (dict(config), partitions)
        except NoNodeError:
            unfinished.append(f"{name}: half there")
    unfinished += [
        f"settings of {each}, which is not" for each in client.get_children("/config/topics") if each not in topics
    ]
    unfinished += [f"{each} is to be deleted" for each in client.get_children("/admin/delete_topics")]
    unfinished += [
        path for path in ("/admin/reassign_partitions", "/admin/preferred_replica_election") if client.exists(path)
    ]
    if client.exists("/feature"):
        unfinished.append("/feature is not for us")
    brokers = {}
    for each in client.get_children(BrokerRegistration.root):
        [endpoint] = BrokerRegistration.decode(client.get(f"{BrokerRegistration.root}/{each}")[0]).endpoints
        brokers[int(each)] = (endpoint.host, endpoint.port)
    return {"brokers": brokers, "topics": topics}, unfinished


def told_by(node: NodeAddress) -> Story:
    answer = kwire.decode(
        TopicMetadataResponse_V1, ask(node, TopicMetadataRequest_V1(topic_names=()), version=1), version=1
    )
    return {
        "brokers": {broker.node_id: (broker.host, broker.port) for broker in answer.brokers},
        "topics": {
            topic.topic_name: (
                {entry.config_key: entry.config_value for entry in topic.config_entries},
                {
                    each.partition_id: (tuple(lag.replica_id for lag in each.replicas_lag), each.isr, each.leader)
                    for each in topic.partitions
                },
            )
            for topic in answer.topics
        },
    }


def differences(one: Story, other: Story) -> list[str]:
    return [
        f"{name}: ZooKeeper {one[kind].get(name)}, node {other[kind].get(name)}"
        for kind in ("brokers", "topics")
        for name in sorted(one[kind].keys() | other[kind].keys(), key=str)
        if one[kind].get(name) != other[kind].get(name)
    ]


def sound(cluster: LocalCluster, patience: float = PATIENCE) -> Story:
    """Wait until the cluster is sound; what it holds then. AssertionError with all that is wrong, when it is not."""
    deadline = time.monotonic() + patience
    with zookeeper(cluster) as client:
        while True:
            story: Story = {}
            wrong: list[str] = []
            try:
                story, wrong = told_by_zookeeper(client)
                if set(story["brokers"]) != {node.id for node in cluster.nodes}:
                    wrong.append(f"registered are {sorted(story['brokers'])}")
                for node in cluster.nodes:
                    wrong += [f"node {node.id}: {each}" for each in differences(story, told_by(node))]
                if not wrong:  # it takes many requests: what was read first may have changed since
                    again, wrong = told_by_zookeeper(client)
                    wrong += [f"meanwhile: {each}" for each in differences(story, again)]
            except (NoNodeError, OSError, KazooTimeoutError) as error:
                wrong.append(repr(error))
            if not wrong:
                return story
            if time.monotonic() > deadline:
                raise AssertionError("\n".join(wrong[:30]))
            time.sleep(0.05)
