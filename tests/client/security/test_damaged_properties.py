"""Properties and stores with damaged characters: the error names the key, and shows no secret."""

from __future__ import annotations

import asyncio
import traceback
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kwire.client.security import ClientProperties, Secret, SecurityConfigError
from kwire.client.security.oauth_tokens import ClientCredentials
from kwire.protocol.sasl.mechanism import SaslError
from tests.real_kafka.certificates import CertificateAuthority

if TYPE_CHECKING:
    from pathlib import Path

PASSWORD = "correct-horse"
JAAS = {
    "PLAIN": f'a.PlainLoginModule required username="alice" password="{PASSWORD}";',
    "SCRAM-SHA-512": f"a.ScramLoginModule required username='alice' password='{PASSWORD}' tokenauth=true;",
    "OAUTHBEARER": f'a.OAuthBearerLoginModule required clientId="alice" clientSecret="{PASSWORD}" extension_x="y";',
}
AUTHORITY = CertificateAuthority()
ALICE = AUTHORITY.issue("alice")
VALID = [
    {
        "security.protocol": "SASL_SSL",
        "sasl.mechanism": mechanism,
        "sasl.jaas.config": jaas,
        "sasl.oauthbearer.token.endpoint.url": "https://login.example.com/token?tenant=1",
        "connections.max.idle.ms": "1000",
        "ssl.truststore.certificates": AUTHORITY.certificate,
    }
    for mechanism, jaas in JAAS.items()
] + [
    {
        "security.protocol": "SSL",
        "ssl.keystore.certificate.chain": ALICE.chain,
        "ssl.keystore.key": ALICE.encrypted_key(PASSWORD),
        "ssl.key.password": PASSWORD,
    },
    {"security.protocol": "SSL", "ssl.truststore.location": "ca.pem", "ssl.truststore.password": PASSWORD},
    {"security.protocol": "SASL_PLAINTEXT", "sasl.mechanism": "OAUTHBEARER"}
    | {"sasl.oauthbearer.token.endpoint.url": "file:/run/token"},
]
PIECES = st.sampled_from([*"\0\ud800\"';=\\{}\u00e9\u202e\ufeff", "%00", "\r\n", "/*", "9" * 400, ""])


def text_of(error: BaseException | None) -> str:
    """Return everything that a log of an error might show."""
    text = ""
    while error is not None:
        text += "".join(traceback.format_exception(error, chain=False)) + repr(error.args)
        error = error.__cause__ or error.__context__
    return text


@given(st.data())
def test_damaged_property_is_a_mistake_of_the_configuration(data: st.DataObject) -> None:
    properties = dict(data.draw(st.sampled_from(VALID)))
    key = data.draw(st.sampled_from(sorted(properties)))
    value = properties[key]
    start = data.draw(st.integers(0, len(value)))
    end = data.draw(st.integers(start, min(start + 20, len(value))))
    properties[key] = value[:start] + data.draw(PIECES) + value[end:]

    try:
        shown = repr(ClientProperties.parse(properties))
    except SecurityConfigError as error:
        shown = text_of(error)

    assert PASSWORD not in shown


@pytest.mark.parametrize("character", ["\0", "\ud800"])
@pytest.mark.parametrize(
    "key", ["ssl.truststore.location", "ssl.keystore.key", "ssl.key.password", "sasl.jaas.config", "client.id"]
)
def test_unusable_character_is_named_with_its_key(key: str, character: str) -> None:
    with pytest.raises(SecurityConfigError) as caught:
        ClientProperties.parse({"security.protocol": "SASL_SSL", key: f"{PASSWORD}{character}"})

    assert caught.value.key == key
    assert f"U+{ord(character):04X}" in caught.value.problem
    assert PASSWORD not in text_of(caught.value)


def test_password_that_a_command_prints_is_checked() -> None:
    properties = {"security.protocol": "SASL_SSL", "sasl.mechanism": "PLAIN"}
    properties["sasl.jaas.config"] = 'a.PlainLoginModule required username="alice";'

    with pytest.raises(SecurityConfigError, match=r"U\+DCFF"):
        ClientProperties.parse(properties, password=lambda: Secret(f"{PASSWORD}\udcff"))


def test_certificate_that_is_not_ascii_is_named(tmp_path: Path) -> None:
    store = tmp_path / "ca.pem"
    store.write_text(AUTHORITY.certificate.replace("\nMII", "\n\u00e9II", 1), encoding="utf-8")

    with pytest.raises(SecurityConfigError, match="expected certificates in PEM"):
        ClientProperties.parse({"security.protocol": "SSL", "ssl.truststore.location": str(store)})


@pytest.mark.parametrize("path", ["a b", "\u00e9", "\u202e"])
def test_url_of_tokens_is_ascii(path: str) -> None:
    with pytest.raises(SecurityConfigError, match="expected a URL"):
        ClientCredentials(url=f"https://localhost/{path}", client_id="alice", client_secret=Secret(PASSWORD))


@pytest.mark.parametrize("host", ["a" * 64, "a..b"])
def test_name_that_no_server_of_tokens_can_have_is_refused(host: str) -> None:
    credentials = ClientCredentials(url=f"https://{host}/", client_id="alice", client_secret=Secret(PASSWORD))

    with pytest.raises(SaslError, match="cannot get a token from"):
        asyncio.run(credentials())


def test_secret_that_a_server_of_tokens_repeats_is_hidden() -> None:
    credentials = ClientCredentials(url="https://localhost/", client_id="alice", client_secret=Secret(PASSWORD))

    with pytest.raises(SaslError) as caught:
        credentials._parse(401, f'{{"error": "invalid_client", "error_description": "{PASSWORD} is wrong"}}'.encode())

    assert "invalid_client: [hidden] is wrong" in str(caught.value)
