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
from typing import TYPE_CHECKING, Any, NamedTuple

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
from kwire_admin.http.responses import refuse
from kwire_admin.operations.parameters import Danger

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from pathlib import Path

    from starlette.requests import Request
    from starlette.responses import Response
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

__all__ = [
    "AccessControl",
    "CertificateRole",
    "HttpRole",
    "InvalidTokens",
    "NewToken",
    "Token",
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


REFUSALS = {
    401: "NotAuthenticated",
    403: "NotAuthorized",
    421: "MisdirectedRequest",
    429: "TooManyWrongTokens",
}
"""Names of errors by status."""
OPERATIONS = {HttpRole.READ: AclOperation.DESCRIBE, HttpRole.CHANGE: AclOperation.ALTER}
"""The operation on the cluster that a role permits. Alter implies Describe."""


@dataclass(frozen=True, slots=True)
class Token:
    """A token of a file.

    Attributes:
        name: the principal that the token stands for.
        role: the permissions of the token.
        digest: the SHA-256 of its text.
    """

    name: str
    role: HttpRole
    digest: bytes


@dataclass(frozen=True, slots=True)
class CertificateRole:
    """A client certificate of the file of tokens, with its role.

    Attributes:
        name: the subject of the certificate, such as `CN=alice,O=example`, which is the principal.
        role: the permissions of the certificate.
    """

    name: str
    role: HttpRole


def read_tokens(path: Path) -> list[Token | CertificateRole]:
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
    return [
        *(_read_token(f"{path}: tokens.{name}", name, table) for name, table in tokens.items()),
        *(_read_certificate(f"{path}: certificates.{name}", name, table) for name, table in certificates.items()),
    ]


def _read_certificate(where: str, name: str, table: Any) -> CertificateRole:
    if not isinstance(table, dict) or set(table) != {"role"}:
        raise InvalidTokens(f"{where}: expected role")
    return CertificateRole(name, _read_role(where, table))


def _read_role(where: str, table: Mapping[str, Any]) -> HttpRole:
    role = table.get("role")
    if role not in (HttpRole.READ, HttpRole.CHANGE):
        raise InvalidTokens(f"{where}.role: expected 'read' or 'change'")
    return HttpRole(role)


def _read_token(where: str, name: str, table: Any) -> Token:
    if not isinstance(table, dict) or set(table) - {"role", "token", "sha256"}:
        raise InvalidTokens(f"{where}: expected role, and token or sha256")
    role = _read_role(where, table)
    text, digest = table.get("token"), table.get("sha256")
    if (text is None) == (digest is None):
        raise InvalidTokens(f"{where}: expected either token or sha256")
    if digest is not None:
        if not isinstance(digest, str) or len(digest) != 64:
            raise InvalidTokens(f"{where}.sha256: expected 64 hexadecimal digits")
        try:
            return Token(name, role, bytes.fromhex(digest))
        except ValueError:
            raise InvalidTokens(f"{where}.sha256: expected 64 hexadecimal digits") from None
    if not isinstance(text, str) or len(text) < SHORTEST_TOKEN:
        raise InvalidTokens(f"{where}.token: expected at least {SHORTEST_TOKEN} characters")
    return Token(name, role, sha256(text.encode()).digest())


def is_loopback(host: str) -> bool:
    """Return whether a host is a loopback address, or a name of one."""
    host = host.removeprefix("[").removesuffix("]")
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host.lower() in LOCAL_NAMES


class NewToken(NamedTuple):
    """A generated token.

    Attributes:
        text: the token, which is stored nowhere.
        table: its table for a file of tokens, which contains the SHA-256 of the text only.
    """

    text: str
    table: str


def new_token(name: str, role: HttpRole) -> NewToken:
    """Return a random token."""
    text = token_urlsafe(NEW_TOKEN_BYTES)
    # A quoted key of TOML has the escapes of JSON.
    key = name if re.fullmatch("[A-Za-z0-9_-]+", name) else json.dumps(name)
    digest = sha256(text.encode()).hexdigest()
    return NewToken(text, f'[tokens.{key}]\nrole = "{role}"\nsha256 = "{digest}"\n')


def quoted(text: str) -> str:
    """Return a text of a request for the log: in quotes, without control characters, and not too long."""
    return repr(text if len(text) <= LONGEST_LOGGED else text[: LONGEST_LOGGED - 1] + "…")


def _address(scope: Scope) -> str:
    """Return the address of the client."""
    return scope["client"][0] if scope.get("client") else "unknown"


def _check_host(headers: Headers) -> tuple[int, str] | None:
    """Return status and reason if an attacker may control the name of the server in a request, or None."""
    # DNS rebinding: a page of attacker.example resolves its own name to 127.0.0.1, and its requests are same-origin.
    host = headers.get("host", "")
    name = host.rpartition(":")[0] if host.rpartition(":")[2].isdigit() else host
    if not is_loopback(name):
        return 421, f"the header Host names {quoted(host)}: this server answers to loopback addresses only"
    return None


def _check_origin(headers: Headers) -> tuple[int, str] | None:
    """Return status and reason if a request may come from a web page of another origin, or None."""
    # Browsers send Origin with every POST to another origin, and Sec-Fetch-Site also with a GET. Programs send neither.
    origin = headers.get("origin")
    if origin is not None and origin.partition("://")[2] != headers.get("host", ""):
        return 403, f"requests from the origin {quoted(origin)} are not allowed"
    if headers.get("sec-fetch-site", "none") not in ("none", "same-origin"):
        return 403, "requests from other sites are not allowed"
    return None


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
        tokens: Iterable[Token | CertificateRole],
        anonymous: HttpRole = HttpRole.READ,
        public: Iterable[str] = (),
    ) -> None:
        self._app = app
        rules = tuple(tokens)
        self._is_open = not rules
        self._tokens = tuple(rule for rule in rules if isinstance(rule, Token))
        self._certificates = frozenset(rule.name for rule in rules if isinstance(rule, CertificateRole))
        self._public = frozenset(public)
        self._guesses = GuessLimit()
        self._authorizer = AclAuthorizer()
        # Roles are ACLs on the cluster for the authorizer of nodes, so HTTP has no second set of rules.
        roles = [(f"User:{token.name}", token.role) for token in rules] or [(ANONYMOUS, anonymous)]
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

        # Without tokens, only a browser that visits another site could misuse the server: its requests have that
        # site as their host or origin.
        headers = Headers(scope=scope)
        reason = _check_host(headers) or _check_origin(headers) if self._is_open else None
        if reason is None:
            reason = self._authenticate(scope, headers)
        if reason is not None:
            status, sentence = reason
            log.warning(
                "refused %s %s from %s, request %s: %s",
                quoted(scope["method"]),
                quoted(scope["path"]),
                _address(scope),
                request_id(scope),
                sentence,
            )
            response = refuse(status, REFUSALS[status], sentence)
            if status == 401:
                response.headers["WWW-Authenticate"] = "Bearer"
            elif status == 429:
                response.headers["Retry-After"] = str(self._guesses.wait(_address(scope)))
            await response(scope, receive, send_secured)
            return
        state = scope.setdefault("state", {})
        state["access"] = self
        if "principal" in state and CONNECTION in state:
            state[CONNECTION].has_authenticated = True
        await self._app(scope, receive, send_secured)

    def _authenticate(self, scope: Scope, headers: Headers) -> tuple[int, str] | None:
        """Set the principal, or return why the request has none."""
        state = scope.setdefault("state", {})
        if self._is_open:
            state["principal"] = ANONYMOUS
            return None
        certificate = state.get(CERTIFICATE)
        if certificate in self._certificates and "authorization" not in headers:
            state["principal"] = f"User:{certificate}"
            return _check_origin(headers)
        scheme, _, text = headers.get("authorization", "").partition(" ")
        if scheme.lower() != "bearer" or not text:
            if scope["path"] in self._public:
                return None
            if certificate is not None:
                return 401, f"the certificate {certificate} has no role, and the request has no token"
            return 401, "a token is required in the header Authorization: Bearer TOKEN"
        # All tokens are compared, in constant time each, so the time of a response says nothing about them. A right
        # token passes before guesses are counted: clients behind a proxy share its address with whoever guesses.
        digest = sha256(text.strip().encode("latin-1")).digest()
        matches = [token for token in self._tokens if compare_digest(token.digest, digest)]
        if matches:
            state["principal"] = f"User:{matches[0].name}"
            return None
        address = _address(scope)
        seconds = self._guesses.wait(address)
        if seconds:
            return 429, f"too many wrong tokens came from {address}: try again in {seconds} s"
        self._guesses.add(address)
        return 401, "the token is unknown"


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
