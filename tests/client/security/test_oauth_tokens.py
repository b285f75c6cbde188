"""Tokens from an HTTPS server, from a file, and unsecured ones."""

from __future__ import annotations

import base64
import json
import ssl
import tempfile
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs

import pytest

from kwire.client.security import (
    ClientCredentials,
    OAuthToken,
    Secret,
    SecurityConfigError,
    TlsConfig,
    TokenFile,
    UnsecuredToken,
)
from kwire.protocol.sasl import SaslError
from tests.real_kafka.certificates import CertificateAuthority

CLIENT_SECRET = "client-secret-1"
TOKEN = "token-2"


class TokenServer(HTTPServer):
    """An OAuth server that records requests and sends prepared responses, the last one again and again."""

    def __init__(self, authority: CertificateAuthority) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.requests: list[tuple[str, str, dict[str, list[str]]]] = []
        self.responses: list[tuple[int, str]] = [(200, json.dumps({"access_token": TOKEN, "expires_in": 3600}))]
        issued = authority.issue("login", hosts=["127.0.0.1"])
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        with tempfile.NamedTemporaryFile("w") as file:
            file.write(issued.chain + issued.key)
            file.flush()
            context.load_cert_chain(file.name)
        self.socket = context.wrap_socket(self.socket, server_side=True)

    @property
    def url(self) -> str:
        return f"https://127.0.0.1:{self.server_port}/oauth2/token?tenant=1"

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Ignore clients that do not trust the certificate."""


class _Handler(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        server = self.server
        assert isinstance(server, TokenServer)
        body = self.rfile.read(int(self.headers["Content-Length"])).decode()
        server.requests.append((self.path, self.headers["Authorization"], parse_qs(body)))
        status, content = server.responses[0] if len(server.responses) == 1 else server.responses.pop(0)
        self.send_response(status)
        self.end_headers()
        self.wfile.write(content.encode())

    def log_message(self, format: str, *args: Any) -> None:
        """Keep the output of the tests clean."""


@pytest.fixture(scope="module")
def authority() -> CertificateAuthority:
    return CertificateAuthority()


@pytest.fixture
def server(authority: CertificateAuthority) -> Iterator[TokenServer]:
    with TokenServer(authority) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
        thread.start()
        yield server
        server.shutdown()
        thread.join()


@pytest.fixture
def credentials(server: TokenServer, authority: CertificateAuthority) -> ClientCredentials:
    return ClientCredentials(
        url=server.url,
        client_id="client-1",
        client_secret=Secret(CLIENT_SECRET),
        scope="kafka",
        tls=TlsConfig(ca=authority.certificate),
    )


async def test_token_is_requested_by_client_credentials(server: TokenServer, credentials: ClientCredentials) -> None:
    token = await credentials()

    assert (token.value.reveal(), token.expires_in) == (TOKEN, 3600)
    ((path, authorization, form),) = server.requests
    assert path == "/oauth2/token?tenant=1"
    assert authorization == f"Basic {base64.b64encode(f'client-1:{CLIENT_SECRET}'.encode()).decode()}"
    assert form == {"grant_type": ["client_credentials"], "scope": ["kafka"]}


async def test_valid_token_is_reused(server: TokenServer, credentials: ClientCredentials) -> None:
    assert await credentials() == await credentials()
    assert len(server.requests) == 1


@pytest.mark.parametrize("lifetime", [{}, {"expires_in": 0}, {"expires_in": "soon"}])
async def test_token_of_unknown_lifetime_is_requested_again(
    server: TokenServer, credentials: ClientCredentials, lifetime: dict[str, object]
) -> None:
    server.responses = [(200, json.dumps({"access_token": TOKEN} | lifetime))]

    await credentials()
    await credentials()

    assert len(server.requests) == 2


async def test_id_and_secret_can_be_url_encoded(server: TokenServer, credentials: ClientCredentials) -> None:
    special = replace(credentials, client_id="a b", client_secret=Secret("c:d/é"), urlencode=True)

    await special()

    ((_, authorization, _),) = server.requests
    assert base64.b64decode(authorization.removeprefix("Basic ")) == b"a%20b:c%3Ad%2F%C3%A9"


@pytest.mark.parametrize(
    ("status", "content", "reason"),
    [
        (
            401,
            '{"error":"invalid_client","error_description":"no such client"}',
            "(HTTP status 401): invalid_client: no such",
        ),
        (500, "<html>", "(HTTP status 500): no reason given"),
        (200, '{"token":"x"}', "(HTTP status 200): the response has no access_token"),
        (200, "[]", "the response has no access_token"),
    ],
)
async def test_refusal_is_explained(
    server: TokenServer, credentials: ClientCredentials, status: int, content: str, reason: str
) -> None:
    server.responses = [(status, content)]

    with pytest.raises(SaslError) as caught:
        await credentials()

    assert reason in str(caught.value)
    assert CLIENT_SECRET not in str(caught.value) + repr(credentials)


async def test_server_that_is_not_trusted_gets_no_secret(server: TokenServer, credentials: ClientCredentials) -> None:
    careful = replace(credentials, tls=TlsConfig(ca=CertificateAuthority().certificate))

    with pytest.raises(SaslError, match="the server's certificate is signed by an authority that is not trusted"):
        await careful()
    assert server.requests == []


async def test_unreachable_server_is_named(credentials: ClientCredentials) -> None:
    unreachable = replace(credentials, url="https://127.0.0.1:1/token")

    with pytest.raises(SaslError, match=r"cannot get a token from https://127\.0\.0\.1:1/token: .*refused"):
        await unreachable()


@pytest.mark.parametrize(
    ("url", "reason"),
    [
        ("http://login.example.com/token", "http would send the client secret in clear text: use https"),
        ("login.example.com/token", "expected a URL such as"),
        ("ftp://login.example.com/token", "expected a URL such as"),
        ("https:///token", "expected a URL such as"),
        ("https://user:password@login.example.com/", "expected a URL such as"),
        ("https://login.example.com:99999/", "expected a URL such as"),
    ],
)
def test_invalid_url_is_rejected(url: str, reason: str) -> None:
    with pytest.raises(SecurityConfigError, match=reason) as caught:
        ClientCredentials(url=url, client_id="x", client_secret=Secret("y"))
    assert caught.value.key == "sasl.oauthbearer.token.endpoint.url"
    assert "password@" not in str(caught.value)


async def test_token_file_is_read_each_time(tmp_path: Path) -> None:
    source = TokenFile(str(tmp_path / "token"))
    (tmp_path / "token").write_text("first\n")
    first = await source()
    (tmp_path / "token").write_text("second\n")

    assert (first.value.reveal(), (await source()).value.reveal()) == ("first", "second")


async def test_missing_token_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(SaslError, match=r"cannot read the token file .*/token: No such file or directory"):
        await TokenFile(f"{tmp_path}/token")()


async def test_unsecured_token_has_its_claims() -> None:
    token = await UnsecuredToken(claims=(("sub", "alice"), ("scope", ["a", "b"])), lifetime=60)()

    header, claims, signature = token.value.reveal().split(".")
    decoded = json.loads(base64.urlsafe_b64decode(claims + "=" * (-len(claims) % 4)))
    assert json.loads(base64.urlsafe_b64decode(header + "=" * (-len(header) % 4))) == {"alg": "none"}
    assert signature == ""
    assert (decoded["sub"], decoded["scope"], decoded["exp"] - decoded["iat"]) == ("alice", ["a", "b"], 60)


async def test_unsecured_token_is_issued_before_it_arrives(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(time, "time", lambda: 1_700_000_000.0007)

    token = await UnsecuredToken(claims=(("sub", "alice"),))()

    claims = token.value.reveal().split(".")[1]
    issued = json.loads(base64.urlsafe_b64decode(claims + "=" * (-len(claims) % 4)))["iat"]
    assert round(issued * 1000) <= 1_700_000_000_000, "a broker that reads whole milliseconds rejects a later one"


def test_token_of_a_callback_must_be_a_secret() -> None:
    with pytest.raises(TypeError, match="a token must be a Secret, not str"):
        OAuthToken("text")  # type: ignore[arg-type]  # the mistake under test
