"""SASL of one connection to a node: wrong passwords of a user are limited for each address."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import pytest

from kwire.cluster.security.sasl_authentication import SaslAuthentication
from kwire.guess_limit import GuessLimit
from kwire.protocol.sasl import PlainMechanism, ScramMechanism
from kwire.protocol.sasl_server import AuthenticationRejected, PlainServer, ScramCredential, ScramServer
from kwire.secret import Secret

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from kwire.protocol.sasl_server import ServerMechanism

PASSWORDS = {"alice": Secret("right"), "bob": Secret("right")}
CREDENTIALS = {
    user: ScramCredential.of_password("SCRAM-SHA-256", password, b"salt") for user, password in PASSWORDS.items()
}
MECHANISMS: Mapping[str, Callable[[], ServerMechanism]] = {
    "PLAIN": partial(PlainServer, PASSWORDS),
    "SCRAM-SHA-256": partial(ScramServer, "SCRAM-SHA-256", CREDENTIALS.get),
}


class Node:
    """What the connections of a node share, with a clock of the test."""

    def __init__(self, mechanism: str) -> None:
        self.now = 0.0
        self._mechanism = mechanism
        self._guesses = GuessLimit(burst=3, seconds=1.0, clock=lambda: self.now)

    def authenticate(self, user: str, password: str, host: str = "10.0.0.1") -> str | None:
        """Return the authenticated user of a new connection.

        Raises:
            AuthenticationRejected: the client has failed.
        """
        server = SaslAuthentication(MECHANISMS, self._guesses, host)
        assert server.choose(self._mechanism)
        client = (
            PlainMechanism(user, Secret(password))
            if self._mechanism == "PLAIN"
            else ScramMechanism("SCRAM-SHA-256", user, Secret(password))
        )
        challenge = b""
        while server.user is None:
            token = client.respond(challenge)
            assert token is not None
            challenge = server.respond(token)
        return server.user


@pytest.fixture(params=MECHANISMS)
def node(request: pytest.FixtureRequest) -> Node:
    return Node(request.param)


def guess(node: Node, user: str, times: int) -> None:
    for _ in range(times):
        with pytest.raises(AuthenticationRejected, match="Invalid username or password"):
            node.authenticate(user, "wrong")


@pytest.mark.parametrize("password", ["right", "wrong"])
def test_password_is_not_checked_after_too_many_wrong_ones(node: Node, password: str) -> None:
    guess(node, "alice", 3)
    for _ in range(2):
        with pytest.raises(
            AuthenticationRejected, match=r"too many wrong passwords .* from 10.0.0.1: try again in 1 s"
        ):
            node.authenticate("alice", password)
    node.now = 1.0
    assert node.authenticate("alice", "right") == "alice"


def test_other_users_and_other_addresses_are_not_affected(node: Node) -> None:
    guess(node, "alice", 3)
    assert node.authenticate("bob", "right") == "bob"
    assert node.authenticate("alice", "right", host="10.0.0.2") == "alice"


def test_unknown_users_are_limited_like_others(node: Node) -> None:
    """Whether a user exists stays unknown."""
    guess(node, "stranger", 3)
    with pytest.raises(AuthenticationRejected, match="too many wrong passwords"):
        node.authenticate("stranger", "wrong")


def test_right_passwords_are_not_limited(node: Node) -> None:
    for _ in range(20):
        assert node.authenticate("alice", "right") == "alice"
