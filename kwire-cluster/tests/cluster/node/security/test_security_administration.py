"""ACLs and SCRAM users of live nodes, through the admin client."""

from __future__ import annotations

import asyncio
import logging
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from kwire._util.secret import Secret
from kwire.authorization.acl_authorizer import Permission
from kwire.authorization.acl_entries import AclEntry
from kwire.authorization.subjects import Subject
from kwire.client.admin import (
    AclBinding,
    AclBindingFilter,
    AclOperation,
    AclPermissionType,
    AdminClient,
    AdminError,
    PatternType,
    ResourceType,
    ScramCredentialInfo,
    ScramMechanismName,
    UserScramCredentialDeletion,
    UserScramCredentialUpsertion,
)
from kwire.client.security.credentials import ScramCredentials
from kwire.protocol.sasl_server import ScramCredential
from kwire_cluster.config.stored_configs import ConfigConflict, change_config
from kwire_cluster.zookeeper import EntityConfig
from kwire_cluster.zookeeper.acls import ResourceAcls
from kwire_cluster.zookeeper.store import make_path
from tests.cluster.memory_store import MemoryZooKeeper
from tests.cluster.node.access_control import ACL_AUTHORIZER, LOCAL, make_acls, write_acls
from tests.cluster.node.nodes import new_root, nodes, session
from tests.cluster.node.secured import NODE_PASSWORD, SCRAM_NODE, brokers_seen, secured, set_scram_password, with_sasl

if TYPE_CHECKING:
    from kwire_cluster.node.node import Node
    from kwire_cluster.zookeeper.embedded_server import EmbeddedZooKeeper
    from tests.cluster.memory_store import MemoryStore

SHA_256, SHA_512 = ScramMechanismName.SCRAM_SHA_256, ScramMechanismName.SCRAM_SHA_512
SCRAM = {
    "listener.security.protocol.map": "ADMIN:SASL_PLAINTEXT",
    "sasl.enabled.mechanisms": "SCRAM-SHA-256",
    "sasl.jaas.config": SCRAM_NODE,
}
CREATE = AclBinding(
    resource_type=ResourceType.TOPIC,
    resource_name="orders-",
    pattern_type=PatternType.PREFIXED,
    principal="User:alice",
    operation=AclOperation.CREATE,
)
DENIED = AclBinding(
    resource_type=ResourceType.TRANSACTIONAL_ID,
    resource_name="payments",
    principal="User:bob",
    host="127.0.0.5",
    operation=AclOperation.DESCRIBE_CONFIGS,
    permission_type=AclPermissionType.DENY,
)


def connect(node: Node) -> str:
    return f"{node.host}:{node.port}"


def upsertion(user: str, password: str = "correct horse", iterations: int = 4096) -> UserScramCredentialUpsertion:
    return UserScramCredentialUpsertion(user=user, password=Secret(password), mechanism=SHA_256, iterations=iterations)


async def test_acls_apply_on_every_node_once_they_are_reported(server: EmbeddedZooKeeper) -> None:
    zookeeper = await new_root(server)
    await make_acls(zookeeper)
    await write_acls(zookeeper, "Cluster", "kafka-cluster", LOCAL)
    async with (
        nodes(zookeeper, 1, 2, authorizer=ACL_AUTHORIZER) as started,
        await AdminClient.open(connect(started[1])) as admin,
    ):

        def allowed() -> set[bool]:
            alice, create = Subject("User:alice", "127.0.0.9"), Permission(AclOperation.CREATE, "Topic")
            return {node.authorizer.allows(alice, create, "orders-1") for node in started if node.authorizer}

        assert (await admin.create_acls([CREATE, DENIED])).errors == {}
        assert (await admin.create_acls([CREATE])).errors == {}, "an ACL that exists is a success"
        await admin.wait_until_acls(created=[CREATE, DENIED])
        assert allowed() == {True}
        of_topics = AclBindingFilter(
            resource_type=ResourceType.TOPIC, resource_name="orders-1", pattern_type=PatternType.MATCH
        )
        assert await admin.describe_acls(of_topics) == [CREATE]
        assert len(await admin.describe_acls()) == 3

        of_bob = AclBindingFilter(principal="User:bob")
        assert await admin.delete_acls([of_topics, of_bob]) == {of_topics: {CREATE: None}, of_bob: {DENIED: None}}
        await admin.wait_until_acls(deleted=[CREATE, DENIED])
        assert allowed() == {False}


async def test_an_invalid_acl_does_not_prevent_the_others(server: EmbeddedZooKeeper) -> None:
    async with nodes(await new_root(server), 1) as [node], await AdminClient.open(connect(node)) as admin:
        invalid = [
            AclBinding(
                resource_type=ResourceType.CLUSTER,
                resource_name="other",
                principal="User:bob",
                operation=AclOperation.ALTER,
            ),
            AclBinding(
                resource_type=ResourceType.TOPIC,
                resource_name="a/b",
                principal="User:bob",
                operation=AclOperation.READ,
            ),
            AclBinding(
                resource_type=ResourceType.TOPIC,
                resource_name="a",
                principal="User:bob",
                operation=AclOperation.TWO_PHASE_COMMIT,
            ),
        ]
        outcomes = await admin.create_acls([*invalid, CREATE])
        assert outcomes[str(CREATE)] is None
        assert [outcomes.errors[str(acl)].text.partition(" (")[0] for acl in invalid[:2]] == [
            "the only resource of the type Cluster is the literal name kafka-cluster",
            "'a/b' is not the name of a resource",
        ]
        assert "'TwoPhaseCommit' is not an operation" in outcomes.errors[str(invalid[2])].text
        assert await admin.describe_acls() == [CREATE]


async def test_malformed_acls_concern_their_resource_only(server: EmbeddedZooKeeper) -> None:
    zookeeper = await new_root(server)
    await make_acls(zookeeper)
    await write_acls(zookeeper, "Topic", "damaged", data=b'{"version":1,"acls":[{}]}')
    async with nodes(zookeeper, 1) as [node], await AdminClient.open(connect(node)) as admin:
        await admin.create_acls([CREATE, DENIED])
        await admin.wait_until_acls(created=[CREATE, DENIED])
        assert await admin.describe_acls(AclBindingFilter(resource_name="payments")) == [DENIED]
        with pytest.raises(AdminError, match=r"literal Topic damaged: .*/kafka-acl/Topic/damaged"):
            await admin.describe_acls()
        everything, payments = AclBindingFilter(), AclBindingFilter(resource_name="payments")
        deleted = await admin.delete_acls([everything, payments])
        assert isinstance(deleted[everything], AdminError)
        assert deleted[payments] == {DENIED: None}
        assert await admin.describe_acls(AclBindingFilter(resource_name="orders-")) == [CREATE]


async def test_a_list_that_is_longer_than_a_node_returns_is_an_error(
    server: EmbeddedZooKeeper, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("kwire_cluster.node.tools.MAX_OUTPUT", 1_000)
    async with nodes(await new_root(server), 1) as [node], await AdminClient.open(connect(node)) as admin:
        outcomes = await admin.create_acls([replace(CREATE, resource_name=f"t{number}") for number in range(10)])
        assert outcomes.errors == {}
        with pytest.raises(AdminError, match="the output of the tool acls is not JSON, or longer than a node returns"):
            await admin.describe_acls()


async def test_entries_that_other_tools_wrote_are_deleted(server: EmbeddedZooKeeper) -> None:
    """Kafka reads the names of an entry in any case, and ignores keys that it does not know."""
    zookeeper = await new_root(server)
    await make_acls(zookeeper)
    entry = b'{"principal":"User:a","permissionType":"ALLOW","operation":"CLUSTERACTION","host":"*","note":"x"}'
    await write_acls(zookeeper, "Topic", "t", data=b'{"version":1,"acls":[' + entry + b"]}")
    async with nodes(zookeeper, 1) as [node], await AdminClient.open(connect(node)) as admin:
        [acl] = await admin.describe_acls()
        assert acl.operation is AclOperation.CLUSTER_ACTION
        assert (await admin.create_acls([acl])).errors == {}
        assert await admin.describe_acls() == [acl]
        assert await admin.delete_acls([acl.exact_filter()]) == {acl.exact_filter(): {acl: None}}
        assert await admin.describe_acls() == []
        async with session(zookeeper) as store:
            assert await store.exists(ResourceAcls.path("Topic", "t")) is None


async def test_entries_with_unknown_operations_are_kept(server: EmbeddedZooKeeper) -> None:
    zookeeper = await new_root(server)
    await make_acls(zookeeper)
    await write_acls(zookeeper, "Topic", "t", AclEntry("User:a", "Allow", "Foo", "*"))
    async with nodes(zookeeper, 1) as [node], await AdminClient.open(connect(node)) as admin:
        read = AclBinding(
            resource_type=ResourceType.TOPIC, resource_name="t", principal="User:a", operation=AclOperation.READ
        )
        await admin.create_acls([read])
        assert [acl.operation for acl in await admin.describe_acls()] == [
            AclOperation.READ,
            AclOperation.UNKNOWN,
        ]
        await admin.delete_acls([read.exact_filter()])
        [unknown] = await admin.describe_acls()
        assert unknown.operation is AclOperation.UNKNOWN


async def test_users_can_authenticate_on_every_node_once_they_are_reported(
    server: EmbeddedZooKeeper, caplog: pytest.LogCaptureFixture, capsys: pytest.CaptureFixture[str]
) -> None:
    caplog.set_level(logging.DEBUG, "kwire")
    zookeeper = await new_root(server)
    await set_scram_password(zookeeper, "node", NODE_PASSWORD, "SCRAM-SHA-256")
    as_node = with_sasl(ScramCredentials("node", Secret(NODE_PASSWORD), mechanism="SCRAM-SHA-256"))
    names = ["alice", "CN=b,OU=a/b", "<default>", "-x", "--", "ü b+%2F@c"]
    async with (
        secured(zookeeper, SCRAM, 1, 2) as started,
        await AdminClient.open(connect(started[1]), config=as_node) as admin,
    ):
        outcomes = await admin.alter_user_scram_credentials([upsertion(name) for name in names])
        assert outcomes.errors == {}
        await admin.wait_until_user_scram_credentials({name: {SHA_256: 4096} for name in names})
        for name in names:
            client = with_sasl(ScramCredentials(name, Secret("correct horse"), mechanism="SCRAM-SHA-256"))
            for node in started:
                assert await brokers_seen(node, client) == [1, 2]
        found = await admin.describe_user_scram_credentials()
        assert found == dict.fromkeys(sorted([*names, "node"]), (ScramCredentialInfo(SHA_256, 4096),))
        assert list(await admin.describe_user_scram_credentials(["alice"])) == ["alice"]

        removed = [UserScramCredentialDeletion(name, SHA_256) for name in names]
        assert (await admin.alter_user_scram_credentials(deletions=removed)).errors == {}
        await admin.wait_until_user_scram_credentials({name: {SHA_256: None} for name in names})
        again = await admin.alter_user_scram_credentials([upsertion("alice")], removed[:1])
        assert "has no credential" in again.errors["alice"].text
        async with session(zookeeper) as store:
            stored = EntityConfig.decode((await store.get("/config/users/alice")).data).config
    credential = ScramCredential.parse(stored["SCRAM-SHA-256"])
    written = caplog.text + "".join(capsys.readouterr())
    parts = str(credential).split(",")
    assert not [part for part in parts[:3] if part.partition("=")[2] in written]
    assert "correct horse" not in written


async def test_users_without_usable_credentials_are_named(server: EmbeddedZooKeeper) -> None:
    zookeeper = await new_root(server)
    await set_scram_password(zookeeper, "alice", "secret", "SCRAM-SHA-256", "SCRAM-SHA-512")
    async with session(zookeeper) as store:
        await store.create("/config/users/bob", EntityConfig({"SCRAM-SHA-256": "salt=top-secret"}).encode())
        await store.create("/config/users/carol", b'{"version":1,"config":{"SCRAM-SHA-256":["top-secret"]}}')
        await store.create("/config/users/dora", EntityConfig({"producer_byte_rate": "1"}).encode())
        await store.create("/config/users/<default>", EntityConfig({"producer_byte_rate": "1"}).encode())
    async with nodes(zookeeper, 1) as [node], await AdminClient.open(connect(node)) as admin:
        found = await admin.describe_user_scram_credentials()
        assert found.pop("alice") == (ScramCredentialInfo(SHA_256, 4096), ScramCredentialInfo(SHA_512, 4096))
        assert [str(error) for error in found.values()] == [
            "bob: the credential for SCRAM-SHA-256 is malformed (error 21 ADMIN_REQUEST_FAILED)",
            "carol: /config/users/carol is malformed (error 21 ADMIN_REQUEST_FAILED)",
        ]
        unknown = (await admin.describe_user_scram_credentials(["dora"]))["dora"]
        assert isinstance(unknown, AdminError)
        assert unknown.code == 91

        outcomes = await admin.alter_user_scram_credentials([upsertion(".."), upsertion("erin")])
        assert outcomes[".."] is not None
        assert outcomes["erin"] is None
        await admin.wait_until_user_scram_credentials({"erin": {SHA_256: 4096}})


async def test_a_conflict_does_not_show_credentials() -> None:
    """Another client sets the same credential between reading and writing it."""
    memory = MemoryZooKeeper()
    first, second = memory.session(), memory.session()
    for path in ("/config/users", "/config/changes", "/config/audit"):
        await make_path(first, path)
    hide = frozenset({"SCRAM-SHA-256"})

    async def write(store: MemoryStore, text: str) -> None:
        await change_config(store, "users/a", {"SCRAM-SHA-256": text}, author="tests", node_id=1, hide=hide)

    await write(first, "secret-0")
    others = [asyncio.create_task(write(store, f"secret-{number}")) for number, store in ((1, first), (2, second))]
    results = await asyncio.gather(*others, return_exceptions=True)
    [conflict] = [result for result in results if isinstance(result, ConfigConflict)]
    assert "SCRAM-SHA-256 was changed meanwhile" in str(conflict)
    assert "secret" not in str(conflict)
