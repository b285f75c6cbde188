"""GSSAPI: the frame of RFC 4752 around a security context.

The context of these tests is the smallest that has the interface: one token in each direction, and marks around wrapped
messages. Kerberos itself is the business of the library.
"""

from __future__ import annotations

import pytest

from kwire.protocol.sasl import GssapiMechanism, SaslError


class MarkingContext:
    """Establishes itself after one token of the broker."""

    def __init__(self) -> None:
        self.received: list[bytes | None] = []

    @property
    def complete(self) -> bool:
        return len(self.received) == 2

    def step(self, token: bytes | None) -> bytes | None:
        self.received.append(token)
        return b"from client" if token is None else None

    def wrap(self, message: bytes) -> bytes:
        return b"<" + message + b">"

    def unwrap(self, message: bytes) -> bytes:
        if message[:1] + message[-1:] != b"<>":
            raise SaslError("not wrapped")
        return message[1:-1]


def established() -> GssapiMechanism:
    mechanism = GssapiMechanism(MarkingContext(), "alice@EXAMPLE.COM")
    mechanism.respond(b"")
    mechanism.respond(b"from broker")
    return mechanism


def test_tokens_are_exchanged_until_the_context_is_established() -> None:
    context = MarkingContext()
    mechanism = GssapiMechanism(context)

    assert mechanism.respond(b"") == b"from client"
    assert mechanism.respond(b"from broker") == b""
    assert context.received == [None, b"from broker"]
    assert not mechanism.is_complete


def test_no_security_layer_is_chosen() -> None:
    mechanism = established()

    assert mechanism.respond(b"<\x07\x00\x10\x00>") == b"<\x01\x00\x00\x00>"
    assert mechanism.is_complete


@pytest.mark.parametrize(
    ("offer", "reason"),
    [
        (b"<\x06\x00\x10\x00>", "requires a security layer"),
        (b"<\x01>", "has 1 bytes: 4 were expected"),
        (b"forged", "not wrapped"),
    ],
)
def test_invalid_offer_is_rejected(offer: bytes, reason: str) -> None:
    mechanism = established()

    with pytest.raises(SaslError, match=reason):
        mechanism.respond(offer)
    assert not mechanism.is_complete


def test_bytes_after_the_end_are_ignored() -> None:
    mechanism = established()
    mechanism.respond(b"<\x01\x00\x00\x00>")

    assert mechanism.respond(b"") is None
    assert mechanism.respond(b"welcome") is None
