"""Nodes with TLS and SASL in the process of the test, and their clients."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kwire._util.secret import Secret
from kwire.client import ConnectionConfig
from kwire.client.connection import Connection
from kwire.client.security.credentials import PlainCredentials
from kwire.client.security.tls import ClientCertificate
from kwire.messages.kip4.cluster_metadata import ClusterMetadataRequest
from kwire.protocol.endpoint import Endpoint
from kwire.protocol.sasl_server import ScramCredential
from kwire_cluster.config.node_settings import NodeSettings
from kwire_cluster.node.node import Node
from kwire_cluster.zookeeper import EntityConfig
from kwire_cluster.zookeeper.configs import ConfigChangeNotification
from kwire_cluster.zookeeper.errors import NodeExists
from kwire_cluster.zookeeper.store import make_path
from tests.cluster.node.nodes import session, started_nodes
from tests.real_kafka.certificates import CertificateAuthority

if TYPE_CHECKING:
    from contextlib import AbstractAsyncContextManager
    from pathlib import Path

    from kwire.client.security.credentials import SaslCredentials
    from kwire.protocol.scram_passwords import ScramName
    from tests.real_kafka.certificates import IssuedCertificate

NODE_PASSWORD = "node-secret-1"
ALICE_PASSWORD = "alice-secret-2"
BOB_PASSWORD = "bob-secret-3"
SECRETS = (NODE_PASSWORD, ALICE_PASSWORD, BOB_PASSWORD, "store-secret-4")

PLAIN_USERS = (
    "org.apache.kafka.common.security.plain.PlainLoginModule required"
    f' username="node" password="{NODE_PASSWORD}"'
    f' user_node="{NODE_PASSWORD}" user_alice="{ALICE_PASSWORD}";'
)
SCRAM_NODE = (
    f'org.apache.kafka.common.security.scram.ScramLoginModule required username="node" password="{NODE_PASSWORD}";'
)
PLAIN = {
    "listener.security.protocol.map": "ADMIN:SASL_PLAINTEXT",
    "sasl.enabled.mechanisms": "PLAIN",
    "listener.name.admin.plain.sasl.jaas.config": PLAIN_USERS,
}


def tls_properties(folder: Path, authority: CertificateAuthority, name: str = "node") -> dict[str, str]:
    """Write the stores of a node, and return its properties: a key store in PKCS12, a trust store in PEM."""
    folder.mkdir(exist_ok=True)
    (folder / "node.p12").write_bytes(authority.issue(name).pkcs12("store-secret-4"))
    (folder / "ca.pem").write_text(authority.certificate)
    return {
        "ssl.keystore.type": "PKCS12",
        "ssl.keystore.location": str(folder / "node.p12"),
        "ssl.keystore.password": "store-secret-4",
        "ssl.truststore.type": "PEM",
        "ssl.truststore.location": str(folder / "ca.pem"),
    }


def node_settings(zookeeper: str, node_id: int, properties: dict[str, str]) -> NodeSettings:
    return NodeSettings.from_properties(
        {
            "broker.id": str(node_id),
            "zookeeper.connect": zookeeper,
            "zookeeper.session.timeout.ms": "10000",
            "listeners": "ADMIN://127.0.0.1:0",
            "connection.failed.authentication.delay.ms": "10",
            **properties,
        }
    )


def secured(zookeeper: str, properties: dict[str, str], *ids: int) -> AbstractAsyncContextManager[list[Node]]:
    """Start nodes that know each other. The first one is the controller."""
    return started_nodes(node_settings(zookeeper, node_id, properties) for node_id in ids)


async def set_scram_password(zookeeper: str, user: str, password: str | None, *names: ScramName) -> None:
    """Write credentials and the notification, as Kafka's tools do; None deletes them."""
    config: dict[str, str] = {
        name: str(ScramCredential.of_password(name, Secret(password), b"salt")) for name in names if password
    }
    async with session(zookeeper) as store:
        path = EntityConfig.path("users", user)
        await make_path(store, "/config/users")
        await make_path(store, ConfigChangeNotification.root)
        try:
            await store.create(path, EntityConfig(config).encode())
        except NodeExists:
            await store.set(path, EntityConfig(config).encode())
        change = ConfigChangeNotification(f"users/{user}").encode()
        await store.create(ConfigChangeNotification.path(), change, sequential=True)


async def brokers_seen(node: Node, config: ConnectionConfig) -> list[int]:
    """Connect as a client, and return the brokers that the node reports."""
    async with await Connection.open(Endpoint(node.host, node.port), config=config) as connection:
        response = await connection.send(ClusterMetadataRequest())
    return sorted(broker.node_id for broker in response.brokers)


def with_sasl(credentials: SaslCredentials) -> ConnectionConfig:
    return ConnectionConfig(sasl=credentials)


def plain(user: str, password: str) -> ConnectionConfig:
    return with_sasl(PlainCredentials(user, Secret(password)))


def certificate(issued: IssuedCertificate) -> ClientCertificate:
    return ClientCertificate(issued.chain, Secret(issued.key))
