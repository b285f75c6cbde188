"""PLAIN: one message."""

from __future__ import annotations

import pytest

from kwire._util.secret import Secret
from kwire.protocol.sasl import PlainMechanism, SaslError


def test_message_of_rfc_4616() -> None:
    plain = PlainMechanism("tim", Secret("tanstaaftanstaaf"))

    assert not plain.is_complete
    assert plain.respond(b"") == b"\0tim\0tanstaaftanstaaf"
    assert plain.is_complete


def test_text_is_utf8() -> None:
    assert PlainMechanism("jürgen", Secret("contraseña")).respond(b"") == "\0jürgen\0contraseña".encode()


def test_challenge_is_rejected() -> None:
    with pytest.raises(SaslError, match="unexpected challenge"):
        PlainMechanism("tim", Secret("x")).respond(b"x")


@pytest.mark.parametrize("rest", [b"", b"\0", b"welcome"])
def test_bytes_after_the_end_are_ignored(rest: bytes) -> None:
    plain = PlainMechanism("tim", Secret("x"))
    plain.respond(b"")

    assert plain.respond(rest) is None
    assert plain.is_complete


@pytest.mark.parametrize(("user", "password"), [("a\0b", "x"), ("a", "x\0y")])
def test_null_character_is_rejected(user: str, password: str) -> None:
    with pytest.raises(SaslError, match="null character"):
        PlainMechanism(user, Secret(password))
