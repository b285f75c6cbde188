"""SASL of one connection to a node: wrong passwords of a user are limited for each address."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import pytest

from kwire._util.guess_limit import GuessLimit
from kwire._util.secret import Secret
from kwire.protocol.sasl import PlainMechanism, ScramMechanism
from kwire.protocol.sasl_server import AuthenticationRejected, PlainServer, ScramCredential, ScramServer
from kwire_cluster.security.sasl_authentication import SaslAuthentication

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
    """The shared state of a node's connections, with a clock of the test."""

    def __init__(self, mechanism: str) -> None:
        self.now = 0.0
        self._mechanism = mechanism
        self._guesses = GuessLimit(burst=3, seconds=1.0, clock=lambda: self.now)

    def takes_turns(self, user: str, host: str = "10.0.0.1") -> bool:
        """Return whether the results of a user wait for each other."""
        return self._guesses.wait(f"{host} {user}") > 0

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


def test_right_password_is_accepted_whatever_was_guessed_before(node: Node) -> None:
    """Behind one NAT, another client kept a user out with one wrong password a second."""
    for times in (3, 1, 20):
        guess(node, "alice", times)
        assert node.authenticate("alice", "right") == "alice"


@pytest.mark.parametrize("user", ["alice", "stranger"])
def test_results_take_turns_after_too_many_wrong_passwords(node: Node, user: str) -> None:
    """The limit does not reveal which users exist, and does not concern other users and other addresses."""
    for _ in range(20):
        assert node.authenticate("alice", "right") == "alice"
    guess(node, user, 2)
    assert not node.takes_turns(user)
    guess(node, user, 1)
    assert node.takes_turns(user)
    assert not node.takes_turns("bob")
    assert not node.takes_turns(user, host="10.0.0.2")
    node.now = 1.0
    assert not node.takes_turns(user)
