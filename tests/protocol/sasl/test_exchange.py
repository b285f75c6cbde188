"""A mechanism in Kafka's messages: handshake, tokens, errors, and the lifetime of the session."""

from __future__ import annotations

import pytest

from kwire._util.secret import Secret
from kwire.messages.kafka.sasl_authenticate import SaslAuthenticateRequest, SaslAuthenticateResponse
from kwire.messages.kafka.sasl_handshake import SaslHandshakeRequest, SaslHandshakeResponse
from kwire.protocol import AuthenticationFailed, Endpoint
from kwire.protocol.sasl import PlainMechanism, SaslExchange, ScramMechanism

BROKER = Endpoint("broker-1", 9093)
ACCEPTED = SaslHandshakeResponse(error_code=0, mechanisms=("PLAIN", "SCRAM-SHA-512"))


def plain() -> SaslExchange:
    return SaslExchange(BROKER, PlainMechanism("alice", Secret("wonderland")))


def answer(auth_bytes: bytes = b"", *, lifetime: int = 0) -> SaslAuthenticateResponse:
    return SaslAuthenticateResponse(
        error_code=0, error_message=None, auth_bytes=auth_bytes, session_lifetime_ms=lifetime
    )


def test_plain_takes_one_token() -> None:
    exchange = plain()

    assert exchange.start() == SaslHandshakeRequest(mechanism="PLAIN")
    assert exchange.receive(ACCEPTED) == SaslAuthenticateRequest(auth_bytes=b"\0alice\0wonderland")
    assert exchange.receive(answer(lifetime=60_000)) is None
    assert exchange.session_lifetime_ms == 60_000


def test_scram_ends_with_the_signature_of_the_broker() -> None:
    exchange = SaslExchange(
        BROKER, ScramMechanism("SCRAM-SHA-256", "user", Secret("pencil"), nonce="rOprNGfwEbeRWgbNEkqO")
    )
    exchange.start()
    exchange.receive(ACCEPTED)
    nonce = "rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0"
    assert exchange.receive(answer(f"r={nonce},s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096".encode())) is not None

    assert exchange.receive(answer(b"v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4=", lifetime=5)) is None
    assert exchange.session_lifetime_ms == 5


def test_success_without_the_signature_of_the_broker_is_rejected() -> None:
    exchange = SaslExchange(BROKER, ScramMechanism("SCRAM-SHA-256", "user", Secret("pencil")))
    exchange.start()
    exchange.receive(ACCEPTED)

    with pytest.raises(AuthenticationFailed, match="malformed"):
        exchange.receive(answer())


@pytest.mark.parametrize(
    ("response", "text"),
    [
        (
            SaslHandshakeResponse(error_code=33, mechanisms=("GSSAPI",)),
            (
                "broker-1:9093: SASL/PLAIN authentication of user 'alice' failed: the listener does not have this"
                " mechanism (sasl.mechanism); it has GSSAPI"
            ),
        ),
        (
            SaslHandshakeResponse(error_code=34, mechanisms=()),
            (
                "broker-1:9093: SASL/PLAIN authentication of user 'alice' failed: the listener has no SASL: set"
                " security.protocol to SSL or PLAINTEXT, or connect to another port"
            ),
        ),
        (
            SaslHandshakeResponse(error_code=-1, mechanisms=()),
            "broker-1:9093: SASL/PLAIN authentication of user 'alice' failed: SaslHandshake failed with error code -1",
        ),
    ],
)
def test_rejected_handshake_names_the_cause(response: SaslHandshakeResponse, text: str) -> None:
    exchange = plain()
    exchange.start()

    with pytest.raises(AuthenticationFailed) as caught:
        exchange.receive(response)
    assert str(caught.value) == text
    assert caught.value.error_code == response.error_code


def test_rejected_credential_has_the_text_of_the_broker() -> None:
    exchange = plain()
    exchange.start()
    exchange.receive(ACCEPTED)

    with pytest.raises(AuthenticationFailed) as caught:
        exchange.receive(
            SaslAuthenticateResponse(error_code=58, error_message="Authentication failed: no", auth_bytes=b"")
        )
    assert str(caught.value) == (
        "broker-1:9093: SASL/PLAIN authentication of user 'alice' failed: Authentication failed: no"
    )
    assert (caught.value.mechanism, caught.value.user, caught.value.error_code) == ("PLAIN", "alice", 58)


def test_token_is_not_shown_by_the_request() -> None:
    exchange = plain()
    exchange.start()
    request = exchange.receive(ACCEPTED)

    assert repr(request) == "SaslAuthenticateRequest(auth_bytes='[hidden]')"
