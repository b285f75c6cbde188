"""SCRAM: the test vectors of RFC 7677, proofs of another implementation, and brokers that cheat."""

from __future__ import annotations

import base64
import hashlib
import hmac

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kwire._util.secret import Secret
from kwire.protocol.sasl import SaslError, ScramMechanism
from kwire.protocol.scram_passwords import MAX_ITERATIONS, ScramName

CLIENT_NONCE = "rOprNGfwEbeRWgbNEkqO"
SERVER_NONCE = f"{CLIENT_NONCE}%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0"
SALT = base64.b64decode("W22ZaJ0SNY7soEsUEjb6gQ==")
SERVER_FIRST = f"r={SERVER_NONCE},s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096".encode()


def rfc7677() -> ScramMechanism:
    return ScramMechanism("SCRAM-SHA-256", "user", Secret("pencil"), nonce=CLIENT_NONCE)


def test_exchange_of_rfc_7677() -> None:
    scram = rfc7677()

    assert scram.respond(b"") == f"n,,n=user,r={CLIENT_NONCE}".encode()
    assert scram.respond(SERVER_FIRST) == (
        f"c=biws,r={SERVER_NONCE},p=dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ=".encode()
    )
    assert not scram.is_complete
    assert scram.respond(b"v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4=") is None
    assert scram.is_complete


def verifies(name: ScramName, stored_key: bytes, auth_message: bytes, proof: bytes) -> bool:
    """Verify a proof as a broker does (RFC 5802, 3): by the stored key, without the password."""
    algorithm = {"SCRAM-SHA-256": "sha256", "SCRAM-SHA-512": "sha512"}[name]
    signature = hmac.digest(stored_key, auth_message, algorithm)
    client_key = bytes(a ^ b for a, b in zip(proof, signature, strict=True))
    return hashlib.new(algorithm, client_key).digest() == stored_key


@given(
    name=st.sampled_from(["SCRAM-SHA-256", "SCRAM-SHA-512"]),
    user=st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=20),
    password=st.text(st.characters(exclude_categories=["Cs"]), max_size=20),
    salt=st.binary(min_size=1, max_size=20),
)
def test_broker_with_the_stored_key_accepts_the_proof(name: ScramName, user: str, password: str, salt: bytes) -> None:
    algorithm = {"SCRAM-SHA-256": "sha256", "SCRAM-SHA-512": "sha512"}[name]
    salted = hashlib.pbkdf2_hmac(algorithm, password.encode(), salt, 4096)
    stored_key = hashlib.new(algorithm, hmac.digest(salted, b"Client Key", algorithm)).digest()
    server_key = hmac.digest(salted, b"Server Key", algorithm)
    scram = ScramMechanism(name, user, Secret(password))

    first = scram.respond(b"")
    assert first is not None
    bare = first.removeprefix(b"n,,")
    fields = dict(part.split("=", 1) for part in bare.decode().split(","))
    assert fields["n"].replace("=2C", ",").replace("=3D", "=") == user
    server_first = f"r={fields['r']}broker,s={base64.b64encode(salt).decode()},i=4096".encode()
    final = scram.respond(server_first)
    assert final is not None
    without_proof, _, proof = final.rpartition(b",p=")
    auth_message = b",".join((bare, server_first, without_proof))
    assert verifies(name, stored_key, auth_message, base64.b64decode(proof))
    scram.respond(b"v=" + base64.b64encode(hmac.digest(server_key, auth_message, algorithm)))
    assert scram.is_complete


def test_nonces_are_random() -> None:
    first, second = (ScramMechanism("SCRAM-SHA-256", "user", Secret("x")).respond(b"") for _ in range(2))

    assert first != second


def test_delegation_token_is_an_extension_of_the_first_message() -> None:
    scram = ScramMechanism("SCRAM-SHA-256", "id", Secret("hmac"), token=True, nonce="abc")

    assert scram.respond(b"") == b"n,,n=id,r=abc,tokenauth=true"


def test_impostor_without_the_password_is_detected() -> None:
    scram = rfc7677()
    scram.respond(b"")
    scram.respond(SERVER_FIRST)

    with pytest.raises(SaslError, match="does not know the password, and may be an impostor"):
        scram.respond(b"v=" + base64.b64encode(bytes(32)))
    assert not scram.is_complete


@pytest.mark.parametrize(
    ("challenge", "reason"),
    [
        ("r=other,s=W22Z,i=4096", "nonce of SCRAM-SHA-256 does not continue the client's"),
        (f"r={CLIENT_NONCE},s=W22Z,i=4096", "nonce of SCRAM-SHA-256 does not continue the client's"),
        (f"r={SERVER_NONCE},s=,i=4096", "sent no salt"),
        (f"r={SERVER_NONCE},s=!,i=4096", "invalid base64"),
        (f"r={SERVER_NONCE},s=W22Z", "no valid number of iterations"),
        (f"r={SERVER_NONCE},s=W22Z,i=x", "no valid number of iterations"),
        (f"r={SERVER_NONCE},s=W22Z,i=99999999999999999999", "no valid number of iterations"),
        (f"r={SERVER_NONCE},s=W22Z,i=4095", "requires 4095 iterations"),
        (f"r={SERVER_NONCE},s=W22Z,i={MAX_ITERATIONS + 1}", f"requires {MAX_ITERATIONS + 1} iterations"),
        (f"m=ext,r={SERVER_NONCE},s=W22Z,i=4096", "requires an unknown extension"),
        ("nonsense", "is malformed"),
        ("", "is malformed"),
    ],
)
def test_invalid_first_message_of_the_broker_is_rejected(challenge: str, reason: str) -> None:
    scram = rfc7677()
    scram.respond(b"")

    with pytest.raises(SaslError, match=reason):
        scram.respond(challenge.encode())


def test_message_that_is_not_utf8_is_rejected() -> None:
    scram = rfc7677()
    scram.respond(b"")

    with pytest.raises(SaslError, match="not UTF-8"):
        scram.respond(b"r=\xff")


def test_error_of_the_broker_is_reported() -> None:
    scram = rfc7677()
    scram.respond(b"")
    scram.respond(SERVER_FIRST)

    with pytest.raises(SaslError, match="rejected the proof of SCRAM-SHA-256: invalid-proof"):
        scram.respond(b"e=invalid-proof")


def test_final_message_without_a_signature_is_rejected() -> None:
    scram = rfc7677()
    scram.respond(b"")
    scram.respond(SERVER_FIRST)

    with pytest.raises(SaslError, match="signature of SCRAM-SHA-256 is wrong"):
        scram.respond(b"x=1")


def test_errors_do_not_contain_the_password() -> None:
    scram = ScramMechanism("SCRAM-SHA-512", "user", Secret("pencil"))
    scram.respond(b"")

    with pytest.raises(SaslError) as caught:
        scram.respond(b"r=pencil")
    assert "pencil" not in str(caught.value) + repr(scram)
