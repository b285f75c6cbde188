"""Tests of the controller: elections, broker failures, writes of other clients, and malformed znodes."""

from __future__ import annotations

import asyncio
import logging
import time
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from kwire.messages.kip4.alter_topic_v2 import TopicAlteration
from kwire_cluster.controller import change_handlers
from kwire_cluster.controller.errors import NotController
from kwire_cluster.controller.events import ChangeEvent, ReloadEvent
from kwire_cluster.zookeeper import BrokerRegistration, RegisteredEndpoint
from kwire_cluster.zookeeper.admin_requests import (
    IsrChangeNotification,
    ListedPartition,
    PartitionReassignment,
    PreferredReplicaElection,
    ReassignPartitions,
)
from kwire_cluster.zookeeper.configs import ConfigChangeNotification, EntityConfig
from kwire_cluster.zookeeper.controllers import ActiveController, ControllerEpoch
from kwire_cluster.zookeeper.topics import DeletionMarker, PartitionState, TopicRegistration
from tests.cluster.controller.clusters import Cluster, cluster_of, codes, creation, reassignment
from tests.eventually import eventually

if TYPE_CHECKING:
    from kwire_cluster.controller.controller import Controller
    from kwire_cluster.controller.controller_context import ControllerContext


async def wait_and_check(cluster: Cluster) -> None:
    """Wait until the controller is idle and all brokers agree with ZooKeeper."""
    await cluster.wait_idle()
    cluster.check_agreement()


async def test_next_controller_has_a_higher_epoch() -> None:
    async with cluster_of(1, 2, 3, controllers=(1, 2, 3)) as cluster:
        first = cluster.active
        assert first.epoch == 1
        registration = ActiveController.decode(cluster.memory.tree.get(ActiveController.path()).data)
        assert registration.broker_id == first.broker_id
        await first.create_topics([creation("a", (1, 2, 3))])
        await cluster.kill(first.broker_id)
        await wait_and_check(cluster)
        second = cluster.active
        assert (second.epoch, cluster.memory.tree.get(ControllerEpoch.path()).data) == (2, b"2")
        assert cluster.state("a", 0).controller_epoch == (2 if first.broker_id == 1 else 1)
        with pytest.raises(NotController):
            await first.list_topics()


async def test_controller_resigns_when_its_znode_is_deleted() -> None:
    async with cluster_of(1, 2, 3, controllers=(1, 2)) as cluster:
        before = cluster.active
        cluster.tool.delete(ActiveController.path())
        await eventually(lambda: before.epoch != 1)
        after = await cluster.wait_idle()
        assert after.epoch == 2


async def test_stopped_controller_resigns_at_once() -> None:
    async with cluster_of(1, 2, controllers=(1, 2)) as cluster:
        first = cluster.active
        await first.stop()
        assert first.is_stopped
        assert not first.is_active
        second = await cluster.wait_idle()
        assert second is not first


async def test_leaders_change_when_a_broker_fails_and_its_replicas_rejoin_the_isr() -> None:
    async with cluster_of(1, 2, 3) as cluster:
        await cluster.active.create_topics([creation("a", (2, 3), (3, 1)), creation("b", (2,))])
        await cluster.kill(2)
        await wait_and_check(cluster)
        assert (cluster.state("a", 0).leader, cluster.state("a", 0).isr) == (3, (3,))
        assert (cluster.state("b", 0).leader, cluster.state("b", 0).isr) == (-1, (2,))
        await cluster.start(2, runs_controller=False)
        await wait_and_check(cluster)
        assert (cluster.state("a", 0).leader, cluster.state("a", 0).isr) == (3, (2, 3))
        assert (cluster.state("b", 0).leader, cluster.state("b", 0).leader_epoch) == (2, 2)


async def test_unclean_leader_is_elected_only_if_the_topic_allows_it() -> None:
    async with cluster_of(1, 2, 3) as cluster:
        unclean = creation("unclean", (2, 3), unclean_leader_election_enable="true")
        await cluster.active.create_topics([unclean, creation("strict", (2, 3))])
        await cluster.kill(3)
        await wait_and_check(cluster)
        await cluster.kill(2)
        await wait_and_check(cluster)
        await cluster.start(3, runs_controller=False)
        await wait_and_check(cluster)
        assert (cluster.state("unclean", 0).leader, cluster.state("strict", 0).leader) == (3, -1)


async def test_brokers_get_changes_and_a_new_broker_gets_the_full_metadata() -> None:
    async with cluster_of(1, 2, 3) as cluster:
        controller = cluster.active
        await controller.create_topics([creation("a", (1, 2), (2, 3)), creation("b", (1,))])
        await wait_and_check(cluster)
        for broker in cluster.brokers.values():
            broker.messages.clear()
        await controller.alter_topics([TopicAlteration(topic_name="a", partitions=3)])
        await wait_and_check(cluster)
        for broker in cluster.brokers.values():
            (message,) = broker.messages
            assert (message.type, message.controller_id, message.controller_epoch) == (1, 1, 1)
            (topic,) = message.topic_states
            assert [state.partition_index for state in topic.partition_states] == [2]
            assert message.broker_epoch == cluster.memory.tree.get(f"/brokers/ids/{broker.id}").czxid
        new_broker = await cluster.start(4, runs_controller=False)
        await wait_and_check(cluster)
        assert new_broker.messages[0].type == 2
        assert {topic.topic_name for topic in new_broker.messages[0].topic_states} == {"a", "b"}


async def test_unreachable_broker_delays_no_other_and_is_updated_later() -> None:
    async with cluster_of(1, 2, 3) as cluster:
        controller = cluster.active
        cluster.blocked.add(2)
        cluster.unreachable.add(3)
        for number in range(5):
            await controller.create_topics([creation(f"t{number}", (1, 2, 3))])
        await eventually(lambda: len(cluster.brokers[1].metadata.topics) == 5)
        assert not cluster.brokers[2].metadata.topics
        assert controller.pending_updates[2] > 0
        cluster.blocked.clear()
        cluster.unblocked.set()
        cluster.unreachable.clear()
        await wait_and_check(cluster)


async def test_broker_gets_changes_found_while_a_message_is_in_flight() -> None:
    """The message in flight was built before the controller reloaded the cluster state."""
    async with cluster_of(1, 2) as cluster:
        controller = cluster.active
        await controller.create_topics([creation("a", (1, 2))])
        await wait_and_check(cluster)
        cluster.blocked.add(2)
        await controller.alter_topics([TopicAlteration(topic_name="a", partitions=2)])
        store = cluster.brokers[1].store
        store.disconnect()
        reordered = replace(cluster.registration("a"), partitions={**cluster.registration("a").partitions, 0: (2, 1)})
        cluster.write(TopicRegistration.path("a"), reordered.encode())
        store.reconnect()
        await eventually(lambda: known_replicas(controller, "a", 0) == (2, 1))
        cluster.blocked.clear()
        cluster.unblocked.set()
        await wait_and_check(cluster)


def known_replicas(controller: Controller, name: str, index: int) -> tuple[int, ...] | None:
    topic = controller.cluster.topics.get(name) if controller.cluster else None
    partition = topic.partition(index) if topic else None
    return partition.replicas if partition else None


# Writes of other clients


async def test_topic_created_and_extended_by_a_tool() -> None:
    async with cluster_of(1, 2, 3, 9) as cluster:
        await cluster.kill(9)
        await cluster.wait_idle()
        cluster.write(EntityConfig.path("topics", "tool"), EntityConfig({"retention.ms": "1"}).encode())
        cluster.write(TopicRegistration.path("tool"), b'{"version":1,"partitions":{"0":[1,2],"1":[9]},"mine":7}')
        await wait_and_check(cluster)
        topic = await cluster.active.describe_topic("tool")
        assert dict(topic.config) == {"retention.ms": "1"}
        assert topic.partitions[1].leader == -1
        registration = cluster.registration("tool")
        assert registration.topic_id is not None
        assert registration.unknown == (("mine", "7"),), "unknown keys are written back"
        extended = TopicRegistration({**registration.partitions, 2: (3, 1)}, registration.topic_id)
        cluster.write(TopicRegistration.path("tool"), extended.encode())
        await wait_and_check(cluster)
        assert cluster.state("tool", 2).leader == 3
        cluster.write(DeletionMarker.path("tool"), b"")
        await wait_and_check(cluster)
        assert cluster.topics() == ["tool"], "broker 9 is not alive"
        await cluster.start(9, runs_controller=False)
        await wait_and_check(cluster)
        assert cluster.topics() == []


async def test_new_topic_replaces_stale_configs() -> None:
    async with cluster_of(1) as cluster:
        cluster.write(EntityConfig.path("topics", "a"), EntityConfig({"retention.ms": "1"}).encode())
        assert await codes(cluster.active.create_topics([creation("a", (1,), flush_ms="2")])) == {"a": 0}
        await wait_and_check(cluster)
        data = cluster.memory.tree.get(EntityConfig.path("topics", "a")).data
        assert dict(EntityConfig.decode(data).config) == {"flush.ms": "2"}


async def test_reassignment_and_election_requested_by_a_tool() -> None:
    async with cluster_of(1, 2, 3) as cluster:
        await cluster.active.create_topics([creation("a", (1, 2), (2, 3)), creation("b", (1,))])
        requested = (
            PartitionReassignment("a", 0, (3, 2)),
            PartitionReassignment("nosuch", 0, (1,)),
            PartitionReassignment("a", 7, (1,)),
            PartitionReassignment("a", 1, (3, 2)),
            PartitionReassignment("b", 0, ()),
        )
        cluster.write(ReassignPartitions.path(), ReassignPartitions(requested).encode())
        await wait_and_check(cluster)
        assert not cluster.exists(ReassignPartitions.path())
        assert dict(cluster.registration("a").partitions) == {0: (3, 2), 1: (3, 2)}
        assert [cluster.state("a", 0).leader, cluster.state("a", 1).leader] == [3, 2]
        election = PreferredReplicaElection((ListedPartition("a", 1), ListedPartition("nosuch", 3)))
        cluster.write(PreferredReplicaElection.path(), election.encode())
        await wait_and_check(cluster)
        assert not cluster.exists(PreferredReplicaElection.path())
        assert cluster.state("a", 1).leader == 3


async def test_states_and_configs_are_read_after_a_notification() -> None:
    async with cluster_of(1, 2, 3) as cluster:
        await cluster.active.create_topics([creation("a", (1, 2))])
        state = cluster.state("a", 0)
        led = PartitionState(2, state.leader_epoch + 1, (2, 1), 1)
        cluster.write(PartitionState.path("a", 0), led.encode())
        cluster.tool.create(
            IsrChangeNotification.path(), IsrChangeNotification((ListedPartition("a", 0),)).encode(), sequential=True
        )
        cluster.write(EntityConfig.path("topics", "a"), EntityConfig({"retention.ms": "9"}).encode())
        cluster.tool.create(
            ConfigChangeNotification.path(), ConfigChangeNotification("topics/a").encode(), sequential=True
        )
        await wait_and_check(cluster)
        topic = await cluster.active.describe_topic("a")
        assert topic.partitions[0].leader == 2
        assert dict(topic.config) == {"retention.ms": "9"}
        assert not cluster.memory.tree.get(IsrChangeNotification.root).children


async def test_state_changed_without_a_notification_is_read_before_it_is_overwritten() -> None:
    async with cluster_of(1, 2, 3) as cluster:
        await cluster.active.create_topics([creation("a", (1, 2, 3))])
        cluster.write(PartitionState.path("a", 0), PartitionState(3, 41, (3, 2), 1).encode())
        await cluster.kill(2)
        await wait_and_check(cluster)
        state = cluster.state("a", 0)
        assert (state.leader, state.leader_epoch, set(state.isr)) == (3, 41, {1, 3})


BAD = [
    ("/brokers/topics/bad", b'{"partitions":{"0":["1"]}}', "partitions.0"),
    ("/brokers/ids/77", b"{}", "version"),
    ("/admin/reassign_partitions", b"{x", ""),
    ("/admin/preferred_replica_election", b"{}", "partitions"),
    ("/isr_change_notification/isr_change_0", b"{}", "partitions"),
    ("/config/changes/config_change_1", b'{"version":3}', "version"),
    ("/brokers/topics/good/partitions/0/state", b'{"leader":"x"}', "leader"),
    # Valid JSON that is neither a valid znode name nor a valid protocol string.
    *(
        (path, b'{"version":1,"partitions":[{"topic":%s,"partition":0,"replicas":[1]}]}' % name, "partitions[0].topic")
        for path in (
            "/isr_change_notification/isr_change_0",
            "/admin/reassign_partitions",
            "/admin/preferred_replica_election",
        )
        for name in (b'""', b'"a/../b"', b'"\\ud800"', b'"\\u0001"')
    ),
    ("/config/changes/config_change_1", b'"\\ud800"', ""),
    (f"/brokers/topics/{'x' * 250}", b'{"version":1,"partitions":{"0":[1]}}', ""),
    ("/brokers/ids/2147483648", BrokerRegistration((RegisteredEndpoint("PLAINTEXT", "h", 1),)).encode(), ""),
    ("/brokers/ids/78", BrokerRegistration((RegisteredEndpoint("PLAINTEXT", "h" * 40_000, 1),)).encode(), ""),
    ("/brokers/ids/79", BrokerRegistration((RegisteredEndpoint("PLAINTEXT", "h", 1),), rack="\ud800").encode(), "rack"),
]


@pytest.mark.parametrize(("path", "data", "key"), BAD, ids=[f"{path[:35]} {data[:60]!r}" for path, data, _ in BAD])
@pytest.mark.parametrize("found_by", ["a watch", "a new controller"])
async def test_malformed_znode_is_logged_and_the_rest_continues(
    path: str, data: bytes, key: str, found_by: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.ERROR, "kwire_cluster.controller")
    async with cluster_of(1, 2, 3, controllers=(1, 2)) as cluster:
        await cluster.active.create_topics([creation("good", (3, 1, 2)), creation("fine", (3, 1))])
        cluster.write(path, data)
        if path.startswith("/brokers/topics/good"):
            cluster.tool.create(
                IsrChangeNotification.path(),
                IsrChangeNotification((ListedPartition("good", 0),)).encode(),
                sequential=True,
            )
        if found_by == "a new controller":
            await cluster.kill(cluster.active.broker_id)
        await cluster.wait_idle()
        reported = [record for record in caplog.records if getattr(record, "path", None) == path]
        assert [getattr(record, "key", None) for record in reported].count(key) >= 1
        assert await codes(cluster.active.create_topics([creation("more", (3,))])) == {"more": 0}
        # A request that cannot be read would keep all other elections from starting.
        assert not cluster.exists("/admin/preferred_replica_election")
        assert cluster.state("fine", 0).leader == 3
        if path == "/brokers/topics/bad":
            assert await codes(cluster.active.create_topics([creation("bad", (3,))])) == {"bad": 1001}
            assert await codes(cluster.active.delete_topics(["bad"])) == {"bad": 0}
            await wait_and_check(cluster)
            assert not cluster.exists(path)


@pytest.mark.parametrize("found_by", ["a watch", "a new controller"])
async def test_unexpected_error_is_logged_and_the_controller_continues(
    found_by: str, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    fails = False

    async def failing_handler(context: ControllerContext, event: ReloadEvent | ChangeEvent) -> None:
        nonlocal fails
        if fails and event in {ReloadEvent(), ChangeEvent(TopicRegistration.root)}:
            fails = False
            raise ZeroDivisionError
        await change_handlers.process_event(context, event)

    monkeypatch.setattr("kwire_cluster.controller.controller.process_event", failing_handler)
    async with cluster_of(1, 2, controllers=(1, 2)) as cluster:
        first = cluster.active
        fails = True
        if found_by == "a new controller":
            await cluster.kill(first.broker_id)
        await cluster.wait_elected()
        await cluster.active.create_topics([creation("a", (2,))])
        await eventually(lambda: not fails)
        await cluster.wait_idle()
        assert (cluster.active is first) is (found_by == "a watch")
        assert await codes(cluster.active.create_topics([creation("b", (2,))])) == {"b": 0}
    assert [record.exc_info[0] for record in caplog.records if record.exc_info] == [ZeroDivisionError]


async def test_deletion_proceeds_after_the_reassignment_is_canceled() -> None:
    async with cluster_of(1, 2, 3) as cluster:
        controller = cluster.active
        await controller.create_topics([creation("a", (1, 2))])
        await cluster.kill(3)
        await cluster.wait_idle()
        cluster.write(ReassignPartitions.path(), ReassignPartitions((PartitionReassignment("a", 0, (1, 3)),)).encode())
        await wait_and_check(cluster)
        assert await codes(controller.delete_topics(["a"])) == {"a": 0}
        await wait_and_check(cluster)
        assert cluster.topics() == ["a"]
        cluster.write(ReassignPartitions.path(), ReassignPartitions((PartitionReassignment("a", 0, (1, 2)),)).encode())
        await wait_and_check(cluster)
        assert cluster.topics() == []
        assert not cluster.exists(ReassignPartitions.path())


async def test_deletion_requested_after_a_reassignment_is_carried_out() -> None:
    """The change event of the deletion marker may be processed between the two requests."""
    async with cluster_of(1, 2) as cluster:
        controller = cluster.active
        await controller.create_topics([creation("a", (1,))])
        requests = [
            asyncio.ensure_future(request)
            for request in (
                controller.delete_topics(["nosuch"]),
                controller.reassign_partitions([reassignment("a", p0=(2,))]),
                controller.delete_topics(["a"]),
            )
        ]
        assert [await codes(request) for request in requests] == [{"nosuch": 3}, {"a": 0}, {"a": 0}]
        await wait_and_check(cluster)
        assert cluster.topics() == []


async def test_old_config_change_notifications_are_deleted() -> None:
    async with cluster_of(1) as cluster:
        await cluster.active.create_topics([creation("a", (1,))])
        cluster.tool.create(
            ConfigChangeNotification.path(), ConfigChangeNotification("topics/a").encode(), sequential=True
        )
        await wait_and_check(cluster)
        (old,) = cluster.memory.tree.get(ConfigChangeNotification.root).children
        context = cluster.active._context
        assert context is not None
        context.config_changes[f"{ConfigChangeNotification.root}/{old}"] = int((time.time() - 3600) * 1000)
        cluster.tool.create(
            ConfigChangeNotification.path(), ConfigChangeNotification("topics/a").encode(), sequential=True
        )
        await wait_and_check(cluster)
        (new,) = cluster.memory.tree.get(ConfigChangeNotification.root).children
        assert new != old


async def test_new_controller_completes_pending_work() -> None:
    """The next controller continues a reassignment to a dead broker and the deletion that waits for it."""
    async with cluster_of(1, 2, 3, 4, controllers=(1, 2)) as cluster:
        first = cluster.active
        await first.create_topics([creation("a", (first.broker_id, 3))])
        reassigning = first.reassign_partitions([reassignment("a", p0=(3, 4))])
        pending = asyncio.ensure_future(reassigning)
        await asyncio.sleep(0)
        await cluster.kill(4)
        assert (await codes(pending)) == {"a": 0}
        assert await codes(first.delete_topics(["a"])) == {"a": 0}
        await cluster.wait_idle()
        await cluster.kill(first.broker_id)
        await wait_and_check(cluster)
        assert cluster.topics() == ["a"]
        assert dict(cluster.registration("a").adding_replicas) == {0: (4,)}
        await cluster.start(4, runs_controller=False)
        await cluster.start(first.broker_id)
        await wait_and_check(cluster)
        assert cluster.topics() == []
        assert not cluster.exists(ReassignPartitions.path())
