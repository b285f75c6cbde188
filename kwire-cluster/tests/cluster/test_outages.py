"""Expired sessions, ZooKeeper outages, deposed controllers, and unresponsive nodes, with real processes."""

from __future__ import annotations

import json
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import TYPE_CHECKING

import pytest

import kwire
from kwire.client.admin import BlockingAdminClient, NewTopic
from kwire.messages.kip4.create_topic_v2 import CreateTopicRequest_V2, CreateTopicResponse_V2, TopicCreation
from kwire.messages.kip4.error_codes import ErrorCode
from kwire.messages.kip4.structures import PartitionReplicas
from kwire_cluster.local.local_cluster import LocalCluster
from tests.cluster.consistency import send, state_of_node, wait_consistent, zookeeper
from tests.cluster.faults import (
    SCENARIOS,
    TALLY,
    check,
    check_new_work,
    controller_id,
    create,
    create_topics,
    request_during,
)
from tests.cluster.repetitions import random_times, rounds
from tests.eventually import eventually_sync

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from kwire_cluster.local.local_cluster import NodeAddress

pytestmark = pytest.mark.nightly


@pytest.mark.parametrize("name", ["create", "alter"])
def test_controller_session_expires_during_a_batch(
    name: str, cluster: LocalCluster, admin: BlockingAdminClient
) -> None:
    """The controller is suspended until its session has expired, and then resumes the batch."""
    chance = random_times(name)
    scenario = SCENARIOS[name]
    for _ in rounds(1):
        topics = create_topics(admin)
        node_id = controller_id(admin)
        epoch = controller_epoch(cluster)
        suspend = partial(suspend_until_deposed, cluster, node_id)
        responses = request_during(suspend, chance.uniform(0, 0.02), scenario, admin, topics)
        check("session of the controller ended during a batch", cluster, scenario, topics, responses)
        assert controller_epoch(cluster) > epoch, "its session did not expire"
        assert '"event": "the ZooKeeper session has ended"' in cluster.log(node_id)
    check_new_work(cluster, admin)


def suspend_until_deposed(cluster: LocalCluster, node_id: int) -> None:
    """Suspend the controller until its session has expired and another node is elected."""
    epoch = controller_epoch(cluster)
    cluster.pause_node(node_id)
    try:
        eventually_sync(lambda: controller_epoch(cluster) > epoch, "another broker is controller", pause=0.2)
    finally:
        cluster.resume_node(node_id)


@pytest.mark.parametrize("name", SCENARIOS)
def test_zookeeper_is_killed_during_a_batch(name: str, cluster: LocalCluster, admin: BlockingAdminClient) -> None:
    chance = random_times(name)
    scenario = SCENARIOS[name]

    def kill_and_restart() -> None:
        cluster.zookeeper.kill()
        time.sleep(chance.uniform(0.1, 1.5))
        cluster.zookeeper.start()

    for _ in rounds(1):
        topics = create_topics(admin)
        responses = request_during(kill_and_restart, chance.uniform(0, 0.02), scenario, admin, topics)
        check("ZooKeeper killed during a batch", cluster, scenario, topics, responses)
    check_new_work(cluster, admin)


@pytest.fixture(scope="module")
def patient_cluster(java: None) -> Iterator[LocalCluster]:
    """Three nodes: sessions outlast suspensions, and requests of the controller to a suspended node do not end."""
    with LocalCluster(nodes=3, session_timeout=60.0, settings={"controller.send.timeout.ms": "600000"}) as cluster:
        yield cluster


@pytest.fixture(scope="module")
def patient_admin(patient_cluster: LocalCluster) -> Iterator[BlockingAdminClient]:
    with BlockingAdminClient(patient_cluster.bootstrap) as admin:
        yield admin


def test_deposed_controller_writes_nothing(patient_cluster: LocalCluster, patient_admin: BlockingAdminClient) -> None:
    """Another controller is elected while this one is suspended with a live session, and a request waits for it."""
    cluster, admin = patient_cluster, patient_admin
    for turn in rounds(3):
        name = f"deposed-{turn}-{time.monotonic_ns()}"
        old = cluster.node(controller_id(admin))
        epoch = controller_epoch(cluster)
        cluster.pause_node(old.id)
        try:
            with ThreadPoolExecutor() as pool, zookeeper(cluster) as client:
                requesting = pool.submit(send, old, creation(name), version=2)
                client.delete("/controller")
                eventually_sync(partial(client.exists, "/controller"), "another broker is controller")
                before = client.get("/controller_epoch")[1]
                cluster.resume_node(old.id)
                response = kwire.decode(CreateTopicResponse_V2, requesting.result(), version=2)
                assert client.get("/controller_epoch")[1].mzxid == before.mzxid
                assert client.exists(f"/brokers/topics/{name}") is None
                assert client.exists(f"/config/topics/{name}") is None
        finally:
            cluster.resume_node(old.id)
        assert [(topic.topic_name, topic.error_code) for topic in response.topics] == [(name, 22)]
        assert controller_epoch(cluster) == epoch + 1
        wait_consistent(cluster)
        TALLY["request to a deposed controller"].runs += 1
    check_new_work(cluster, admin)


def test_unresponsive_node_delays_no_other(patient_cluster: LocalCluster, patient_admin: BlockingAdminClient) -> None:
    cluster = patient_cluster
    controller = controller_id(patient_admin)
    suspended, bystander = (node for node in cluster.nodes if node.id != controller)
    others = [cluster.node(controller), bystander]
    names = [f"created-{number}" for number in range(10)]
    cluster.pause_node(suspended.id)
    try:
        for name in names:
            send(cluster.node(controller), creation(name, replicas=[other.id for other in others]), version=2)
            for node in others:
                eventually_sync(partial(knows_topic, node, name), f"node {node.id} knows the topic")
        assert set(state_of_node(bystander)["brokers"]) == {1, 2, 3}, "the suspended node still counts as alive"
    finally:
        cluster.resume_node(suspended.id)
    assert set(names) <= wait_consistent(cluster)["topics"].keys()


def test_reassignment_completes_although_its_target_is_killed(
    cluster: LocalCluster, admin: BlockingAdminClient
) -> None:
    chance = random_times("move")
    for turn in rounds(3):
        name = f"moving-{turn}-{time.monotonic_ns()}"
        controller = controller_id(admin)
        first, target = [node.id for node in cluster.nodes if node.id != controller]
        create(admin, {name: NewTopic(assignment={0: [first, controller], 1: [controller, first]})})
        admin.wait_until_created([name])
        to = {name: {0: [target, controller], 1: [target, first]}}
        if turn % 2:  # it is unresponsive when the reassignment starts
            cluster.pause_node(target)
        killing = threading.Timer(chance.uniform(0, 0.03), cluster.kill_node, (target,))
        killing.start()
        outcomes = admin.reassign_partitions(to)
        killing.join()
        cluster.start_node(target)
        if outcomes.errors:  # the death of the target was noticed before the request arrived
            eventually_sync(partial(starts_reassignment, admin, to), "the reassignment starts")
        admin.wait_until_reassigned(to)
        state = wait_consistent(cluster)
        TALLY["target of a move killed"].runs += 1
        assert {index: replicas for index, (replicas, _, _) in state["topics"][name][1].items()} == {
            0: (target, controller),
            1: (target, first),
        }
    check_new_work(cluster, admin)


def starts_reassignment(admin: BlockingAdminClient, to: Mapping[str, Mapping[int, Sequence[int]]]) -> bool:
    """Return whether a reassignment is accepted, now or before."""
    outcomes = admin.reassign_partitions(to)
    return all(error.code == ErrorCode.REASSIGN_PARTITIONS_IN_PROGRESS for error in outcomes.errors.values())


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


def knows_topic(node: NodeAddress, topic: str) -> bool:
    return topic in state_of_node(node)["topics"]


def codes(node: NodeAddress, name: str) -> list[int]:
    """Create a topic, and return the error codes."""
    body = send(node, creation(name, [1]), version=2)
    return [topic.error_code for topic in kwire.decode(CreateTopicResponse_V2, body, version=2).topics]


@pytest.mark.usefixtures("java")
def test_commands_end_while_zookeeper_cannot_be_reached() -> None:
    """protocol.md 3, code 7. A client waited without end."""
    settings = {"admin.request.timeout.ms": "1000"}
    with (
        LocalCluster(nodes=1, settings=settings, session_timeout=30) as cluster,
        BlockingAdminClient(cluster.bootstrap) as admin,
    ):
        create(admin, {"before": NewTopic(partitions=1, replication_factor=1)})  # the first attempts may time out
        admin.wait_until_created(["before"])
        cluster.zookeeper.kill()
        assert codes(cluster.node(1), "first") == [7]
        assert codes(cluster.node(1), "second") == [7]
        [error] = admin.delete_topics(["before"]).errors.values()
        assert "REQUEST_TIMED_OUT" in str(error)
        lines = [json.loads(line) for line in cluster.log(1).splitlines()]
        reasons = {line["topic"]: line["reason"] for line in lines if line["event"] == "topic refused"}
        cluster.zookeeper.start()
        eventually_sync(lambda: codes(cluster.node(1), "later") in ([0], [1001]), "commands are carried out again")
        topics = admin.list_topics()
        for name in ("first", "second"):
            assert "the request has waited for 1 s: " in reasons[name]
            assert ("the outcome is unknown" in reasons[name]) or name not in topics
