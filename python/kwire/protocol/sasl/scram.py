"""SCRAM-SHA-256 and SCRAM-SHA-512 (RFC 5802, RFC 7677): a proof of the password, and of the broker's knowledge of it.

As in Kafka, names and passwords are UTF-8 without SASLprep, without channel binding. The extension `tokenauth`
of the first message authenticates with a delegation token (KIP-48).
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import re
import secrets

from kwire._util.light_typing import TYPE_CHECKING, Literal
from kwire.protocol.sasl.mechanism import SaslError, SaslMechanism
from kwire.protocol.scram_passwords import HASHES, MAX_ITERATIONS, MIN_ITERATIONS, ScramName, salted_password

if TYPE_CHECKING:
    from kwire._util.secret import Secret

GS2_HEADER = b"n,,"
"""No channel binding, no authorization id."""


class ScramMechanism(SaslMechanism):
    """Authenticate with a user name and a password, and verify the signature of the broker.

    Args:
        name: `SCRAM-SHA-256` or `SCRAM-SHA-512`.
        user: the user name, or the id of a delegation token.
        password: the password, or the HMAC of a delegation token.
        token: true if user and password belong to a delegation token.
        nonce: printable ASCII without commas, for test vectors; random by default.
    """

    __slots__ = ("_auth_message", "_first_bare", "_hash", "_nonce", "_password", "_server_key", "_step")

    def __init__(
        self, name: ScramName, user: str, password: Secret, *, token: bool = False, nonce: str | None = None
    ) -> None:
        super().__init__(name, user)
        self._hash = HASHES[name]
        self._password = password
        self._nonce = secrets.token_urlsafe(24) if nonce is None else nonce
        escaped = user.replace("=", "=3D").replace(",", "=2C")
        extension = ",tokenauth=true" if token else ""
        self._first_bare = f"n={escaped},r={self._nonce}{extension}".encode()
        self._auth_message = self._server_key = b""
        self._step: Literal["first", "proof", "verify", "complete"] = "first"

    def respond(self, challenge: bytes) -> bytes | None:
        match self._step:
            case "first":
                self._step = "proof"
                return GS2_HEADER + self._first_bare
            case "proof":
                response = self._prove(challenge)
                self._step = "verify"
                return response
            case "verify":
                self._verify(challenge)
                self._step, self.is_complete = "complete", True
                return None
            case "complete":
                raise SaslError(f"unexpected challenge after the end of {self.name}")

    def _prove(self, challenge: bytes) -> bytes:
        """Return client-final-message for server-first-message."""
        attributes = _attributes(challenge, self.name)
        if "m" in attributes:
            raise SaslError(f"the broker requires an unknown extension of {self.name}")
        nonce, salt = attributes.get("r", ""), _decode(attributes.get("s", ""), self.name)
        if not nonce.startswith(self._nonce) or nonce == self._nonce:
            raise SaslError(f"the broker's nonce of {self.name} does not continue the client's")
        if not salt:
            raise SaslError(f"the broker sent no salt for {self.name}")
        digits = attributes.get("i", "")
        if not re.fullmatch(r"[1-9][0-9]{0,9}", digits):
            raise SaslError(f"the broker sent no valid number of iterations for {self.name}")
        iterations = int(digits)
        if not MIN_ITERATIONS <= iterations <= MAX_ITERATIONS:
            raise SaslError(
                f"the broker requires {iterations} iterations of {self.name}: between {MIN_ITERATIONS} and"
                f" {MAX_ITERATIONS} are accepted"
            )
        without_proof = b"c=" + base64.b64encode(GS2_HEADER) + b",r=" + nonce.encode()
        self._auth_message = b",".join((self._first_bare, challenge, without_proof))
        salted = salted_password(self.name, self._password, salt, iterations)
        self._server_key = hmac.digest(salted, b"Server Key", self._hash)
        client_key = hmac.digest(salted, b"Client Key", self._hash)
        stored_key = hashlib.new(self._hash, client_key).digest()
        signature = hmac.digest(stored_key, self._auth_message, self._hash)
        proof = bytes(key ^ byte for key, byte in zip(client_key, signature, strict=True))
        return without_proof + b",p=" + base64.b64encode(proof)

    def _verify(self, challenge: bytes) -> None:
        """Check the signature of the broker in server-final-message."""
        attributes = _attributes(challenge, self.name)
        if "e" in attributes:
            raise SaslError(f"the broker rejected the proof of {self.name}: {attributes['e']}")
        expected = hmac.digest(self._server_key, self._auth_message, self._hash)
        if not hmac.compare_digest(_decode(attributes.get("v", ""), self.name), expected):
            raise SaslError(
                f"the broker's signature of {self.name} is wrong: it does not know the password, and may be an impostor"
            )


def _attributes(challenge: bytes, name: str) -> dict[str, str]:
    """Parse `a=value,b=value`. The first value of an attribute counts."""
    attributes: dict[str, str] = {}
    try:
        text = challenge.decode()
    except UnicodeDecodeError:
        raise SaslError(f"the broker's message of {name} is not UTF-8") from None
    for part in text.split(","):
        key, equals, value = part.partition("=")
        if not equals or len(key) != 1:
            raise SaslError(f"the broker's message of {name} is malformed")
        attributes.setdefault(key, value)
    return attributes


def _decode(text: str, name: str) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        raise SaslError(f"the broker's message of {name} has invalid base64") from None
