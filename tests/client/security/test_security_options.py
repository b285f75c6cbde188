"""Options of security in client properties: each acts, is refused, or is named as one without effect."""

from __future__ import annotations

import pytest

from kwire.client.security import PlainCredentials, Secret, SecurityConfigError, known_keys
from tests.client.security.test_client_properties import OAUTH, PASSWORD, PLAIN, parse, problem_of, sasl
from tests.for_rows import for_rows


@for_rows(
    ("properties", "warning"),
    [
        (
            {"security.protocol": "SSL", "ssl.protocol": "TLSv1.3"},
            "ssl.protocol: has no effect: only Java's clients or brokers use it",
        ),
        (
            {"security.protocol": "SSL", "ssl.enabled.protocols": "TLSv1.2,TLSv1.1"},
            "ssl.enabled.protocols: TLSv1.1 has no effect: older versions are insecure",
        ),
        (
            {"security.protocol": "SSL", "ssl.cipher.suites": "TLS_AES_256_GCM_SHA384"},
            "ssl.cipher.suites: Python cannot restrict the suites of TLS 1.3: all of them are allowed",
        ),
        (
            sasl("PLAIN", PLAIN) | {"sasl.kerberos.service.name": "kafka"},
            "sasl.kerberos.service.name: has no effect with sasl.mechanism=PLAIN",
        ),
        (
            sasl("PLAIN", PLAIN.replace(";", ' serverName="x";')),
            "sasl.jaas.config: the option serverName has no effect",
        ),
        (
            sasl("OAUTHBEARER", f'{OAUTH} unsecuredLoginStringClaim_sub="a";')
            | {"security.protocol": "SASL_PLAINTEXT"},
            "security.protocol: OAUTHBEARER sends the token in clear text without TLS: use SASL_SSL",
        ),
    ],
)
def test_option_without_effect_is_named(properties: dict[str, str], warning: str) -> None:
    assert parse(properties).warnings == (f"client.properties: {warning}",)


@for_rows(
    ("properties", "problem"),
    [
        ({"topic": "x", "acks ": "1"}, "no key of Kafka's clients, such as security.protocol, among 2 keys"),
        ({"\ufeffsecurity.protocol": "SASL_SSL"}, "no key of Kafka's clients"),
        ({"Security.Protocol": "SSL", "acks": "1"}, "Security.Protocol: unknown key: did you mean security.protocol?"),
        ({"security_protocol": "SSL", "acks": "1"}, "security_protocol: unknown key: did you mean security.protocol?"),
        (
            {"security.protocol ": "SSL", "acks": "1"},
            "security.protocol : unknown key: did you mean security.protocol?",
        ),
        ({"security.protocol": '"SASL_SSL"'}, "security.protocol: expected one of PLAINTEXT, SSL"),
        (
            {
                "security.protocol": "SASL_SSL",
                "sasl.mechanisms": "PLAIN",
                "sasl.username": "u",
                "sasl.password": PASSWORD,
            },
            "sasl.mechanisms, sasl.username, sasl.password: spelled as in librdkafka: Kafka's clients have",
        ),
        (
            {"security.protocol": "SSL", "ssl.ca.location": "/ca.pem"},
            "ssl.ca.location: spelled as in librdkafka: Kafka's clients have ssl.truststore.location",
        ),
        (
            {"security.protocol": "SSL", "enable.ssl.certificate.verification": "false"},
            "enable.ssl.certificate.verification: spelled as in librdkafka",
        ),
        (
            {"security.protocol": "SSL", "ssl.engine.factory.class": "com.example.Engine"},
            "ssl.engine.factory.class: Engine is a class of Java, which kwire cannot run",
        ),
        (
            sasl("PLAIN", PLAIN) | {"sasl.client.callback.handler.class": "com.example.Vault$Handler"},
            "sasl.client.callback.handler.class: Handler is a class of Java",
        ),
        (
            sasl(
                "OAUTHBEARER",
                f'{OAUTH} unsecuredLoginStringClaim_sub="a";',
                **{"sasl.login.callback.handler.class": "io.strimzi.kafka.JaasClientOauthLoginCallbackHandler"},
            ),
            "which kwire cannot run: set sasl.oauthbearer.token.endpoint.url",
        ),
        (
            {"security.protocol": "SSL", "config.providers": "vault", "config.providers.vault.class": "com.x.Vault"},
            "config.providers.vault.class: Vault is not supported: expected EnvVarConfigProvider",
        ),
        (
            {
                "security.protocol": "SSL",
                "ssl.enabled.protocols": "TLSv1.2",
                "ssl.cipher.suites": "TLS_AES_256_GCM_SHA384",
            },
            "ssl.cipher.suites: has no suite of TLSv1.2",
        ),
    ],
)
def test_option_of_security_that_would_be_lost_is_an_error(properties: dict[str, str], problem: str) -> None:
    assert problem in problem_of(properties)


@for_rows("key", [PASSWORD, f"alice:{PASSWORD}", f"sasl.jaas.config.{PASSWORD}", f"<xml>{PASSWORD}</xml>"])
def test_a_file_of_another_kind_is_not_quoted(key: str) -> None:
    """A file with only a password is a file with one key."""
    with pytest.raises(SecurityConfigError) as caught:
        parse({key: ""})
    assert str(caught.value) == ("client.properties: no key of Kafka's clients, such as security.protocol, among 1 key")


def test_every_key_of_security_acts_or_is_named() -> None:
    """Each known key that is set beside a working file changes the result, is warned of, or is refused."""
    base = sasl("PLAIN", PLAIN)
    expected = parse(base)
    silent = []
    known = known_keys.USED | known_keys.WITHOUT_EFFECT | known_keys.PLUGINS
    for key in sorted(key for key in known if key not in base and key.startswith(("security.", "sasl.", "ssl."))):
        try:
            found = parse(base | {key: "x"})
        except SecurityConfigError:
            continue
        if (found.connection, found.warnings) == (expected.connection, expected.warnings):
            silent.append(key)
    assert silent == []


def test_suites_decide_about_versions_of_tls() -> None:
    old, new = "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256", "TLS_AES_256_GCM_SHA384"
    for suites, versions in ((old, ("TLSv1.2",)), (new, ("TLSv1.3",)), (f"{old},{new}", ("TLSv1.2", "TLSv1.3"))):
        tls = parse({"security.protocol": "SSL", "ssl.cipher.suites": suites}).connection.tls
        assert tls is not None
        assert tls.versions == versions


def test_providers_may_have_other_names(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KWIRE_TEST_PASSWORD", PASSWORD)
    provider = {
        "config.providers": "secrets",
        "config.providers.secrets.class": "org.apache.kafka.common.config.provider.EnvVarConfigProvider",
    }
    jaas = PLAIN.replace(PASSWORD, "${secrets:KWIRE_TEST_PASSWORD}")

    assert parse(sasl("PLAIN", jaas) | provider).connection.sasl == PlainCredentials("alice", Secret(PASSWORD))
