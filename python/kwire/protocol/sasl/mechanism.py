"""The interface of SASL mechanisms (RFC 4422) from the view of the client, and PLAIN (RFC 4616)."""

from __future__ import annotations

from abc import ABC, abstractmethod

from kwire._util.light_typing import TYPE_CHECKING
from kwire.errors import KwireError

if TYPE_CHECKING:
    from kwire._util.secret import Secret


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
        is_complete: True once the mechanism has sent and verified everything.
    """

    __slots__ = ("is_complete", "name", "user")

    def __init__(self, name: str, user: str | None) -> None:
        self.name = name
        self.user = user
        self.is_complete = False

    @abstractmethod
    def respond(self, challenge: bytes) -> bytes | None:
        """Return the response to a challenge of the broker, which is empty for the first response.

        Returns:
            The response; None if the challenge was the last message of the exchange.

        Raises:
            SaslError: the challenge is invalid, or the broker cannot prove that it knows the credential.
        """


class PlainMechanism(SaslMechanism):
    """Authenticate with a user name and a password.

    Raises:
        SaslError: the user name or the password contains a null character, which separates the two.
    """

    __slots__ = ("_password", "_user")

    def __init__(self, user: str, password: Secret) -> None:
        super().__init__("PLAIN", user)
        if "\0" in user or "\0" in password.reveal():
            raise SaslError("user name and password of PLAIN cannot contain a null character")
        self._user = user
        self._password = password

    def respond(self, challenge: bytes) -> bytes | None:
        if self.is_complete:
            return None  # some servers add bytes to the success, and Java ignores them
        if challenge:
            raise SaslError("unexpected challenge: PLAIN has none")
        self.is_complete = True
        return f"\0{self._user}\0{self._password.reveal()}".encode()
