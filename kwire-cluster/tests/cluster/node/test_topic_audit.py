"""The audit of topics, on live nodes and a real ZooKeeper: one entry for each change, with its author."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from kwire._util.secret import Secret
from kwire.client import ConnectionConfig
from kwire.client.admin import AdminClient, NewTopic, TopicChange
from kwire.client.connection import Connection
from kwire.client.security.credentials import PlainCredentials
from kwire.messages.kip4.admin import AdminRequest
from kwire.messages.kip4.alter_topic import AlterTopicRequest
from kwire.messages.kip4.alter_topic_v2 import AlterTopicRequest_V2, TopicAlteration
from kwire.messages.kip4.create_topic import CreateTopicRequest
from kwire.messages.kip4.create_topic_v2 import CreateTopicRequest_V2, TopicCreation
from kwire.messages.kip4.delete_topic import DeleteTopicRequest
from kwire.messages.kip4.delete_topic_v2 import DeleteTopicRequest_V2
from kwire.messages.kip4.preferred_replica_leader_election import PreferredReplicaLeaderElectionRequest, TopicPartitions
from kwire.messages.kip4.reassign_partitions import ReassignPartitionsRequest
from kwire.messages.kip4.structures import ConfigEntry
from kwire.messages.kip4.topic_metadata import TopicMetadataRequest
from kwire.protocol.endpoint import Endpoint
from kwire_cluster.config import audit
from kwire_cluster.config.audit import AUDIT, AuditEntry, read_audit
from kwire_cluster.zookeeper.admin_requests import PartitionReassignment, ReassignPartitions
from kwire_cluster.zookeeper.store import make_path
from tests.cluster.audit_replay import AuditedTopic, check_replay
from tests.cluster.controller.clusters import assignment, creation, reassignment
from tests.cluster.node.nodes import new_root, nodes, send, session
from tests.cluster.node.secured import ALICE_PASSWORD, PLAIN, secured
from tests.eventually import eventually

if TYPE_CHECKING:
    from kwire_cluster.node.node import Node
    from kwire_cluster.zookeeper.embedded_server import EmbeddedZooKeeper


async def entries_of(zookeeper: str, topic: str | None = None) -> list[AuditEntry]:
    async with session(zookeeper) as store:
        return await read_audit(store, 100_000, None if topic is None else f"topics/{topic}")


async def config_tool(node: Node, *arguments: str) -> Any:
    response = await send(node, AdminRequest(tool="config", arguments=arguments))
    assert (response.error_code, response.exit_status) == (0, 0), response.output
    return json.loads(response.output)


def elect(topic: str, *partitions: int) -> PreferredReplicaLeaderElectionRequest:
    return PreferredReplicaLeaderElectionRequest(topics=(TopicPartitions(topic=topic, partition_ids=partitions),))


async def test_each_kind_of_change_leaves_one_entry_with_its_author(server: EmbeddedZooKeeper) -> None:
    zookeeper = await new_root(server)
    extend = TopicAlteration(
        topic_name="t",
        replica_assignment=assignment((3, 1), first=2),
        added_config_entries=(ConfigEntry(config_key="retention.ms", config_value="7"),),
    )
    move = TopicAlteration(topic_name="t", replica_assignment=assignment((2, 3)))
    changes: dict[str, tuple[Any, dict[str, tuple[str | None, str | None]]]] = {
        "create": (
            CreateTopicRequest_V2(topics=(creation("t", (1, 2), (2, 1), retention_ms="5"),)),
            {"partitions": (None, "2"), "replicas": (None, "0: 1,2; 1: 2,1"), "retention.ms": (None, "5")},
        ),
        "configs and partitions": (
            AlterTopicRequest_V2(topics=(extend,)),
            {"partitions": ("2", "3"), "replicas": (None, "2: 3,1"), "retention.ms": ("5", "7")},
        ),
        "replicas": (AlterTopicRequest_V2(topics=(move,)), {"replicas": ("0: 1,2", "0: 2,3")}),
        "reassign": (
            ReassignPartitionsRequest(topics=(reassignment("t", p0=(3, 2), p1=(1, 2)),)),
            {"replicas": ("0: 2,3; 1: 2,1", "0: 3,2; 1: 1,2")},
        ),
        "elect": (elect("t"), {"leaders": ("0: 2; 1: 2", "0: 3; 1: 1")}),
        "delete": (
            DeleteTopicRequest_V2(topic_names=("t",)),
            {"partitions": ("3", None), "replicas": ("0: 3,2; 1: 1,2; 2: 3,1", None), "retention.ms": ("7", None)},
        ),
    }
    entries: list[AuditEntry] = []
    async with nodes(zookeeper, 1, 2, 3) as started:
        for number, (kind, (request, expected)) in enumerate(changes.items(), 1):
            answer = await send(started[0], request, client_id=f"client of {kind}")
            assert [topic.error_code for topic in answer.topics] == [0], kind
            entries = await entries_of(zookeeper)
            assert len(entries) == number, kind
            entry = entries[-1]
            assert entry.author.startswith(f"client of {kind} 127.0.0.1:"), entry
            assert (entry.node_id, entry.entity) == (1, "topics/t")
            ids = entry.changes.get("topic_id")
            shown = {name: texts for name, texts in entry.changes.items() if name != "topic_id"}
            assert shown == expected, kind
            assert (ids is not None) == (kind in {"create", "delete"})
            await eventually(lambda: is_settled(started[0]))
        assert entries[0].changes["topic_id"] == (None, entries[-1].changes["topic_id"][0])
        await eventually(lambda: "t" not in started[0].metadata.topics)
        assert len(await entries_of(zookeeper)) == len(changes), "the end of a deletion is not a change of its own"


async def is_accepted(node: Node, request: Any) -> bool:
    return {topic.error_code for topic in (await send(node, request)).topics} == {0}


def is_settled(controller: Node) -> bool:
    backend = controller._session.controller if controller._session is not None else None
    return backend is not None and backend.queue_size == 0


async def test_requests_about_one_topic_leave_an_entry_each(server: EmbeddedZooKeeper) -> None:
    zookeeper = await new_root(server)
    async with nodes(zookeeper, 1) as [node]:
        await send(node, CreateTopicRequest(topic_name="t", partitions=1, replicas=1), version=1)
        await send(node, AlterTopicRequest(topic_name="t", partitions=2), version=1)
        await send(node, DeleteTopicRequest(topic_name="t"), version=1)
    changes = [sorted(entry.changes) for entry in await entries_of(zookeeper)]
    created_or_deleted = ["partitions", "replicas", "topic_id"]
    assert changes == [created_or_deleted, ["partitions", "replicas"], created_or_deleted]


async def test_cancellation_leaves_an_entry(server: EmbeddedZooKeeper) -> None:
    """The reassignment of a tool that writes to ZooKeeper has none."""
    zookeeper = await new_root(server)
    async with nodes(zookeeper, 1) as [node], session(zookeeper) as tool:
        await send(node, CreateTopicRequest_V2(topics=(creation("t", (1,)),)))
        requested = ReassignPartitions((PartitionReassignment("t", 0, (1, 77)),))
        await tool.create(ReassignPartitions.path(), requested.encode())
        cancellation = ReassignPartitionsRequest(topics=(reassignment("t", p0=()),))

        canceled: bool = await eventually(lambda: is_accepted(node, cancellation))
        assert canceled
    [_, entry] = await entries_of(zookeeper, "t")
    assert dict(entry.changes) == {"replicas": ("0: 1,77", "0: 1")}
    assert entry.author.startswith("tests 127.0.0.1:")


async def test_refused_requests_and_requests_without_a_change_leave_none(server: EmbeddedZooKeeper) -> None:
    zookeeper = await new_root(server)
    async with nodes(zookeeper, 1) as [node]:
        await send(node, CreateTopicRequest_V2(topics=(creation("t", (1,), retention_ms="5"),)))
        same = (ConfigEntry(config_key="retention.ms", config_value="5"),)
        invalid = (ConfigEntry(config_key="retention.ms", config_value="never"),)
        requests = {
            "topic exists": CreateTopicRequest_V2(topics=(creation("t", (1,)),)),
            "unknown broker": CreateTopicRequest_V2(
                topics=(TopicCreation(topic_name="u", partitions=1, replication_factor=2),)
            ),
            "name": CreateTopicRequest_V2(topics=(creation("a/b", (1,)),)),
            "unknown topic": DeleteTopicRequest_V2(topic_names=("u",)),
            "fewer partitions": AlterTopicRequest_V2(topics=(TopicAlteration(topic_name="t", partitions=0),)),
            "invalid config": AlterTopicRequest_V2(
                topics=(TopicAlteration(topic_name="t", added_config_entries=invalid),)
            ),
            "same config": AlterTopicRequest_V2(topics=(TopicAlteration(topic_name="t", added_config_entries=same),)),
            "broker that is not alive": ReassignPartitionsRequest(topics=(reassignment("t", p0=(2,)),)),
            "same replicas": ReassignPartitionsRequest(topics=(reassignment("t", p0=(1,)),)),
            "unknown partition": elect("t", 7),
            "leader is preferred": elect("t", 0),
        }
        for name, request in requests.items():
            answer = await send(node, request)
            refused = [topic.error_code for topic in answer.topics] != [0]
            assert refused == (name not in {"same config", "same replicas", "leader is preferred"}), name
            assert len(await entries_of(zookeeper)) == 1, name
        await send(node, DeleteTopicRequest_V2(topic_names=("t",)), DeleteTopicRequest_V2(topic_names=("t",)))
        assert len(await entries_of(zookeeper)) == 2, "the second deletion finds the topic marked or gone"


async def test_author_is_the_client_when_a_node_passes_its_change_on(server: EmbeddedZooKeeper) -> None:
    zookeeper = await new_root(server)
    async with nodes(zookeeper, 1, 2, auto_create_topics=True) as [controller, other]:
        await send(controller, CreateTopicRequest_V2(topics=(creation("t", (1,)),)))
        await config_tool(other, "set", "--topic", "t", "retention.ms=1000")
        await config_tool(other, "apply", '{"topics":{"t":{"retention.ms":"2000"}}}')
        await send(other, TopicMetadataRequest(topic_names=("made",)), client_id="a consumer")
        await eventually(lambda: "made" in other.metadata.topics)
        shown = await config_tool(other, "audit", "--topic", "t", "--newest", "2")
    authors = [entry.author for entry in await entries_of(zookeeper, "t")][1:]
    [created] = await entries_of(zookeeper, "made")
    for author, client in (*((author, "tests") for author in authors), (created.author, "a consumer")):
        assert author.startswith(f"{client} 127.0.0.1 through "), author
    assert [row["changes"] for row in shown] == [
        {"retention.ms": {"old": None, "new": "1000"}},
        {"retention.ms": {"old": "1000", "new": "2000"}},
    ]


async def test_author_is_the_authenticated_user(server: EmbeddedZooKeeper) -> None:
    zookeeper = await new_root(server)
    alice = ConnectionConfig(sasl=PlainCredentials("alice", Secret(ALICE_PASSWORD)))
    async with secured(zookeeper, PLAIN, 1, 2) as [controller, other]:
        async with await Connection.open(Endpoint(controller.host, controller.port), config=alice) as connection:
            await connection.send(CreateTopicRequest_V2(topics=(creation("t", (1,)),)))
        async with await Connection.open(Endpoint(other.host, other.port), config=alice) as connection:
            await connection.send(AdminRequest(tool="config", arguments=("set", "--topic", "t", "retention.ms=1")))
    created, changed = await entries_of(zookeeper, "t")
    assert created.author.startswith("User:alice ")
    assert changed.author.startswith("User:alice ")
    assert " 127.0.0.1 through User:node 127.0.0.1:" in changed.author


async def test_client_lists_changes_of_topics_and_of_one_topic(server: EmbeddedZooKeeper) -> None:
    zookeeper = await new_root(server)
    async with nodes(zookeeper, 1) as [node], await AdminClient.open(f"{node.host}:{node.port}") as admin:
        await config_tool(node, "set", "num.partitions=2")
        for name in ("a", "b"):
            (await admin.create_topics({name: NewTopic(partitions=1, replication_factor=1)})).raise_first()
        (await admin.alter_topics({"a": TopicChange(set_configs={"retention.ms": "5"})})).raise_first()
        rows = [(str(row.resource), row.name, row.old, row.new) for row in await admin.recorded_config_changes()]
        newest = await admin.recorded_config_changes(1, topic="a")
        assert await admin.recorded_config_changes(0, topic="a") == []
    assert [row for row in rows if row[1] not in {"topic_id", "replicas"}] == [
        ("broker default", "num.partitions", None, "2"),
        ("topic a", "partitions", None, "1"),
        ("topic b", "partitions", None, "1"),
        ("topic a", "retention.ms", None, "5"),
    ]
    assert [(row.name, row.old, row.new) for row in newest] == [("retention.ms", None, "5")]


async def test_entries_of_earlier_releases_are_read_and_damaged_ones_left_out(server: EmbeddedZooKeeper) -> None:
    zookeeper = await new_root(server)
    old = (
        b'{"version":1,"timestamp":5,"author":"x","node":1,"entity":"brokers/1","changes":{"a":{"old":null,"new":"1"}}}'
    )
    async with session(zookeeper) as store:
        await make_path(store, AUDIT)
        await store.create(f"{AUDIT}/change_", old, sequential=True)
        await store.create(f"{AUDIT}/topic_", b"{", sequential=True)
    async with nodes(zookeeper, 1) as [node]:
        await send(node, CreateTopicRequest_V2(topics=(creation("t", (1,)),)))
        await config_tool(node, "set", "num.partitions=2")
        listed = await config_tool(node, "audit")
    assert [row["entity"] for row in listed] == ["brokers/1", "topics/t", "brokers/<default>"]


async def test_requests_about_thousands_of_topics_are_audited_and_trimmed(
    server: EmbeddedZooKeeper, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The entries of one request are more than one packet of ZooKeeper can hold; other entries stay."""
    count = 3_000
    zookeeper = await new_root(server)
    monkeypatch.setattr(audit, "MAX_AUDIT_ENTRIES", 2 * count)
    names = [f"a-topic-with-a-name-of-usual-length-{number:05}" for number in range(count)]
    async with nodes(zookeeper, 1) as [node]:
        await config_tool(node, "set", "num.partitions=2")
        await send(node, CreateTopicRequest_V2(topics=tuple(creation(name, (1,)) for name in names)))
        async with session(zookeeper) as store:
            registration = await store.get("/brokers/ids/1")
            await store.create("/brokers/ids/2", registration.data, ephemeral=True)
            await eventually(lambda: 2 in node.metadata.brokers)
            moved = tuple(reassignment(name, p0=(2,)) for name in names)
            answer = await send(node, ReassignPartitionsRequest(topics=moved))
            assert {topic.error_code for topic in answer.topics} == {0}
        entries = await entries_of(zookeeper)
        of_topics = [entry for entry in entries if entry.entity.startswith("topics/")]
        assert len(of_topics) == 2 * count
        check_replay(entries, dict.fromkeys(names, AuditedTopic({0: (2,)}, {})))
        monkeypatch.setattr(audit, "MAX_AUDIT_ENTRIES", 100)
        answer = await send(node, DeleteTopicRequest_V2(topic_names=tuple(names[:200])))
        assert {topic.error_code for topic in answer.topics} == {0}
        await eventually(lambda: is_settled(node))
        kept = await entries_of(zookeeper)
    newest = [f"topics/{name}" for name in names[-100:]]
    deleted = [f"topics/{name}" for name in names[:200]]  # no more than the slack above the limit
    expected = ["brokers/<default>", *newest, *newest, *deleted]  # creations, moves, deletions
    assert [entry.entity for entry in kept] == expected, "topics cannot push out another change"
