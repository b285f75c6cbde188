"""Tests of reassignments that cannot complete: they can be canceled, and damaged partitions heal."""

from __future__ import annotations

import pytest

from kwire_cluster.zookeeper.admin_requests import PartitionReassignment, ReassignPartitions
from kwire_cluster.zookeeper.topics import PartitionState, TopicRegistration
from tests.cluster.controller.clusters import Cluster, cluster_of, codes, creation, reassignment
from tests.eventually import eventually

UNKNOWN = 77


def request_to_unknown_broker(cluster: Cluster) -> None:
    """Request a reassignment to a broker that never existed, as an outside tool does."""
    requested = ReassignPartitions((PartitionReassignment("a", 0, (1, UNKNOWN)),))
    cluster.write(ReassignPartitions.path(), requested.encode())


async def stuck(cluster: Cluster) -> None:
    """Create topics, and start a reassignment that cannot complete."""
    await cluster.active.create_topics([creation("a", (1, 2), (2, 3)), creation("b", (1, 2))])
    request_to_unknown_broker(cluster)
    await eventually(lambda: dict(cluster.registration("a").adding_replicas) == {0: (UNKNOWN,)})
    await cluster.wait_idle()
    assert await codes(cluster.active.reassign_partitions([reassignment("b", p0=(3,))])) == {"b": 1009}


async def check_reassignment_works(cluster: Cluster) -> None:
    await cluster.wait_idle()
    registration = cluster.registration("a")
    assert (set(registration.partitions[0]), registration.adding_replicas, registration.removing_replicas) == (
        {1, 2},
        {},
        {},
    )
    assert not cluster.exists(ReassignPartitions.path())
    assert await codes(cluster.active.reassign_partitions([reassignment("b", p0=(3,))])) == {"b": 0}
    await eventually(lambda: dict(cluster.registration("b").partitions) == {0: (3,)})
    await cluster.wait_idle()
    cluster.check_agreement()


@pytest.mark.parametrize("target", ["unknown broker", "dead broker"])
async def test_removed_znode_cancels_the_reassignment(target: str) -> None:
    async with cluster_of(1, 2, 3) as cluster:
        if target == "dead broker":
            await cluster.start(UNKNOWN, runs_controller=False)
            await cluster.wait_idle()
            await cluster.kill(UNKNOWN)
        await stuck(cluster)
        cluster.tool.delete(ReassignPartitions.path())
        await eventually(lambda: not cluster.registration("a").adding_replicas)
        await check_reassignment_works(cluster)


@pytest.mark.parametrize("by", ["the same controller", "the next controller"])
async def test_empty_replica_list_cancels_the_reassignment(by: str) -> None:
    async with cluster_of(1, 2, 3, controllers=(1, 2)) as cluster:
        await stuck(cluster)
        if by == "the next controller":
            await cluster.kill(cluster.active.broker_id)
            await cluster.start(1)
            await cluster.wait_idle()
        both = [reassignment("a", p0=()), reassignment("b", p0=(3,))]
        assert await codes(cluster.active.reassign_partitions(both)) == {"a": 0, "b": 1009}
        await check_reassignment_works(cluster)


async def test_cancellation_leaves_other_partitions_alone() -> None:
    async with cluster_of(1, 2, 3) as cluster:
        await cluster.active.create_topics([creation("a", (1, 2), (2, 3))])
        listed = (PartitionReassignment("a", 0, (1, UNKNOWN)), PartitionReassignment("a", 1, (2, UNKNOWN)))
        cluster.write(ReassignPartitions.path(), ReassignPartitions(listed).encode())
        await eventually(lambda: len(cluster.registration("a").adding_replicas) == 2)
        await cluster.wait_idle()
        assert await codes(cluster.active.reassign_partitions([reassignment("a", p0=())])) == {"a": 0}
        await cluster.wait_idle()
        assert dict(cluster.registration("a").adding_replicas) == {1: (UNKNOWN,)}
        rest = ReassignPartitions.decode(cluster.memory.tree.get(ReassignPartitions.path()).data)
        assert rest.partitions == listed[1:]
        cluster.check_agreement()


async def test_cancellation_without_a_reassignment_is_rejected() -> None:
    async with cluster_of(1, 2, 3) as cluster:
        await stuck(cluster)
        requests = [reassignment("a", p1=()), reassignment("b", p7=()), reassignment("c", p0=())]
        assert await codes(cluster.active.reassign_partitions(requests)) == {"a": 1005, "b": 3, "c": 3}


async def test_deletion_proceeds_once_the_reassignment_is_canceled() -> None:
    async with cluster_of(1, 2, 3) as cluster:
        await stuck(cluster)
        assert await codes(cluster.active.delete_topics(["a"])) == {"a": 0}
        await cluster.wait_idle()
        assert cluster.exists(TopicRegistration.path("a"))
        assert await codes(cluster.active.reassign_partitions([reassignment("a", p0=())])) == {"a": 0}
        await eventually(lambda: not cluster.exists(TopicRegistration.path("a")))
        await cluster.wait_idle()
        assert not cluster.exists(ReassignPartitions.path())


@pytest.mark.parametrize("by", ["a request", "another program"])
@pytest.mark.parametrize("found_by", ["the same controller", "the next controller"])
async def test_partition_with_an_unreadable_state_is_not_reassigned_until_it_is_repaired(
    by: str, found_by: str
) -> None:
    async with cluster_of(1, 2, 3, controllers=(1, 2)) as cluster:
        await cluster.active.create_topics([creation("a", (3, 2)), creation("b", (1, 2))])
        await cluster.wait_idle()
        path = PartitionState.path("a", 0)
        good = cluster.memory.tree.get(path).data
        cluster.write(path, b"{x")
        if found_by == "the next controller":
            await cluster.kill(cluster.active.broker_id)
            await cluster.start(1)
        else:
            cluster.write(TopicRegistration.path("a"), cluster.memory.tree.get(TopicRegistration.path("a")).data)
            cluster.tool.create("/isr_change_notification/isr_change_", NOTIFICATION, sequential=True)
        controller = await cluster.wait_idle()
        await eventually(lambda: is_unreadable(cluster, "a"))
        if by == "a request":
            assert await codes(controller.reassign_partitions([reassignment("a", p0=(1, 2))])) == {"a": 1005}
        else:
            listed = ReassignPartitions((PartitionReassignment("a", 0, (1, 2)),))
            cluster.write(ReassignPartitions.path(), listed.encode())
            await eventually(lambda: not cluster.exists(ReassignPartitions.path()))
        assert await codes(controller.reassign_partitions([reassignment("b", p0=(3,))])) == {"b": 0}
        await cluster.wait_idle()
        cluster.write(path, good)
        await eventually(lambda: not is_unreadable(cluster, "a"))
        await cluster.wait_idle()
        cluster.check_agreement()
        assert await codes(controller.reassign_partitions([reassignment("a", p0=(1, 2))])) == {"a": 0}
        await eventually(lambda: dict(cluster.registration("a").partitions) == {0: (1, 2)})


NOTIFICATION = b'{"version":1,"partitions":[{"topic":"a","partition":0}]}'


def is_unreadable(cluster: Cluster, name: str) -> bool:
    state = cluster.active.cluster
    topic = state.topics.get(name) if state is not None else None
    return topic is not None and topic.partitions[0].state is None


async def test_reassignment_continues_once_the_state_is_repaired() -> None:
    async with cluster_of(1, 2, 3) as cluster:
        await stuck(cluster)
        path = PartitionState.path("a", 0)
        good = cluster.memory.tree.get(path).data
        cluster.write(path, b"{x")
        cluster.tool.create("/isr_change_notification/isr_change_", NOTIFICATION, sequential=True)
        await eventually(lambda: is_unreadable(cluster, "a"))
        await cluster.start(UNKNOWN, runs_controller=False)
        await cluster.wait_idle()
        assert cluster.registration("a").adding_replicas
        cluster.write(path, good)
        await eventually(lambda: dict(cluster.registration("a").partitions)[0] == (1, UNKNOWN))
        await cluster.wait_idle()
        cluster.check_agreement()
        assert not cluster.exists(ReassignPartitions.path())


async def test_reassignment_with_an_unreadable_state_can_be_canceled() -> None:
    async with cluster_of(1, 2, 3) as cluster:
        await stuck(cluster)
        cluster.write(PartitionState.path("a", 0), b"{x")
        cluster.tool.create("/isr_change_notification/isr_change_", NOTIFICATION, sequential=True)
        await eventually(lambda: is_unreadable(cluster, "a"))
        assert await codes(cluster.active.reassign_partitions([reassignment("a", p0=())])) == {"a": 0}
        await cluster.wait_idle()
        assert not cluster.registration("a").adding_replicas
        assert not cluster.exists(ReassignPartitions.path())
