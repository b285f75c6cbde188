"""What the controller makes of others: brokers that come and go, tools that write znodes, nodes nobody can read."""

from __future__ import annotations

import asyncio
import logging
import time
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from kwire.cluster.controller import change_handlers
from kwire.cluster.controller.errors import NotController
from kwire.cluster.controller.events import ChangeEvent, ReloadEvent
from kwire.cluster.zookeeper import BrokerEndpoint, BrokerRegistration
from kwire.cluster.zookeeper.admin_requests import (
    PartitionReassignment,
    PreferredReplicaElection,
    ReassignPartitions,
    TopicPartition,
)
from kwire.cluster.zookeeper.configs import ConfigChangeNotification, EntityConfig
from kwire.cluster.zookeeper.controllers import ActiveController, ControllerEpoch
from kwire.cluster.zookeeper.notifications import IsrChangeNotification
from kwire.cluster.zookeeper.topics import DeletionMarker, PartitionState, TopicRegistration
from kwire.messages.kip4.alter_topic_v2 import TopicAlteration
from tests.cluster.controller.clusters import Cluster, cluster_of, codes, creation, move, run, until

if TYPE_CHECKING:
    from kwire.cluster.controller.controller import Controller
    from kwire.cluster.controller.controller_context import ControllerContext


async def settled(cluster: Cluster) -> None:
    for _ in range(3):
        await asyncio.sleep(0.002)
        await cluster.calm()
    cluster.check_agreement()


def test_the_first_to_stand_is_controller_and_the_next_one_has_a_higher_epoch() -> None:
    async def work() -> None:
        async with cluster_of(1, 2, 3, controllers=(1, 2, 3)) as cluster:
            first = cluster.active
            assert first.epoch == 1
            context = ActiveController.decode(cluster.memory.tree.get(ActiveController.path()).data)
            assert context.broker_id == first.broker_id
            await first.create_topics([creation("a", (1, 2, 3))])
            await cluster.kill(first.broker_id)
            await settled(cluster)
            second = cluster.active
            assert (second.epoch, cluster.memory.tree.get(ControllerEpoch.path()).data) == (2, b"2")
            assert cluster.state("a", 0).controller_epoch == (2 if first.broker_id == 1 else 1)
            with pytest.raises(NotController):
                await first.list_topics()

    run(work())


def test_a_controller_whose_node_somebody_removed_gives_way() -> None:
    async def work() -> None:
        async with cluster_of(1, 2, 3, controllers=(1, 2)) as cluster:
            before = cluster.active
            cluster.tool.delete(ActiveController.path())
            await until(lambda: before.epoch != 1)
            after = await cluster.calm()
            assert after.epoch == 2

    run(work())


def test_a_controller_that_stops_leaves_office_at_once() -> None:
    async def work() -> None:
        async with cluster_of(1, 2, controllers=(1, 2)) as cluster:
            first = cluster.active
            await first.stop()
            assert first.is_stopped
            assert not first.is_active
            second = await cluster.calm()
            assert second is not first

    run(work())


def test_leaders_move_when_a_broker_dies_and_its_replicas_are_in_sync_when_it_is_back() -> None:
    async def work() -> None:
        async with cluster_of(1, 2, 3) as cluster:
            await cluster.active.create_topics([creation("a", (2, 3), (3, 1)), creation("b", (2,))])
            await cluster.kill(2)
            await settled(cluster)
            assert (cluster.state("a", 0).leader, cluster.state("a", 0).isr) == (3, (3,))
            assert (cluster.state("b", 0).leader, cluster.state("b", 0).isr) == (-1, (2,))
            await cluster.start(2, runs_controller=False)
            await settled(cluster)
            assert (cluster.state("a", 0).leader, cluster.state("a", 0).isr) == (3, (2, 3))
            assert (cluster.state("b", 0).leader, cluster.state("b", 0).leader_epoch) == (2, 2)

    run(work())


def test_an_unclean_leader_only_where_the_topic_permits_it() -> None:
    async def work() -> None:
        async with cluster_of(1, 2, 3) as cluster:
            lax = creation("lax", (2, 3), unclean_leader_election_enable="true")
            await cluster.active.create_topics([lax, creation("strict", (2, 3))])
            await cluster.kill(3)
            await settled(cluster)
            await cluster.kill(2)
            await settled(cluster)
            await cluster.start(3, runs_controller=False)
            await settled(cluster)
            assert (cluster.state("lax", 0).leader, cluster.state("strict", 0).leader) == (3, -1)

    run(work())


def test_each_broker_is_told_only_what_changed_and_a_newcomer_everything() -> None:
    async def work() -> None:
        async with cluster_of(1, 2, 3) as cluster:
            controller = cluster.active
            await controller.create_topics([creation("a", (1, 2), (2, 3)), creation("b", (1,))])
            await settled(cluster)
            for broker in cluster.brokers.values():
                broker.messages.clear()
            await controller.alter_topics([TopicAlteration(topic_name="a", partitions=3)])
            await settled(cluster)
            for broker in cluster.brokers.values():
                (message,) = broker.messages
                assert (message.type, message.controller_id, message.controller_epoch) == (1, 1, 1)
                (topic,) = message.topic_states
                assert [state.partition_index for state in topic.partition_states] == [2]
                assert message.broker_epoch == cluster.memory.tree.get(f"/brokers/ids/{broker.id}").czxid
            newcomer = await cluster.start(4, runs_controller=False)
            await settled(cluster)
            assert newcomer.messages[0].type == 2
            assert {topic.topic_name for topic in newcomer.messages[0].topic_states} == {"a", "b"}

    run(work())


def test_a_broker_that_does_not_answer_delays_nobody_and_is_told_later() -> None:
    async def work() -> None:
        async with cluster_of(1, 2, 3) as cluster:
            controller = cluster.active
            cluster.deaf.add(2)
            cluster.unreachable.add(3)
            for number in range(5):
                await controller.create_topics([creation(f"t{number}", (1, 2, 3))])
            await until(lambda: len(cluster.brokers[1].metadata.topics) == 5)
            assert not cluster.brokers[2].metadata.topics
            assert controller.pending_updates[2] > 0
            cluster.deaf.clear()
            cluster.heard.set()
            cluster.unreachable.clear()
            await settled(cluster)

    run(work())


def test_what_is_found_while_a_broker_is_being_told_is_told_to_it_too() -> None:
    """The message on its way to a slow broker was made before everything was read again."""

    async def work() -> None:
        async with cluster_of(1, 2) as cluster:
            controller = cluster.active
            await controller.create_topics([creation("a", (1, 2))])
            await settled(cluster)
            cluster.deaf.add(2)
            await controller.alter_topics([TopicAlteration(topic_name="a", partitions=2)])
            store = cluster.brokers[1].store
            store.disconnect()
            turned = replace(cluster.registration("a"), partitions={**cluster.registration("a").partitions, 0: (2, 1)})
            cluster.write(TopicRegistration.path("a"), turned.encode())
            store.reconnect()
            await until(lambda: replicas_as_known(controller, "a", 0) == (2, 1))
            cluster.deaf.clear()
            cluster.heard.set()
            await settled(cluster)

    run(work())


def replicas_as_known(controller: Controller, name: str, index: int) -> tuple[int, ...] | None:
    topic = controller.cluster.topics.get(name) if controller.cluster else None
    partition = topic.partition(index) if topic else None
    return partition.replicas if partition else None


# Tools that write znodes


def test_topics_that_a_tool_makes_and_grows() -> None:
    async def work() -> None:
        async with cluster_of(1, 2, 3) as cluster:
            cluster.write(EntityConfig.path("topics", "tool"), EntityConfig({"retention.ms": "1"}).encode())
            cluster.write(TopicRegistration.path("tool"), b'{"version":1,"partitions":{"0":[1,2],"1":[9]},"mine":7}')
            await settled(cluster)
            topic = await cluster.active.describe_topic("tool")
            assert dict(topic.config) == {"retention.ms": "1"}
            assert topic.partitions[1].leader == -1
            registration = cluster.registration("tool")
            assert registration.topic_id is not None
            assert registration.unknown == (("mine", "7"),), "what we do not know is written back"
            grown = TopicRegistration({**registration.partitions, 2: (3, 1)}, registration.topic_id)
            cluster.write(TopicRegistration.path("tool"), grown.encode())
            await settled(cluster)
            assert cluster.state("tool", 2).leader == 3
            cluster.write(DeletionMarker.path("tool"), b"")
            await settled(cluster)
            assert cluster.topics() == ["tool"], "broker 9 is not alive"
            await cluster.start(9, runs_controller=False)
            await settled(cluster)
            assert cluster.topics() == []

    run(work())


def test_settings_left_behind_are_taken_over_by_a_new_topic() -> None:
    async def work() -> None:
        async with cluster_of(1) as cluster:
            cluster.write(EntityConfig.path("topics", "a"), EntityConfig({"retention.ms": "1"}).encode())
            assert await codes(cluster.active.create_topics([creation("a", (1,), flush_ms="2")])) == {"a": 0}
            await settled(cluster)
            data = cluster.memory.tree.get(EntityConfig.path("topics", "a")).data
            assert dict(EntityConfig.decode(data).config) == {"flush.ms": "2"}

    run(work())


def test_a_reassignment_and_an_election_that_a_tool_asks_for() -> None:
    async def work() -> None:
        async with cluster_of(1, 2, 3) as cluster:
            await cluster.active.create_topics([creation("a", (1, 2), (2, 3)), creation("b", (1,))])
            wanted = (
                PartitionReassignment("a", 0, (3, 2)),
                PartitionReassignment("nosuch", 0, (1,)),
                PartitionReassignment("a", 7, (1,)),
                PartitionReassignment("a", 1, (3, 2)),
                PartitionReassignment("b", 0, ()),
            )
            cluster.write(ReassignPartitions.path(), ReassignPartitions(wanted).encode())
            await settled(cluster)
            assert not cluster.exists(ReassignPartitions.path())
            assert dict(cluster.registration("a").partitions) == {0: (3, 2), 1: (3, 2)}
            assert [cluster.state("a", 0).leader, cluster.state("a", 1).leader] == [3, 2]
            election = PreferredReplicaElection((TopicPartition("a", 1), TopicPartition("nosuch", 3)))
            cluster.write(PreferredReplicaElection.path(), election.encode())
            await settled(cluster)
            assert not cluster.exists(PreferredReplicaElection.path())
            assert cluster.state("a", 1).leader == 3

    run(work())


def test_states_and_settings_that_others_write_are_read_when_they_tell() -> None:
    async def work() -> None:
        async with cluster_of(1, 2, 3) as cluster:
            await cluster.active.create_topics([creation("a", (1, 2))])
            state = cluster.state("a", 0)
            led = PartitionState(2, state.leader_epoch + 1, (2, 1), 1)
            cluster.write(PartitionState.path("a", 0), led.encode())
            cluster.tool.create(
                IsrChangeNotification.path(), IsrChangeNotification((TopicPartition("a", 0),)).encode(), sequential=True
            )
            cluster.write(EntityConfig.path("topics", "a"), EntityConfig({"retention.ms": "9"}).encode())
            cluster.tool.create(
                ConfigChangeNotification.path(), ConfigChangeNotification("topics/a").encode(), sequential=True
            )
            await settled(cluster)
            topic = await cluster.active.describe_topic("a")
            assert topic.partitions[0].leader == 2
            assert dict(topic.config) == {"retention.ms": "9"}
            assert not cluster.memory.tree.get(IsrChangeNotification.root).children

    run(work())


def test_a_state_that_somebody_wrote_without_telling_is_found_before_it_is_overwritten() -> None:
    async def work() -> None:
        async with cluster_of(1, 2, 3) as cluster:
            await cluster.active.create_topics([creation("a", (1, 2, 3))])
            cluster.write(PartitionState.path("a", 0), PartitionState(3, 41, (3, 2), 1).encode())
            await cluster.kill(2)
            await settled(cluster)
            state = cluster.state("a", 0)
            assert (state.leader, state.leader_epoch, set(state.isr)) == (3, 41, {1, 3})

    run(work())


BAD = [
    ("/brokers/topics/bad", b'{"partitions":{"0":["1"]}}', "partitions.0"),
    ("/brokers/ids/77", b"{}", "version"),
    ("/admin/reassign_partitions", b"{x", ""),
    ("/admin/preferred_replica_election", b"{}", "partitions"),
    ("/isr_change_notification/isr_change_0", b"{}", "partitions"),
    ("/config/changes/config_change_1", b'{"version":3}', "version"),
    ("/brokers/topics/good/partitions/0/state", b'{"leader":"x"}', "leader"),
    # What JSON can say, and neither a node's name nor the protocol.
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
    ("/brokers/ids/2147483648", BrokerRegistration((BrokerEndpoint("PLAINTEXT", "h", 1),)).encode(), ""),
    ("/brokers/ids/78", BrokerRegistration((BrokerEndpoint("PLAINTEXT", "h" * 40_000, 1),)).encode(), ""),
    ("/brokers/ids/79", BrokerRegistration((BrokerEndpoint("PLAINTEXT", "h", 1),), rack="\ud800").encode(), "rack"),
]


@pytest.mark.parametrize(("path", "data", "key"), BAD, ids=[f"{path[:35]} {data[:60]!r}" for path, data, _ in BAD])
@pytest.mark.parametrize("found_by", ["a watch", "a new controller"])
def test_a_node_that_nobody_can_read_is_reported_and_the_rest_works(
    path: str, data: bytes, key: str, found_by: str, caplog: pytest.LogCaptureFixture
) -> None:
    async def work() -> None:
        async with cluster_of(1, 2, 3, controllers=(1, 2)) as cluster:
            await cluster.active.create_topics([creation("good", (3, 1, 2)), creation("fine", (3, 1))])
            cluster.write(path, data)
            if path.startswith("/brokers/topics/good"):
                cluster.tool.create(
                    IsrChangeNotification.path(),
                    IsrChangeNotification((TopicPartition("good", 0),)).encode(),
                    sequential=True,
                )
            if found_by == "a new controller":
                await cluster.kill(cluster.active.broker_id)
            for _ in range(3):
                await asyncio.sleep(0.002)
                await cluster.calm()
            reported = [record for record in caplog.records if getattr(record, "path", None) == path]
            assert [getattr(record, "key", None) for record in reported].count(key) >= 1
            assert await codes(cluster.active.create_topics([creation("more", (3,))])) == {"more": 0}
            assert cluster.state("fine", 0).leader == 3
            if path == "/brokers/topics/bad":
                assert await codes(cluster.active.create_topics([creation("bad", (3,))])) == {"bad": 1001}
                assert await codes(cluster.active.delete_topics(["bad"])) == {"bad": 0}
                await settled(cluster)
                assert not cluster.exists(path)

    with caplog.at_level(logging.ERROR, "kwire.cluster.controller"):
        run(work())


@pytest.mark.parametrize("found_by", ["a watch", "a new controller"])
def test_what_nobody_foresaw_is_logged_and_does_not_end_the_term(
    found_by: str, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    fails = True

    async def failing_handler(context: ControllerContext, event: ReloadEvent | ChangeEvent) -> None:
        nonlocal fails
        if fails and event in {ReloadEvent(), ChangeEvent(TopicRegistration.root)}:
            fails = False
            raise ZeroDivisionError
        await change_handlers.process_event(context, event)

    async def work() -> None:
        nonlocal fails
        async with cluster_of(1, 2, controllers=(1, 2)) as cluster:
            first = cluster.active
            fails = True
            if found_by == "a new controller":
                await cluster.kill(first.broker_id)
            await cluster.elected()
            await cluster.active.create_topics([creation("a", (2, 1))])
            await until(lambda: not fails)
            await cluster.calm()
            assert (cluster.active is first) is (found_by == "a watch")
            assert await codes(cluster.active.create_topics([creation("b", (2, 1))])) == {"b": 0}

    fails = False
    monkeypatch.setattr("kwire.cluster.controller.controller.process_event", failing_handler)
    run(work())
    assert [record.exc_info[0] for record in caplog.records if record.exc_info] == [ZeroDivisionError]


def test_a_deletion_that_waited_for_a_move_follows_when_the_move_is_called_off() -> None:
    async def work() -> None:
        async with cluster_of(1, 2, 3) as cluster:
            controller = cluster.active
            await controller.create_topics([creation("a", (1, 2))])
            await cluster.kill(3)
            await cluster.calm()
            cluster.write(
                ReassignPartitions.path(), ReassignPartitions((PartitionReassignment("a", 0, (1, 3)),)).encode()
            )
            await settled(cluster)
            assert await codes(controller.delete_topics(["a"])) == {"a": 0}
            await settled(cluster)
            assert cluster.topics() == ["a"]
            cluster.write(
                ReassignPartitions.path(), ReassignPartitions((PartitionReassignment("a", 0, (1, 2)),)).encode()
            )
            await settled(cluster)
            assert cluster.topics() == []
            assert not cluster.exists(ReassignPartitions.path())

    run(work())


def test_a_deletion_asked_for_behind_a_reassignment_takes_place() -> None:
    """The look at what is marked may come between the two."""

    async def work() -> None:
        async with cluster_of(1, 2) as cluster:
            controller = cluster.active
            await controller.create_topics([creation("a", (1,))])
            asked = [
                asyncio.ensure_future(each)
                for each in (
                    controller.delete_topics(["nosuch"]),
                    controller.reassign_partitions([move("a", p0=(2,))]),
                    controller.delete_topics(["a"]),
                )
            ]
            assert [await codes(each) for each in asked] == [{"nosuch": 3}, {"a": 0}, {"a": 0}]
            await settled(cluster)
            assert cluster.topics() == []

    run(work())


def test_old_notes_of_changed_settings_are_removed() -> None:
    async def work() -> None:
        async with cluster_of(1) as cluster:
            await cluster.active.create_topics([creation("a", (1,))])
            cluster.tool.create(
                ConfigChangeNotification.path(), ConfigChangeNotification("topics/a").encode(), sequential=True
            )
            await settled(cluster)
            (old,) = cluster.memory.tree.get(ConfigChangeNotification.root).children
            context = cluster.active._context
            assert context is not None
            context.config_changes[f"{ConfigChangeNotification.root}/{old}"] = int((time.time() - 3600) * 1000)
            cluster.tool.create(
                ConfigChangeNotification.path(), ConfigChangeNotification("topics/a").encode(), sequential=True
            )
            await settled(cluster)
            (new,) = cluster.memory.tree.get(ConfigChangeNotification.root).children
            assert new != old

    run(work())


def test_what_an_old_controller_began_a_new_one_finishes() -> None:
    """A move whose target is dead goes on under the next controller, and a deletion that waits for it follows."""

    async def work() -> None:
        async with cluster_of(1, 2, 3, 4, controllers=(1, 2)) as cluster:
            first = cluster.active
            await first.create_topics([creation("a", (first.broker_id, 3))])
            begun = first.reassign_partitions([move("a", p0=(3, 4))])
            pending = asyncio.ensure_future(begun)
            await asyncio.sleep(0)
            await cluster.kill(4)
            assert (await codes(pending)) == {"a": 0}
            assert await codes(first.delete_topics(["a"])) == {"a": 0}
            await cluster.calm()
            await cluster.kill(first.broker_id)
            await settled(cluster)
            assert cluster.topics() == ["a"]
            assert dict(cluster.registration("a").adding_replicas) == {0: (4,)}
            await cluster.start(4, runs_controller=False)
            await cluster.start(first.broker_id)
            await settled(cluster)
            assert cluster.topics() == []
            assert not cluster.exists(ReassignPartitions.path())

    run(work())
