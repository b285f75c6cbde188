"""Sessions that end, a ZooKeeper that dies, controllers that are none any more, nodes that stop: real processes."""

from __future__ import annotations

import threading
import time
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import pytest

import kwire
from kwire.client.admin import BlockingAdminClient, NewTopic
from kwire.messages.kip4.create_topic_v2 import CreateTopicRequest_V2, CreateTopicResponse_V2, TopicCreation
from kwire.messages.kip4.structures import PartitionReplicas
from kwire.testing.local_cluster import LocalCluster
from tests.cluster.checking import ask, sound, told_by, zookeeper
from tests.cluster.faults import SCENARIOS, SESSION_SECONDS, TALLY, checked, controller_of, goes_on, prepared
from tests.cluster.repetitions import moments, rounds

if TYPE_CHECKING:
    from kwire.testing.local_cluster import NodeAddress


@pytest.mark.parametrize("name", ["create", "alter"])
def test_the_controllers_session_ends_while_a_batch_runs(
    name: str, cluster: LocalCluster, admin: BlockingAdminClient
) -> None:
    """It is stopped for longer than its session lives, and goes on as if nothing had been."""
    chance = moments(name)
    scenario = SCENARIOS[name]
    for _ in rounds(1):
        topics = prepared(admin)
        node_id = controller_of(admin)
        epoch = controller_epoch(cluster)
        pausing = threading.Timer(chance.uniform(0, 0.02), cluster.pause_node, (node_id,))
        resuming = threading.Timer(2 * SESSION_SECONDS, cluster.resume_node, (node_id,))
        pausing.start()
        resuming.start()
        outcomes = scenario.ask(admin, topics)
        resuming.join()
        checked("session of the controller ended during a batch", cluster, scenario, topics, outcomes)
        assert controller_epoch(cluster) > epoch, "its session did not end"
        assert '"event": "the ZooKeeper session has ended"' in cluster.log(node_id)
    goes_on(cluster, admin)


@pytest.mark.parametrize("name", SCENARIOS)
def test_zookeeper_is_killed_while_a_batch_runs(name: str, cluster: LocalCluster, admin: BlockingAdminClient) -> None:
    chance = moments(name)
    scenario = SCENARIOS[name]
    for _ in rounds(1):
        topics = prepared(admin)
        killing = threading.Timer(chance.uniform(0, 0.02), cluster.zookeeper.kill)
        starting = threading.Timer(chance.uniform(0.1, 1.5), cluster.zookeeper.start)
        killing.start()
        with ThreadPoolExecutor() as pool:
            asking = pool.submit(scenario.ask, admin, topics)
            killing.join()
            starting.start()
            starting.join()
            outcomes = asking.result()
        checked("ZooKeeper killed during a batch", cluster, scenario, topics, outcomes)
    goes_on(cluster, admin)


def test_a_deposed_controller_writes_nothing(cluster: LocalCluster, admin: BlockingAdminClient) -> None:
    """The office goes to another while it is stopped, its session lives; commands wait for it when it wakes up."""
    for turn in rounds(3):
        name = f"of-the-deposed-{turn}-{time.monotonic_ns()}"
        old = cluster.node(controller_of(admin))
        epoch = controller_epoch(cluster)
        cluster.pause_node(old.id)
        try:
            with ThreadPoolExecutor() as pool, zookeeper(cluster) as client:
                asking = pool.submit(ask, old, creation(name), version=2, timeout=20)
                client.delete("/controller")
                until(lambda client=client: client.exists("/controller"), "another one is controller")
                before = client.get("/controller_epoch")[1]
                cluster.resume_node(old.id)
                answer = kwire.decode(CreateTopicResponse_V2, asking.result(), version=2)
                assert client.get("/controller_epoch")[1].mzxid == before.mzxid
                assert client.exists(f"/brokers/topics/{name}") is None
                assert client.exists(f"/config/topics/{name}") is None
        finally:
            cluster.resume_node(old.id)
        assert [(topic.topic_name, topic.error_code) for topic in answer.topics] == [(name, 22)]
        assert controller_epoch(cluster) == epoch + 1
        sound(cluster)
        TALLY["deposed controller asked"].runs += 1
    goes_on(cluster, admin)


def test_a_node_that_does_not_read_delays_nobody() -> None:
    with LocalCluster(nodes=3, session_timeout=15.0) as cluster, BlockingAdminClient(cluster.bootstrap) as admin:
        controller = controller_of(admin)
        deaf, *_ = (node for node in cluster.nodes if node.id != controller)
        others = [node for node in cluster.nodes if node is not deaf]
        cluster.pause_node(deaf.id)
        [bystander] = [node for node in others if node.id != controller]
        slowest = 0.0
        for number in range(10):
            begun = time.monotonic()
            ask(cluster.node(controller), creation(f"heard-{number}", replicas=[each.id for each in others]), version=2)
            for node in others:
                until(lambda node=node, number=number: knows(node, f"heard-{number}"), f"node {node.id} knows")
            slowest = max(slowest, time.monotonic() - begun)
        assert slowest < 5, "it takes as long as a request to the deaf one may"
        assert set(told_by(bystander)["brokers"]) == {1, 2, 3}, "it counts as alive all the time"
        cluster.resume_node(deaf.id)
        assert len(sound(cluster)["topics"]) == 10


def test_a_partition_moves_while_its_target_dies(cluster: LocalCluster, admin: BlockingAdminClient) -> None:
    chance = moments("move")
    for turn in rounds(3):
        name = f"moving-{turn}-{time.monotonic_ns()}"
        controller = controller_of(admin)
        first, target = [node.id for node in cluster.nodes if node.id != controller]
        admin.create_topics({name: NewTopic(assignment={0: [first, controller], 1: [controller, first]})}).raise_first()
        admin.wait_until_created([name])
        to = {name: {0: [target, controller], 1: [target, first]}}
        if turn % 2:  # it does not take part any more when the move begins
            cluster.pause_node(target)
        killing = threading.Timer(chance.uniform(0, 0.03), cluster.kill_node, (target,))
        killing.start()
        outcomes = admin.reassign_partitions(to)
        killing.join()
        cluster.start_node(target)
        outcomes.raise_first()
        admin.wait_until_reassigned(to)
        story = sound(cluster)
        TALLY["target of a move killed"].runs += 1
        assert {index: replicas for index, (replicas, _, _) in story["topics"][name][1].items()} == {
            0: (target, controller),
            1: (target, first),
        }
    goes_on(cluster, admin)


def controller_epoch(cluster: LocalCluster) -> int:
    with zookeeper(cluster) as client:
        return int(client.get("/controller_epoch")[0])


def creation(name: str, replicas: list[int] | None = None) -> CreateTopicRequest_V2:
    assignment = (PartitionReplicas(partition_id=0, replica_ids=tuple(replicas or (1, 2, 3))),)
    return CreateTopicRequest_V2(
        topics=(
            TopicCreation(
                topic_name=name, partitions=-1, replication_factor=-1, replica_assignment=assignment, config_entries=()
            ),
        )
    )


def knows(node: NodeAddress, topic: str) -> bool:
    return topic in told_by(node)["topics"]


def until(condition: object, what: str, patience: float = 20.0) -> None:
    assert callable(condition)
    deadline = time.monotonic() + patience
    while not condition():
        assert time.monotonic() < deadline, f"it has not come about that {what}"
        time.sleep(0.01)
