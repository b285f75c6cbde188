"""The interface of SASL mechanisms (RFC 4422) from the view of the server, and PLAIN (RFC 4616)."""

from __future__ import annotations

import hmac
from abc import ABC, abstractmethod

from kwire._util.light_typing import TYPE_CHECKING
from kwire.errors import KwireError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kwire._util.secret import Secret

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


class PlainServer(ServerMechanism):
    """Compares the received password with the user's. PLAIN sends it in clear text: use it over TLS only.

    Args:
        passwords: the password of each user.
    """

    __slots__ = ("_passwords",)

    def __init__(self, passwords: Mapping[str, Secret]) -> None:
        super().__init__("PLAIN")
        self._passwords = passwords

    def respond(self, token: bytes) -> bytes:
        try:
            authorization_id, user, password = token.decode().split("\0")
        except ValueError:
            raise AuthenticationRejected(
                "Invalid SASL/PLAIN response: expected an authorization id, a user name, and a password"
            ) from None
        self.claimed = user
        problem = self._problem(authorization_id, user, password)
        if problem:
            raise AuthenticationRejected(problem)
        self.user = user
        return b""

    def _problem(self, authorization_id: str, user: str, password: str) -> str:
        expected = self._passwords.get(user)
        secret = "" if expected is None else expected.reveal()
        is_equal = hmac.compare_digest(password.encode(), secret.encode())
        if not user or not password or expected is None or not is_equal:
            return INVALID_CREDENTIALS
        if authorization_id not in ("", user):
            return "Authentication failed: Client requested an authorization id that is different from username"
        return ""
