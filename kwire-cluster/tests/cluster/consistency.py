"""Consistency checks of a cluster: no change is incomplete or pending, and every node agrees with ZooKeeper.

The checks use a plain kazoo client and plain sockets, and report every difference.
"""

from __future__ import annotations

import socket
import time
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING, Any

from kazoo.client import KazooClient
from kazoo.exceptions import KazooException, NoNodeError
from kazoo.handlers.threading import KazooTimeoutError

import kwire
from kwire import frame
from kwire.messages.kip4.topic_metadata_v1 import TopicMetadataRequest_V1, TopicMetadataResponse_V1
from kwire_cluster.zookeeper import BrokerRegistration, EntityConfig, PartitionState, TopicRegistration

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kwire.declare import Message
    from kwire_cluster.local.local_cluster import LocalCluster, NodeAddress

CONSISTENT_SECONDS = 60.0
"""Time for a cluster to become consistent; on an idle machine it takes one or two seconds."""


@contextmanager
def zookeeper(cluster: LocalCluster) -> Iterator[Any]:
    """Open a kazoo client."""
    client = KazooClient(hosts=cluster.zookeeper_connect, timeout=10)
    client.start(timeout=60)
    try:
        yield client
    finally:
        client.stop()
        client.close()


def send(node: NodeAddress, request: Message, *, version: int, timeout: float = 60.0) -> bytes:
    """Send a request with response header 0, and return the response body.

    Raises:
        OSError: the node does not respond.
    """
    encoded = frame.encode_request(request, version=version, correlation_id=77, client_id="tests")
    with (
        socket.create_connection((node.host, node.port), timeout=timeout) as connection,
        closing(connection.makefile("rb")) as received,
    ):
        connection.sendall(encoded)
        size = int.from_bytes(received.read(4), "big")
        payload = received.read(size)
    if len(payload) < 4 or len(payload) != size:
        raise ConnectionResetError(f"node {node.id} closed the connection")
    assert payload[:4] == (77).to_bytes(4, "big")
    return payload[4:]


def broker_epochs(cluster: LocalCluster) -> dict[int, int]:
    """Return the epoch of each registered broker, which differs for each of its sessions."""
    with zookeeper(cluster) as client:
        paths = {
            int(child): f"{BrokerRegistration.root}/{child}" for child in client.get_children(BrokerRegistration.root)
        }
        found = {broker_id: client.exists(path) for broker_id, path in paths.items()}
        return {broker_id: stat.czxid for broker_id, stat in found.items() if stat is not None}


ClusterState = dict[str, Any]
"""`brokers` by id, and `topics` by name: the configs, and (replicas, ISR, leader) of each partition."""


def state_in_zookeeper(client: Any) -> tuple[ClusterState, list[str]]:
    """Return the state in ZooKeeper, and a description of every incomplete or pending change."""
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
                unfinished.append(
                    f"{name}: reassignment {registration.adding_replicas} {registration.removing_replicas}"
                )
            extra = set(client.get_children(f"{path}/partitions")) - set(map(str, registration.partitions))
            if extra:
                unfinished.append(f"{name}: states of unknown partitions {sorted(extra)}")
            topics[name] = (dict(config), partitions)
        except NoNodeError:
            unfinished.append(f"{name}: incomplete")
    unfinished += [
        f"configs of the unknown topic {child}"
        for child in client.get_children("/config/topics")
        if child not in topics
    ]
    unfinished += [f"{child} is marked for deletion" for child in client.get_children("/admin/delete_topics")]
    unfinished += [
        path for path in ("/admin/reassign_partitions", "/admin/preferred_replica_election") if client.exists(path)
    ]
    if client.exists("/feature"):
        unfinished.append("/feature exists, which only Kafka may create")
    brokers = {}
    for child in client.get_children(BrokerRegistration.root):
        [endpoint] = BrokerRegistration.decode(client.get(f"{BrokerRegistration.root}/{child}")[0]).endpoints
        brokers[int(child)] = (endpoint.host, endpoint.port)
    return {"brokers": brokers, "topics": topics}, unfinished


def state_of_node(node: NodeAddress) -> ClusterState:
    """Return the state that a node reports."""
    response = kwire.decode(
        TopicMetadataResponse_V1, send(node, TopicMetadataRequest_V1(topic_names=()), version=1), version=1
    )
    return {
        "brokers": {broker.node_id: (broker.host, broker.port) for broker in response.brokers},
        "topics": {
            topic.topic_name: (
                {entry.config_key: entry.config_value for entry in topic.config_entries},
                {
                    partition.partition_id: (
                        tuple(lag.replica_id for lag in partition.replicas_lag),
                        partition.isr,
                        partition.leader,
                    )
                    for partition in topic.partitions
                },
            )
            for topic in response.topics
        },
    }


def differences(one: ClusterState, other: ClusterState) -> list[str]:
    """Describe every difference between the state in ZooKeeper and another one."""
    return [
        f"{name}: ZooKeeper {one[kind].get(name)}, other {other[kind].get(name)}"
        for kind in ("brokers", "topics")
        for name in sorted(one[kind].keys() | other[kind].keys(), key=str)
        if one[kind].get(name) != other[kind].get(name)
    ]


def wait_consistent(cluster: LocalCluster, within: float = CONSISTENT_SECONDS) -> ClusterState:
    """Wait until the cluster is consistent, and return its state.

    Raises:
        AssertionError: it does not become consistent; the message lists what is wrong.
    """
    deadline = time.monotonic() + within
    with zookeeper(cluster) as client:
        while True:
            state: ClusterState = {}
            wrong: list[str] = []
            try:
                state, wrong = state_in_zookeeper(client)
                if set(state["brokers"]) != {node.id for node in cluster.nodes}:
                    wrong.append(f"the registered brokers are {sorted(state['brokers'])}")
                for node in cluster.nodes:
                    wrong += [f"node {node.id}: {difference}" for difference in differences(state, state_of_node(node))]
                if not wrong:  # this took many requests: the first results may be outdated
                    again, wrong = state_in_zookeeper(client)
                    wrong += [f"meanwhile: {difference}" for difference in differences(state, again)]
            except (KazooException, OSError, KazooTimeoutError) as error:
                wrong.append(repr(error))
            if not wrong:
                return state
            if time.monotonic() > deadline:
                raise AssertionError("\n".join(wrong[:30]))
            time.sleep(0.05)
