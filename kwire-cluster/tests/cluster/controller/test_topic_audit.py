"""The audit of topics in the controller: the texts of entries, and their transactions."""

from __future__ import annotations

import asyncio
import uuid
from dataclasses import replace
from types import MappingProxyType

from kwire.messages.kip4.alter_topic_v2 import TopicAlteration
from kwire_cluster.config.audit import AUDIT, audit_write
from kwire_cluster.controller.topic_audit import MAX_TEXT, topic_changes
from kwire_cluster.controller.topic_state import Partition, Topic
from kwire_cluster.controller.topic_writes import plan_writes
from kwire_cluster.zookeeper.admin_requests import PreferredReplicaElection, ReassignPartitions
from kwire_cluster.zookeeper.topics import DeletionMarker, PartitionState, TopicRegistration
from tests.cluster.controller.clusters import Cluster, cluster_of, codes, creation, reassignment
from tests.cluster.controller.test_faults import audit_of, check_audit
from tests.eventually import eventually

LED_BY_1 = PartitionState(1, 0, (1, 2, 3), 1)


def topic(*replicas: tuple[int, ...], **config: str) -> Topic:
    partitions = tuple(Partition(index, ids, LED_BY_1, 0) for index, ids in enumerate(replicas))
    return Topic("t", uuid.UUID(int=7), partitions, config=MappingProxyType(config))


def changes_of(cluster: Cluster, name: str) -> list[dict[str, tuple[str | None, str | None]]]:
    """Return the entries about a topic, without the one of its creation."""
    return [dict(entry.changes) for entry in audit_of(cluster) if entry.entity == f"topics/{name}"][1:]


def test_entry_lists_what_differs() -> None:
    before = topic((1, 2), (2, 1), a="1", b="2")
    after = topic((1, 3), (2, 1), (3, 1), b="3", c="4")
    assert topic_changes(before, after) == {
        "partitions": ("2", "3"),
        "replicas": ("0: 1,2", "0: 1,3; 2: 3,1"),
        "a": ("1", None),
        "b": ("2", "3"),
        "c": (None, "4"),
    }
    led_by_2 = before.partitions[1]._replace(state=replace(LED_BY_1, leader=2))
    assert topic_changes(before, replace(before, partitions=(before.partitions[0], led_by_2))) == {
        "leaders": ("1: 1", "1: 2")
    }
    assert topic_changes(before, before) == {}
    assert topic_changes(before, replace(before)) == {}


def test_texts_of_an_entry_are_bounded_and_what_they_leave_out_still_counts() -> None:
    before = topic(*[(1, 2)] * 10_000, a="x" * 100_000 + "1")
    after = topic(*[(1, 3)] * 10_000, a="x" * 100_000 + "2")
    changes = topic_changes(before, after)
    old, new = changes["replicas"]
    assert old is not None
    assert new is not None
    assert old.endswith("; 199: 1,2; and 9,800 more partitions")
    assert new.endswith("; 199: 1,3; and 9,800 more partitions")
    assert [len(text or "") for text in changes["a"]] == [MAX_TEXT, MAX_TEXT], "equal when shortened, but changed"
    assert sum(len(text or "") for pair in topic_changes(None, before).values() for text in pair) < 3 * MAX_TEXT


def test_entry_of_a_topic_in_several_transactions_is_in_the_one_with_the_registration_and_the_configs() -> None:
    config = {f"c{number}": "x" * 30_000 for number in range(20)}
    large = replace(topic(*[(1, 2, 3)] * 4_000, **config), version=-1)
    unwritten = tuple(partition._replace(version=-1) for partition in large.partitions)
    entry = audit_write("tests", 1, "topics/t", topic_changes(None, large))
    plan = plan_writes(None, replace(large, partitions=unwritten), audit=[entry])
    assert len(plan.transactions) > 2
    first = plan.transactions[0]
    assert [first[0].path, *(one.path for one in first[1:3])] == [
        TopicRegistration.path("t"),
        entry.path,
        "/config/topics/t",
    ]
    others = [one for transaction in plan.transactions[1:] for one in transaction]
    assert all(one.path.startswith(f"{TopicRegistration.path('t')}/partitions") for one in others)


async def test_cancellation_before_the_start_leaves_an_entry() -> None:
    """The second request is processed before the change that starts the first one."""
    async with cluster_of(1, 2, 3) as cluster:
        controller = cluster.active
        await controller.create_topics([creation("a", (1, 2), (2, 3)), creation("b", (1,))])
        requested, canceled = await asyncio.gather(
            codes(controller.reassign_partitions([reassignment("a", p0=(3, 2)), reassignment("b", p0=(2,))])),
            codes(controller.reassign_partitions([reassignment("a", p0=())])),
        )
        assert (requested, canceled) == ({"a": 0, "b": 0}, {"a": 0})
        await cluster.wait_idle()
        moved, returned = {"replicas": ("0: 1,2", "0: 3,2")}, {"replicas": ("0: 3,2", "0: 1,2")}
        assert changes_of(cluster, "a") == [moved, returned]
        assert changes_of(cluster, "b") == [{"replicas": ("0: 1", "0: 2")}]
        check_audit(cluster)


async def test_what_follows_from_a_change_has_no_entry() -> None:
    async with cluster_of(1, 2, 3, controllers=(1,)) as cluster:
        await cluster.active.create_topics([creation("a", (3, 1), (2, 3)), creation("b", (3,))])
        await cluster.kill(3)
        await cluster.wait_idle()
        assert [cluster.state("a", index).leader for index in (0, 1)] == [1, 2]
        assert await codes(cluster.active.delete_topics(["b"])) == {"b": 0}
        await cluster.wait_idle()
        assert cluster.exists(DeletionMarker.path("b")), "the deletion waits for broker 3"
        assert len(changes_of(cluster, "b")) == 1
        await cluster.start(3, runs_controller=False)
        await eventually(lambda: not cluster.exists(TopicRegistration.path("b")))
        await cluster.wait_idle()
        assert changes_of(cluster, "a") == []
        check_audit(cluster)


async def test_deletion_of_a_malformed_topic_leaves_an_entry() -> None:
    async with cluster_of(1) as cluster:
        cluster.write(TopicRegistration.path("broken"), b"{")
        await cluster.wait_idle()
        assert await codes(cluster.active.delete_topics(["broken"])) == {"broken": 0}
        [entry] = audit_of(cluster)
        assert (entry.entity, dict(entry.changes)) == ("topics/broken", {"topic_id": ("(unknown)", None)})


async def test_topic_marked_by_another_client_leaves_no_entry() -> None:
    async with cluster_of(1) as cluster:
        await cluster.active.create_topics([creation("a", (1,))])
        cluster.write(DeletionMarker.path("a"), b"")
        assert await codes(cluster.active.delete_topics(["a"])) == {"a": 0}
        assert changes_of(cluster, "a") == []


async def test_election_with_more_entries_than_a_transaction_holds_is_audited_topic_by_topic() -> None:
    names = [f"a-topic-with-a-name-of-usual-length-{number:04}" for number in range(3_000)]
    async with cluster_of(1, 2) as cluster:
        controller = cluster.active
        await controller.create_topics([creation(name, (1, 2)) for name in names])
        ordered = await codes(controller.reassign_partitions([reassignment(name, p0=(2, 1)) for name in names]))
        assert set(ordered.values()) == {0}
        await cluster.wait_idle()
        assert not cluster.exists(ReassignPartitions.path())
        assert await codes(controller.elect_preferred_leaders([])) == dict.fromkeys(names, 0)
        await cluster.wait_idle()
        assert not cluster.exists(PreferredReplicaElection.path())
        newest = audit_of(cluster)[-1_000:]
        assert [entry.entity for entry in newest] == [f"topics/{name}" for name in names[-1_000:]]
        assert {str(dict(entry.changes)) for entry in newest} == {"{'leaders': ('0: 1', '0: 2')}"}
        assert len(cluster.memory.tree.get(AUDIT).children) <= 2_200  # creations, and alterations


async def test_audit_is_created_again_and_nothing_is_written_without_it() -> None:
    async with cluster_of(1) as cluster:
        await cluster.active.create_topics([creation("a", (1,))])
        for name in cluster.memory.tree.get(AUDIT).children.copy():
            cluster.tool.delete(f"{AUDIT}/{name}")
        cluster.tool.delete(AUDIT)
        changed = TopicAlteration(topic_name="a", partitions=2)
        first = await codes(cluster.active.alter_topics([changed]))
        count = len(cluster.registration("a").partitions)
        assert (first, count) in (({"a": 21}, 1), ({"a": 0}, 2))
        await cluster.wait_idle()
        assert await codes(cluster.active.alter_topics([changed])) == {"a": 0}
        assert len(cluster.registration("a").partitions) == 2
        assert [dict(entry.changes) for entry in audit_of(cluster)] == [
            {"partitions": ("1", "2"), "replicas": (None, "1: 1")}
        ]
