"""The SCRAM credentials of users, as Kafka keeps them in the configs of users in ZooKeeper."""

from __future__ import annotations

import secrets
from collections import Counter
from functools import partial
from typing import TYPE_CHECKING

from kwire.protocol.sasl_server import ScramCredential, decoy
from kwire.protocol.scram_passwords import HASHES, ScramName

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

__all__ = ["ScramUsers"]


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
