"""OAUTHBEARER: the messages of RFC 7628, and rejected tokens."""

from __future__ import annotations

import pytest

from kwire._util.secret import Secret
from kwire.protocol.sasl import OAuthBearerMechanism, SaslError

TOKEN = Secret("vF9dft4qmTc2Nvb3RlckBhbHRhdmlzdGEuY29tCg==")


def test_message_has_the_token() -> None:
    mechanism = OAuthBearerMechanism(TOKEN)

    assert mechanism.respond(b"") == b"n,,\x01auth=Bearer vF9dft4qmTc2Nvb3RlckBhbHRhdmlzdGEuY29tCg==\x01\x01"
    assert mechanism.is_complete


def test_extensions_follow_the_token() -> None:
    mechanism = OAuthBearerMechanism(Secret("t"), {"logicalCluster": "lkc-1", "identityPoolId": "pool-2"})

    assert mechanism.respond(b"") == b"n,,\x01auth=Bearer t\x01logicalCluster=lkc-1\x01identityPoolId=pool-2\x01\x01"


@pytest.mark.parametrize(
    ("challenge", "reason"),
    [
        (
            b'{"status":"invalid_token","scope":"kafka"}',
            "the token: invalid_token; it requires the scope 'kafka'",
        ),
        (b'{"status":"insufficient_scope"}', "rejected the token: insufficient_scope"),
        (b"nonsense", "rejected the token without a valid reason"),
        (b"[1]", "rejected the token without a valid reason"),
    ],
)
def test_rejected_token_is_reported(challenge: bytes, reason: str) -> None:
    mechanism = OAuthBearerMechanism(TOKEN)
    mechanism.respond(b"")

    with pytest.raises(SaslError, match=reason):
        mechanism.respond(challenge)


@pytest.mark.parametrize("token", ["", "two words", "new\nline", "\x01auth=Bearer other"])
def test_invalid_token_is_rejected_without_showing_it(token: str) -> None:
    with pytest.raises(SaslError, match="not a bearer token: it is empty or has characters") as caught:
        OAuthBearerMechanism(Secret(token))
    assert not token or token not in str(caught.value)


@pytest.mark.parametrize("extension", [("auth", "x"), ("with space", "x"), ("a", "x\x01b=c"), ("", "x"), ("a", "")])
def test_invalid_extension_is_rejected(extension: tuple[str, str]) -> None:
    with pytest.raises(SaslError, match="invalid SASL extension"):
        OAuthBearerMechanism(TOKEN, dict([extension]))
