"""The SASL exchanges of one connection to a node, and the SCRAM credentials of users.

Later exchanges of a connection extend its session (KIP-368). Kafka keeps credentials in the configs of users in
ZooKeeper.
"""

from __future__ import annotations

import secrets
from collections import Counter
from functools import partial
from time import monotonic
from typing import TYPE_CHECKING

from kwire.protocol.sasl_server import AuthenticationRejected, ScramCredential, decoy
from kwire.protocol.scram_passwords import HASHES, ScramName

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from kwire._util.guess_limit import GuessLimit
    from kwire.protocol.sasl_server import ServerMechanism


class ScramUsers:
    """Credentials by user and mechanism."""

    def __init__(self) -> None:
        self._credentials: dict[tuple[str, str], ScramCredential] = {}
        self._likenesses: dict[str, ScramCredential | None] = {}
        """By mechanism, a credential as most users have it; computed when it is needed."""
        self.secret = secrets.token_bytes(32)
        """Secret of the salts of unknown users: random until the secret of the cluster is read."""

    def set(self, user: str, config: Mapping[str, str]) -> list[str]:
        """Take over the config of a user, and return the names of the mechanisms with malformed credentials."""
        malformed = []
        self._likenesses.clear()
        for name in HASHES:
            self._credentials.pop((user, name), None)
            if name in config:
                try:
                    self._credentials[user, name] = ScramCredential.parse(config[name])
                except ValueError:
                    malformed.append(name)
        return malformed

    def finder(self, name: ScramName) -> Callable[[str], ScramCredential | None]:
        """Return a function that finds the credential of a user for a mechanism."""
        return partial(self._find, name)

    def decoys(self, name: ScramName) -> Callable[[str], ScramCredential]:
        """Return a function that returns what an unknown user is shown by a mechanism."""
        return partial(self._decoy, name)

    def iterations(self) -> dict[str, dict[str, int]]:
        """Return the number of iterations by user and mechanism."""
        iterations: dict[str, dict[str, int]] = {}
        for (user, name), credential in self._credentials.items():
            iterations.setdefault(user, {})[name] = credential.iterations
        return iterations

    def _decoy(self, name: ScramName, user: str) -> ScramCredential:
        if name not in self._likenesses:
            used = [credential for (_, mechanism), credential in self._credentials.items() if mechanism == name]
            counts = Counter(credential.form for credential in used)
            # The most frequent form, and the smallest of several ones, so that all nodes choose the same.
            self._likenesses[name] = min(
                used, key=lambda credential: (-counts[credential.form], credential.form), default=None
            )
        return decoy(name, user, self.secret, self._likenesses[name])

    def _find(self, name: ScramName, user: str) -> ScramCredential | None:
        return self._credentials.get((user, name))


SECONDS_BETWEEN = 1.0
"""The least time between two authentications of one connection, as in Kafka."""
MAX_NAME = 255
"""Characters of a claimed user name that are remembered with wrong passwords."""


class SaslAuthentication:
    """The SASL exchanges of one connection.

    Args:
        mechanisms: makes a mechanism for one authentication, by name.
        guesses: counts the wrong passwords of each user from each address, on all connections.
        host: the IP address of the client.
    """

    def __init__(self, mechanisms: Mapping[str, Callable[[], ServerMechanism]], guesses: GuessLimit, host: str) -> None:
        self._makers = mechanisms
        self._guesses = guesses
        self._host = host
        self._mechanism: ServerMechanism | None = None
        """The mechanism of the exchange in progress."""
        self._name: str | None = None
        """The name of the first mechanism. Later exchanges have the same."""
        self._completed_at = 0.0
        self._ends: float | None = None
        self._claimed: str | None = None
        """The user of the password that was checked last."""
        self.user: str | None = None
        """The authenticated user; None until the first exchange is complete. It does not change."""
        self.failure: str | None = None
        """The reason why the client failed, after which the connection must be closed; without secrets."""

    @property
    def enabled(self) -> tuple[str, ...]:
        """The names of the enabled mechanisms."""
        return tuple(self._makers)

    @property
    def is_repeatable(self) -> bool:
        """True if the client can authenticate for the first time, or again."""
        return self.user is None or monotonic() - self._completed_at >= SECONDS_BETWEEN

    @property
    def is_complete(self) -> bool:
        """True once the last exchange is complete."""
        return self.user is not None and self._mechanism is None

    @property
    def is_expired(self) -> bool:
        """True once the session has ended, so that the client must authenticate before anything else."""
        return self._ends is not None and monotonic() > self._ends

    def choose(self, name: str) -> bool:
        """Choose a mechanism, and return whether it is enabled. If not, the client has failed."""
        if name not in self._makers:
            self.failure = "the client asked for a mechanism that is not enabled"
            return False
        if self._mechanism is not None or self.failure is not None:
            self.failure = "the client chose a second mechanism"
            return False
        if self._name not in {None, name}:
            self.failure = "the client chose another mechanism to authenticate again"
            return False
        self._name = name
        self._mechanism = self._makers[name]()
        return True

    def respond(self, token: bytes, session_seconds: float = 0.0) -> bytes:
        """Return the response to a token; at the end of the exchange, set `user` and begin a session.

        Args:
            token: the token of the client.
            session_seconds: duration of the session; 0 for no limit.

        Raises:
            AuthenticationRejected: the client has failed.
        """
        mechanism = self._mechanism
        if mechanism is None or self.failure is not None:
            self.failure = "the client sent a token at the wrong time"
            raise AuthenticationRejected("SaslAuthenticate request received after successful or without SaslHandshake")
        try:
            response = mechanism.respond(token)
        except AuthenticationRejected as error:
            self.failure = f"{mechanism.name}: {error.reason}"
            if mechanism.claimed is not None:
                self._claimed = mechanism.claimed
                self._guesses.add(self._counted_as(mechanism.claimed))
            raise
        if mechanism.user is not None:
            self._claimed = mechanism.user
            self._complete(mechanism.user, session_seconds)
        return response

    async def wait_turn(self) -> None:
        """Wait until the client may learn the result of the exchange. See `GuessLimit.turn`."""
        if self._claimed is not None:
            await self._guesses.turn(self._counted_as(self._claimed))

    def _counted_as(self, user: str) -> str:
        """Return the name under which wrong passwords of a user are counted."""
        return f"{self._host} {user[:MAX_NAME]}"

    def _complete(self, user: str, session_seconds: float) -> None:
        if self.user not in {None, user}:
            self.failure = "the client authenticated again as another user"
            raise AuthenticationRejected("Cannot change principals during re-authentication")
        self.user = user
        self._mechanism = None
        self._completed_at = monotonic()
        self._ends = self._completed_at + session_seconds if session_seconds else None
