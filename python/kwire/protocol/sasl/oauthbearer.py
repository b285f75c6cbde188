"""OAUTHBEARER (RFC 7628, KIP-255): a bearer token. Use it over TLS only."""

from __future__ import annotations

import re
from collections.abc import Mapping

from kwire._util.json_document import MalformedJson, parse_json_document
from kwire._util.light_typing import TYPE_CHECKING
from kwire.protocol.sasl.mechanism import SaslError, SaslMechanism

if TYPE_CHECKING:
    from kwire._util.secret import Secret

SEPARATOR = "\x01"
_TOKEN = re.compile(r"[A-Za-z0-9\-._~+/]+=*")
_EXTENSION_NAME = re.compile(r"[A-Za-z]+")
_EXTENSION_VALUE = re.compile(r"[\x21-\x7e \t\r\n]+")


class OAuthBearerMechanism(SaslMechanism):
    """Authenticate with a token.

    Args:
        token: the bearer token, usually a JWT.
        extensions: names and values that go with it (KIP-342), such as `logicalCluster` for Confluent Cloud.

    Raises:
        SaslError: the token or an extension has characters that RFC 7628 does not allow.
    """

    __slots__ = ("_extensions", "_token")

    def __init__(self, token: Secret, extensions: Mapping[str, str] | None = None) -> None:
        super().__init__("OAUTHBEARER", None)
        if not _TOKEN.fullmatch(token.reveal()):
            raise SaslError(
                "the token is not a bearer token: it is empty or has characters that RFC 6750 does not allow"
            )
        for name, value in (extensions or {}).items():
            if not _EXTENSION_NAME.fullmatch(name) or name == "auth" or not _EXTENSION_VALUE.fullmatch(value):
                raise SaslError(f"invalid SASL extension {name!r}: expected letters, and a printable value")
        self._token = token
        self._extensions = dict(extensions or {})

    def respond(self, challenge: bytes) -> bytes:
        if self.is_complete:
            # The broker has rejected the token and waits for a dummy response, but the reason is known already.
            raise SaslError(_failure(challenge))
        self.is_complete = True
        pairs = [
            f"auth=Bearer {self._token.reveal()}",
            *(f"{name}={value}" for name, value in self._extensions.items()),
        ]
        return f"n,,{SEPARATOR}{SEPARATOR.join(pairs)}{SEPARATOR}{SEPARATOR}".encode()


def _failure(challenge: bytes) -> str:
    """Return the reason in the JSON object by which a broker rejects a token."""
    try:
        document = parse_json_document(challenge)
    except MalformedJson:
        document = None
    if not isinstance(document, Mapping):
        return "the broker rejected the token without a valid reason"
    status, scope = document.get("status"), document.get("scope")
    required = f"; it requires the scope {scope!r}" if scope else ""
    return f"the broker rejected the token: {status}{required}"
