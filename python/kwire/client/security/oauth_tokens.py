"""Sources of bearer tokens: OAuth client credentials over HTTPS, a file, and unsecured tokens for development.

A source is a coroutine function that returns an `OAuthToken`; your own function is as good:

    async def token() -> OAuthToken:
        return OAuthToken(Secret(await sign(...)))

    OAuthBearerCredentials(token)
"""

from __future__ import annotations

import asyncio
import base64
import json
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import quote, urlencode, urlsplit

from kwire._util.json_document import MalformedJson, parse_json_document
from kwire._util.light_typing import TYPE_CHECKING, TypeAlias
from kwire._util.secret import HIDDEN, Secret
from kwire._util.text_files import EncodingError, read_text
from kwire.client.security.errors import SecurityConfigError
from kwire.protocol.sasl.mechanism import SaslError

if TYPE_CHECKING:
    from http.client import HTTPConnection

    from kwire.client.security.tls import TlsConfig

MAX_RESPONSE = 1 << 20
"""Bytes of a token endpoint's response that are read."""
RENEW_BEFORE = 0.8
"""The fraction of a token's lifetime after which the next authentication requests a new one, as in Kafka's clients."""
LOOPBACK = ("localhost", "127.0.0.1", "::1")


@dataclass(frozen=True, slots=True)
class OAuthToken:
    """A bearer token.

    Attributes:
        value: the token, usually a JWT.
        expires_in: seconds until it expires; None if unknown. It is not reused then.
    """

    value: Secret
    expires_in: float | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.value, Secret):
            raise TypeError(f"a token must be a Secret, not {type(self.value).__name__}: write Secret(...)")


TokenSource: TypeAlias = Callable[[], Awaitable[OAuthToken]]


@dataclass(slots=True, kw_only=True)
class ClientCredentials:
    """Requests tokens by the client credentials grant (RFC 6749, 4.4), and reuses a token while it is valid.

    Attributes:
        url: the token endpoint (`sasl.oauthbearer.token.endpoint.url`); `http` is accepted for this machine only.
        client_id: the id of the client.
        client_secret: its secret.
        scope: the scope to request; None for the default of the server.
        tls: the verification of the server; None for the certificates of the operating system.
        timeout: seconds to wait for the server.
        urlencode: True if id and secret are URL-encoded before they are sent, as RFC 6749 demands and many servers do
            not expect (`sasl.oauthbearer.header.urlencode`).

    Raises:
        SecurityConfigError: the URL is invalid or not encrypted.
    """

    url: str
    client_id: str
    client_secret: Secret
    scope: str | None = None
    tls: TlsConfig | None = None
    timeout: float = 10.0
    urlencode: bool = False
    _token: OAuthToken | None = field(default=None, init=False, repr=False, compare=False)
    _renew_at: float = field(default=0.0, init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        key = "sasl.oauthbearer.token.endpoint.url"
        try:
            parts = urlsplit(self.url)
            valid = bool(parts.hostname) and parts.port != 0 and parts.username is None
            valid = valid and self.url.isascii() and self.url.isprintable() and " " not in self.url
        except ValueError:
            raise SecurityConfigError(key, "expected a URL such as https://login.example.com/oauth2/token") from None
        if parts.scheme not in ("https", "http") or not valid:
            raise SecurityConfigError(key, "expected a URL such as https://login.example.com/oauth2/token")
        if parts.scheme == "http" and parts.hostname not in LOOPBACK:
            raise SecurityConfigError(key, "http would send the client secret in clear text: use https")

    async def __call__(self) -> OAuthToken:
        """Return a valid token.

        Raises:
            SaslError: the server cannot be reached, or refuses.
        """
        now = time.monotonic()
        if self._token is not None and now < self._renew_at:
            return self._token
        token = await asyncio.to_thread(self._request)
        self._token = token
        self._renew_at = now if token.expires_in is None else now + token.expires_in * RENEW_BEFORE
        return token

    def _request(self) -> OAuthToken:
        from http.client import HTTPException

        host = urlsplit(self.url).hostname or ""
        connection = self._connection()
        try:
            connection.request("POST", self._target(), self._body(), self._headers())
            with connection.getresponse() as response:
                status, content = response.status, response.read(MAX_RESPONSE)
        except UnicodeError as error:  # of the codec for names, such as a label that is too long
            raise SaslError(f"cannot get a token from {self.url}: {error}") from None
        except OSError as error:
            raise SaslError(f"cannot get a token from {self.url}: {_describe(error, host)}") from None
        except HTTPException as error:
            raise SaslError(f"cannot get a token from {self.url}: {type(error).__name__} in its response") from None
        finally:
            connection.close()
        return self._parse(status, content)

    def _connection(self) -> HTTPConnection:
        from http.client import HTTPConnection, HTTPSConnection

        from kwire.client.security.tls import TlsConfig

        parts = urlsplit(self.url)
        assert parts.hostname is not None, "checked by __post_init__"
        if parts.scheme == "http":
            return HTTPConnection(parts.hostname, parts.port, timeout=self.timeout)
        context = (self.tls or TlsConfig()).context
        return HTTPSConnection(parts.hostname, parts.port, timeout=self.timeout, context=context)

    def _target(self) -> str:
        parts = urlsplit(self.url)
        return (parts.path or "/") + (f"?{parts.query}" if parts.query else "")

    def _body(self) -> str:
        scope = {} if self.scope is None else {"scope": self.scope}
        return urlencode({"grant_type": "client_credentials"} | scope)

    def _headers(self) -> dict[str, str]:
        pair = [self.client_id, self.client_secret.reveal()]
        if self.urlencode:
            pair = [quote(part, safe="") for part in pair]
        return {
            "Authorization": f"Basic {base64.b64encode(':'.join(pair).encode()).decode()}",
            "Content-Type": "application/x-www-form-urlencoded",
            "Accept": "application/json",
        }

    def _parse(self, status: int, content: bytes) -> OAuthToken:
        """Parse the response (RFC 6749, 5.1 and 5.2). Only the error of a refusal is shown."""
        try:
            document = parse_json_document(content)
        except MalformedJson:
            document = None
        fields = document if isinstance(document, dict) else {}
        token, expires_in = fields.get("access_token"), fields.get("expires_in")
        if status == 200 and isinstance(token, str) and token:
            try:
                seconds = None if expires_in is None else float(expires_in)
            except (TypeError, ValueError):
                seconds = None
            return OAuthToken(Secret(token), seconds)
        reasons = [str(fields[name])[:200] for name in ("error", "error_description") if fields.get(name)]
        if status == 200:
            reasons = ["the response has no access_token"]
        reason = ": ".join(reasons).replace(self.client_secret.reveal(), HIDDEN)  # servers may repeat what they refuse
        raise SaslError(f"{self.url} gave no token (HTTP status {status}): {reason or 'no reason given'}")


def _describe(error: OSError, host: str) -> str:
    import ssl

    from kwire.client.security.tls import explain_tls_error

    if isinstance(error, ssl.SSLError):
        return explain_tls_error(error, host, has_certificate=False).replace("the broker", "the server")
    return str(error) or type(error).__name__


@dataclass(frozen=True, slots=True)
class TokenFile:
    """Reads the token from a file for each authentication, as Kubernetes and other agents renew it."""

    path: str

    async def __call__(self) -> OAuthToken:
        """Return the content of the file.

        Raises:
            SaslError: the file cannot be read.
        """
        try:
            return OAuthToken(Secret((await asyncio.to_thread(self._read)).strip()))
        except OSError as error:
            raise SaslError(f"cannot read the token file {self.path}: {error.strerror}") from None
        except EncodingError as error:
            raise SaslError(f"cannot read the token file {self.path}: {error}") from None

    def _read(self) -> str:
        return read_text(Path(self.path))


@dataclass(frozen=True, slots=True, kw_only=True)
class UnsecuredToken:
    """Makes tokens without a signature (RFC 7515, appendix A.5), for brokers in development.

    Attributes:
        claims: claims of the token; `sub` is the user. `iat` and `exp` are added.
        lifetime: seconds until the token expires.
    """

    claims: tuple[tuple[str, object], ...]
    lifetime: float = 3600.0

    async def __call__(self) -> OAuthToken:
        """Return a new token."""
        # Whole seconds: Kafka rounds to milliseconds, and rejects a token that is issued after it arrives.
        now = int(time.time())
        parts = ({"alg": "none"}, {"iat": now, "exp": now + self.lifetime} | dict(self.claims))
        encoded = [base64.urlsafe_b64encode(json.dumps(part).encode()).rstrip(b"=").decode() for part in parts]
        return OAuthToken(Secret(f"{'.'.join(encoded)}."), self.lifetime)
