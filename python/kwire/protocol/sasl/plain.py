"""PLAIN (RFC 4616): user name and password in clear text. Use it over TLS only."""

from __future__ import annotations

from kwire._util.light_typing import TYPE_CHECKING
from kwire.protocol.sasl.mechanism import SaslError, SaslMechanism

if TYPE_CHECKING:
    from kwire._util.secret import Secret

__all__ = ["PlainMechanism"]


class PlainMechanism(SaslMechanism):
    """Authenticate with a user name and a password.

    Raises:
        SaslError: the user name or the password contains a null character, which separates the two.
    """

    __slots__ = ("_password", "_sent", "_user")

    def __init__(self, user: str, password: Secret) -> None:
        super().__init__("PLAIN", user)
        if "\0" in user or "\0" in password.reveal():
            raise SaslError("user name and password of PLAIN cannot contain a null character")
        self._user = user
        self._password = password
        self._sent = False

    @property
    def is_complete(self) -> bool:
        return self._sent

    def respond(self, challenge: bytes) -> bytes | None:
        if self._sent:
            return None  # some servers add bytes to the success, and Java ignores them
        if challenge:
            raise SaslError("unexpected challenge: PLAIN has none")
        self._sent = True
        return f"\0{self._user}\0{self._password.reveal()}".encode()
