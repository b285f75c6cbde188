"""The interface of SASL mechanisms (RFC 4422), from the view of the server."""

from __future__ import annotations

from abc import ABC, abstractmethod

from kwire.errors import KwireError

__all__ = ["INVALID_CREDENTIALS", "AuthenticationRejected", "ServerMechanism"]

INVALID_CREDENTIALS = "Authentication failed: Invalid username or password"
"""The text of Kafka, the same for an unknown user and for a wrong password."""


class AuthenticationRejected(KwireError):
    """The client cannot prove who it is, or does not follow the mechanism.

    Attributes:
        reason: the text for the client, without secrets.
    """

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class ServerMechanism(ABC):
    """One authentication of a client. An object can be used once.

    Attributes:
        name: the registered name, such as `SCRAM-SHA-512`.
        user: the authenticated user; None until the exchange is complete.
        claimed: the user that the client claims to be; None until it has sent the name.
    """

    __slots__ = ("claimed", "name", "user")

    def __init__(self, name: str) -> None:
        self.name = name
        self.user: str | None = None
        self.claimed: str | None = None

    @abstractmethod
    def respond(self, token: bytes) -> bytes:
        """Return the response to a token of the client.

        Raises:
            AuthenticationRejected: the token is invalid or proves nothing.
        """
