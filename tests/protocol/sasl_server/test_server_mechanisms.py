"""Server mechanisms against kwire's client mechanisms and the vectors of RFC 7677."""

from __future__ import annotations

import base64
from contextlib import suppress
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kwire._util.secret import Secret
from kwire.protocol.sasl import PlainMechanism, SaslError, ScramMechanism
from kwire.protocol.sasl_server import AuthenticationRejected, PlainServer, ScramCredential, ScramServer
from tests.for_rows import for_rows

if TYPE_CHECKING:
    from kwire.protocol.sasl import SaslMechanism
    from kwire.protocol.sasl_server import ServerMechanism
    from kwire.protocol.scram_passwords import ScramName

USERS = {"alice": Secret("wonder=land,"), "a,=b": Secret("x"), "empty": Secret("")}
NAMES: tuple[ScramName, ...] = ("SCRAM-SHA-256", "SCRAM-SHA-512")
CREDENTIALS = {
    name: {user: ScramCredential.of_password(name, password, b"salt") for user, password in USERS.items()}
    for name in NAMES
}


def exchange(client: SaslMechanism, server: ServerMechanism) -> None:
    """Let client and server talk until both are satisfied."""
    token = client.respond(b"")
    while token is not None:
        challenge = server.respond(token)
        if client.is_complete:
            assert not challenge
            return
        token = client.respond(challenge)


def scram(name: ScramName, user: str, password: str) -> ScramServer:
    server = ScramServer(name, CREDENTIALS[name].get)
    exchange(ScramMechanism(name, user, Secret(password)), server)
    return server


@for_rows("user", ["alice", "a,=b"])
@for_rows("name", NAMES)
def test_scram_accepts_the_password(name: ScramName, user: str) -> None:
    assert scram(name, user, USERS[user].reveal()).user == user


@for_rows(("user", "password"), [("alice", "wrong"), ("alice", ""), ("stranger", "x"), ("Alice", "x")])
@for_rows("name", NAMES)
def test_scram_rejects_other_passwords_and_users_alike(name: ScramName, user: str, password: str) -> None:
    with pytest.raises(AuthenticationRejected, match=r"^Authentication failed: Invalid username or password$"):
        scram(name, user, password)


def test_unknown_user_gets_a_challenge_that_does_not_change() -> None:
    first = b"n,,n=stranger,r=abc"
    challenges = [ScramServer("SCRAM-SHA-256", lambda _: None, nonce="def").respond(first) for _ in range(2)]

    assert challenges[0] == challenges[1]
    assert challenges[0].startswith(b"r=abcdef,s=")
    assert challenges[0].endswith(b",i=4096")


def test_vectors_of_rfc_7677() -> None:
    salt = base64.b64decode("W22ZaJ0SNY7soEsUEjb6gQ==")
    credential = ScramCredential.of_password("SCRAM-SHA-256", Secret("pencil"), salt)
    server = ScramServer("SCRAM-SHA-256", {"user": credential}.get, nonce="%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0")

    assert (
        server.respond(b"n,,n=user,r=rOprNGfwEbeRWgbNEkqO")
        == b"r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096"
    )
    final = (
        b"c=biws,r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,p=dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ="
    )
    assert server.respond(final) == b"v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4="
    assert server.user == "user"


def test_server_that_does_not_know_the_keys_is_noticed() -> None:
    client = ScramMechanism("SCRAM-SHA-256", "alice", USERS["alice"])
    known = CREDENTIALS["SCRAM-SHA-256"]["alice"]
    impostor = ScramCredential(known.salt, known.stored_key, b"guess", known.iterations)

    with pytest.raises(SaslError, match="impostor"):
        exchange(client, ScramServer("SCRAM-SHA-256", {"alice": impostor}.get))


@given(st.binary(max_size=80) | st.text(alphabet="n,=rcpia,biws", max_size=30).map(str.encode), st.booleans())
def test_any_bytes_are_rejected(token: bytes, is_first: bool) -> None:
    for server in (ScramServer("SCRAM-SHA-256", CREDENTIALS["SCRAM-SHA-256"].get), PlainServer(USERS)):
        if not is_first and isinstance(server, ScramServer):
            server.respond(b"n,,n=alice,r=abc")
        with suppress(AuthenticationRejected):
            server.respond(token)
        assert server.user is None


def test_proof_of_another_exchange_is_rejected() -> None:
    credentials = CREDENTIALS["SCRAM-SHA-256"].get
    client = ScramMechanism("SCRAM-SHA-256", "alice", USERS["alice"], nonce="same")
    first = client.respond(b"")
    assert first is not None
    final = client.respond(ScramServer("SCRAM-SHA-256", credentials, nonce="one").respond(first))
    other = ScramServer("SCRAM-SHA-256", credentials, nonce="two")
    other.respond(first)

    with pytest.raises(AuthenticationRejected):
        other.respond(final or b"")


@for_rows(
    "first",
    [b"n,a=admin,n=alice,r=abc", b"p=tls-unique,,n=alice,r=abc", b"n,,n=alice,r=abc,tokenauth=true", b"n,,n=,r=x"],
)
def test_scram_rejects_what_it_does_not_support(first: bytes) -> None:
    with pytest.raises(AuthenticationRejected):
        ScramServer("SCRAM-SHA-256", CREDENTIALS["SCRAM-SHA-256"].get).respond(first)


def test_plain_accepts_the_password() -> None:
    server = PlainServer(USERS)
    exchange(PlainMechanism("alice", USERS["alice"]), server)

    assert server.user == "alice"


@for_rows(
    "token",
    [
        b"\0alice\0wrong",
        b"\0alice\0",
        b"\0stranger\0x",
        b"\0empty\0",
        b"\0\0",
        b"admin\0alice\0wonder=land,",
        b"alice",
        b"\0a\0b\0c",
    ],
)
def test_plain_rejects_everything_else(token: bytes) -> None:
    server = PlainServer(USERS)

    with pytest.raises(AuthenticationRejected) as rejected:
        server.respond(token)
    assert server.user is None
    assert "wonder" not in str(rejected.value)


def test_credential_in_the_form_of_kafka() -> None:
    credential = CREDENTIALS["SCRAM-SHA-512"]["alice"]

    assert ScramCredential.parse(str(credential)) == credential
    assert base64.b64encode(credential.stored_key).decode() not in repr(credential)


@for_rows(
    "text",
    [
        "",
        "salt=YQ==",
        "salt=YQ==,stored_key=YQ==,server_key=YQ==,iterations=1",
        "salt=!,stored_key=YQ==,server_key=YQ==,iterations=4096",
    ],
)
def test_malformed_credential_is_not_quoted(text: str) -> None:
    with pytest.raises(ValueError, match="expected salt") as error:
        ScramCredential.parse(text)
    assert "YQ==" not in str(error.value)
