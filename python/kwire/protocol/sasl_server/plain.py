"""PLAIN (RFC 4616) from the view of the server: user name and password in clear text. Use it over TLS only."""

from __future__ import annotations

import hmac

from kwire._util.light_typing import TYPE_CHECKING
from kwire.protocol.sasl_server.mechanism import INVALID_CREDENTIALS, AuthenticationRejected, ServerMechanism

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kwire._util.secret import Secret

__all__ = ["PlainServer"]


class PlainServer(ServerMechanism):
    """Compares the received password with the user's.

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
