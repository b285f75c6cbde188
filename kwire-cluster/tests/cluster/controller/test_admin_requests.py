"""The requests that the controller answers: their responses, and every error code that these can have."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest

from kwire import codec
from kwire.messages.kip4.admin import AdminRequest
from kwire.messages.kip4.alter_topic import AlterTopicRequest
from kwire.messages.kip4.alter_topic_v2 import AlterTopicRequest_V2, TopicAlteration
from kwire.messages.kip4.create_topic import CreateTopicRequest
from kwire.messages.kip4.create_topic_v2 import CreateTopicRequest_V2, TopicCreation
from kwire.messages.kip4.delete_topic import DeleteTopicRequest
from kwire.messages.kip4.delete_topic_v2 import DeleteTopicRequest_V2
from kwire.messages.kip4.describe_topic import DescribeTopicRequest
from kwire.messages.kip4.list_topics import ListTopicsRequest
from kwire.messages.kip4.preferred_replica_leader_election import (
    PreferredReplicaLeaderElectionRequest,
    TopicPartitions,
)
from kwire.messages.kip4.reassign_partitions import ReassignPartitionsRequest
from kwire.messages.kip4.structures import TopicReassignment
from kwire.messages.kip4.verify_reassign_partitions import VerifyReassignPartitionsRequest
from kwire_cluster.config.node_settings import NodeSettings
from kwire_cluster.controller import change_handlers
from kwire_cluster.node.controller_tools import CONTROLLED_SHUTDOWN
from kwire_cluster.zookeeper.admin_requests import PreferredReplicaElection, ReassignPartitions
from kwire_cluster.zookeeper.configs import ConfigChangeNotification, EntityConfig
from tests.cluster.controller.admin_requests import alter, alteration, batch, create, entry, send
from tests.cluster.controller.clusters import assignment, cluster_of, creation, reassignment
from tests.cluster.node.handling import handle

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kwire.declare import Message


CREATIONS: list[tuple[str, TopicCreation, int]] = [
    ("by numbers", TopicCreation(topic_name="t", partitions=3, replication_factor=2), 0),
    ("by assignment", creation("t", (1, 2), (3, 1)), 0),
    (
        "the assignment wins",
        TopicCreation(topic_name="t", partitions=0, replication_factor=77, replica_assignment=assignment((1,))),
        0,
    ),
    ("with configs", creation("t", (1,), retention_ms="5"), 0),
    ("bad name", TopicCreation(topic_name="a b", partitions=1, replication_factor=1), 1010),
    ("no name", TopicCreation(topic_name="", partitions=1, replication_factor=1), 1010),
    ("name that collides", TopicCreation(topic_name="there_is", partitions=1, replication_factor=1), 1010),
    ("existing", TopicCreation(topic_name="there.is", partitions=1, replication_factor=1), 1001),
    ("existence before partitions", TopicCreation(topic_name="there.is"), 1001),
    ("nothing", TopicCreation(topic_name="t"), 1002),
    ("factor alone", TopicCreation(topic_name="t", replication_factor=1), 1002),
    ("no partitions", TopicCreation(topic_name="t", partitions=0, replication_factor=1), 1002),
    ("negative", TopicCreation(topic_name="t", partitions=-7, replication_factor=1), 1002),
    ("too many", TopicCreation(topic_name="t", partitions=2**31 - 1, replication_factor=1), 1002),
    ("partitions alone", TopicCreation(topic_name="t", partitions=1), 1004),
    ("factor 0", TopicCreation(topic_name="t", partitions=1, replication_factor=0), 1004),
    ("factor above brokers", TopicCreation(topic_name="t", partitions=1, replication_factor=4), 1004),
    ("gap", TopicCreation(topic_name="t", replica_assignment=assignment((1,), first=1)), 1005),
    ("uneven", creation("t", (1, 2), (1,)), 1005),
    ("broker twice", creation("t", (1, 1)), 1005),
    ("broker that never existed", creation("t", (1, 2), (9, 1)), 1005),
    ("unknown config", creation("t", (1,), no_such="5"), 1006),
    ("bad value", creation("t", (1,), retention_ms="-5"), 1006),
    ("factor before configs", TopicCreation(topic_name="t", partitions=1, config_entries=(entry("x", "y"),)), 1004),
]


@pytest.mark.parametrize(
    ("one", "code"), [creation[1:] for creation in CREATIONS], ids=[creation[0] for creation in CREATIONS]
)
async def test_create_topics(one: TopicCreation, code: int) -> None:
    async with cluster_of(1, 2, 3) as cluster:
        assert await create(cluster, creation("there.is", (1,))) == {"there.is": 0}
        assert await create(cluster, one) == {one.topic_name: code}
        await cluster.wait_idle()
        cluster.check_agreement()
        assert (one.topic_name in cluster.topics()) == (code in {0, 1001})


async def test_consumer_creates_a_topic_by_name_only() -> None:
    settings = NodeSettings(num_partitions=5, default_replication_factor=2)
    async with cluster_of(1, 2, 3, settings=settings) as cluster:
        assert await create(cluster, TopicCreation(topic_name="t"), client_id="consumer") == {"t": 0}
        registration = cluster.registration("t")
        assert [len(replicas) for replicas in registration.partitions.values()] == [2] * 5
        assert await create(cluster, TopicCreation(topic_name="u", partitions=1), client_id="consumer") == {"u": 1004}


async def test_last_of_repeated_topics_counts_in_order_of_first_mention() -> None:
    async with cluster_of(1, 2, 3) as cluster:
        codes = await create(cluster, creation("b", (1,)), creation("a", (1,)), creation("b", (2,), (3,)))
        assert list(codes.items()) == [("b", 0), ("a", 0)]
        assert dict(cluster.registration("b").partitions) == {0: (2,), 1: (3,)}
        codes = await create(cluster, creation("x.y", (1,)), creation("x_y", (1,)))
        assert codes == {"x.y": 0, "x_y": 1010}


async def test_strict_batches_reject_repeated_topics_and_instructions() -> None:
    async with cluster_of(1, 2, 3, settings=NodeSettings(strict_batches=True)) as cluster:
        codes = await create(cluster, creation("a", (1,)), creation("b", (1,)), creation("a", (1,)))
        assert codes == {"a": 1012, "b": 0}
        codes = await alter(
            cluster, TopicAlteration(topic_name="b", partitions=2), TopicAlteration(topic_name="b", partitions=3)
        )
        assert codes == {"b": 1012}
        one = TopicAlteration(topic_name="b", partitions=2, added_config_entries=(entry("retention.ms", "1"),))
        assert await alter(cluster, one) == {"b": 1011}
        assert await alter(cluster, TopicAlteration(topic_name="b", partitions=2)) == {"b": 0}


ALTERATIONS: list[tuple[str, TopicAlteration, int, dict[int, int]]] = [
    ("more partitions", alteration(partitions=4), 0, {0: 2, 1: 2, 2: 2, 3: 2}),
    ("as many partitions", alteration(partitions=2), 0, {0: 2, 1: 2}),
    ("fewer partitions", alteration(partitions=1), 1003, {0: 2, 1: 2}),
    ("fewer, with a factor", alteration(partitions=1, replication_factor=3), 1003, {0: 2, 1: 2}),
    ("factor", alteration(replication_factor=3), 0, {0: 3, 1: 3}),
    ("factor and partitions", alteration(replication_factor=1, partitions=3), 0, {0: 1, 1: 1, 2: 1}),
    ("factor too large", alteration(replication_factor=4), 1004, {0: 2, 1: 2}),
    ("factor 0", alteration(replication_factor=0), 1004, {0: 2, 1: 2}),
    ("too many", alteration(partitions=2**31 - 1), 1002, {0: 2, 1: 2}),
    ("moves", alteration(replica_assignment=assignment((3, 2, 1))), 0, {0: 3, 1: 2}),
    ("the same", alteration(replica_assignment=assignment((1, 2))), 0, {0: 2, 1: 2}),
    ("added", alteration(replica_assignment=assignment((3, 1), first=2)), 0, {0: 2, 1: 2, 2: 2}),
    (
        "moved and added, numbers ignored",
        alteration(partitions=1, replication_factor=9, replica_assignment=assignment((3,), (3,), (3,))),
        0,
        {0: 1, 1: 1, 2: 1},
    ),
    ("added with a gap", alteration(replica_assignment=assignment((3, 1), first=3)), 1005, {0: 2, 1: 2}),
    ("added with another factor", alteration(replica_assignment=assignment((3,), first=2)), 1005, {0: 2, 1: 2}),
    ("dead target", alteration(replica_assignment=assignment((9, 2))), 1005, {0: 2, 1: 2}),
    ("broker twice", alteration(replica_assignment=assignment((2, 2))), 1005, {0: 2, 1: 2}),
    ("no replicas", alteration(replica_assignment=assignment(())), 1005, {0: 2, 1: 2}),
    ("nothing", alteration(), 1005, {0: 2, 1: 2}),
    ("unknown", alteration("u", partitions=4), 3, {0: 2, 1: 2}),
    ("config", alteration(added_config_entries=(entry("retention.ms", "9"),)), 0, {0: 2, 1: 2}),
    ("bad config", alteration(partitions=3, added_config_entries=(entry("retention.ms", "x"),)), 1006, {0: 2, 1: 2}),
    ("configs first", alteration(partitions=1, added_config_entries=(entry("x", "x"),)), 1006, {0: 2, 1: 2}),
]


@pytest.mark.parametrize(
    ("one", "code", "factors"),
    [alteration[1:] for alteration in ALTERATIONS],
    ids=[alteration[0] for alteration in ALTERATIONS],
)
async def test_alter_topics(one: TopicAlteration, code: int, factors: dict[int, int]) -> None:
    async with cluster_of(1, 2, 3) as cluster:
        await create(cluster, creation("t", (1, 2), (2, 3)))
        assert await alter(cluster, one) == {one.topic_name: code}
        await cluster.wait_idle()
        cluster.check_agreement()
        registration = cluster.registration("t")
        assert {index: len(replicas) for index, replicas in registration.partitions.items()} == factors
        for index, replicas in registration.partitions.items():
            assert set(cluster.state("t", index).isr) == set(replicas)
        assert not cluster.exists(ReassignPartitions.path())


async def test_changed_configs_are_merged_and_announced() -> None:
    async with cluster_of(1, 2, 3) as cluster:
        await create(cluster, creation("t", (1,), retention_ms="1", segment_ms="2"))
        assert not cluster.memory.tree.get(ConfigChangeNotification.root).children
        change = alteration(
            added_config_entries=(entry("retention.ms", "7"), entry("flush.ms", "1")),
            deleted_configs=("segment.ms", "flush.ms", "max.message.bytes"),
        )
        assert await alter(cluster, change) == {"t": 0}
        config = EntityConfig.decode(cluster.memory.tree.get(EntityConfig.path("topics", "t")).data)
        assert dict(config.config) == {"retention.ms": "7"}
        (notification,) = cluster.memory.tree.get(ConfigChangeNotification.root).children
        data = cluster.memory.tree.get(f"{ConfigChangeNotification.root}/{notification}").data
        assert data == b'{"version":2,"entity_path":"topics/t"}'


async def test_unknown_config_is_neither_set_nor_deleted() -> None:
    async with cluster_of(1) as cluster:
        await create(cluster, creation("t", (1,), retention_ms="1"))
        assert await alter(cluster, alteration(added_config_entries=(entry("retention.mss", "1"),))) == {"t": 1006}
        assert await alter(cluster, alteration(deleted_configs=("retention.mss",))) == {"t": 1006}
        assert await alter(cluster, alteration(deleted_configs=("retention.ms",))) == {"t": 0}


async def test_changed_configs_must_be_consistent_with_kept_ones() -> None:
    async with cluster_of(1) as cluster:
        await create(cluster, creation("t", (1,), max_compaction_lag_ms="1000"))
        too_long = entry("min.compaction.lag.ms", "5000")
        assert await alter(cluster, alteration(added_config_entries=(too_long,))) == {"t": 1006}
        instead = alteration(added_config_entries=(too_long,), deleted_configs=("max.compaction.lag.ms",))
        assert await alter(cluster, instead) == {"t": 0}


async def test_second_reassignment_is_rejected_and_changes_nothing() -> None:
    async with cluster_of(1, 2, 3) as cluster:
        await create(cluster, creation("t", (1, 2)), creation("u", (1, 2)))
        cluster.write(ReassignPartitions.path(), b"malformed")
        await cluster.wait_idle()
        change = alteration(replica_assignment=assignment((3, 1)), added_config_entries=(entry("flush.ms", "1"),))
        codes = await alter(cluster, change, alteration("u", partitions=2))
        assert codes == {"t": 1009, "u": 0}
        assert b"flush" not in cluster.memory.tree.get(EntityConfig.path("topics", "t")).data
        message = ReassignPartitionsRequest(topics=(reassignment("t", p0=(3,)), reassignment("zz", p0=(1,))))
        assert await batch(cluster, message) == {"t": 1009, "zz": 1009}
        cluster.tool.delete(ReassignPartitions.path())
        await cluster.wait_idle()
        assert await alter(cluster, change) == {"t": 0}
        assert cluster.registration("t").partitions[0] == (3, 1)


async def test_delete_topics() -> None:
    async with cluster_of(1, 2, 3, 9) as cluster:
        await create(cluster, creation("a", (1,)), creation("b", (1,)), creation("c", (9, 1)))
        await cluster.kill(9)
        await cluster.wait_idle()
        message = DeleteTopicRequest_V2(topic_names=("a", "b", "c", "zz", "b"))
        assert await batch(cluster, message) == {"a": 0, "b": 1012, "c": 0, "zz": 3}
        await cluster.wait_idle()
        assert cluster.topics() == ["b", "c"]
        assert not cluster.exists(EntityConfig.path("topics", "a"))
        assert await batch(cluster, DeleteTopicRequest_V2(topic_names=("c",))) == {"c": 0}, (
            "the deletion waits for broker 9"
        )
        assert (await create(cluster, creation("c", (1,))))["c"] == 1001
        assert await alter(cluster, alteration("c", partitions=3)) == {"c": 3}
        listed = await send(cluster, ListTopicsRequest(), 0)
        assert listed.topics_list.topics_marked_for_deletion == ("c",)
        assert listed.topics_list.alive_topics == ("b",)
        assert (await send(cluster, ListTopicsRequest(), 1)).topics_list.topic_names == ("b",)
        await cluster.start(9, runs_controller=False)
        await cluster.wait_idle()
        await cluster.wait_idle()
        assert cluster.topics() == ["b"]
        cluster.check_agreement()


async def do_nothing(context: object) -> None:
    """Take the place of the handler of an election that is in progress."""


async def test_preferred_election(monkeypatch: pytest.MonkeyPatch) -> None:
    async with cluster_of(1, 2, 3) as cluster:
        await create(cluster, creation("t", (3, 1), (1, 2)), creation("u", (3, 2)))
        await cluster.kill(3)
        await cluster.wait_idle()
        await cluster.start(3, runs_controller=False)
        await cluster.wait_idle()
        assert [cluster.state("t", 0).leader, cluster.state("u", 0).leader] == [1, 2]

        def elect(*topics: tuple[str, Sequence[int]]) -> PreferredReplicaLeaderElectionRequest:
            return PreferredReplicaLeaderElectionRequest(
                topics=tuple(TopicPartitions(topic=name, partition_ids=tuple(ids)) for name, ids in topics)
            )

        wrong = elect(("t", [0, 0]), ("u", [-1]), ("v", []), ("u2", [0]))
        assert await batch(cluster, wrong) == {"t": 1008, "u": 1008, "v": 3, "u2": 3}
        assert await batch(cluster, elect(("t", [5]))) == {"t": 3}
        assert await batch(cluster, elect(("t", [0]))) == {"t": 0}
        await cluster.wait_idle()
        assert [cluster.state("t", 0).leader, cluster.state("u", 0).leader] == [3, 2]
        assert await batch(cluster, elect()) == {"t": 0, "u": 0}
        await cluster.wait_idle()
        assert cluster.state("u", 0).leader == 3
        assert not cluster.exists(PreferredReplicaElection.path())
        # While another election is in progress, none starts.
        handlers: Any = change_handlers._HANDLERS
        monkeypatch.setitem(handlers, PreferredReplicaElection.path(), do_nothing)
        cluster.write(PreferredReplicaElection.path(), PreferredReplicaElection(()).encode())
        assert await batch(cluster, elect(("t", []), ("v", []))) == {"t": 1007, "v": 3}
        (failed,) = (await send(cluster, elect(), 0)).topics
        assert (failed.topic, failed.error_code) == ("", 1007)
        cluster.tool.delete(PreferredReplicaElection.path())


async def test_election_of_a_topic_without_partitions_covers_all_partitions() -> None:
    async with cluster_of(1, 3) as cluster:
        await create(cluster, creation("t", (3, 1), (3, 1)))
        await cluster.kill(3)
        await cluster.wait_idle()
        await cluster.start(3, runs_controller=False)
        await cluster.wait_idle()
        named = (TopicPartitions(topic="t", partition_ids=()), TopicPartitions(topic="t", partition_ids=(0,)))
        assert await batch(cluster, PreferredReplicaLeaderElectionRequest(topics=named)) == {"t": 0}
        await cluster.wait_idle()
        assert [cluster.state("t", index).leader for index in (0, 1)] == [3, 3]


async def test_more_partitions_than_fit_in_a_znode_are_elected_and_reassigned() -> None:
    async with cluster_of(1, 2) as cluster:
        name, count = "t" * 249, 4_000
        await create(cluster, creation(name, *[(2, 1)] * count))
        await cluster.kill(2)
        await cluster.wait_idle()
        await cluster.start(2, runs_controller=False)
        await cluster.wait_idle()
        assert cluster.state(name, count - 1).leader == 1
        assert await batch(cluster, PreferredReplicaLeaderElectionRequest(topics=())) == {name: 0}
        await cluster.wait_idle()
        assert {cluster.state(name, index).leader for index in range(count)} == {2}
        assert not cluster.exists(PreferredReplicaElection.path())
        goal = TopicReassignment(topic=name, partitions=assignment(*[(1,)] * count))
        assert await batch(cluster, ReassignPartitionsRequest(topics=(goal,))) == {name: 0}
        await cluster.wait_idle()
        await cluster.wait_idle()
        assert set(cluster.registration(name).partitions.values()) == {(1,)}
        assert not cluster.exists(ReassignPartitions.path())
        cluster.check_agreement()


async def test_reassign_and_verify() -> None:
    async with cluster_of(1, 2, 3) as cluster:
        await create(cluster, creation("t", (1, 2), (2, 3)), creation("u", (3, 2)))

        async def verify(*topics: Any) -> dict[str, tuple[int, dict[int, int]]]:
            response = await send(cluster, VerifyReassignPartitionsRequest(topics=topics), 0)
            return {
                one.topic: (one.error_code, {status.partition_id: status.status for status in one.partitions})
                for one in response.topics
            }

        wrong = ReassignPartitionsRequest(
            topics=(
                reassignment("t", p0=(9,)),
                reassignment("u", p0=()),
                reassignment("v", p0=(1,)),
                reassignment("t", p0=(1,)),
            )
        )
        assert await batch(cluster, wrong) == {"t": 1005, "u": 1005, "v": 3}
        assert await batch(cluster, ReassignPartitionsRequest(topics=(reassignment("t", p7=(1,)),))) == {"t": 3}
        assert await batch(cluster, ReassignPartitionsRequest(topics=(reassignment("t", p0=(1, 1)),))) == {"t": 1005}
        there = ReassignPartitionsRequest(topics=(reassignment("t", p0=(1, 2)),))
        assert await batch(cluster, there) == {"t": 0}
        assert not cluster.exists(ReassignPartitions.path()), "the replicas are there already"
        goal = (reassignment("t", p0=(3, 1), p1=(1,)), reassignment("u", p0=(2, 3)))
        started, running = await asyncio.gather(batch(cluster, ReassignPartitionsRequest(topics=goal)), verify())
        assert started == {"t": 0, "u": 0}
        assert running == {"t": (0, {0: 0, 1: 0}), "u": (0, {0: 0})}
        await cluster.wait_idle()
        await cluster.wait_idle()
        assert await verify() == {}
        assert await verify(*goal) == {"t": (0, {0: 1, 1: 1}), "u": (0, {0: 1})}
        assert await verify(reassignment("t", p0=(1, 2)), reassignment("v", p0=(1,)), reassignment("u", p9=(1,))) == {
            "t": (0, {0: -1}),
            "v": (3, {}),
            "u": (3, {}),
        }
        cluster.check_agreement()


REQUESTS: list[tuple[Any, int]] = [
    (CreateTopicRequest(topic_name="t", replica_assignment="nonsense"), 0),
    (CreateTopicRequest_V2(topics=(creation("t", (1,)), creation("t", (1,)))), 2),
    (AlterTopicRequest(topic_name="t", replica_assignment="nonsense"), 1),
    (AlterTopicRequest_V2(topics=(alteration(),)), 2),
    (DeleteTopicRequest(topic_name="t"), 0),
    (DeleteTopicRequest_V2(topic_names=("t",)), 2),
    (DescribeTopicRequest(topic_name="t"), 1),
    (ListTopicsRequest(), 0),
    (PreferredReplicaLeaderElectionRequest(topics=()), 0),
    (ReassignPartitionsRequest(topics=(reassignment("t", p0=(1,)),)), 0),
    (VerifyReassignPartitionsRequest(topics=()), 0),
]


@pytest.mark.parametrize(("message", "version"), REQUESTS, ids=[type(one).__name__ for one, _ in REQUESTS])
async def test_other_brokers_answer_22(message: Message, version: int) -> None:
    async with cluster_of(1, 2, 3, controllers=(1, 2)) as cluster:
        other = next(
            one.controller for one in cluster.brokers.values() if one.controller and not one.controller.is_active
        )
        response: Any = await handle(message, version, other)
        codec.encode(response, version=version)
        if hasattr(response, "topics"):
            assert [one.error_code for one in response.topics] == [22]
        else:
            assert response.error_code == 22
            assert response.error_description == (
                f"Target broker (id={other.broker_id}) is not serving a controller's role."
            )


async def test_full_queue_answers_21() -> None:
    async with cluster_of(1, settings=NodeSettings(queued_requests=3)) as cluster:
        requests = [asyncio.ensure_future(create(cluster, creation(f"t{number}", (1,)))) for number in range(8)]
        results = await asyncio.gather(*requests)
        assert sorted(code for codes in results for code in codes.values()) == [0] * 3 + [21] * 5
        assert await create(cluster, creation("later", (1,))) == {"later": 0}


async def test_controlled_shutdown_moves_leaders() -> None:
    async with cluster_of(1, 2, 3) as cluster:
        await create(cluster, creation("t", (2, 1), (3, 2)), creation("alone", (2,)))
        epoch = cluster.memory.tree.get("/brokers/ids/2").czxid
        stale = AdminRequest(tool=CONTROLLED_SHUTDOWN, arguments=("2", "1"))
        assert (await handle(stale, 0, cluster.active)).error_code == 21
        malformed = AdminRequest(tool=CONTROLLED_SHUTDOWN, arguments=("two",))
        assert (await handle(malformed, 0, cluster.active)).error_code == 21
        response = await handle(AdminRequest(tool=CONTROLLED_SHUTDOWN, arguments=("2", str(epoch))), 0, cluster.active)
        assert (response.error_code, response.exit_status, response.output) == (0, 1, b'[["alone", 0]]')
        assert cluster.state("t", 0).leader == 1
        await create(cluster, creation("u", (2, 3)))
        assert cluster.state("u", 0).leader == 3, "a stopping broker leads no new partition"
        await cluster.kill(2)
        await cluster.start(2, runs_controller=False)
        await cluster.wait_idle()
        await create(cluster, creation("v", (2, 3)))
        assert cluster.state("v", 0).leader == 2
        cluster.check_agreement()
