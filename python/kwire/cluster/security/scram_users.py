"""The SCRAM credentials of users, as Kafka keeps them in the configs of users in ZooKeeper."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from kwire.protocol.sasl_server import ScramCredential
from kwire.protocol.scram_passwords import HASHES, ScramName

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

__all__ = ["ScramUsers"]


class ScramUsers:
    """Credentials by user and mechanism."""

    def __init__(self) -> None:
        self._credentials: dict[tuple[str, str], ScramCredential] = {}

    def set(self, user: str, config: Mapping[str, str]) -> list[str]:
        """Take over the config of a user, and return the names of the mechanisms with malformed credentials."""
        malformed = []
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

    def iterations(self) -> dict[str, dict[str, int]]:
        """Return the number of iterations by user and mechanism."""
        found: dict[str, dict[str, int]] = {}
        for (user, name), credential in self._credentials.items():
            found.setdefault(user, {})[name] = credential.iterations
        return found

    def _find(self, name: ScramName, user: str) -> ScramCredential | None:
        return self._credentials.get((user, name))
