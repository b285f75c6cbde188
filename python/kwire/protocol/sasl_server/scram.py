"""SCRAM-SHA-256 and SCRAM-SHA-512 (RFC 5802, RFC 7677) from the view of the server.

The server knows neither the password nor the salted password, only the keys derived from it. As in Kafka, names are
UTF-8 without SASLprep, without channel binding. An unknown user gets a salt and a number of iterations too and fails at
the end, like a wrong password, so that an exchange does not reveal which users exist. All servers of a cluster must
give an unknown user the same ones, and so must a server that was restarted: see `decoy`.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import re
import secrets
from dataclasses import dataclass, field
from functools import partial

from kwire._util.light_typing import TYPE_CHECKING, Self
from kwire.protocol.sasl_server.mechanism import INVALID_CREDENTIALS, AuthenticationRejected, ServerMechanism
from kwire.protocol.scram_passwords import HASHES, MIN_ITERATIONS, salted_password

if TYPE_CHECKING:
    from collections.abc import Callable

    from kwire._util.secret import Secret
    from kwire.protocol.scram_passwords import ScramName

_FIRST = re.compile(
    r"n,(?:a=(?P<authorization_id>[^,]*))?,(?P<bare>n=(?P<user>[^,]+),r=(?P<nonce>[^,]+)(?P<more>,.*)?)"
)
_FINAL = re.compile(r"(?P<without_proof>c=(?P<binding>[^,]*),r=(?P<nonce>[^,]+)(?:,[^,]*)*),p=(?P<proof>[^,]+)")
_SECRET = secrets.token_bytes(32)
"""The secret of `decoy` for a server on its own."""
_BASE36 = b"0123456789abcdefghijklmnopqrstuvwxyz"
"""The characters of salts that Kafka's tools make (`ScramFormatter.secureRandomString`)."""
OWN_SALT_BYTES = 24
"""Bytes of the salts that kwire makes."""


@dataclass(frozen=True, slots=True)
class ScramCredential:
    """The stored credential of a user (RFC 5802), without the password.

    Attributes:
        salt: the salt of the password.
        stored_key: the hash of the client key.
        server_key: the key for signatures of the server.
        iterations: of the salted password.
    """

    salt: bytes
    stored_key: bytes = field(repr=False)
    server_key: bytes = field(repr=False)
    iterations: int

    @property
    def form(self) -> tuple[int, int, bool]:
        """The parts of a credential that clients see, apart from random bytes: iterations, and form of the salt."""
        return self.iterations, len(self.salt), not self.salt.strip(_BASE36)

    @classmethod
    def of_password(cls, name: str, password: Secret, salt: bytes, iterations: int = MIN_ITERATIONS) -> Self:
        """Return the credential of a password.

        Args:
            name: `SCRAM-SHA-256` or `SCRAM-SHA-512`.
        """
        salted = salted_password(name, password, salt, iterations)
        client_key = hmac.digest(salted, b"Client Key", HASHES[name])
        stored_key = hashlib.new(HASHES[name], client_key).digest()
        return cls(salt, stored_key, hmac.digest(salted, b"Server Key", HASHES[name]), iterations)

    @classmethod
    def parse(cls, text: str) -> Self:
        """Parse Kafka's form, `salt=...,stored_key=...,server_key=...,iterations=4096`.

        Raises:
            ValueError: the text has another form. The error does not contain it.
        """
        values = dict(part.partition("=")[::2] for part in text.split(","))
        try:
            keys = [base64.b64decode(values[name], validate=True) for name in ("salt", "stored_key", "server_key")]
            iterations = int(values["iterations"])
        except (KeyError, ValueError):
            keys, iterations = [], 0
        if not all(keys) or len(values) != 4 or iterations < MIN_ITERATIONS:
            raise ValueError(
                f"expected salt, stored_key, and server_key in base64, and at least {MIN_ITERATIONS} iterations"
            )
        return cls(keys[0], keys[1], keys[2], iterations)

    def __str__(self) -> str:
        """Return Kafka's form, which is as secret as the password."""
        salt, stored, server = (
            base64.b64encode(value).decode() for value in (self.salt, self.stored_key, self.server_key)
        )
        return f"salt={salt},stored_key={stored},server_key={server},iterations={self.iterations}"


def decoy(name: ScramName, user: str, secret: bytes, likeness: ScramCredential | None = None) -> ScramCredential:
    """Return what an unknown user is shown: a salt that depends on the user only, and a number of iterations.

    Args:
        name: `SCRAM-SHA-256` or `SCRAM-SHA-512`.
        user: the unknown user.
        secret: 32 random bytes, the same on all servers.
        likeness: a credential as most users have it. The decoy has its iterations, and a salt of its form.
    """
    iterations, length, is_base36 = (MIN_ITERATIONS, OWN_SALT_BYTES, False) if likeness is None else likeness.form
    salt = hashlib.shake_256(secret + f"{name}:{user}".encode()).digest(length)
    if is_base36:
        salt = bytes(_BASE36[byte % len(_BASE36)] for byte in salt)
    return ScramCredential(salt, b"", b"", iterations)


class ScramServer(ServerMechanism):
    """Verify the proof of a password, and prove to know its keys.

    Args:
        name: `SCRAM-SHA-256` or `SCRAM-SHA-512`.
        find: returns the credential of a user; None for an unknown user.
        show: returns what an unknown user is shown; see `decoy`.
        nonce: printable ASCII without commas, for test vectors; random by default.
    """

    __slots__ = ("_credential", "_find", "_first", "_hash", "_nonce", "_own_nonce", "_show")

    def __init__(
        self,
        name: ScramName,
        find: Callable[[str], ScramCredential | None],
        show: Callable[[str], ScramCredential] | None = None,
        *,
        nonce: str | None = None,
    ) -> None:
        super().__init__(name)
        self._show = show or partial(decoy, name, secret=_SECRET)
        self._hash = HASHES[name]
        self._find = find
        self._own_nonce = secrets.token_urlsafe(24) if nonce is None else nonce
        self._nonce = ""
        self._first = b""
        """client-first-message-bare and server-first-message, joined by a comma; empty before them."""
        self._credential: ScramCredential | None = None
        """The credential; None for an unknown user."""

    def respond(self, token: bytes) -> bytes:
        return self._challenge(token) if not self._first else self._verify(token)

    def _challenge(self, token: bytes) -> bytes:
        """Return server-first-message for client-first-message."""
        match = _FIRST.fullmatch(_text(token))
        if match is None:
            raise AuthenticationRejected("Invalid SCRAM client first message")
        user = match["user"].replace("=2C", ",").replace("=3D", "=")
        if match["authorization_id"] not in (None, "", match["user"]):
            raise AuthenticationRejected(
                "Authentication failed: Client requested an authorization id that is different from username"
            )
        if match["more"] is not None:
            raise AuthenticationRejected("Authentication failed: delegation tokens are not supported")
        self.claimed = user
        self._credential = self._find(user)
        shown = self._credential or self._show(user)
        self._nonce = match["nonce"] + self._own_nonce
        challenge = f"r={self._nonce},s={base64.b64encode(shown.salt).decode()},i={shown.iterations}".encode()
        self._first = match["bare"].encode() + b"," + challenge
        return challenge

    def _verify(self, token: bytes) -> bytes:
        """Return server-final-message for client-final-message."""
        match = _FINAL.fullmatch(_text(token))
        if match is None or self.user is not None:
            raise AuthenticationRejected("Invalid SCRAM client final message")
        if match["binding"] not in ("biws", base64.b64encode(f"n,a={self._escaped()},".encode()).decode()):
            raise AuthenticationRejected("Invalid SCRAM channel binding: it is not supported")
        credential = self._credential
        if credential is None or not hmac.compare_digest(match["nonce"].encode(), self._nonce.encode()):
            raise AuthenticationRejected(INVALID_CREDENTIALS)
        message = self._first + b"," + match["without_proof"].encode()
        signature = hmac.digest(credential.stored_key, message, self._hash)
        proof = _decoded(match["proof"])
        client_key = bytes(one ^ other for one, other in zip(proof, signature, strict=False))
        hashed = hashlib.new(self._hash, client_key).digest()
        if len(proof) != len(signature) or not hmac.compare_digest(hashed, credential.stored_key):
            raise AuthenticationRejected(INVALID_CREDENTIALS)
        self.user = self.claimed
        return b"v=" + base64.b64encode(hmac.digest(credential.server_key, message, self._hash))

    def _escaped(self) -> str:
        return (self.claimed or "").replace("=", "=3D").replace(",", "=2C")


def _text(token: bytes) -> str:
    try:
        return token.decode()
    except UnicodeDecodeError:
        raise AuthenticationRejected("Invalid SCRAM message: it is not UTF-8") from None


def _decoded(text: str) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        return b""
