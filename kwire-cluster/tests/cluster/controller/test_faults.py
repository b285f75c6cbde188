"""Tests of a controller that fails or loses its connection between any two writes.

Each scenario runs once without a fault to count its writes, then once for each write with a fault before (or after)
that write. In the end, acknowledged requests are applied, nothing is half written, pending work is complete, and every
broker has the metadata that ZooKeeper contains.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, NamedTuple

import pytest

from kwire.messages.kip4.alter_topic_v2 import TopicAlteration
from kwire.messages.kip4.preferred_replica_leader_election import TopicPartitions
from kwire.messages.kip4.structures import ConfigEntry
from kwire_cluster.config.audit import AUDIT, AuditEntry
from kwire_cluster.controller.errors import CommandError, NotController
from kwire_cluster.zookeeper.admin_requests import PreferredReplicaElection, ReassignPartitions
from kwire_cluster.zookeeper.configs import EntityConfig
from kwire_cluster.zookeeper.controllers import ActiveController, ControllerEpoch
from kwire_cluster.zookeeper.operations import Create, SetData
from kwire_cluster.zookeeper.topics import DeletionMarker, TopicRegistration
from tests.cluster.audit_replay import AuditedTopic, check_replay
from tests.cluster.controller.clusters import assignment, cluster_of, creation, reassignment
from tests.cluster.memory_store import InjectedFault

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from kwire_cluster.controller.backend import Outcome
    from kwire_cluster.controller.controller import Controller
    from kwire_cluster.zookeeper.operations import Operation
    from tests.cluster.controller.clusters import Cluster
    from tests.cluster.memory_store import MemoryStore


class Scenario(NamedTuple):
    """A request and its check.

    Attributes:
        work: sends the request to a controller.
        check: checks the result; the second argument is whether the request was acknowledged.
    """

    work: Callable[[Controller], Awaitable[list[Outcome]]]
    check: Callable[[Cluster, bool], None]


PREPARED = (
    creation("old", (1, 2), (2, 3), (3, 1), retention_ms="1000"),
    creation("other", (1, 2, 3), (2, 3, 1)),
    creation("doomed", (1, 2), (3, 1)),
)


async def create_prepared_topics(cluster: Cluster) -> Controller:
    await cluster.active.create_topics(PREPARED)
    return await cluster.wait_idle()


# Checks and scenarios


def check_created(cluster: Cluster, acknowledged: bool) -> None:
    for number in range(4):
        name = f"new{number}"
        if acknowledged or name in cluster.topics():
            assert dict(cluster.registration(name).partitions) == {0: (1, 2), 1: (2, 3), 2: (3, 1)}
            assert EntityConfig.decode(cluster.memory.tree.get(EntityConfig.path("topics", name)).data).config == {
                "retention.ms": "5000"
            }
        else:
            assert not cluster.exists(EntityConfig.path("topics", name))


def check_altered(cluster: Cluster, acknowledged: bool) -> None:
    """Configs, reassignments, and added partitions of a topic are written together."""
    for name, before, after in (
        ("old", {0: (1, 2), 1: (2, 3), 2: (3, 1)}, {0: (3, 2), 1: (2, 3), 2: (3, 1), 3: (2, 1)}),
        ("other", {0: (1, 2, 3), 1: (2, 3, 1)}, {0: (2, 1), 1: (2, 3, 1), 2: (3, 1)}),
    ):
        config = EntityConfig.decode(cluster.memory.tree.get(EntityConfig.path("topics", name)).data).config
        replicas = dict(cluster.registration(name).partitions)
        if acknowledged or replicas != before:
            assert replicas == after
            assert config["retention.ms"] == "7"
        else:
            assert config.get("retention.ms") in {"1000", None}


def check_reassigned(cluster: Cluster, acknowledged: bool) -> None:
    """All reassignments of a request are written together."""
    before = [(1, 2), (2, 3), (1, 2, 3)]
    after = [(2, 3), (1, 3), (3, 2)]
    now = [
        cluster.registration("old").partitions[0],
        cluster.registration("old").partitions[1],
        cluster.registration("other").partitions[0],
    ]
    assert now == after if acknowledged else now in (before, after)


def check_deleted(cluster: Cluster, acknowledged: bool) -> None:
    for name in ("old", "doomed"):
        if acknowledged:
            assert name not in cluster.topics()
        assert cluster.exists(TopicRegistration.path(name)) == cluster.exists(EntityConfig.path("topics", name))


def check_elected(cluster: Cluster, acknowledged: bool) -> None:
    """The new order of replicas and the election have an entry each, or neither was carried out."""
    entries = [entry for entry in audit_of(cluster) if entry.entity == "topics/other"][1:]
    leader = cluster.state("other", 0).leader
    assert leader == 2 if acknowledged else leader in {1, 2}
    changes = [{"replicas": ("0: 1,2,3", "0: 2,1,3")}, {"leaders": ("0: 1", "0: 2")}]
    assert [dict(entry.changes) for entry in entries] == changes[: len(entries)]
    assert (len(entries) == 2) == (leader == 2)


ALTERATIONS = (
    TopicAlteration(
        topic_name="old",
        replica_assignment=(*assignment((3, 2)), *assignment((2, 1), first=3)),
        added_config_entries=(ConfigEntry(config_key="retention.ms", config_value="7"),),
    ),
    TopicAlteration(
        topic_name="other",
        replica_assignment=(*assignment((2, 1)), *assignment((3, 1), first=2)),
        added_config_entries=(ConfigEntry(config_key="retention.ms", config_value="7"),),
    ),
)


async def elect(controller: Controller) -> list[Outcome]:
    """Make a follower the preferred leader, and elect it."""
    ordered = await controller.reassign_partitions([reassignment("other", p0=(2, 1, 3))])
    await controller.drain()
    return ordered + await controller.elect_preferred_leaders([TopicPartitions(topic="other", partition_ids=(0,))])


SCENARIOS = {
    "create": Scenario(
        lambda controller: controller.create_topics(
            [creation(f"new{number}", (1, 2), (2, 3), (3, 1), retention_ms="5000") for number in range(4)]
        ),
        check_created,
    ),
    "alter": Scenario(lambda controller: controller.alter_topics(ALTERATIONS), check_altered),
    "reassign": Scenario(
        lambda controller: controller.reassign_partitions(
            [reassignment("old", p0=(2, 3), p1=(1, 3)), reassignment("other", p0=(3, 2))]
        ),
        check_reassigned,
    ),
    "elect": Scenario(elect, check_elected),
    "delete": Scenario(lambda controller: controller.delete_topics(["old", "doomed"]), check_deleted),
}


def check_complete(cluster: Cluster) -> None:
    """Check that all work is complete and that the controller and all brokers agree with ZooKeeper."""
    cluster.check_agreement()
    check_znodes(cluster)


def check_znodes(cluster: Cluster) -> None:
    """Check that nothing is half written, no work is pending, and the audit has exactly what was changed."""
    check_audit(cluster)
    assert not cluster.exists(ReassignPartitions.path())
    assert not cluster.exists(PreferredReplicaElection.path())
    assert not cluster.memory.tree.get(DeletionMarker.root).children
    for name in cluster.topics():
        registration = cluster.registration(name)
        assert not registration.adding_replicas
        assert not registration.removing_replicas
        assert cluster.exists(EntityConfig.path("topics", name))
        nodes = cluster.memory.tree.get(f"{TopicRegistration.path(name)}/partitions").children
        assert nodes == {str(index) for index in registration.partitions}
        for index, replicas in registration.partitions.items():
            state = cluster.state(name, index)
            assert state.leader in replicas
            assert sorted(state.isr) == sorted(replicas)


def audit_of(cluster: Cluster) -> list[AuditEntry]:
    """Return the entries of the audit, oldest first."""
    names = sorted(cluster.memory.tree.get(AUDIT).children, key=lambda name: name[-10:])
    paths = [f"{AUDIT}/{name}" for name in names]
    return [AuditEntry.decode(cluster.memory.tree.get(path).data, path) for path in paths]


def check_audit(cluster: Cluster) -> None:
    """Check that the entries of the audit lead to the topics."""
    topics = {}
    for name in cluster.topics():
        config = EntityConfig.decode(cluster.memory.tree.get(EntityConfig.path("topics", name)).data).config
        topics[name] = AuditedTopic(dict(cluster.registration(name).partitions), dict(config))
    check_replay(audit_of(cluster), topics)


def expire_session(cluster: Cluster, store: MemoryStore) -> InjectedFault:
    """Expire the session, as after kill -9 or a long network failure."""
    cluster.memory.expire(store.session_id)
    return InjectedFault.NONE


def lose_request(cluster: Cluster, store: MemoryStore) -> InjectedFault:
    del cluster, store
    return InjectedFault.LOSE_REQUEST


def lose_response(cluster: Cluster, store: MemoryStore) -> InjectedFault:
    del cluster, store
    return InjectedFault.LOSE_RESPONSE


async def run_with_fault(
    scenario: Scenario, fault: Callable[[Cluster, MemoryStore], InjectedFault] | None, at: int
) -> tuple[int, bool, bool]:
    """Return the number of writes, whether the fault happened, and whether the request was acknowledged."""
    async with cluster_of(1, 2, 3, controllers=(1, 2)) as cluster:
        controller = await create_prepared_topics(cluster)
        victim = cluster.brokers[controller.broker_id]
        count = 0
        happened = False

        def inject_fault(store: MemoryStore, operations: Sequence[Operation]) -> InjectedFault:
            nonlocal count, happened
            del operations
            if store is not victim.store:
                return InjectedFault.NONE
            count += 1
            if fault is None or count - 1 != at:
                return InjectedFault.NONE
            happened = True
            return fault(cluster, store)

        cluster.memory.inject_fault = inject_fault
        try:
            outcomes = await scenario.work(controller)
            acknowledged = all(outcome.error is None for outcome in outcomes)
            assert acknowledged, outcomes
        except NotController:
            acknowledged = False
        if fault is None:
            await cluster.wait_idle()
        else:
            await asyncio.sleep(0)
        if fault is expire_session:
            if not happened:  # the fault follows the response
                for _ in range(1000):
                    await asyncio.sleep(0)
            if victim.store.state == "expired":  # restart the broker with a new session
                await cluster.kill(victim.id)
                await cluster.start(victim.id)
        await cluster.wait_idle()
        cluster.memory.inject_fault = None
        check_complete(cluster)
        scenario.check(cluster, acknowledged)
        return count, happened, acknowledged


@pytest.mark.parametrize("fault", [expire_session, lose_request, lose_response], ids=lambda fault: fault.__name__)
@pytest.mark.parametrize("name", SCENARIOS)
async def test_fault_at_any_write_loses_nothing(
    name: str, fault: Callable[[Cluster, MemoryStore], InjectedFault]
) -> None:
    writes, _, acknowledged = await run_with_fault(SCENARIOS[name], None, -1)
    assert acknowledged
    assert writes >= 3
    responses = set()
    for at in range(writes):
        _, happened, acknowledged = await run_with_fault(SCENARIOS[name], fault, at)
        assert happened, f"write {at} of {writes} was not reached"
        responses.add(acknowledged)
        if fault is not expire_session:
            assert acknowledged, f"a connection lost at write {at} must not fail the request"
    if fault is expire_session and name != "create":  # a creation is complete with its response
        assert responses == {True, False}, "faults before and after the response"


async def test_replaced_controller_cannot_write() -> None:
    """Another controller is elected just before a write of the old one, which does not know it yet."""

    async def replace_controller(name: str, at: int) -> bool:
        async with cluster_of(1, 2, 3) as cluster:
            controller = await create_prepared_topics(cluster)
            store = cluster.brokers[1].store
            other_session = cluster.memory.session()
            before: dict[str, bytes] = {}
            count = 0

            def inject_fault(session: MemoryStore, operations: Sequence[Operation]) -> InjectedFault:
                nonlocal count
                del operations
                if session is store:
                    count += 1
                    if count - 1 == at:
                        other_session.delete(ActiveController.path())
                        epoch = cluster.memory.tree.get(ControllerEpoch.path())
                        next_epoch = ControllerEpoch(int(epoch.data) + 1).encode()
                        registration = ActiveController(9).encode()
                        other_session.multi(
                            [
                                Create(ActiveController.path(), registration, ephemeral=True),
                                SetData(ControllerEpoch.path(), next_epoch, epoch.version),
                            ]
                        )
                        before.update(cluster.memory.snapshot())
                return InjectedFault.NONE

            cluster.memory.inject_fault = inject_fault
            try:
                outcomes = await SCENARIOS[name].work(controller)
            except NotController:
                assert before
            else:
                assert all(outcome.error is None for outcome in outcomes)
            for _ in range(200):
                await asyncio.sleep(0)
            if not before:
                return False
            assert cluster.memory.snapshot() == before, "the old controller has written"
            assert not controller.is_active
            with pytest.raises(NotController):
                await controller.list_topics()
            return True

    for name in SCENARIOS:
        reached = 0
        while await replace_controller(name, reached):
            reached += 1
        assert reached >= 3, name


async def test_requests_waiting_at_the_end_of_the_session_fail_with_not_controller() -> None:
    async with cluster_of(1, 2, 3, controllers=(1, 2)) as cluster:
        controller = await create_prepared_topics(cluster)
        victim = cluster.brokers[controller.broker_id]
        waiting = [
            asyncio.ensure_future(controller.create_topics([creation(f"t{number}", (1, 2))])) for number in range(20)
        ]
        await asyncio.sleep(0)
        cluster.memory.expire(victim.store.session_id)
        results = await asyncio.gather(*waiting, return_exceptions=True)
        assert any(isinstance(result, NotController) for result in results)
        assert all(isinstance(result, list | NotController) for result in results)
        await cluster.kill(victim.id)
        await cluster.start(victim.id)
        await cluster.wait_idle()
        check_complete(cluster)
        for number, result in enumerate(results):
            if isinstance(result, list):
                assert result[0].error is None
                assert f"t{number}" in cluster.topics()


async def test_reassignment_completes_after_its_target_returns() -> None:
    async with cluster_of(1, 2, 3, controllers=(1,)) as cluster:
        controller = await create_prepared_topics(cluster)

        def inject_fault(store: MemoryStore, operations: Sequence[Operation]) -> InjectedFault:
            del store
            if any(one.path == ReassignPartitions.path() for one in operations):  # accepted, not started
                cluster.memory.inject_fault = None
                cluster.memory.expire(cluster.brokers[3].store.session_id)
            return InjectedFault.NONE

        cluster.memory.inject_fault = inject_fault
        (outcome,) = await controller.reassign_partitions([reassignment("old", p0=(3, 2))])
        assert outcome.error is None
        for _ in range(50):
            await controller.drain()
        assert dict(cluster.registration("old").adding_replicas) == {0: (3,)}
        assert set(cluster.state("old", 0).isr) == {1, 2}
        (status,) = await controller.verify_reassignments([])
        assert (status.topic, status.statuses) == ("old", {0: 0})
        (rejected,) = await controller.reassign_partitions([reassignment("other", p0=(1, 2))])
        assert isinstance(rejected.error, CommandError)
        assert rejected.error.code == 1009
        await cluster.kill(3)
        await cluster.start(3, runs_controller=False)
        await cluster.wait_idle()
        await cluster.wait_idle()
        assert cluster.registration("old").partitions[0] == (3, 2)
        assert set(cluster.state("old", 0).isr) == {2, 3}
        check_complete(cluster)


async def test_request_waits_for_a_restart_of_zookeeper() -> None:
    async with cluster_of(1, 2, 3) as cluster:
        controller = await create_prepared_topics(cluster)
        cluster.memory.stop()
        pending = asyncio.ensure_future(controller.create_topics([creation("later", (1, 2))]))
        for _ in range(20):
            await asyncio.sleep(0)
        assert not pending.done()
        cluster.memory.start()
        (outcome,) = await pending
        assert outcome.error is None
        await cluster.wait_idle()
        check_complete(cluster)
        assert "later" in cluster.topics()


async def test_alteration_is_rejected_if_a_tool_starts_a_reassignment_meanwhile() -> None:
    """The topic is unchanged, including its configs; alterations without a reassignment are applied."""
    async with cluster_of(1, 2, 3) as cluster:
        controller = await create_prepared_topics(cluster)
        before = {path: data for path, data in cluster.memory.snapshot().items() if "/old" in path}

        def inject_fault(store: MemoryStore, operations: Sequence[Operation]) -> InjectedFault:
            if store is not cluster.tool and any(one.path == ReassignPartitions.path() for one in operations):
                cluster.memory.inject_fault = None
                cluster.tool.create(ReassignPartitions.path(), b"malformed")
            return InjectedFault.NONE

        cluster.memory.inject_fault = inject_fault
        other = TopicAlteration(topic_name="other", partitions=5)
        outcomes = await controller.alter_topics([ALTERATIONS[0], other])
        assert [one.error.code if one.error else 0 for one in outcomes] == [1009, 0]
        assert {path: data for path, data in cluster.memory.snapshot().items() if "/old" in path} == before
        assert len(cluster.registration("other").partitions) == 5
        cluster.tool.delete(ReassignPartitions.path())
        await cluster.wait_idle()
        assert [one.error for one in await controller.alter_topics([ALTERATIONS[0]])] == [None]
