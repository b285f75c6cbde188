"""The SASL exchange of one connection to a node."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kwire.protocol.sasl_server import AuthenticationRejected

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from kwire.protocol.sasl_server import ServerMechanism

__all__ = ["SaslAuthentication"]


class SaslAuthentication:
    """The SASL exchange of one connection. It authenticates once.

    Args:
        mechanisms: makes a mechanism for one authentication, by name.
    """

    def __init__(self, mechanisms: Mapping[str, Callable[[], ServerMechanism]]) -> None:
        self._makers = mechanisms
        self._mechanism: ServerMechanism | None = None
        self.user: str | None = None
        """The authenticated user; None until the exchange is complete."""
        self.failure: str | None = None
        """Why the client failed, after which the connection must be closed; without secrets."""

    @property
    def enabled(self) -> tuple[str, ...]:
        """The names of the enabled mechanisms."""
        return tuple(self._makers)

    def choose(self, name: str) -> bool:
        """Choose a mechanism, and return whether it is enabled. If not, the client has failed."""
        if name not in self._makers:
            self.failure = "the client asked for a mechanism that is not enabled"
            return False
        if self._mechanism is not None or self.failure is not None:
            self.failure = "the client chose a second mechanism"
            return False
        self._mechanism = self._makers[name]()
        return True

    def respond(self, token: bytes) -> bytes:
        """Return the response to a token; at the end of the exchange, set `user`.

        Raises:
            AuthenticationRejected: the client has failed.
        """
        if self._mechanism is None or self.failure is not None or self.user is not None:
            self.failure = "the client sent a token at the wrong time"
            raise AuthenticationRejected("SaslAuthenticate request received after successful or without SaslHandshake")
        try:
            response = self._mechanism.respond(token)
        except AuthenticationRejected as error:
            self.failure = f"{self._mechanism.name}: {error.reason}"
            raise
        self.user = self._mechanism.user
        return response
