"""The interface of SASL mechanisms (RFC 4422), from the view of the client."""

from __future__ import annotations

from abc import ABC, abstractmethod

from kwire.errors import KwireError

__all__ = ["SaslError", "SaslMechanism"]


class SaslError(KwireError):
    """A challenge is invalid or must not be accepted, or a credential cannot be sent.

    Attributes:
        reason: the text, without secrets.
    """

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class SaslMechanism(ABC):
    """One authentication of a client. An object can be used once.

    Attributes:
        name: the registered name, such as `SCRAM-SHA-512`.
        user: whom the exchange authenticates, for error messages; None if the mechanism does not know it.
    """

    __slots__ = ("name", "user")

    def __init__(self, name: str, user: str | None) -> None:
        self.name = name
        self.user = user

    @property
    @abstractmethod
    def is_complete(self) -> bool:
        """True once the mechanism has sent and verified everything."""

    @abstractmethod
    def respond(self, challenge: bytes) -> bytes | None:
        """Return the response to a challenge of the broker, which is empty for the first response.

        Returns:
            The response; None if the challenge was the last message of the exchange.

        Raises:
            SaslError: the challenge is invalid, or the broker cannot prove that it knows the credential.
        """
