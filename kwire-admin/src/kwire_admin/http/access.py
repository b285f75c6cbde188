"""Access control of the HTTP server: tokens, client certificates, and origins.

- A request carries a token in the header Authorization, never in its address. Each token has a name and a role.
- A client certificate is an alternative. Browsers present it on their own, so requests from other origins are refused.
- Without tokens, the server listens on loopback only, and every program of the machine may use it. Web pages cannot:
  a request must name a loopback address in the header Host (DNS rebinding), and must not come from another origin.
- A right token is always accepted: many clients share the address of a proxy. An address that sends too many wrong
  tokens is answered 429 instead of 401 (`GuessLimit`).
- Changes are JSON, which no form of another page can send.
- Texts of requests are logged in quotes, escaped, and cut, so that no request can forge a line of the audit log.
- Roles are decided by the authorizer of nodes: `read` is Kafka's operation Describe on the cluster, `change` is Alter.
"""

from __future__ import annotations

import json
import logging
import re
import tomllib
from dataclasses import dataclass
from enum import StrEnum
from hashlib import sha256
from hmac import compare_digest
from ipaddress import ip_address
from secrets import token_urlsafe
from typing import TYPE_CHECKING, Any

from starlette.datastructures import Headers

from kwire._util.guess_limit import GuessLimit
from kwire._util.text_files import read_text
from kwire.authorization.acl_authorizer import AclAuthorizer, Permission, ResourcePattern
from kwire.authorization.acl_entries import CLUSTER_NAME, AclEntry
from kwire.authorization.subjects import ANONYMOUS, Subject
from kwire.client.admin import AclOperation
from kwire.errors import KwireError
from kwire_admin.http.connections import CERTIFICATE, CONNECTION
from kwire_admin.http.observation import request_id
from kwire_admin.http.responses import RequestRefused, error_response, refuse
from kwire_admin.operations.parameters import Danger

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from pathlib import Path

    from starlette.requests import Request
    from starlette.responses import Response
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

__all__ = [
    "AccessControl",
    "HttpCredential",
    "HttpRole",
    "InvalidTokens",
    "guarded",
    "is_loopback",
    "new_token",
    "quoted",
    "read_tokens",
]

log = logging.getLogger("kwire_admin.http")

SHORTEST_TOKEN = 20
"""Minimum length of a token in characters. Tokens can be guessed as fast as the server answers."""
NEW_TOKEN_BYTES = 32
"""Random bytes of a generated token."""
LONGEST_LOGGED = 200
"""Maximum number of characters of a text that is logged from a request."""
LOCAL_NAMES = frozenset({"localhost", "ip6-localhost"})
CONTENT_SECURITY_POLICY = (
    b"default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'; "
    b"base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
SECURITY_HEADERS = (
    (b"content-security-policy", CONTENT_SECURITY_POLICY),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"cache-control", b"no-store"),
)


class InvalidTokens(KwireError, ValueError):
    """A file of tokens is invalid."""


class HttpRole(StrEnum):
    """Permissions of a token."""

    NONE = "none"
    READ = "read"
    CHANGE = "change"


OPERATIONS = {HttpRole.READ: AclOperation.DESCRIBE, HttpRole.CHANGE: AclOperation.ALTER}
"""The operation on the cluster that a role permits. Alter implies Describe."""


@dataclass(frozen=True, slots=True)
class HttpCredential:
    """A token or a client certificate, with its role.

    Attributes:
        name: the name of the token, or the subject of the certificate, such as `CN=alice,O=example`: the principal.
        role: its permissions.
        digest: the SHA-256 of the text of the token; None for a certificate.
    """

    name: str
    role: HttpRole
    digest: bytes | None = None


def read_tokens(path: Path) -> list[HttpCredential]:
    """Return the tokens and certificates of a TOML file.

    It has a table `[tokens.NAME]` for each token, with `role` and `token` or `sha256`, and a table
    `[certificates."CN=NAME"]` for each certificate, with `role`.

    Raises:
        InvalidTokens: the file cannot be read, or its content is invalid.
    """
    try:
        document = tomllib.loads(read_text(path))
    except (OSError, ValueError) as error:
        raise InvalidTokens(f"cannot read {path}: {error}") from None
    tokens, certificates = document.pop("tokens", {}), document.pop("certificates", {})
    if document or not isinstance(tokens, dict) or not isinstance(certificates, dict) or not (tokens or certificates):
        raise InvalidTokens(f"{path}: expected tables such as [tokens.alice] or [certificates.'CN=alice']")
    credentials = []
    for name, table in tokens.items():
        where = f"{path}: tokens.{name}"
        role = _read_role(where, table, {"role", "token", "sha256"}, "role, and token or sha256")
        credentials.append(HttpCredential(name, role, _read_digest(where, table)))
    for name, table in certificates.items():
        credentials.append(HttpCredential(name, _read_role(f"{path}: certificates.{name}", table, {"role"}, "role")))
    return credentials


def _read_role(where: str, table: Any, keys: set[str], expected: str) -> HttpRole:
    """Return the role of a table, which has no other keys than these."""
    if not isinstance(table, dict) or table.keys() - keys:
        raise InvalidTokens(f"{where}: expected {expected}")
    role = table.get("role")
    if role not in (HttpRole.READ, HttpRole.CHANGE):
        raise InvalidTokens(f"{where}.role: expected 'read' or 'change'")
    return HttpRole(role)


def _read_digest(where: str, table: Mapping[str, Any]) -> bytes:
    """Return the SHA-256 of a token, which its table has, or its text."""
    text, digest = table.get("token"), table.get("sha256")
    if (text is None) == (digest is None):
        raise InvalidTokens(f"{where}: expected either token or sha256")
    if digest is not None:
        if not isinstance(digest, str) or not re.fullmatch("[0-9A-Fa-f]{64}", digest):
            raise InvalidTokens(f"{where}.sha256: expected 64 hexadecimal digits")
        return bytes.fromhex(digest)
    if not isinstance(text, str) or len(text) < SHORTEST_TOKEN:
        raise InvalidTokens(f"{where}.token: expected at least {SHORTEST_TOKEN} characters")
    return sha256(text.encode()).digest()


def is_loopback(host: str) -> bool:
    """Return whether a host is a loopback address, or a name of one."""
    host = host.removeprefix("[").removesuffix("]")
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host.lower() in LOCAL_NAMES


def new_token(name: str, role: HttpRole) -> tuple[str, str]:
    """Return the text of a random token, which is stored nowhere, and its table for a file of tokens.

    The table contains only the SHA-256 of the text.
    """
    text = token_urlsafe(NEW_TOKEN_BYTES)
    # A quoted key of TOML has the escapes of JSON.
    key = name if re.fullmatch("[A-Za-z0-9_-]+", name) else json.dumps(name)
    return text, f'[tokens.{key}]\nrole = "{role}"\nsha256 = "{sha256(text.encode()).hexdigest()}"\n'


def quoted(text: str) -> str:
    """Return a text of a request for the log: in quotes, without control characters, and not too long."""
    return repr(text if len(text) <= LONGEST_LOGGED else text[: LONGEST_LOGGED - 1] + "…")


def _address(scope: Scope) -> str:
    """Return the address of the client."""
    return scope["client"][0] if scope.get("client") else "unknown"


def _check_host(headers: Headers) -> None:
    """Check that no attacker controls the name of the server in a request.

    Raises:
        RequestRefused: it is not a loopback address.
    """
    # DNS rebinding: a page of attacker.example resolves its own name to 127.0.0.1, and its requests are same-origin.
    host = headers.get("host", "")
    name = host.rpartition(":")[0] if host.rpartition(":")[2].isdigit() else host
    if not is_loopback(name):
        sentence = f"the header Host names {quoted(host)}: this server answers to loopback addresses only"
        raise RequestRefused(421, "MisdirectedRequest", sentence)


def _check_origin(headers: Headers) -> None:
    """Check that a request does not come from a web page of another origin.

    Raises:
        RequestRefused: it may.
    """
    # Browsers send Origin with every POST to another origin, and Sec-Fetch-Site also with a GET. Programs send neither.
    origin = headers.get("origin")
    if origin is not None and origin.partition("://")[2] != headers.get("host", ""):
        raise RequestRefused(403, "NotAuthorized", f"requests from the origin {quoted(origin)} are not allowed")
    if headers.get("sec-fetch-site", "none") not in ("none", "same-origin"):
        raise RequestRefused(403, "NotAuthorized", "requests from other sites are not allowed")


def _not_authenticated(sentence: str) -> RequestRefused:
    return RequestRefused(401, "NotAuthenticated", sentence, {"WWW-Authenticate": "Bearer"})


class AccessControl:
    """ASGI middleware that authenticates requests and protects the server from other web pages.

    Args:
        app: the application.
        tokens: the tokens and certificates; without any, the server must listen on loopback only.
        anonymous: role of requests without a token if there are no tokens.
        public: paths that need no token, since they contain nothing about a cluster.
    """

    def __init__(
        self,
        app: ASGIApp,
        tokens: Iterable[HttpCredential],
        anonymous: HttpRole = HttpRole.READ,
        public: Iterable[str] = (),
    ) -> None:
        self._app = app
        credentials = tuple(tokens)
        self._is_open = not credentials
        self._tokens = [(token.digest, token.name) for token in credentials if token.digest is not None]
        self._certificates = frozenset(credential.name for credential in credentials if credential.digest is None)
        self._public = frozenset(public)
        self._guesses = GuessLimit()
        self._authorizer = AclAuthorizer()
        # Roles are ACLs on the cluster for the authorizer of nodes, so HTTP has no second set of rules.
        roles = [(f"User:{of.name}", of.role) for of in credentials] or [(ANONYMOUS, anonymous)]
        entries = [
            AclEntry(principal, "Allow", OPERATIONS[role].value, "*") for principal, role in roles if role in OPERATIONS
        ]
        self._authorizer.replace({ResourcePattern("Cluster", CLUSTER_NAME): entries})

    def allows(self, principal: str, danger: Danger) -> bool:
        """Return whether a principal may run verbs of this danger."""
        operation = OPERATIONS[HttpRole.READ if danger is Danger.READS else HttpRole.CHANGE]
        return self._authorizer.allows(Subject(principal), Permission(operation, "Cluster"))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def send_secured(message: Message) -> None:
            if message["type"] == "http.response.start":
                present = {name.lower() for name, _ in message["headers"]}
                added = [header for header in SECURITY_HEADERS if header[0] not in present]
                message["headers"] = [*message["headers"], *added]
            await send(message)

        try:
            self._authenticate(scope, Headers(scope=scope))
        except RequestRefused as error:
            log.warning(
                "refused %s %s from %s, request %s: %s",
                quoted(scope["method"]),
                quoted(scope["path"]),
                _address(scope),
                request_id(scope),
                error,
            )
            await error_response(error)(scope, receive, send_secured)
            return
        state = scope.setdefault("state", {})
        state["access"] = self
        if "principal" in state and CONNECTION in state:
            state[CONNECTION].has_authenticated = True
        await self._app(scope, receive, send_secured)

    def _authenticate(self, scope: Scope, headers: Headers) -> None:
        """Set the principal, which a request for a public path need not have.

        Raises:
            RequestRefused: the request has none, or may come from another web page.
        """
        state = scope.setdefault("state", {})
        if self._is_open:
            # Only a browser that visits another site could misuse the server: its requests have that site as their
            # host or origin.
            _check_host(headers)
            _check_origin(headers)
            state["principal"] = ANONYMOUS
            return
        certificate = state.get(CERTIFICATE)
        if certificate in self._certificates and "authorization" not in headers:
            state["principal"] = f"User:{certificate}"
            _check_origin(headers)
            return
        scheme, _, text = headers.get("authorization", "").partition(" ")
        if scheme.lower() != "bearer" or not text:
            if scope["path"] in self._public:
                return
            if certificate is not None:
                raise _not_authenticated(f"the certificate {certificate} has no role, and the request has no token")
            raise _not_authenticated("a token is required in the header Authorization: Bearer TOKEN")
        # All tokens are compared, in constant time each, so the time of a response says nothing about them. A right
        # token passes before guesses are counted: clients behind a proxy share its address with whoever guesses.
        digest = sha256(text.strip().encode("latin-1")).digest()
        matches = [name for known, name in self._tokens if compare_digest(known, digest)]
        if matches:
            state["principal"] = f"User:{matches[0]}"
            return
        address = _address(scope)
        seconds = self._guesses.wait(address)
        if seconds:
            sentence = f"too many wrong tokens came from {address}: try again in {seconds} s"
            raise RequestRefused(429, "TooManyWrongTokens", sentence, {"Retry-After": str(seconds)})
        self._guesses.add(address)
        raise _not_authenticated("the token is unknown")


def guarded(danger: Danger, endpoint: Callable[[Request], Any]) -> Callable[[Request], Any]:
    """Return an endpoint that checks the role of a request first."""

    async def guarded(request: Request) -> Response:
        control: AccessControl = request.state.access
        if not control.allows(request.state.principal, danger):
            role = HttpRole.READ if danger is Danger.READS else HttpRole.CHANGE
            return refuse(403, "NotAuthorized", f"the role {role} is required")
        response: Response = await endpoint(request)
        return response

    return guarded
