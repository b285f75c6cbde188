"""Kafka's `client.properties`: what it configures, what it warns about, and mistakes that are named without secrets."""

from __future__ import annotations

import ssl
import traceback
from pathlib import Path

import pytest

import kwire
from kwire.client.security import (
    ClientCertificate,
    ClientCredentials,
    ClientProperties,
    ConnectionConfig,
    KerberosCredentials,
    OAuthBearerCredentials,
    PlainCredentials,
    ScramCredentials,
    Secret,
    SecurityConfigError,
    TlsConfig,
    TokenFile,
    UnsecuredToken,
)
from tests.for_rows import for_rows
from tests.real_kafka.certificates import CertificateAuthority

STORES = Path(__file__).parents[2] / "data" / "stores"
PASSWORD = "open-sesame"
PACKAGE = str(Path(kwire.__file__).parent)
SCRAM = f'org.apache.kafka.common.security.scram.ScramLoginModule required username="alice" password="{PASSWORD}";'
PLAIN = SCRAM.replace("Scram", "Plain").replace("scram", "plain")
OAUTH = "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule required"
URL = "https://login.example.com/token"


@pytest.fixture(scope="module")
def authority() -> CertificateAuthority:
    return CertificateAuthority()


def parse(properties: dict[str, str]) -> ClientProperties:
    return ClientProperties.parse(properties, source="client.properties")


def problem_of(properties: dict[str, str]) -> str:
    """Return the error of a configuration. Neither it nor its traceback shows the password."""
    with pytest.raises(SecurityConfigError) as caught:
        parse(properties)
    shown = traceback.TracebackException.from_exception(caught.value, capture_locals=True)
    frames = [frame.locals for frame in shown.stack if frame.filename.startswith(PACKAGE)]
    assert PASSWORD not in f"{caught.value!r} {frames[1:]}"  # the first frame has the arguments of this test
    return str(caught.value)


def sasl(mechanism: str, jaas: str | None = None, **others: str) -> dict[str, str]:
    properties = {"security.protocol": "SASL_SSL", "sasl.mechanism": mechanism}
    return properties | ({} if jaas is None else {"sasl.jaas.config": jaas}) | others


# Protocols


def test_empty_file_is_plaintext() -> None:
    assert parse({}) == ClientProperties(connection=ConnectionConfig())


@for_rows(
    ("protocol", "jaas"),
    [("PLAINTEXT", None), ("SSL", None), ("SASL_PLAINTEXT", SCRAM), ("SASL_SSL", SCRAM), ("sasl_ssl", SCRAM)],
)
def test_security_protocol_decides_about_tls_and_sasl(protocol: str, jaas: str | None) -> None:
    properties = sasl("SCRAM-SHA-256", jaas) if jaas else {}

    connection = parse(properties | {"security.protocol": protocol}).connection

    assert connection.security_protocol == protocol.upper()


def test_unknown_protocol_is_named() -> None:
    assert problem_of({"security.protocol": "TLS"}) == (
        "client.properties: security.protocol: expected one of PLAINTEXT, SSL, SASL_PLAINTEXT, SASL_SSL, found 'TLS'"
    )


def test_empty_protocol_is_not_plaintext(monkeypatch: pytest.MonkeyPatch) -> None:
    """A template whose variable is empty must not drop TLS."""
    monkeypatch.setenv("PROTOCOL", "")
    for text in ("", "  ", "${env:PROTOCOL}"):
        assert "and it is empty" in problem_of({"security.protocol": text})


# SASL


def test_plain() -> None:
    assert parse(sasl("PLAIN", PLAIN)).connection.sasl == PlainCredentials("alice", Secret(PASSWORD))


@for_rows("mechanism", ["SCRAM-SHA-256", "SCRAM-SHA-512"])
def test_scram(mechanism: str) -> None:
    credentials = parse(sasl(mechanism, SCRAM)).connection.sasl

    assert isinstance(credentials, ScramCredentials)
    assert (credentials.username, credentials.password.reveal()) == ("alice", PASSWORD)
    assert (credentials.sasl_mechanism, credentials.token) == (mechanism, False)


def test_delegation_token() -> None:
    credentials = parse(sasl("SCRAM-SHA-256", SCRAM.replace(";", ' tokenauth="true";'))).connection.sasl

    assert isinstance(credentials, ScramCredentials)
    assert credentials.token


def test_oauth_client_credentials_of_the_login_module(authority: CertificateAuthority, tmp_path: Path) -> None:
    (tmp_path / "ca.pem").write_text(authority.certificate)
    jaas = (
        f'{OAUTH} clientId="id" clientSecret="{PASSWORD}" scope="kafka" extension_logicalCluster="lkc-1"'
        f' ssl.truststore.location="{tmp_path}/ca.pem";'
    )

    credentials = parse(sasl("OAUTHBEARER", jaas, **{"sasl.oauthbearer.token.endpoint.url": URL})).connection.sasl

    assert isinstance(credentials, OAuthBearerCredentials)
    assert credentials.extensions == {"logicalCluster": "lkc-1"}
    assert credentials.source == ClientCredentials(
        url=URL,
        client_id="id",
        client_secret=Secret(PASSWORD),
        scope="kafka",
        tls=TlsConfig(ca=authority.certificate.strip() + "\n"),
    )


def test_oauth_client_credentials_of_kafka_4_1() -> None:
    properties = sasl(
        "OAUTHBEARER",
        **{
            "sasl.oauthbearer.token.endpoint.url": URL,
            "sasl.oauthbearer.client.credentials.client.id": "id",
            "sasl.oauthbearer.client.credentials.client.secret": PASSWORD,
            "sasl.oauthbearer.scope": "kafka",
            "sasl.oauthbearer.header.urlencode": "true",
            "sasl.login.connect.timeout.ms": "2500",
        },
    )

    credentials = parse(properties).connection.sasl

    assert isinstance(credentials, OAuthBearerCredentials)
    assert credentials.source == ClientCredentials(
        url=URL, client_id="id", client_secret=Secret(PASSWORD), scope="kafka", urlencode=True, timeout=2.5
    )


def test_oauth_token_of_a_file() -> None:
    properties = sasl("OAUTHBEARER", **{"sasl.oauthbearer.token.endpoint.url": "file:///run/a%20token"})

    assert parse(properties).connection.sasl == OAuthBearerCredentials(TokenFile("/run/a token"))


def test_unsecured_oauth_token() -> None:
    jaas = f'{OAUTH} unsecuredLoginStringClaim_sub="alice" unsecuredLoginListClaim_scope=",a,b";'

    credentials = parse(sasl("OAUTHBEARER", jaas)).connection.sasl

    assert credentials == OAuthBearerCredentials(UnsecuredToken(claims=(("sub", "alice"), ("scope", ["a", "b"]))))


def test_kerberos_is_the_default_mechanism() -> None:
    jaas = (
        "com.sun.security.auth.module.Krb5LoginModule required useKeyTab=true"
        ' keyTab="/etc/alice.keytab" principal="alice@EXAMPLE.COM";'
    )

    properties = {
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.kerberos.service.name": "kafka",
        "sasl.jaas.config": jaas,
    }
    assert parse(properties).connection.sasl == KerberosCredentials(
        service="kafka", principal="alice@EXAMPLE.COM", keytab="/etc/alice.keytab"
    )


@for_rows(
    ("properties", "text"),
    [
        (sasl("SCRAM-SHA-1", SCRAM), "sasl.mechanism: SCRAM-SHA-1 is not supported: expected GSSAPI, PLAIN,"),
        (sasl("PLAIN"), "sasl.jaas.config: is missing: expected `...LoginModule required username="),
        (
            {key: value for key, value in sasl("SCRAM-SHA-512", SCRAM).items() if key != "sasl.mechanism"},
            "sasl.jaas.config: sasl.mechanism is not set, and its default GSSAPI needs Krb5LoginModule, not Scram",
        ),
        (sasl("PLAIN", SCRAM), "sasl.jaas.config: sasl.mechanism=PLAIN needs PlainLoginModule, not ScramLoginModule"),
        (sasl("PLAIN", PLAIN.replace("username", "user")), "sasl.jaas.config: has no username"),
        (sasl("PLAIN", PLAIN.replace(PASSWORD, "")), "sasl.jaas.config: has no password"),
        (sasl("PLAIN", PLAIN[:-1]), "sasl.jaas.config: the login module does not end with a semicolon"),
        (sasl("GSSAPI"), "sasl.kerberos.service.name: is missing"),
        (sasl("OAUTHBEARER"), "sasl.oauthbearer.token.endpoint.url: is missing: it is the URL that issues tokens"),
        (sasl("OAUTHBEARER", **{"sasl.oauthbearer.token.endpoint.url": URL}), "sasl.jaas.config: has no clientId"),
        (
            sasl("OAUTHBEARER", f"{OAUTH} clientId=id;", **{"sasl.oauthbearer.token.endpoint.url": URL}),
            "sasl.jaas.config: has no clientSecret",
        ),
        (
            sasl(
                "OAUTHBEARER",
                f'{OAUTH} clientId=id clientSecret="{PASSWORD}";',
                **{"sasl.oauthbearer.token.endpoint.url": "http://login.example.com"},
            ),
            "sasl.oauthbearer.token.endpoint.url: http would send the client secret in clear text: use https",
        ),
        (
            sasl("OAUTHBEARER", f"{OAUTH} unsecuredLoginNumberClaim_x=y;"),
            "sasl.jaas.config: the option unsecuredLoginNumberClaim_x is not a number",
        ),
        (
            sasl(
                "OAUTHBEARER",
                f"{OAUTH} clientId=a clientSecret=b;",
                **{"sasl.oauthbearer.token.endpoint.url": URL, "sasl.oauthbearer.header.urlencode": "yes"},
            ),
            "sasl.oauthbearer.header.urlencode: expected true or false, found 'yes'",
        ),
    ],
)
def test_mistake_in_sasl_is_named(properties: dict[str, str], text: str) -> None:
    assert problem_of(properties).startswith(f"client.properties: {text}")


# TLS


def test_tls_trusts_the_system_and_checks_names_by_default() -> None:
    assert parse({"security.protocol": "SSL"}).connection.tls == TlsConfig()


def test_name_check_can_be_switched_off() -> None:
    tls = parse({"security.protocol": "SSL", "ssl.endpoint.identification.algorithm": ""}).connection.tls

    assert tls is not None
    assert not tls.check_hostname
    assert tls.context.verify_mode == ssl.CERT_REQUIRED


@for_rows("type", [None, "JKS", "PKCS12"])
@for_rows("suffix", ["jks", "p12"])
def test_content_of_a_store_counts_more_than_its_type(type: str | None, suffix: str) -> None:
    properties = {
        "security.protocol": "SSL",
        "ssl.truststore.location": f"{STORES}/trust.{suffix}",
        "ssl.truststore.password": "store-password",
        "ssl.keystore.location": f"{STORES}/client.{suffix}",
        "ssl.keystore.password": "store-password",
        "ssl.key.password": "key-password",
    } | ({} if type is None else {"ssl.truststore.type": type, "ssl.keystore.type": type})

    tls = parse(properties).connection.tls

    assert tls is not None
    assert tls.ca is not None
    assert tls.ca.count("BEGIN CERTIFICATE") == 2
    assert isinstance(tls.certificate, ClientCertificate)
    assert len(tls.context.get_ca_certs()) == 0 or tls.context.verify_mode == ssl.CERT_REQUIRED


@for_rows("password", [None, PASSWORD])
def test_inline_pem(authority: CertificateAuthority, password: str | None) -> None:
    issued = authority.issue("alice")
    properties = {
        "security.protocol": "SSL",
        "ssl.truststore.type": "PEM",
        "ssl.truststore.certificates": authority.certificate,
        "ssl.keystore.type": "PEM",
        "ssl.keystore.certificate.chain": issued.chain,
        "ssl.keystore.key": issued.encrypted_key(password),
    } | ({} if password is None else {"ssl.key.password": password})

    tls = parse(properties).connection.tls

    assert tls is not None
    assert tls.certificate is not None
    assert len(tls.context.get_ca_certs()) == 1


def test_protocols_and_ciphers_are_those_of_openssl() -> None:
    tls = parse(
        {
            "security.protocol": "SSL",
            "ssl.enabled.protocols": "TLSv1.2,TLSv1.1",
            "ssl.cipher.suites": "TLS_AES_128_GCM_SHA256,TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384,"
            "TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256,TLS_RSA_WITH_AES_128_CBC_SHA",
        }
    ).connection.tls

    assert tls is not None
    assert tls.context.maximum_version == ssl.TLSVersion.TLSv1_2
    names = {cipher["name"] for cipher in tls.context.get_ciphers() if cipher["protocol"] != "TLSv1.3"}
    assert names == {"ECDHE-RSA-AES256-GCM-SHA384", "ECDHE-ECDSA-CHACHA20-POLY1305", "AES128-SHA"}


@for_rows(
    ("properties", "text"),
    [
        (
            {"ssl.truststore.location": "/no/such.jks"},
            "ssl.truststore.location: cannot read /no/such.jks: No such file",
        ),
        ({"ssl.truststore.location": "/dev/null"}, "ssl.truststore.location: expected PEM, PKCS12, or JKS"),
        (
            {"ssl.truststore.location": f"{STORES}/trust.p12", "ssl.truststore.password": PASSWORD},
            "ssl.truststore.password: the password of the store is wrong",
        ),
        ({"ssl.truststore.type": "BKS"}, "ssl.truststore.type: BKS is not supported: convert the store to PKCS12"),
        ({"ssl.truststore.certificates": "nonsense"}, "ssl.truststore.certificates: expected PEM"),
        (
            {"ssl.truststore.certificates": "x", "ssl.truststore.location": f"{STORES}/trust.p12"},
            "ssl.truststore.certificates: cannot be combined with ssl.truststore.location",
        ),
        (
            {"ssl.keystore.location": f"{STORES}/client.jks", "ssl.keystore.password": "store-password"},
            "ssl.key.password: the password of the private key is wrong",
        ),
        ({"ssl.keystore.key": PASSWORD}, "ssl.keystore.certificate.chain: is missing"),
        (
            {"ssl.keystore.certificate.chain": "x", "ssl.keystore.key": PASSWORD},
            "ssl.keystore.key: expected",
        ),
        ({"ssl.endpoint.identification.algorithm": "ldaps"}, "ssl.endpoint.identification.algorithm: expected https"),
        ({"ssl.enabled.protocols": "TLSv1"}, "ssl.enabled.protocols: expected TLSv1.2 or TLSv1.3, found TLSv1"),
        ({"ssl.cipher.suites": "TLS_X_WITH_Y"}, "ssl.cipher.suites: OpenSSL knows no cipher suite of"),
    ],
)
def test_mistake_in_tls_is_named(properties: dict[str, str], text: str) -> None:
    assert problem_of({"security.protocol": "SSL"} | properties).startswith(f"client.properties: {text}")


def test_wrong_password_of_an_inline_key_is_named(authority: CertificateAuthority) -> None:
    issued = authority.issue("alice")
    properties = {
        "security.protocol": "SSL",
        "ssl.keystore.certificate.chain": issued.chain,
        "ssl.keystore.key": issued.encrypted_key("right"),
    }

    missing = problem_of(properties)
    wrong = problem_of(properties | {"ssl.key.password": PASSWORD})

    assert missing == "client.properties: ssl.key.password: the private key is encrypted: its password is missing"
    assert wrong == "client.properties: ssl.key.password: the password of the private key is wrong"


def test_key_of_another_certificate_is_named(authority: CertificateAuthority) -> None:
    properties = {
        "security.protocol": "SSL",
        "ssl.keystore.certificate.chain": authority.issue("alice").chain,
        "ssl.keystore.key": authority.issue("bob").key,
    }

    assert problem_of(properties) == (
        "client.properties: ssl.keystore.key: the private key does not belong to the first certificate of the chain"
    )


# Everything else


def test_other_keys_of_a_client() -> None:
    properties = parse({"bootstrap.servers": "a:1,b:2", "client.id": "me", "request.timeout.ms": "1500"})

    assert (properties.bootstrap_servers, properties.client_id, properties.request_timeout) == ("a:1,b:2", "me", 1.5)


def test_timeout_must_be_a_number() -> None:
    assert problem_of({"request.timeout.ms": "5s"}) == (
        "client.properties: request.timeout.ms: expected a number of milliseconds, found '5s'"
    )


@for_rows(
    ("properties", "warning"),
    [
        (
            {"acks": "1", "sasl.mechansim": "PLAIN"},
            "client.properties: sasl.mechansim: unknown key: did you mean sasl.mechanism?",
        ),
        ({"acks": "1", "topic": "x"}, "client.properties: topic: unknown key"),
        (
            {"sasl.mechanism": "PLAIN"},
            "client.properties: sasl.mechanism: has no effect with security.protocol=PLAINTEXT",
        ),
        (
            {"ssl.truststore.location": "x"},
            "client.properties: ssl.truststore.location: has no effect with security.protocol=PLAINTEXT",
        ),
        (
            sasl("PLAIN", PLAIN) | {"security.protocol": "SASL_PLAINTEXT"},
            "client.properties: security.protocol: PLAIN sends the password in clear text without TLS: use SASL_SSL",
        ),
    ],
)
def test_probable_mistake_is_a_warning(properties: dict[str, str], warning: str) -> None:
    assert parse(properties).warnings == (warning,)


@for_rows("key", ["group.id", "acks", "metadata.max.age.ms", "config.providers.env.class"])
def test_keys_of_other_clients_are_ignored_silently(key: str) -> None:
    assert parse({key: "x"}).warnings == ()


def test_references_are_resolved(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KWIRE_TEST_PASSWORD", PASSWORD)

    credentials = parse(sasl("PLAIN", PLAIN.replace(PASSWORD, "${env:KWIRE_TEST_PASSWORD}"))).connection.sasl

    assert credentials == PlainCredentials("alice", Secret(PASSWORD))


def test_missing_reference_is_named() -> None:
    assert problem_of(sasl("PLAIN", PLAIN.replace(PASSWORD, "${env:KWIRE_NOT_SET}"))) == (
        "client.properties: sasl.jaas.config: the environment variable KWIRE_NOT_SET is not set"
    )
