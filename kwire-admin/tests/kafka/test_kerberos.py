"""GSSAPI against a real broker and a real key distribution center, with the package `gssapi`."""

from __future__ import annotations

import asyncio
import os
import sys
from typing import TYPE_CHECKING, NamedTuple

import pytest

from kwire._util.properties import format_properties
from kwire.client import AdminClient, AuthenticationFailed, Connection, ConnectionConfig
from kwire.client.admin import NewTopic
from kwire.client.security import KerberosCredentials
from kwire.messages.kafka.metadata import MetadataRequest
from tests.cli.running import kwire
from tests.installing import package_folder
from tests.kafka.kerberos_realm import KerberosRealm
from tests.real_kafka import Kafka44

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.real_kafka.security import ClusterSecurity

GSSAPI_VERSION = "1.12.0"
BROKER = "kafka/127.0.0.1"
MODULE = "com.sun.security.auth.module.Krb5LoginModule"
ALL_TOPICS = MetadataRequest(topics=None)


class Kerberos(NamedTuple):
    """A realm, a broker in it, and keys of the users `admin` and `alice`."""

    realm: KerberosRealm
    security: ClusterSecurity
    endpoint: str
    keytabs: dict[str, Path]

    def config(self, user: str | None, *, keytab: str | None = None, service: str = "kafka") -> ConnectionConfig:
        """Return the configuration of a user; None for the user of the ticket cache."""
        if user is not None and keytab is None:
            keytab = str(self.keytabs[user])
        return ConnectionConfig(
            tls=self.security.tls(), sasl=KerberosCredentials(service=service, principal=user, keytab=keytab)
        )


@pytest.fixture(scope="module")
def kerberos(security: ClusterSecurity, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Kerberos]:
    packages = package_folder("gssapi", GSSAPI_VERSION)
    with pytest.MonkeyPatch.context() as patch, KerberosRealm(tmp_path_factory.mktemp("realm")) as realm:
        patch.setattr(sys, "path", [*sys.path, str(packages)])
        patch.setenv("KRB5_CONFIG", str(realm.settings))
        patch.setenv("KRB5CCNAME", str(tmp_path_factory.mktemp("tickets") / "none"))
        patch.setenv("JAVA_TOOL_OPTIONS", f"-Djava.security.krb5.conf={realm.settings}")
        key = realm.keytab(BROKER)
        login = f'{MODULE} required useKeyTab=true storeKey=true keyTab="{key}" principal="{BROKER}@{realm.name}";'
        configs = {
            "listener.name.sasl_ssl.sasl.enabled.mechanisms": "PLAIN,GSSAPI",
            "sasl.kerberos.service.name": "kafka",
            "listener.name.sasl_ssl.gssapi.sasl.jaas.config": login,
        }
        keytabs = {user: realm.keytab(user) for user in ("admin", "alice")}
        with Kafka44(config=configs, security=security) as cluster:
            yield Kerberos(realm, security, cluster.listener("SASL_SSL"), keytabs)


async def fault_of(kerberos: Kerberos, config: ConnectionConfig) -> str:
    """Return the text of a failed authentication, which is one line."""
    with pytest.raises(AuthenticationFailed) as caught:
        await Connection.open(kerberos.endpoint, config=config)
    assert "\n" not in str(caught.value)
    return str(caught.value)


async def test_keytab_authenticates_its_principal(kerberos: Kerberos) -> None:
    async with await AdminClient.open(kerberos.endpoint, config=kerberos.config("admin")) as admin:
        (await admin.create_topics({"by-kerberos": NewTopic(partitions=1, replication_factor=1)})).raise_first()
        assert "by-kerberos" in await admin.list_topics()
    async with await Connection.open(kerberos.endpoint, config=kerberos.config("alice")) as connection:
        assert (await connection.send(ALL_TOPICS)).topics == (), "alice has no rights"


async def test_ticket_of_kinit_authenticates(kerberos: Kerberos, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KRB5CCNAME", str(kerberos.realm.ticket_cache("admin", kerberos.keytabs["admin"])))

    async with await Connection.open(kerberos.endpoint, config=kerberos.config(None)) as connection:
        assert (await connection.send(ALL_TOPICS)).brokers


async def test_keytab_leaves_ticket_of_kinit_alone(kerberos: Kerberos, monkeypatch: pytest.MonkeyPatch) -> None:
    tickets = kerberos.realm.ticket_cache("admin", kerberos.keytabs["admin"])
    monkeypatch.setenv("KRB5CCNAME", str(tickets))
    before = tickets.read_bytes()

    async with await Connection.open(kerberos.endpoint, config=kerberos.config("alice")) as connection:
        assert (await connection.send(ALL_TOPICS)).brokers
    assert tickets.read_bytes() == before


async def test_session_is_renewed_while_requests_are_in_flight(kerberos: Kerberos) -> None:
    """A session lasts 3 seconds."""
    async with await Connection.open(kerberos.endpoint, config=kerberos.config("admin")) as connection:
        while connection.authentications < 3:
            responses = await asyncio.gather(*(connection.send(ALL_TOPICS) for _ in range(20)))
            assert all(response.brokers for response in responses)


def test_command_connects_with_client_properties(kerberos: Kerberos, tmp_path: Path) -> None:
    properties = tmp_path / "client.properties"
    key = f'keyTab="{kerberos.keytabs["admin"]}" principal="admin@{KerberosRealm.name}"'
    changes = {
        "sasl.mechanism": "GSSAPI",
        "sasl.kerberos.service.name": "kafka",
        "sasl.jaas.config": f"{MODULE} required useKeyTab=true {key};",
    }
    properties.write_text(format_properties(kerberos.security.properties("PLAIN") | changes), encoding="ascii")
    run = kwire(
        *("-b", kerberos.endpoint, "--command-config", properties, "brokers", "list", "--output", "json"),
        PYTHONPATH=os.pathsep.join(filter(None, sys.path)),
    )
    assert run.code == 0, run.err
    assert '"broker": 1' in run.out


async def test_missing_ticket_is_named(kerberos: Kerberos) -> None:
    fault = await fault_of(kerberos, kerberos.config(None))

    assert "No Kerberos credentials available" in fault
    assert "run kinit" in fault


async def test_unreadable_keytab_is_named(kerberos: Kerberos) -> None:
    assert "cannot read the keytab /none" in await fault_of(kerberos, kerberos.config("admin", keytab="/none"))


async def test_keytab_of_another_principal_is_named(kerberos: Kerberos) -> None:
    config = kerberos.config("admin", keytab=str(kerberos.keytabs["alice"]))

    assert f"the keytab {kerberos.keytabs['alice']} may lack a key of admin" in await fault_of(kerberos, config)


async def test_unknown_service_is_named(kerberos: Kerberos) -> None:
    fault = await fault_of(kerberos, kerberos.config("admin", service="kafka-2"))

    assert "kafka-2/127.0.0.1@KWIRE.TEST not found in Kerberos database" in fault


async def test_unreachable_key_distribution_center_is_named(kerberos: Kerberos) -> None:
    keytab = kerberos.realm.keytab("bob")
    kerberos.realm.stop()
    try:
        assert "Cannot contact any KDC" in await fault_of(kerberos, kerberos.config("bob", keytab=str(keytab)))
    finally:
        kerberos.realm.start()
