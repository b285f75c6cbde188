"""TLS and SASL against real brokers: what works, and one sentence with the probable cause for what does not."""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING

import pytest

from kwire._util.properties import format_properties
from kwire.client import (
    AdminClient,
    AuthenticationFailed,
    Connection,
    ConnectionConfig,
    ConnectionFault,
    Poller,
    TlsHandshakeFailed,
)
from kwire.client.security import (
    ClientProperties,
    OAuthBearerCredentials,
    OAuthToken,
    PlainCredentials,
    SaslCredentials,
    ScramCredentials,
    Secret,
    TlsConfig,
    UnsecuredToken,
)
from kwire.messages.kafka.create_topics import CreatableTopic, CreateTopicsRequest
from kwire.messages.kafka.fetch import FetchPartition, FetchRequest, FetchTopic
from kwire.messages.kafka.metadata import MetadataRequest
from kwire.protocol import ConnectionClosed, OversizedFrame
from tests.cli.running import kwire
from tests.eventually import eventually
from tests.kafka.fixtures import SESSION_SECONDS
from tests.real_kafka.certificates import CertificateAuthority

if TYPE_CHECKING:
    from pathlib import Path

    from tests.real_kafka import Kafka44, KafkaCluster
    from tests.real_kafka.security import ClusterSecurity

PLAIN_MODULE = "org.apache.kafka.common.security.plain.PlainLoginModule"
MECHANISMS = ["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512", "OAUTHBEARER"]
ALL_TOPICS = MetadataRequest(topics=None)


async def count_brokers(endpoint: str, config: ConnectionConfig | None) -> int:
    async with await Connection.open(endpoint, config=config) as connection:
        return len((await connection.send(ALL_TOPICS)).brokers)


def creation(topic: str) -> CreateTopicsRequest:
    """Return a request for a topic of one partition."""
    new = CreatableTopic(name=topic, num_partitions=1, replication_factor=1, assignments=(), configs=())
    return CreateTopicsRequest(topics=(new,), timeout_ms=10_000)


async def fault_of(endpoint: str, config: ConnectionConfig | None) -> ConnectionFault:
    """Return the fault of a connection that must not work. Its text is one line."""
    with pytest.raises(ConnectionFault) as caught:
        await count_brokers(endpoint, config)
    assert "\n" not in str(caught.value)
    return caught.value


# What works


@pytest.mark.parametrize("tls", [True, False], ids=["TLS", "plaintext"])
@pytest.mark.parametrize("mechanism", MECHANISMS)
async def test_mechanism_authenticates(
    secured: KafkaCluster, security: ClusterSecurity, mechanism: str, tls: bool
) -> None:
    endpoint = secured.listener("SASL_SSL" if tls else "SASL_PLAINTEXT")

    assert await count_brokers(endpoint, security.config(mechanism, tls=tls)) == 1


async def test_client_certificate_authenticates(secured: KafkaCluster, security: ClusterSecurity) -> None:
    request = creation("by-certificate")

    async with await Connection.open(secured.listener("SSL"), config=security.config(None)) as connection:
        (created,) = (await connection.send(request)).topics
    assert created.error_code == 0, created.error_message


async def test_user_without_rights_sees_no_topics(secured: KafkaCluster, security: ClusterSecurity) -> None:
    request = creation("not-allowed")

    async with await Connection.open(secured.bootstrap, config=security.config(user="alice")) as connection:
        (refused,) = (await connection.send(request)).topics
        assert (await connection.send(ALL_TOPICS)).topics == ()
    assert refused.error_code in (29, 31)  # TOPIC_ or CLUSTER_AUTHORIZATION_FAILED


@pytest.mark.parametrize("mechanism", [*MECHANISMS, None])
async def test_client_properties_of_kafka_connect(
    secured: KafkaCluster, security: ClusterSecurity, mechanism: str | None
) -> None:
    properties = ClientProperties.parse(security.properties(mechanism))

    listener = "SSL" if mechanism is None else "SASL_SSL"
    assert await count_brokers(secured.listener(listener), properties.connection) == 1
    assert properties.warnings == ()


async def test_name_check_can_be_switched_off(secured: KafkaCluster, security: ClusterSecurity) -> None:
    config = ConnectionConfig(tls=replace(security.tls(), check_hostname=False))

    assert await count_brokers(secured.listener("OTHER_HOST"), config) == 1


async def test_poller_polls_a_secured_cluster(secured: KafkaCluster, security: ClusterSecurity) -> None:
    async with Poller(secured.bootstrap, interval=0.05, config=security.config()) as poller:
        async for poll in poller:
            assert poll.error is None
            assert poll.broker_id == 1
            break


async def test_admin_client_administers_a_secured_cluster(secured: KafkaCluster, security: ClusterSecurity) -> None:
    async with await AdminClient.open(secured.bootstrap, config=security.config("SCRAM-SHA-256")) as admin:
        assert (await admin.describe_cluster()).brokers[0].id == 1


async def test_admin_client_does_not_repeat_a_wrong_password(secured: KafkaCluster, security: ClusterSecurity) -> None:
    config = ConnectionConfig(tls=security.tls(), sasl=PlainCredentials("admin", Secret("wrong")))

    async with asyncio.timeout(100):
        with pytest.raises(AuthenticationFailed):
            await AdminClient.open(secured.bootstrap, config=config, timeout=300)


def test_command_connects_with_client_properties(
    secured: KafkaCluster, security: ClusterSecurity, tmp_path: Path
) -> None:
    properties = security.properties("SCRAM-SHA-512") | {"bootstrap.servers": secured.bootstrap}
    file = tmp_path / "client.properties"
    file.touch(mode=0o600)
    file.write_text(format_properties(properties))

    before = kwire("--command-config", file, "-o", "json", "topics", "list")
    after = kwire("topics", "list", "-b", secured.bootstrap, "-o", "json", "--command-config", file)

    assert (before.code, before.err) == (0, "")
    assert before == after
    assert isinstance(json.loads(before.out), list)


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (
            {"sasl.jaas.config": PLAIN_MODULE + ' required username="admin" password="wrong";'},
            "SASL/PLAIN authentication of user 'admin' failed: Authentication failed: Invalid username or password",
        ),
        (
            {"ssl.truststore.certificates": CertificateAuthority().certificate},
            (
                "TLS handshake failed: the broker's certificate is signed by an authority that is not trusted: check"
                " ssl.truststore.location"
            ),
        ),
    ],
    ids=["password", "authority"],
)
def test_command_says_what_was_rejected_and_exits_with_4(
    secured44: Kafka44, security: ClusterSecurity, tmp_path: Path, change: dict[str, str], sentence: str
) -> None:
    file = tmp_path / "client.properties"
    file.touch(mode=0o600)
    file.write_text(format_properties(security.properties("PLAIN") | change))

    run = kwire("-b", secured44.bootstrap, "--command-config", file, "topics", "list")

    assert (run.code, run.out) == (4, "")
    assert run.err == f"Error: {secured44.bootstrap}: {sentence}\n"


# Certificates


async def test_unknown_authority_is_named(secured: KafkaCluster) -> None:
    other = ConnectionConfig(tls=TlsConfig(ca=CertificateAuthority().certificate))

    fault = await fault_of(secured.listener("SSL"), other)

    assert isinstance(fault, TlsHandshakeFailed)
    assert fault.cause == (
        "the broker's certificate is signed by an authority that is not trusted: check ssl.truststore.location"
    )


async def test_expired_certificate_is_named(secured: KafkaCluster, security: ClusterSecurity) -> None:
    fault = await fault_of(secured.listener("EXPIRED"), ConnectionConfig(tls=security.tls()))

    assert isinstance(fault, TlsHandshakeFailed)
    assert fault.cause == "the broker's certificate has expired: it must be renewed on the broker"


async def test_wrong_host_name_is_named(secured: KafkaCluster, security: ClusterSecurity) -> None:
    fault = await fault_of(secured.listener("OTHER_HOST"), ConnectionConfig(tls=security.tls()))

    assert isinstance(fault, TlsHandshakeFailed)
    assert fault.cause.startswith("the broker's certificate is not valid for 127.0.0.1: use a name that")


@pytest.mark.parametrize("problem", ["other authority", "expired"])
async def test_rejected_client_certificate_is_named(
    secured: KafkaCluster, security: ClusterSecurity, problem: str
) -> None:
    if problem == "expired":
        certificate = security.authority.issue("admin", expires=timedelta(hours=-1))
    else:
        certificate = CertificateAuthority().issue("admin")

    fault = await fault_of(secured.listener("SSL"), ConnectionConfig(tls=security.tls(certificate=certificate)))

    assert isinstance(fault, TlsHandshakeFailed)
    assert fault.cause == (
        "the broker rejects the client's certificate (alert certificate unknown): check ssl.keystore.location"
    )


# Credentials


@pytest.mark.parametrize(
    ("credentials", "cause"),
    [
        (
            ScramCredentials("admin", Secret("wrong")),
            (
                "SASL/SCRAM-SHA-512 authentication of user 'admin' failed: Authentication failed during"
                " authentication due to invalid credentials with SASL mechanism SCRAM-SHA-512"
            ),
        ),
        (
            ScramCredentials("stranger", Secret("wrong"), mechanism="SCRAM-SHA-256"),
            (
                "SASL/SCRAM-SHA-256 authentication of user 'stranger' failed: Authentication failed during"
                " authentication due to invalid credentials with SASL mechanism SCRAM-SHA-256"
            ),
        ),
        (
            PlainCredentials("admin", Secret("wrong")),
            "SASL/PLAIN authentication of user 'admin' failed: Authentication failed: Invalid username or password",
        ),
        (
            OAuthBearerCredentials(UnsecuredToken(claims=(("sub", "admin"),), lifetime=-60)),
            "SASL/OAUTHBEARER authentication failed: the broker rejected the token: invalid_token",
        ),
    ],
    ids=["SCRAM password", "SCRAM user", "PLAIN", "OAUTHBEARER"],
)
async def test_wrong_credential_is_named(
    secured: KafkaCluster, security: ClusterSecurity, credentials: SaslCredentials, cause: str
) -> None:
    fault = await fault_of(secured.bootstrap, ConnectionConfig(tls=security.tls(), sasl=credentials))

    assert isinstance(fault, AuthenticationFailed)
    assert fault.reason() == cause


# Listeners of another protocol


async def test_tls_against_plaintext_is_named(secured: KafkaCluster, security: ClusterSecurity) -> None:
    fault = await fault_of(secured.listener("SASL_PLAINTEXT"), security.config())

    assert isinstance(fault, TlsHandshakeFailed)
    assert fault.cause.endswith(
        "the listener does not speak TLS: set security.protocol to PLAINTEXT or SASL_PLAINTEXT, or use another port"
    )


async def test_plaintext_against_tls_is_named(secured: KafkaCluster) -> None:
    fault = await fault_of(secured.listener("SSL"), None)

    assert isinstance(fault, OversizedFrame)
    assert "received TLS instead of Kafka's protocol: set security.protocol to SSL or SASL_SSL" in str(fault)


@pytest.mark.parametrize("tls", [True, False], ids=["TLS", "plaintext"])
async def test_missing_sasl_is_named(secured: KafkaCluster, security: ClusterSecurity, tls: bool) -> None:
    listener, config = ("SASL_SSL", ConnectionConfig(tls=security.tls())) if tls else ("SASL_PLAINTEXT", None)

    fault = await fault_of(secured.listener(listener), config)

    assert isinstance(fault, ConnectionClosed)
    assert fault.hint == "the listener probably requires SASL: set security.protocol to SASL_SSL or SASL_PLAINTEXT"


async def test_listener_without_sasl_is_named(secured: KafkaCluster, security: ClusterSecurity) -> None:
    fault = await fault_of(secured.listener("SSL"), security.config())

    assert isinstance(fault, AuthenticationFailed)
    assert "the listener has no SASL" in str(fault)


# Sessions with an end


async def test_sessions_are_renewed_while_requests_are_in_flight(secured44: Kafka44, security: ClusterSecurity) -> None:
    async def use(mechanism: str) -> int:
        """Send requests beyond the end of a session, and return how often the client has authenticated."""
        async with await Connection.open(secured44.bootstrap, config=security.config(mechanism)) as connection:
            loop = asyncio.get_running_loop()
            end = loop.time() + SESSION_SECONDS + 0.6  # the broker closes a session that is used after its end
            while loop.time() < end:
                responses = await asyncio.gather(*(connection.send(ALL_TOPICS) for _ in range(20)))
                assert all(len(response.brokers) == 1 for response in responses)
            return connection.authentications

    assert await asyncio.gather(*map(use, MECHANISMS)) == [2] * len(MECHANISMS)


async def test_long_poll_over_the_end_of_the_session_is_answered(
    secured: KafkaCluster, security: ClusterSecurity
) -> None:
    """A fetch that waits longer than the session lasts delays the renewal; both succeed, and so does what follows."""
    name = "long-poll"
    create = creation(name)
    fetch = FetchRequest(
        max_wait_ms=round(SESSION_SECONDS * 1000) + 1000,
        min_bytes=1,
        max_bytes=1 << 20,
        topics=(
            FetchTopic(
                topic=name,
                partitions=(FetchPartition(partition=0, fetch_offset=0, partition_max_bytes=1 << 20),),
            ),
        ),
        forgotten_topics_data=(),
    )
    config = security.config("SCRAM-SHA-256")
    async with await Connection.open(secured.bootstrap, config=config) as connection:
        await connection.send(create)
        polled = connection.submit(fetch, version=12)
        await asyncio.sleep(SESSION_SECONDS)  # beyond the time of the renewal
        held = connection.submit(ALL_TOPICS)
        response = (await polled).response.decode()
        assert response.error_code == 0
        assert (await held).response.decode().brokers
        assert connection.authentications == 2


async def test_rejected_renewal_ends_the_connection_with_the_cause(
    secured44: Kafka44, security: ClusterSecurity
) -> None:
    tokens = iter([UnsecuredToken(claims=(("sub", "admin"),)), UnsecuredToken(claims=(("sub", "alice"),))])

    async def token() -> OAuthToken:
        return await next(tokens)()

    config = ConnectionConfig(tls=security.tls(), sasl=OAuthBearerCredentials(token))
    async with await Connection.open(secured44.bootstrap, config=config) as connection:
        await eventually(lambda: connection.fault is not None)
        assert isinstance(connection.fault, AuthenticationFailed)
        with pytest.raises(AuthenticationFailed, match="SASL/OAUTHBEARER authentication failed: "):
            await connection.send(ALL_TOPICS)


def test_password_command_of_a_named_cluster_logs_in(
    secured: KafkaCluster, security: ClusterSecurity, tmp_path: Path
) -> None:
    (tmp_path / "ca.pem").write_text(security.authority.certificate, encoding="utf-8")
    (tmp_path / "password").write_text(security.users["admin"].reveal() + "\nsecond line\n", encoding="utf-8")
    config = tmp_path / "config.toml"
    config.write_text(
        f"""[clusters.prod]
bootstrap = "{secured.bootstrap}"
password_command = "cat {tmp_path / "password"}"
[clusters.prod.properties]
"security.protocol" = "SASL_SSL"
"sasl.mechanism" = "SCRAM-SHA-512"
"sasl.jaas.config" = "org.apache.kafka.common.security.scram.ScramLoginModule required username='admin';"
"ssl.truststore.type" = "PEM"
"ssl.truststore.location" = "{tmp_path / "ca.pem"}"
""",
        encoding="utf-8",
    )
    run = kwire("-c", "prod", "brokers", "list", KWIRE_CONFIG=str(config))
    assert (run.code, run.err) == (0, "")
