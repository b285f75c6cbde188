"""The tools `acls` and `users` on live nodes, through Admin requests."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from kwire._util.secret import Secret
from kwire.authorization.acl_authorizer import AclOperation, Permission
from kwire.authorization.subjects import ANONYMOUS, Subject
from kwire.messages.kip4.admin import AdminRequest
from kwire.messages.kip4.create_topic_v2 import CreateTopicRequest_V2, TopicCreation
from kwire.protocol.sasl_server import ScramCredential
from tests.cluster.node.access_control import ACL_AUTHORIZER, LOCAL, allow, make_acls, write_acls
from tests.cluster.node.nodes import new_root, nodes, send
from tests.eventually import eventually

if TYPE_CHECKING:
    from kwire_cluster.node.node import Node
    from kwire_cluster.zookeeper.embedded_server import EmbeddedZooKeeper


CREDENTIAL = str(ScramCredential.of_password("SCRAM-SHA-256", Secret("alice-secret"), b"salt"))


async def run(node: Node, tool: str, *arguments: str, from_host: str | None = None) -> tuple[int, str]:
    response = await send(node, AdminRequest(tool=tool, arguments=arguments), from_host=from_host)
    assert response.error_code == 0, response.error_description
    return response.exit_status, response.output.decode()


async def result(node: Node, tool: str, *arguments: str) -> Any:
    status, output = await run(node, tool, *arguments)
    assert status == 0, output
    return json.loads(output)


async def test_entries_are_added_and_removed_through_any_node(server: EmbeddedZooKeeper) -> None:
    zookeeper = await new_root(server)
    await make_acls(zookeeper)
    await write_acls(zookeeper, "Cluster", "kafka-cluster", LOCAL)
    creation = CreateTopicRequest_V2(topics=(TopicCreation(topic_name="a-1", partitions=1, replication_factor=1),))
    async with nodes(zookeeper, 1, 2, authorizer=ACL_AUTHORIZER) as [controller, other]:
        assert (await send(controller, creation, from_host="127.0.0.5")).topics[0].error_code == 29
        entry = ("Topic", "a-", "User:ANONYMOUS", "Create", "--pattern", "prefixed", "--host", "127.0.0.5")
        [added] = await result(other, "acls", "add", *entry)
        assert await result(other, "acls", "add", *entry) == [added]
        assert (added["resource_name"], added["pattern_type"], added["permission_type"]) == ("a-", "prefixed", "Allow")
        assert len(await result(controller, "acls", "list")) == 2

        authorizer = controller.authorizer
        assert authorizer is not None
        subject, create = Subject(ANONYMOUS, "127.0.0.5"), Permission(AclOperation.CREATE, "Topic")
        await eventually(lambda: authorizer.allows(subject, create, "a-1"))
        assert (await send(controller, creation, from_host="127.0.0.5")).topics[0].error_code == 0
        assert await result(other, "acls", "remove", *entry) == []
        await eventually(lambda: not authorizer.allows(subject, create, "a-1"))
        changes = [row for row in await result(controller, "config", "audit") if "acls/" in row["entity"]]
        assert len(changes) == 2
        assert {change["node"] for change in changes} == {2}


async def test_only_permitted_clients_use_the_tools(server: EmbeddedZooKeeper) -> None:
    zookeeper = await new_root(server)
    await make_acls(zookeeper)
    await write_acls(zookeeper, "Cluster", "kafka-cluster", LOCAL, allow("Describe", host="127.0.0.5"))
    async with nodes(zookeeper, 1, authorizer=ACL_AUTHORIZER) as [node]:
        entry = ("add", "Topic", "t", "User:x", "Read")
        for tool, change in (("acls", entry), ("users", ("set", "alice", "SCRAM-SHA-256", CREDENTIAL))):
            described = await send(node, AdminRequest(tool=tool, arguments=("list",)), from_host="127.0.0.5")
            assert described.error_code == 0
            changed = await send(node, AdminRequest(tool=tool, arguments=change), from_host="127.0.0.5")
            assert changed.error_code == 31


async def test_credentials_are_set_and_deleted_without_showing_them(server: EmbeddedZooKeeper) -> None:
    async with nodes(await new_root(server), 1) as [node]:
        alice = {"user": "alice", "credentials": {"SCRAM-SHA-256": 4096}}
        assert await result(node, "users", "set", "alice", "SCRAM-SHA-256", CREDENTIAL) == [alice]
        assert await result(node, "users", "list") == [alice]
        audit = json.dumps(await result(node, "config", "audit"))
        assert "users/alice" in audit
        assert "stored_key" not in audit
        deleted = {"user": "alice", "credentials": {}}
        assert await result(node, "users", "delete", "alice", "SCRAM-SHA-256") == [deleted]
        assert await result(node, "users", "list") == []


@pytest.mark.parametrize(
    ("tool", "arguments", "reason"),
    [
        ("acls", ("add", "Topic", "a/b", "User:x", "Read"), "is not the name of a resource"),
        ("acls", ("add", "Topic", "..", "User:x", "Read"), "is not the name of a resource"),
        ("acls", ("add", "Topic", "a\x01", "User:x", "Read"), "is not the name of a resource"),
        ("acls", ("add", "Cluster", "other", "User:x", "Alter"), "the only resource of the type Cluster"),
        ("acls", ("add", "Topic", "a", "alice", "Read"), "expected <type>:<name>, found 'alice'"),
        ("acls", ("add", "Toppic", "a", "User:x", "Read"), "'Toppic' is not a type of resources"),
        ("acls", ("add", "Topic", "a", "User:x", "Reed"), "'Reed' is not an operation"),
        ("users", ("set", "alice", "SCRAM", CREDENTIAL), "'SCRAM' is not a mechanism"),
        ("users", ("set", "..", "SCRAM-SHA-256", CREDENTIAL), "is not the name of a user"),
        ("users", ("set", "alice", "SCRAM-SHA-256", "password"), "expected a credential as Kafka stores it"),
        ("users", ("delete", "nosuch", "SCRAM-SHA-256"), "user 'nosuch' has no credential for SCRAM-SHA-256"),
    ],
)
async def test_invalid_arguments_are_explained(
    tool: str, arguments: tuple[str, ...], reason: str, server: EmbeddedZooKeeper
) -> None:
    async with nodes(await new_root(server), 1) as [node]:
        status, output = await run(node, tool, *arguments)
        assert (status, reason in output) == (2, True), output
