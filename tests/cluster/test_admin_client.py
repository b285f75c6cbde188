"""The admin client's verbs on a cluster of real processes, with and without asyncio, also while the controller goes."""

from __future__ import annotations

import asyncio
import time
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import pytest

from kwire.client.admin import (
    AdminClient,
    AdminError,
    BlockingAdminClient,
    NewTopic,
    NotSeenInTime,
    Progress,
    TopicChange,
)
from kwire.protocol.errors import ConnectionFault, Timeout
from kwire.testing.local_cluster import LocalCluster
from tests.cluster.checking import sound, zookeeper
from tests.cluster.faults import controller_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


@pytest.fixture(scope="module")
def empty() -> Iterator[LocalCluster]:
    with LocalCluster(nodes=3) as cluster:
        yield cluster


async def test_every_verb(empty: LocalCluster) -> None:
    async with await AdminClient.open(empty.bootstrap) as admin:
        told = await admin.describe_cluster()
        assert [broker.id for broker in told.brokers] == [1, 2, 3]
        assert told.controller in told.brokers

        new = NewTopic(assignment={0: [1, 2], 1: [2, 3]}, configs={"retention.ms": "1000"})
        outcomes = await admin.create_topics({"t": new, "no name": NewTopic(partitions=1, replication_factor=1)})
        assert outcomes["t"] is None
        assert outcomes.errors["no name"].code == 1010
        with pytest.raises(AdminError, match="no name"):
            outcomes.raise_first()
        await admin.wait_until_created({"t": 2})
        assert await admin.list_topics() == ["t"]

        (await admin.alter_topics({"t": TopicChange(partitions=3, set_configs={"retention.ms": "7"})})).raise_first()
        await admin.wait_until_created({"t": 3})
        described = await admin.describe_topics(["t", "nosuch"])
        assert isinstance(described["nosuch"], AdminError)
        assert described["nosuch"].code == 3

        to = {"t": {0: [3, 1]}}
        (await admin.reassign_partitions(to)).raise_first()
        await admin.wait_until_reassigned(to)
        [status] = await admin.list_reassignments(to)
        assert (status.topic, dict(status.partitions)) == ("t", {0: "completed"})
        assert await admin.list_reassignments() == []

        (await admin.elect_leaders()).raise_first()
        await admin.wait_until_preferred()
        topic = (await admin.describe_topics())["t"]
        assert not isinstance(topic, AdminError)
        assert topic.partitions[0].replicas == (3, 1)
        assert [each.leader for each in topic.partitions] == [each.replicas[0] for each in topic.partitions]
        assert topic.configs == {"retention.ms": "7"}

        assert (await admin.run_tool("status", broker_id=2)).exit_status == 0
        with pytest.raises(AdminError, match="there are: help, status"):
            await admin.run_tool("nosuch")
        with pytest.raises(AdminError, match="no live broker 9"):
            await admin.run_tool("status", broker_id=9)

        (await admin.delete_topics(["t"])).raise_first()
        await admin.wait_until_deleted(["t"])
        assert await admin.list_topics() == []


def test_without_asyncio_and_past_dead_brokers(empty: LocalCluster) -> None:
    with BlockingAdminClient(f"127.0.0.1:1,127.0.0.1:2,{empty.bootstrap}") as admin:
        admin.create_topics({"b": NewTopic(partitions=2, replication_factor=3)}).raise_first()
        seen: list[Progress] = []
        admin.wait_until_created({"b": 2}, report=seen.append)
        assert seen[-1] == Progress(3, 3)
        admin.delete_topics(["b"]).raise_first()
        admin.wait_until_deleted(["b"])


@pytest.mark.parametrize(
    "verb",
    [
        lambda admin: admin.delete_topics("xyz"),
        lambda admin: admin.describe_topics("xyz"),
        lambda admin: admin.alter_topics({"x": TopicChange(delete_configs="xyz")}),
        lambda admin: admin.run_tool("status", "xyz"),
        lambda admin: admin.wait_until_created("xyz"),
        lambda admin: admin.wait_until_deleted("xyz"),
    ],
    ids=["delete", "describe", "alter", "run_tool", "created", "deleted"],
)
def test_one_text_is_not_taken_for_its_letters(verb: Callable[[Any], Any], empty: LocalCluster) -> None:
    async def scene() -> None:
        async with await AdminClient.open(empty.bootstrap) as admin:
            with pytest.raises(TypeError, match=r"not one: write \['xyz'\]"):
                await verb(admin)

    asyncio.run(scene())
    with (
        BlockingAdminClient(empty.bootstrap) as admin,
        pytest.raises(TypeError, match=r"not one: write \['xyz'\]"),
    ):
        verb(admin)


def test_any_mapping_says_how_many_partitions_are_waited_for(empty: LocalCluster) -> None:
    with BlockingAdminClient(empty.bootstrap) as admin:
        admin.create_topics({"m": NewTopic(partitions=2, replication_factor=1)}).raise_first()
        admin.wait_until_created(MappingProxyType({"m": 2}))
        with pytest.raises(NotSeenInTime, match="m has 2 partitions instead of 3"):
            admin.wait_until_created(MappingProxyType({"m": 3}), timeout=0.5)
        admin.delete_topics(["m"]).raise_first()
        admin.wait_until_deleted(["m"])


def test_nobody_there_is_told_in_time() -> None:
    begun = time.monotonic()
    with pytest.raises(ConnectionFault, match=r"127\.0\.0\.1:1"):
        BlockingAdminClient("127.0.0.1:1", timeout=0.5)
    assert time.monotonic() - begun < 5


def test_what_is_not_seen_in_time_is_told_by_broker(empty: LocalCluster) -> None:
    with BlockingAdminClient(empty.bootstrap) as admin, pytest.raises(NotSeenInTime) as raised:
        admin.wait_until_created(["never"], timeout=0.5)
    assert raised.value.missing == {f"broker {each}": ["never is not there"] for each in (1, 2, 3)}
    assert "not created within 0.5 s: broker 1: never is not there" in str(raised.value)


def test_commands_find_the_next_controller(cluster: LocalCluster, admin: BlockingAdminClient) -> None:
    """It is killed, and asked at once: the connection breaks, nobody is controller, another one answers."""
    for turn in range(2):
        victim = controller_of(admin)
        admin.list_topics()
        cluster.kill_node(victim)
        name = f"across-{turn}-{time.monotonic_ns()}"
        admin.create_topics({name: NewTopic(partitions=2, replication_factor=2)}).raise_first()
        assert controller_of(admin) != victim
        cluster.start_node(victim)
        admin.wait_until_created({name: 2})
    sound(cluster)


def test_a_controller_that_resigned_is_asked_no_more(cluster: LocalCluster, admin: BlockingAdminClient) -> None:
    """The office moves while it lives: it answers 22, and the client looks for the other."""
    admin.describe_cluster()
    with zookeeper(cluster) as client:
        client.delete("/controller")
    name = f"after-22-{time.monotonic_ns()}"
    admin.create_topics({name: NewTopic(partitions=1, replication_factor=3)}).raise_first()
    admin.wait_until_created({name: 1})
    sound(cluster)


def test_a_controller_that_does_not_answer_is_named() -> None:
    with (
        LocalCluster(nodes=1, session_timeout=30.0) as cluster,
        BlockingAdminClient(cluster.bootstrap, timeout=1.0) as admin,
    ):
        cluster.zookeeper.kill()
        with pytest.raises(Timeout) as raised:
            admin.create_topics({"t": NewTopic(partitions=1, replication_factor=1)})
        [node] = cluster.nodes
        assert raised.value.endpoint.port == node.port
