"""The health of a cluster, whatever one broker says: brokers that are dead, silent, or have old metadata."""

from __future__ import annotations

import asyncio
import random
from itertools import product
from typing import TYPE_CHECKING, Any

import pytest

from kwire.client.admin import (
    AdminClient,
    AdminError,
    BrokerAddress,
    ClusterDescription,
    QuorumDescription,
    QuorumReplica,
    RegisteredBroker,
    TopicDescription,
)
from kwire.messages.kafka.error_codes import ErrorCode
from kwire.protocol.endpoint import Endpoint
from kwire.testing import FakeCluster
from kwire_admin.operations.cluster_health.checks import (
    NOT_CHECKED,
    HealthProblem,
    broker_problems,
    controller_problems,
    log_dir_problems,
    metadata_sources,
)
from kwire_admin.operations.cluster_health.sources import AnsweringBroker, LogDirState, Sources
from kwire_admin.operations.declaration import Unhealthy
from kwire_admin.operations.run import Run
from kwire_admin.operations.verbs.cluster.health import health
from tests.eventually import eventually

if TYPE_CHECKING:
    from collections.abc import Iterable

BROKERS = {broker: Endpoint("127.0.0.1", 9090 + broker) for broker in (1, 2, 3)}
NOW = 1_000_000
LIST_OFFSETS = 2
"""The API key of ListOffsets."""
REFUSED = AdminError.of_kafka(
    ErrorCode.CLUSTER_AUTHORIZATION_FAILED, "the quorum", "this needs Describe on the cluster"
)


def listed(*brokers: int, controller: int | None = 1) -> ClusterDescription:
    addresses = {id: BrokerAddress(id, BROKERS[id].host, BROKERS[id].port) for id in BROKERS}
    named = None if controller is None else addresses[controller]
    return ClusterDescription(tuple(addresses[id] for id in brokers), named)


def quorum(leader: int, epoch: int = 1, silent: Iterable[int] = ()) -> QuorumDescription:
    voters = tuple(
        QuorumReplica(id, None, 10, NOW, None if id in silent and id != leader else NOW) for id in sorted(BROKERS)
    )
    return QuorumDescription(leader, epoch, 10, voters, ())


def sources(
    answers: dict[int, tuple[ClusterDescription, Any]],
    log_dirs: Any = None,
    registered: dict[int, RegisteredBroker] | None = None,
) -> Sources:
    return Sources(
        {BROKERS[id]: AnsweringBroker(id, cluster, state, log_dirs) for id, (cluster, state) in answers.items()},
        {BROKERS[id]: "no answer" for id in BROKERS if id not in answers},
        {id: frozenset({BROKERS[id]}) for id in BROKERS},
        registered or {},
    )


def kinds(problems: Iterable[HealthProblem]) -> set[tuple[str, int | None]]:
    return {(problem.problem, problem.broker) for problem in problems}


def test_quorum_whose_followers_are_silent_has_no_majority() -> None:
    for silent in product((False, True), repeat=2):
        ids = [id for id, is_silent in zip((2, 3), silent, strict=True) if is_silent]
        found = kinds(controller_problems(sources({1: (listed(1, 2, 3), quorum(1, silent=ids))})))
        assert found == {("voter-behind", id) for id in ids} | ({("no-quorum", None)} if len(ids) == 2 else set())


def test_every_broker_is_asked_for_the_quorum() -> None:
    """One partitioned broker does not reach it; none does; a deposed leader has a lower epoch."""
    fault = TimeoutError("no answer within 5 s")
    one = sources({1: (listed(1, 2, 3), quorum(1)), 2: (listed(1, 2, 3), fault), 3: (listed(1, 2, 3), quorum(1))})
    assert kinds(controller_problems(one)) == {("quorum-unreachable", 2)}
    none = sources({1: (listed(1, 2, 3), fault), 2: (listed(1, 2, 3), fault)})
    [problem] = controller_problems(none)
    assert problem.problem == "no-quorum"
    assert all(str(BROKERS[id]) in problem.details for id in (1, 2))
    deposed = sources({1: (listed(1, 2, 3), quorum(1, 4, silent=(2, 3))), 2: (listed(1, 2, 3), quorum(2, 5))})
    assert kinds(controller_problems(deposed)) == set()
    leaderless = sources({1: (listed(1, 2, 3), quorum(-1))})
    assert kinds(controller_problems(leaderless)) == {("no-quorum", None)}


def test_invisible_part_is_named() -> None:
    refused = sources({1: (listed(1, 2, 3), REFUSED)}, log_dirs=REFUSED)
    for problems in (controller_problems(refused), log_dir_problems(refused)):
        [row] = problems
        assert row.problem == NOT_CHECKED
        assert "Describe on the cluster" in row.details


def test_cluster_without_a_quorum_has_one_controller() -> None:
    assert kinds(controller_problems(sources({1: (listed(1, 2, 3), None), 2: (listed(1, 2, 3), None)}))) == set()
    leaderless = sources({1: (listed(1, 2, 3, controller=None), None)})
    assert kinds(controller_problems(leaderless)) == {("no-controller", None)}
    two = sources({1: (listed(1, 2, 3, controller=1), None), 2: (listed(1, 2, 3, controller=2), None)})
    assert kinds(controller_problems(two)) == {("views-differ", None)}


def test_brokers_that_are_cut_off_are_named_although_they_are_the_majority() -> None:
    """They list all brokers as before, and the others list each other. No quorum says which of them are right."""
    source = random.Random(39)
    ids = list(BROKERS)
    for _ in range(20):
        cut_off = set(source.sample(ids, source.randint(1, 2)))
        others = [id for id in ids if id not in cut_off]
        views = {id: (listed(*(ids if id in cut_off else others), controller=others[0]), None) for id in ids}
        problems = kinds(broker_problems(sources(views), {}))
        assert {id for kind, id in problems if kind == "views-differ"} == cut_off
        assert metadata_sources(sources(views))[0] == BROKERS[others[0]]


def test_broker_that_is_partitioned_from_the_others_is_not_trusted() -> None:
    views = sources({1: (listed(1, 2), quorum(1)), 2: (listed(1, 2), quorum(1)), 3: (listed(1, 2, 3), REFUSED)})
    assert ("views-differ", 3) in kinds(broker_problems(views, {}))
    assert metadata_sources(views)[-1] == BROKERS[3]


def test_broker_is_named_by_whatever_knows_it() -> None:
    fenced = RegisteredBroker("", -1, None, is_fenced=True)
    some = sources({1: (listed(1), quorum(1))}, registered={2: fenced})
    assert kinds(broker_problems(some, {3: 4})) == {("broker-unreachable", 2), ("broker-unreachable", 3)}
    answering = sources({1: (listed(1, 2), quorum(1)), 2: (listed(1, 2), quorum(1))}, registered={2: fenced})
    assert kinds(broker_problems(answering, {})) == {("broker-fenced", 2)}


def test_log_directory_that_is_offline_or_full() -> None:
    offline = AdminError.of_kafka(ErrorCode.KAFKA_STORAGE_ERROR, "/b")
    states = [
        LogDirState("/a", 1000, 500, None),
        LogDirState("/b", None, None, offline),
        LogDirState("/c", 1000, 0, None),
        LogDirState("/d", None, None, None),
    ]
    found = log_dir_problems(sources({1: (listed(1, 2, 3), quorum(1))}, log_dirs=states))
    assert [(problem.problem, problem.details.partition(":")[0]) for problem in found] == [
        ("log-dir-offline", "/b"),
        ("log-dir-full", "/c"),
    ]


async def problems_of(cluster: FakeCluster, timeout: float = 1.5) -> list[HealthProblem]:
    async with await AdminClient.open(cluster.bootstrap, timeout=timeout) as admin:
        try:
            return [row for row in await health(Run(admin)) if isinstance(row, HealthProblem)]
        except Unhealthy as answer:
            return list(answer.rows)


async def test_new_cluster_is_healthy() -> None:
    with FakeCluster(brokers=3) as cluster:
        assert await problems_of(cluster) == []


@pytest.mark.parametrize("seed", range(4))
async def test_brokers_that_stop_are_named_although_the_metadata_is_old(seed: int) -> None:
    """No controller fences the brokers, so the metadata of all others stays as it was."""
    choose = random.Random(seed)
    with FakeCluster(brokers=3, topics=["orders"], partitions=6) as cluster:
        assert await problems_of(cluster) == []
        states = choose.choice([("stopped", "up"), ("paused", "up"), ("stopped", "paused"), ("stopped", "stopped")])
        broken = choose.sample((1, 2, 3), 2)
        for broker, state in zip(broken, states, strict=True):
            if state == "stopped":
                cluster.stop_broker(broker, fence=False)
            elif state == "paused":
                cluster.pause_broker(broker)
        down = {broker for broker, state in zip(broken, states, strict=True) if state != "up"}
        led = await led_by(cluster, down)
        problems = await problems_of(cluster)
    assert {row.broker for row in problems if row.problem == "broker-unreachable"} == down
    assert {(row.name, row.partition) for row in problems if row.problem == "leader-unreachable"} == led


async def led_by(cluster: FakeCluster, brokers: set[int]) -> set[tuple[str, int]]:
    """Return the partitions that some brokers lead, as the cluster still reports."""
    async with await AdminClient.open(cluster.bootstrap, timeout=1.5) as admin:
        topics = await admin.describe_topics()
    return {
        (name, partition.partition)
        for name, topic in topics.items()
        if isinstance(topic, TopicDescription)
        for partition in topic.partitions
        if partition.leader in brokers
    }


async def test_frozen_broker_cannot_hide_partitions() -> None:
    """A broker that keeps its metadata is not the only source, in whichever order brokers are asked."""
    with FakeCluster(brokers=3, topics=["orders"], partitions=3) as cluster:
        cluster.freeze_metadata(1)
        cluster.stop_broker(3)
        problems = await problems_of(cluster)
    found = {(row.problem, row.broker) for row in problems}
    assert ("broker-unreachable", 3) in found
    assert {("views-differ", 1), ("views-differ", 2)} & found


def stalled(problems: Iterable[HealthProblem]) -> dict[int | None, str]:
    return {row.partition: row.details for row in problems if row.problem == "replication-stalled"}


@pytest.mark.parametrize("seed", range(2))
async def test_records_that_replicas_in_sync_do_not_fetch_are_a_problem(seed: int) -> None:
    """The metadata says nothing of it: no broker reaches the controller, so the replicas in sync stay the same."""
    choose = random.Random(seed)
    with FakeCluster(brokers=3, topics=["orders"], partitions=6) as cluster:
        async with await AdminClient.open(cluster.bootstrap) as admin:
            [topic] = (await admin.describe_topics()).values()
        assert isinstance(topic, TopicDescription)
        ends = {index: choose.choice((0, 7, 10**12)) for index in range(6)}
        behind = {
            partition.partition: {choose.choice([id for id in partition.isr if id != partition.leader]): 5}
            for partition in topic.partitions
            if ends[partition.partition] and choose.random() < 0.5
        }
        cluster.set_ends("orders", ends, behind=behind)
        problems = await problems_of(cluster, timeout=6)
    stalled_leaders = {row.broker for row in problems if row.problem == "replication-stalled"}
    assert stalled_leaders == {topic.partitions[index].leader for index in behind}
    assert stalled(problems) == {
        index: f"high watermark {ends[index] - 5} after 1 s, log end {ends[index]} before; "
        f"not fetched by broker {broker} (log end {ends[index] - 5})"
        for index, [broker] in behind.items()
    }


async def test_records_fetched_in_time_are_healthy() -> None:
    with FakeCluster(brokers=3, topics=["orders"], partitions=1) as cluster:
        cluster.move_leader("orders", 0, 1)
        cluster.set_ends("orders", {0: 10}, behind={0: {2: 1, 3: 1}})
        async with await AdminClient.open(cluster.bootstrap, timeout=600) as admin:
            checking = asyncio.create_task(health(Run(admin)))
            await eventually(lambda: sum(request.api_key == LIST_OFFSETS for request in cluster.requests()) > 2)
            cluster.set_ends("orders", {0: 20}, behind={0: {2: 5}})  # it has what the leader had
            assert await checking == []


async def test_unreported_replication_is_not_checked() -> None:
    with FakeCluster(brokers=3, topics=["orders"], partitions=2) as cluster:
        for broker in (1, 2, 3):
            cluster.misbehave(broker, "close", times=None, api_key=LIST_OFFSETS)
        problems = await problems_of(cluster, timeout=60)
    [row] = problems
    assert row.problem == NOT_CHECKED
    assert "replication of orders-0 and 1 more partition" in row.details
