"""TLS and SASL on the listeners of real nodes: kwire's own clients, wrong credentials, and nodes among themselves."""

from __future__ import annotations

import asyncio
import logging
import subprocess
import sys
from contextlib import suppress
from typing import TYPE_CHECKING

import pytest

from kwire._util.secret import Secret
from kwire.client import ConnectionConfig
from kwire.client.admin import AdminClient, BlockingAdminClient, NewTopic
from kwire.client.connection import Connection
from kwire.client.security.credentials import PlainCredentials, ScramCredentials
from kwire.client.security.tls import TlsConfig
from kwire.messages.kip4.topic_metadata_v1 import TopicMetadataRequest_V1
from kwire.protocol import AuthenticationFailed, ConnectFailed, ConnectionFault, TlsHandshakeFailed
from kwire.protocol.endpoint import Endpoint
from kwire_cluster import LocalCluster
from kwire_cluster.config.setting import SettingError
from kwire_cluster.node.listener.connection_limits import CloseReason
from kwire_cluster.node.node import Node
from kwire_cluster.zookeeper.errors import NotAuthorized
from tests.cluster.node.access_control import ACL_AUTHORIZER, allow, change_acls
from tests.cluster.node.nodes import new_root, node_tools, session
from tests.cluster.node.requests.test_error_codes import creation
from tests.cluster.node.secured import (
    ALICE_PASSWORD,
    BOB_PASSWORD,
    NODE_PASSWORD,
    PLAIN,
    SCRAM_NODE,
    SECRETS,
    brokers_seen,
    certificate,
    node_settings,
    plain,
    secured,
    set_scram_password,
    tls_properties,
    with_sasl,
)
from tests.eventually import eventually
from tests.for_rows import for_rows
from tests.real_kafka.certificates import CertificateAuthority

if TYPE_CHECKING:
    from pathlib import Path

    from kwire.protocol.scram_passwords import ScramName
    from kwire_cluster.zookeeper.embedded_server import EmbeddedZooKeeper


@pytest.fixture(scope="module")
def authority() -> CertificateAuthority:
    return CertificateAuthority()


async def test_nodes_and_clients_authenticate_with_plain(server: EmbeddedZooKeeper) -> None:
    async with secured(await new_root(server), PLAIN, 1, 2) as (controller, other):
        for node in (controller, other):
            assert await brokers_seen(node, plain("alice", ALICE_PASSWORD)) == [1, 2]
        async with await AdminClient.open(f"{other.host}:{other.port}", config=plain("alice", ALICE_PASSWORD)) as admin:
            await admin.create_topics({"orders": NewTopic(partitions=2, replication_factor=1)})
            await admin.wait_until_created({"orders": 2})


def test_local_cluster_of_secured_nodes_becomes_ready(server: EmbeddedZooKeeper) -> None:
    zookeeper, config = asyncio.run(new_root(server)), plain("alice", ALICE_PASSWORD)
    with (
        LocalCluster(2, zookeeper=zookeeper, settings=PLAIN, config=config) as cluster,
        BlockingAdminClient(cluster.bootstrap, config=config) as admin,
    ):
        assert [broker.id for broker in admin.describe_cluster().brokers] == [1, 2]


async def test_command_connects_with_client_properties(server: EmbeddedZooKeeper, tmp_path: Path) -> None:
    properties = tmp_path / "client.properties"
    properties.write_text(
        "security.protocol=SASL_PLAINTEXT\nsasl.mechanism=PLAIN\n"
        "sasl.jaas.config=org.apache.kafka.common.security.plain.PlainLoginModule required"
        f' username="alice" password="{ALICE_PASSWORD}";\n'
    )
    properties.chmod(0o600)
    async with secured(await new_root(server), PLAIN, 1) as [node]:
        options = ["-b", f"{node.host}:{node.port}", "--command-config", str(properties)]
        command = [sys.executable, "-m", "kwire", "topics", "list", *options]
        async with await Connection.open(
            Endpoint(node.host, node.port), config=plain("alice", ALICE_PASSWORD)
        ) as connection:
            await connection.send(creation("orders"))
        await eventually(lambda: "orders" in node.metadata.topics)
        process = await asyncio.create_subprocess_exec(
            *command, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE
        )
        output, errors = await process.communicate()
    assert process.returncode == 0, errors.decode()
    assert "orders" in output.decode()


@pytest.mark.parametrize(
    ("user", "password"), [("alice", "wrong"), ("alice", NODE_PASSWORD), ("stranger", ALICE_PASSWORD)]
)
async def test_wrong_credentials_are_answered_and_close_the_connection(
    user: str, password: str, server: EmbeddedZooKeeper, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    async with secured(await new_root(server), PLAIN, 1) as [node]:
        with pytest.raises(AuthenticationFailed, match="Invalid username or password") as failed:
            await brokers_seen(node, plain(user, password))
        await eventually(lambda: node.metrics.closed[CloseReason.AUTHENTICATION_FAILED] == 1)
    assert not any(secret in caplog.text + repr(failed.value) for secret in (*SECRETS, "wrong"))


async def test_mechanism_that_is_not_enabled_is_refused(server: EmbeddedZooKeeper) -> None:
    credentials = ScramCredentials("alice", Secret(ALICE_PASSWORD), mechanism="SCRAM-SHA-256")
    async with secured(await new_root(server), PLAIN, 1) as [node]:
        with pytest.raises(AuthenticationFailed, match="it has PLAIN"):
            await brokers_seen(node, with_sasl(credentials))


@pytest.mark.parametrize("name", ["SCRAM-SHA-256", "SCRAM-SHA-512"])
async def test_credentials_of_scram_are_followed_in_zookeeper(name: ScramName, server: EmbeddedZooKeeper) -> None:
    zookeeper = await new_root(server)
    properties = {
        "listener.security.protocol.map": "ADMIN:SASL_PLAINTEXT",
        "sasl.enabled.mechanisms": name,
        f"listener.name.admin.{name.lower()}.sasl.jaas.config": SCRAM_NODE,
    }
    await set_scram_password(zookeeper, "node", NODE_PASSWORD, name)

    async def is_accepted(node: Node, password: str) -> bool:
        try:
            await brokers_seen(node, with_sasl(ScramCredentials("b@b", Secret(password), mechanism=name)))
        except AuthenticationFailed:
            return False
        return True

    async def wait_accepted(node: Node, password: str, expected: bool = True) -> None:
        async with asyncio.timeout(60):
            while await is_accepted(node, password) is not expected:
                await asyncio.sleep(0.01)

    async with secured(zookeeper, properties, 1, 2) as (node, other):
        assert not await is_accepted(node, BOB_PASSWORD)
        await set_scram_password(zookeeper, "b%40b", BOB_PASSWORD, name)
        await wait_accepted(node, BOB_PASSWORD)
        await wait_accepted(other, BOB_PASSWORD)
        await set_scram_password(zookeeper, "b%40b", "changed", name)
        await wait_accepted(node, "changed")
        assert not await is_accepted(node, BOB_PASSWORD)
        await set_scram_password(zookeeper, "b%40b", None, name)
        await wait_accepted(node, "changed", expected=False)


async def test_node_knows_users_as_soon_as_it_listens(server: EmbeddedZooKeeper) -> None:
    zookeeper = await new_root(server)
    await set_scram_password(zookeeper, "node", NODE_PASSWORD, "SCRAM-SHA-256")
    properties = {
        "listener.security.protocol.map": "ADMIN:SASL_PLAINTEXT",
        "sasl.enabled.mechanisms": "SCRAM-SHA-256",
        "sasl.jaas.config": SCRAM_NODE,
    }
    async with secured(zookeeper, properties, 1) as [node]:
        port = node.port
    again = Node(node_settings(zookeeper, 1, properties | {"listeners": f"ADMIN://127.0.0.1:{port}"}), node_tools())
    starting = asyncio.create_task(again.start())
    config = with_sasl(ScramCredentials("node", Secret(NODE_PASSWORD), mechanism="SCRAM-SHA-256"))
    try:
        async with asyncio.timeout(60):
            while True:
                with suppress(ConnectFailed):
                    async with await Connection.open(Endpoint("127.0.0.1", port), config=config):
                        break
                await asyncio.sleep(0)
        await starting
    finally:
        await again.stop(grace=0.5)


async def test_principals_are_authorized(server: EmbeddedZooKeeper) -> None:
    zookeeper = await new_root(server)
    properties = PLAIN | {"authorizer.class.name": ACL_AUTHORIZER, "super.users": "User:node"}
    request = TopicMetadataRequest_V1(topic_names=())
    async with secured(zookeeper, properties, 1, 2) as (controller, other):
        endpoints = [Endpoint(node.host, node.port) for node in (controller, other)]
        async with (
            await Connection.open(endpoints[0], config=plain("node", NODE_PASSWORD)) as node,
            await Connection.open(endpoints[0], config=plain("alice", ALICE_PASSWORD)) as alice,
        ):
            assert (await alice.send(creation("orders"))).topics[0].error_code == 29
            assert (await node.send(creation("orders"))).topics[0].error_code == 0
            await eventually(lambda: "orders" in controller.metadata.topics)
            for _ in range(3):
                assert [topic.topic_name for topic in (await node.send(request)).topics] == ["orders"]
                assert (await alice.send(request)).topics == ()
            await change_acls(controller, zookeeper, "Topic", "orders", allow("Describe", "User:alice"))
            assert [topic.topic_name for topic in (await alice.send(request)).topics] == ["orders"]


async def test_nodes_with_mutual_tls(
    server: EmbeddedZooKeeper, authority: CertificateAuthority, tmp_path: Path
) -> None:
    """The principal of a client is the subject of its certificate."""
    zookeeper = await new_root(server)
    properties = tls_properties(tmp_path / "node", authority) | {
        "listener.security.protocol.map": "ADMIN:SSL",
        "security.inter.broker.protocol": "SSL",
        "ssl.client.auth": "required",
        "authorizer.class.name": ACL_AUTHORIZER,
        "super.users": "User:CN=node",
    }
    admin = ConnectionConfig(tls=TlsConfig(ca=authority.certificate, certificate=certificate(authority.issue("node"))))
    alice = ConnectionConfig(tls=TlsConfig(ca=authority.certificate, certificate=certificate(authority.issue("alice"))))
    async with secured(zookeeper, properties, 1, 2) as (controller, other):
        assert await brokers_seen(other, alice) == [1, 2]
        endpoint = Endpoint(controller.host, controller.port)
        async with await Connection.open(endpoint, config=alice) as connection:
            assert (await connection.send(creation("orders"))).topics[0].error_code == 29
        async with await Connection.open(endpoint, config=admin) as connection:
            assert (await connection.send(creation("orders"))).topics[0].error_code == 0
        without = ConnectionConfig(tls=TlsConfig(ca=authority.certificate))
        with pytest.raises(ConnectionFault):
            await brokers_seen(controller, without)
        foreign = CertificateAuthority("another")
        stranger = TlsConfig(ca=authority.certificate, certificate=certificate(foreign.issue("node")))
        with pytest.raises(ConnectionFault):
            await brokers_seen(controller, ConnectionConfig(tls=stranger))
        with pytest.raises(TlsHandshakeFailed):
            await brokers_seen(controller, ConnectionConfig(tls=TlsConfig(ca=foreign.certificate)))


async def test_certificates_are_mapped_to_principals(
    server: EmbeddedZooKeeper, authority: CertificateAuthority, tmp_path: Path
) -> None:
    """KIP-371: by the first rule that matches; a client without a matching rule is not connected."""
    properties = tls_properties(tmp_path / "node", authority) | {
        "listener.security.protocol.map": "ADMIN:SSL",
        "security.inter.broker.protocol": "SSL",
        "ssl.client.auth": "required",
        "ssl.principal.mapping.rules": "RULE:^CN=(node|alice)$/$1/U",
        "authorizer.class.name": ACL_AUTHORIZER,
        "super.users": "User:NODE",
    }

    def client(name: str) -> ConnectionConfig:
        issued = certificate(authority.issue(name))
        return ConnectionConfig(tls=TlsConfig(ca=authority.certificate, certificate=issued))

    async with secured(await new_root(server), properties, 1) as (node,):
        endpoint = Endpoint(node.host, node.port)
        for name, code in (("alice", 29), ("node", 0)):
            async with await Connection.open(endpoint, config=client(name)) as connection:
                assert (await connection.send(creation("orders"))).topics[0].error_code == code
        with pytest.raises(ConnectionFault):
            await brokers_seen(node, client("eve"))


async def test_nodes_with_sasl_over_tls(
    server: EmbeddedZooKeeper, authority: CertificateAuthority, tmp_path: Path
) -> None:
    properties = (
        tls_properties(tmp_path / "node", authority) | PLAIN | {"listener.security.protocol.map": "ADMIN:SASL_SSL"}
    )
    tls = TlsConfig(ca=authority.certificate)
    async with secured(await new_root(server), properties, 1, 2) as (controller, _):
        sasl = PlainCredentials("alice", Secret(ALICE_PASSWORD))
        assert await brokers_seen(controller, ConnectionConfig(tls=tls, sasl=sasl)) == [1, 2]
        with pytest.raises(ConnectionFault):
            await brokers_seen(controller, plain("alice", ALICE_PASSWORD))
        with pytest.raises(ConnectionFault):
            await brokers_seen(controller, ConnectionConfig(tls=tls))


async def test_tls_to_a_plaintext_listener_fails(server: EmbeddedZooKeeper, authority: CertificateAuthority) -> None:
    async with secured(await new_root(server), {}, 1) as [node]:
        with pytest.raises(TlsHandshakeFailed, match="does not speak TLS"):
            await brokers_seen(node, ConnectionConfig(tls=TlsConfig(ca=authority.certificate)))
        assert await brokers_seen(node, ConnectionConfig()) == [1]


async def test_listener_for_nodes_can_have_its_own_protocol(server: EmbeddedZooKeeper) -> None:
    """Clients use plaintext on loopback, and nodes authenticate to each other."""
    properties = PLAIN | {
        "listener.security.protocol.map": "ADMIN:PLAINTEXT,BROKER:SASL_PLAINTEXT",
        "inter.broker.listener": "BROKER://127.0.0.1:0",
    }
    async with secured(await new_root(server), properties, 1, 2) as (controller, other):
        assert await brokers_seen(other, ConnectionConfig()) == [1, 2]
        assert controller.metadata.brokers == other.metadata.brokers


@pytest.mark.parametrize(
    ("properties", "reason"),
    [
        ({"listeners": "ADMIN://0.0.0.0:0"}, "other machines can reach this address without authentication"),
        ({"listeners": "ADMIN://[::]:0"}, "other machines can reach this address without authentication"),
        ({"inter.broker.listener": "0.0.0.0:0"}, "other machines can reach this address without authentication"),
        ({"listener.security.protocol.map": "ADMIN:SSL"}, "a listener with TLS needs a certificate"),
        ({"listeners": "SASL_PLAINTEXT://127.0.0.1:0"}, "a listener with SASL needs a mechanism"),
        (PLAIN | {"listener.name.admin.plain.sasl.jaas.config": SCRAM_NODE}, "expected PlainLoginModule with users"),
        (PLAIN | {"listener.name.admin.plain.sasl.jaas.config": f"x {NODE_PASSWORD}"}, "plain.sasl.jaas.config"),
        ({"listeners": "OUTSIDE://127.0.0.1:0"}, "has no protocol for the listener OUTSIDE"),
        ({"security.inter.broker.protocol": "SSL"}, "the listener for nodes has the protocol PLAINTEXT"),
    ],
)
async def test_node_refuses_to_start(properties: dict[str, str], reason: str, server: EmbeddedZooKeeper) -> None:
    with pytest.raises(SettingError, match=reason) as refused:
        async with secured(await new_root(server), properties, 1):
            pass
    assert not any(secret in f"{refused.value} {refused.value!r}" for secret in SECRETS)


async def test_every_address_is_allowed_with_authentication_or_on_request(server: EmbeddedZooKeeper) -> None:
    everywhere = {"listeners": "ADMIN://0.0.0.0:0", "advertised.listeners": "ADMIN://127.0.0.1:9"}
    for properties in (PLAIN, {"listener.allow.anonymous": "true"}):
        async with secured(await new_root(server), properties | everywhere, 1):
            pass


def test_secrets_are_not_shown() -> None:
    settings = node_settings("localhost:2181", 1, PLAIN | {"ssl.keystore.password": "store-secret-4"})
    node = Node(settings, node_tools())
    shown = [repr(settings), *(repr(node.config.explain(name)) for name in node.config.names())]

    assert not [text for text in shown for secret in SECRETS if secret in text]
    assert node.config.explain("ssl.keystore.password").shown == "(hidden)"


async def test_only_nodes_change_what_they_write_to_zookeeper(
    server: EmbeddedZooKeeper, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG, "kwire")
    zookeeper = await new_root(server)
    properties = {"zookeeper.digest.credentials": f"kwire:{NODE_PASSWORD}", "zookeeper.set.acl": "true"}
    async with secured(zookeeper, properties, 1, 2) as (controller, other):
        async with await Connection.open(Endpoint(controller.host, controller.port)) as connection:
            assert (await connection.send(creation("orders"))).topics[0].error_code == 0
        await eventually(lambda: "orders" in other.metadata.topics)
        async with session(zookeeper) as store:
            assert (await store.get("/brokers/topics/orders")).data
            for path in ("/brokers/topics/orders", "/controller_epoch", "/config/changes"):
                with pytest.raises(NotAuthorized):
                    await store.set(path, b"{}")
            with pytest.raises(NotAuthorized):
                await store.create("/admin/delete_topics/orders")
    assert NODE_PASSWORD not in caplog.text


@for_rows("properties", [{"zookeeper.set.acl": "true"}, {"zookeeper.digest.credentials": NODE_PASSWORD}])
def test_credentials_of_zookeeper_must_be_complete(properties: dict[str, str]) -> None:
    with pytest.raises(SettingError) as refused:
        node_settings("localhost:2181", 1, properties)
    assert NODE_PASSWORD not in f"{refused.value} {refused.value!r}"


@pytest.mark.parametrize(("mode", "is_warned"), [(0o644, True), (0o600, False)])
def test_file_with_secrets_that_everybody_can_read(mode: int, is_warned: bool, tmp_path: Path) -> None:
    properties = tmp_path / "server.properties"
    properties.write_text(
        f"broker.id=1\nzookeeper.connect=localhost:1\nsasl.jaas.config={NODE_PASSWORD}\nlisteners=x\n"
    )
    properties.chmod(mode)
    command = [sys.executable, "-m", "kwire", "node", str(properties)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)

    assert done.returncode == 2
    assert ("all users of this machine can read it: run chmod 600" in done.stderr) is is_warned
    assert NODE_PASSWORD not in done.stdout + done.stderr
