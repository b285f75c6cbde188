"""What survives when a controller ends, or loses its connection, between any two of its writes.

Each scenario is run once without a fault, and its writes are counted. Then it is run again for each of them, with the
fault just before that write takes place (or just after it). In the end, always: what was acknowledged is there, nothing
is half made, what was begun was finished, and every broker knows what ZooKeeper says.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, NamedTuple

import pytest

from kwire.cluster.controller.errors import AdminError, NotController
from kwire.cluster.zookeeper.admin_requests import PreferredReplicaElection, ReassignPartitions
from kwire.cluster.zookeeper.configs import EntityConfig
from kwire.cluster.zookeeper.controllers import ActiveController, ControllerEpoch
from kwire.cluster.zookeeper.memory_store import InjectedFault
from kwire.cluster.zookeeper.operations import Create, SetData
from kwire.cluster.zookeeper.topics import DeletionMarker, TopicRegistration
from kwire.messages.kip4.alter_topic_v2 import TopicAlteration
from kwire.messages.kip4.structures import ConfigEntry
from tests.cluster.controller.clusters import assignment, cluster_of, creation, move, run

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from kwire.cluster.controller.backend import Outcome
    from kwire.cluster.controller.controller import Controller
    from kwire.cluster.zookeeper.memory_store import MemoryStore
    from kwire.cluster.zookeeper.operations import Operation
    from tests.cluster.controller.clusters import Cluster


class Scenario(NamedTuple):
    """``work``: what is asked of the controller; ``check``: what must hold, given whether it was acknowledged."""

    work: Callable[[Controller], Awaitable[list[Outcome]]]
    check: Callable[[Cluster, bool], None]


PREPARED = (
    creation("old", (1, 2), (2, 3), (3, 1), retention_ms="1000"),
    creation("other", (1, 2, 3), (2, 3, 1)),
    creation("doomed", (1, 2), (3, 1)),
)


async def prepared(cluster: Cluster) -> Controller:
    await cluster.active.create_topics(PREPARED)
    return await cluster.calm()


# What is asked, and what must be true of it


def created(cluster: Cluster, acknowledged: bool) -> None:
    for number in range(4):
        name = f"new{number}"
        if acknowledged or name in cluster.topics():
            assert dict(cluster.registration(name).partitions) == {0: (1, 2), 1: (2, 3), 2: (3, 1)}
            assert EntityConfig.decode(cluster.memory.tree.get(EntityConfig.path("topics", name)).data).config == {
                "retention.ms": "5000"
            }
        else:
            assert not cluster.exists(EntityConfig.path("topics", name))


def altered(cluster: Cluster, acknowledged: bool) -> None:
    """Settings, moves and additional partitions of a topic are one change."""
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


def moved(cluster: Cluster, acknowledged: bool) -> None:
    """All moves of a request are one change."""
    before = [(1, 2), (2, 3), (1, 2, 3)]
    after = [(2, 3), (1, 3), (3, 2)]
    now = [
        cluster.registration("old").partitions[0],
        cluster.registration("old").partitions[1],
        cluster.registration("other").partitions[0],
    ]
    assert now == after if acknowledged else now in (before, after)


def deleted(cluster: Cluster, acknowledged: bool) -> None:
    for name in ("old", "doomed"):
        if acknowledged:
            assert name not in cluster.topics()
        assert cluster.exists(TopicRegistration.path(name)) == cluster.exists(EntityConfig.path("topics", name))


def preferred(cluster: Cluster, acknowledged: bool) -> None:
    if acknowledged:
        assert [cluster.state("old", index).leader for index in range(3)] == [1, 2, 3]


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

SCENARIOS = {
    "create": Scenario(
        lambda controller: controller.create_topics(
            [creation(f"new{number}", (1, 2), (2, 3), (3, 1), retention_ms="5000") for number in range(4)]
        ),
        created,
    ),
    "alter": Scenario(lambda controller: controller.alter_topics(ALTERATIONS), altered),
    "reassign": Scenario(
        lambda controller: controller.reassign_partitions(
            [move("old", p0=(2, 3), p1=(1, 3)), move("other", p0=(3, 2))]
        ),
        moved,
    ),
    "delete": Scenario(lambda controller: controller.delete_topics(["old", "doomed"]), deleted),
}


def sound(cluster: Cluster) -> None:
    """Nothing is half made, nothing is left to do, and everybody knows it."""
    cluster.check_agreement()
    whole(cluster)


def whole(cluster: Cluster) -> None:
    """Nothing is half made and nothing is left to do."""
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


def dies(cluster: Cluster, store: MemoryStore) -> InjectedFault:
    """The session is gone: as after kill -9, or as when ZooKeeper has not heard from it for too long."""
    cluster.memory.expire(store.session_id)
    return InjectedFault.NONE


def loses_request(cluster: Cluster, store: MemoryStore) -> InjectedFault:
    del cluster, store
    return InjectedFault.LOSE_REQUEST


def loses_answer(cluster: Cluster, store: MemoryStore) -> InjectedFault:
    del cluster, store
    return InjectedFault.LOSE_RESPONSE


async def run_with_fault(
    scenario: Scenario, fault: Callable[[Cluster, MemoryStore], InjectedFault] | None, at: int
) -> tuple[int, bool, bool]:
    """Writes counted, whether the fault happened, whether the work was acknowledged."""
    async with cluster_of(1, 2, 3, controllers=(1, 2)) as cluster:
        controller = await prepared(cluster)
        victim = cluster.brokers[controller.broker_id]
        count = 0
        happened = False

        def interrupt(store: MemoryStore, operations: Sequence[Operation]) -> InjectedFault:
            nonlocal count, happened
            del operations
            if store is not victim.store:
                return InjectedFault.NONE
            count += 1
            if fault is None or count - 1 != at:
                return InjectedFault.NONE
            happened = True
            return fault(cluster, store)

        cluster.memory.inject_fault = interrupt
        try:
            outcomes = await scenario.work(controller)
            acknowledged = all(outcome.error is None for outcome in outcomes)
            assert acknowledged, outcomes
        except NotController:
            acknowledged = False
        if fault is None:
            await cluster.calm()
            await asyncio.sleep(0.01)
            await cluster.calm()
        else:
            await asyncio.sleep(0)
        if fault is dies:
            if not happened:  # it comes between the answer and the end of the work
                for _ in range(1000):
                    await asyncio.sleep(0)
            if victim.store.state == "expired":  # bring a broker of this id back, with another session
                await cluster.kill(victim.id)
                await cluster.start(victim.id)
        await cluster.calm()
        await asyncio.sleep(0)
        await cluster.calm()
        cluster.memory.inject_fault = None
        sound(cluster)
        scenario.check(cluster, acknowledged)
        return count, happened, acknowledged


@pytest.mark.parametrize("fault", [dies, loses_request, loses_answer], ids=lambda fault: fault.__name__)
@pytest.mark.parametrize("name", SCENARIOS)
def test_a_fault_before_any_write_loses_nothing_and_leaves_nothing_half_made(
    name: str, fault: Callable[[Cluster, MemoryStore], InjectedFault]
) -> None:
    async def work() -> None:
        writes, _, acknowledged = await run_with_fault(SCENARIOS[name], None, -1)
        assert acknowledged
        assert writes >= 3
        told = set()
        for at in range(writes):
            _, happened, acknowledged = await run_with_fault(SCENARIOS[name], fault, at)
            assert happened, f"write {at} of {writes} was not reached"
            told.add(acknowledged)
            if fault is not dies:
                assert acknowledged, f"a connection lost at write {at} is no reason to refuse"
        if fault is dies and name != "create":  # creating is over with the answer
            assert told == {True, False}, "the fault came before the answer, and after it"

    run(work())


def test_a_controller_that_was_overtaken_can_write_nothing() -> None:
    """Another one takes office just before each write of the old one, which still believes to be in office."""

    async def overtaken(name: str, at: int) -> bool:
        async with cluster_of(1, 2, 3) as cluster:
            controller = await prepared(cluster)
            store = cluster.brokers[1].store
            usurper = cluster.memory.session()
            before: dict[str, bytes] = {}
            count = 0

            def interrupt(session: MemoryStore, operations: Sequence[Operation]) -> InjectedFault:
                nonlocal count
                del operations
                if session is store:
                    count += 1
                    if count - 1 == at:
                        usurper.delete(ActiveController.path())
                        epoch = cluster.memory.tree.get(ControllerEpoch.path())
                        taken = ControllerEpoch(int(epoch.data) + 1).encode()
                        context = ActiveController(9).encode()
                        usurper.multi(
                            [
                                Create(ActiveController.path(), context, ephemeral=True),
                                SetData(ControllerEpoch.path(), taken, epoch.version),
                            ]
                        )
                        before.update(cluster.memory.snapshot())
                return InjectedFault.NONE

            cluster.memory.inject_fault = interrupt
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
            assert cluster.memory.snapshot() == before, "something was written after the office was lost"
            assert not controller.is_active
            with pytest.raises(NotController):
                await controller.list_topics()
            return True

    async def work() -> None:
        for name in SCENARIOS:
            reached = 0
            while await overtaken(name, reached):
                reached += 1
            assert reached >= 3, name

    run(work())


def test_requests_that_wait_when_the_session_ends_are_told_to_go_elsewhere() -> None:
    async def work() -> None:
        async with cluster_of(1, 2, 3, controllers=(1, 2)) as cluster:
            controller = await prepared(cluster)
            victim = cluster.brokers[controller.broker_id]
            waiting = [
                asyncio.ensure_future(controller.create_topics([creation(f"t{number}", (1, 2))]))
                for number in range(20)
            ]
            await asyncio.sleep(0)
            cluster.memory.expire(victim.store.session_id)
            results = await asyncio.gather(*waiting, return_exceptions=True)
            assert any(isinstance(result, NotController) for result in results)
            assert all(isinstance(result, list | NotController) for result in results)
            await cluster.kill(victim.id)
            await cluster.start(victim.id)
            await cluster.calm()
            sound(cluster)
            for number, result in enumerate(results):
                if isinstance(result, list):
                    assert result[0].error is None
                    assert f"t{number}" in cluster.topics()

    run(work())


def test_a_partition_whose_target_dies_on_the_way_arrives_when_it_is_back() -> None:
    async def work() -> None:
        async with cluster_of(1, 2, 3, controllers=(1,)) as cluster:
            controller = await prepared(cluster)

            def interrupt(store: MemoryStore, operations: Sequence[Operation]) -> InjectedFault:
                del store
                if any(one.path == ReassignPartitions.path() for one in operations):  # accepted, and not begun
                    cluster.memory.inject_fault = None
                    cluster.memory.expire(cluster.brokers[3].store.session_id)
                return InjectedFault.NONE

            cluster.memory.inject_fault = interrupt
            (outcome,) = await controller.reassign_partitions([move("old", p0=(3, 2))])
            assert outcome.error is None
            for _ in range(50):
                await controller.drain()
            assert dict(cluster.registration("old").adding_replicas) == {0: (3,)}
            assert set(cluster.state("old", 0).isr) == {1, 2}
            (status,) = await controller.verify_reassignments([])
            assert (status.topic, status.statuses) == ("old", {0: 0})
            (refused,) = await controller.reassign_partitions([move("other", p0=(1, 2))])
            assert isinstance(refused.error, AdminError)
            assert refused.error.code == 1009
            await cluster.kill(3)
            await cluster.start(3, runs_controller=False)
            await cluster.calm()
            await cluster.calm()
            assert cluster.registration("old").partitions[0] == (3, 2)
            assert set(cluster.state("old", 0).isr) == {2, 3}
            sound(cluster)

    run(work())


def test_zookeeper_stopped_and_started_again_is_waited_for() -> None:
    async def work() -> None:
        async with cluster_of(1, 2, 3) as cluster:
            controller = await prepared(cluster)
            cluster.memory.stop()
            pending = asyncio.ensure_future(controller.create_topics([creation("later", (1, 2))]))
            for _ in range(20):
                await asyncio.sleep(0)
            assert not pending.done()
            cluster.memory.start()
            (outcome,) = await pending
            assert outcome.error is None
            await cluster.calm()
            sound(cluster)
            assert "later" in cluster.topics()

    run(work())


def test_an_alteration_that_moves_gives_way_to_a_reassignment_that_a_tool_begins_at_that_moment() -> None:
    """1009, and nothing of the topic has changed, settings included; what needs no move is done."""

    async def work() -> None:
        async with cluster_of(1, 2, 3) as cluster:
            controller = await prepared(cluster)
            before = {path: data for path, data in cluster.memory.snapshot().items() if "/old" in path}

            def interrupt(store: MemoryStore, operations: Sequence[Operation]) -> InjectedFault:
                if store is not cluster.tool and any(one.path == ReassignPartitions.path() for one in operations):
                    cluster.memory.inject_fault = None
                    cluster.tool.create(ReassignPartitions.path(), b"not for us to read")
                return InjectedFault.NONE

            cluster.memory.inject_fault = interrupt
            other = TopicAlteration(topic_name="other", partitions=5)
            outcomes = await controller.alter_topics([ALTERATIONS[0], other])
            assert [one.error.code if one.error else 0 for one in outcomes] == [1009, 0]
            assert {path: data for path, data in cluster.memory.snapshot().items() if "/old" in path} == before
            assert len(cluster.registration("other").partitions) == 5
            cluster.tool.delete(ReassignPartitions.path())
            await cluster.calm()
            assert [one.error for one in await controller.alter_topics([ALTERATIONS[0]])] == [None]

    run(work())
