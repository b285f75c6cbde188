"""Tokens, roles, TLS, and protection from other web pages."""

from __future__ import annotations

import re
import ssl
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from kwire_admin.http.access import HttpRole, InvalidTokens, is_loopback, read_tokens
from tests.cli.running import kwire
from tests.for_rows import for_rows
from tests.http.server_process import ServerProcess
from tests.paths import ROOT
from tests.real_kafka.certificates import CertificateAuthority

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kwire.testing import FakeCluster

READER, CHANGER = "reader-0123456789abcdef", "changer-0123456789abcdef"
NEW_TOPIC = {"names": ["new"], "partitions": 1, "replication_factor": 1, "dry_run": True}


@pytest.fixture(scope="module")
def tokens(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("tokens") / "tokens.toml"
    digest = sha256(CHANGER.encode()).hexdigest()
    file.write_text(
        f'[tokens.alice]\nrole = "read"\ntoken = "{READER}"\n[tokens.bob]\nrole = "change"\nsha256 = "{digest}"\n'
    )
    file.chmod(0o600)
    return file


@pytest.fixture(scope="module")
def guarded(cluster: FakeCluster, tokens: Path) -> Iterator[ServerProcess]:
    with ServerProcess(cluster.bootstrap, "--tokens", tokens) as server:
        yield server


def bearer(token: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}"}


def test_token_is_required(guarded: ServerProcess) -> None:
    for path in ("/api/v1/topics/list", "/api/v1/events", "/api/v1/nosuch"):
        answer = guarded.get(path)
        assert (answer.status, answer.headers["www-authenticate"]) == (401, "Bearer")
    assert guarded.get("/api/v1/topics/list", Authorization="Bearer x").body["detail"] == ("the token is unknown")
    assert guarded.get("/api/v1/topics/list", Authorization=f"Basic {READER}").status == 401
    assert guarded.get(f"/api/v1/topics/list?token={READER}").status == 401


def test_wrong_tokens_are_throttled_and_right_tokens_are_not(cluster: FakeCluster, tokens: Path) -> None:
    with ServerProcess(cluster.bootstrap, "--tokens", tokens) as server:
        refused = [server.get("/api/v1/topics/list", **bearer("x")) for _ in range(30)]
        assert {answer.status for answer in refused[:10]} == {401}
        throttled = next(answer for answer in refused if answer.status == 429)
        assert int(throttled.headers["retry-after"]) >= 1
        assert "too many wrong tokens came from 127.0.0.1" in throttled.body["detail"]
        assert server.get("/").status == 200
        assert server.get("/api/v1/topics/list", **bearer(READER)).status == 200


def test_new_token_is_printed_once_and_accepted(cluster: FakeCluster, tmp_path: Path) -> None:
    run = kwire("http", "--new-token", "night shift", "--role", "change")
    assert run.code == 0
    token = run.err.split()[-1]
    assert token not in run.out
    tokens = tmp_path / "tokens.toml"
    tokens.write_text(run.out + kwire("http", "--new-token", "grafana").out)
    tokens.chmod(0o600)
    assert [(token.name, token.role) for token in read_tokens(tokens)] == [
        ("night shift", HttpRole.CHANGE),
        ("grafana", HttpRole.READ),
    ]
    with ServerProcess(cluster.bootstrap, "--tokens", tokens) as server:
        assert server.get("/api/v1/topics/list", **bearer(token)).status == 200


def test_tokens_of_the_documentation_are_refused(tmp_path: Path) -> None:
    page = (ROOT / "docs/how-to/http.md").read_text()
    sample = page.split("# tokens.toml", 1)[1].split("```", 1)[0]
    file = tmp_path / "tokens.toml"
    file.write_text("#" + sample)
    with pytest.raises(InvalidTokens, match="expected 64 hexadecimal digits"):
        read_tokens(file)


def test_page_and_description_need_no_token(guarded: ServerProcess) -> None:
    for path in ("/", "/page.js", "/page.css", "/openapi.json", "/healthz"):
        assert guarded.get(path).status == 200
    assert guarded.get("/healthz").body == {"status": "ok"}


def test_roles(guarded: ServerProcess) -> None:
    for token in (READER, CHANGER):
        assert guarded.get("/api/v1/topics/list", **bearer(token)).status == 200
    refused = guarded.post("/api/v1/topics/create", NEW_TOPIC, **bearer(READER))
    assert (refused.status, refused.body["detail"]) == (403, "the role change is required")
    assert guarded.post("/api/v1/topics/create", NEW_TOPIC, **bearer(CHANGER)).status != 403


def test_log_names_who_changed_something_and_no_token(guarded: ServerProcess) -> None:
    guarded.post("/api/v1/topics/delete", {"names": ["orders"]}, **bearer(CHANGER))
    log = guarded.log()
    assert re.search("User:bob ran topics delete from 127.0.0.1, request [0-9a-f]{16}: ConfirmationRequired", log)
    assert READER not in log
    assert CHANGER not in log


def test_log_has_no_arguments_of_changes(server: ServerProcess) -> None:
    server.post("/api/v1/configs/set", {"resource": "topic/orders", "values": ["hunter2secret"]})
    server.post(
        "/api/v1/topics/create", {"names": ["a"], "partitions": 1, "replication_factor": 1, "config": ["hunter2-no"]}
    )
    log = server.log()
    assert re.search("ran configs set from 127.0.0.1, request [0-9a-f]{16}: InvalidArgument", log)
    assert "hunter2" not in log


def test_request_cannot_forge_a_line_of_the_log(guarded: ServerProcess) -> None:
    guarded.get("/%0a2026-11-23%20INFO%20kwire.http%20User:admin%20ran%20topics%20delete%1b%5b31m%E2%80%AE")
    guarded.get("/" + "x" * 30_000)
    guarded.get("/api/v1/topics/list", Host="h", Origin="x\x1b[31m")
    lines = guarded.log().splitlines()
    assert not any(line.startswith("2026-11-23 INFO") for line in lines)
    assert all(line.isprintable() and len(line) < 500 for line in lines)
    assert any("refused 'GET' '/\\n2026-11-23 INFO" in line for line in lines)


def test_without_tokens_requests_from_this_machine_can_only_read(cluster: FakeCluster) -> None:
    with ServerProcess(cluster.bootstrap) as server:
        assert server.get("/api/v1/topics/list").status == 200
        assert server.post("/api/v1/topics/create", NEW_TOPIC).status == 403


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"Host": "evil.example"}, 421),
        ({"Host": "evil.example:8080"}, 421),
        ({"Host": "127.0.0.1.evil.example"}, 421),
        ({"Host": "localhost"}, 200),
        ({"Host": "[::1]:8080"}, 200),
        ({"Origin": "http://evil.example"}, 403),
        ({"Origin": "http://localhost:1"}, 403),
        ({"Origin": "null"}, 403),
        ({"Host": "localhost:1", "Origin": "http://localhost:1"}, 200),
        ({"Sec_Fetch_Site": "cross-site"}, 403),
        ({"Sec_Fetch_Site": "same-site"}, 403),
        ({"Sec_Fetch_Site": "same-origin"}, 200),
    ],
    ids=str,
)
def test_other_web_pages_cannot_use_the_server(server: ServerProcess, headers: dict[str, str], status: int) -> None:
    assert server.get("/api/v1/topics/list", **headers).status == status


def test_page_may_load_nothing_else(server: ServerProcess) -> None:
    headers = server.get("/").headers
    assert headers["content-security-policy"].startswith("default-src 'none'; script-src 'self'")
    assert headers["x-content-type-options"] == "nosniff"
    assert "access-control-allow-origin" not in headers


def test_tls(cluster: FakeCluster, tokens: Path, tmp_path: Path) -> None:
    authority = CertificateAuthority()
    certificate = authority.issue("server")
    pem, trusted = tmp_path / "server.pem", tmp_path / "ca.pem"
    pem.write_bytes((certificate.chain + certificate.key).encode())
    trusted.write_bytes(authority.certificate.encode())
    options = ("--tokens", tokens, "--certificate", pem)
    with ServerProcess(cluster.bootstrap, *options, token=READER, trusted=trusted) as server:
        assert server.url.startswith("https://127.0.0.1:")
        assert server.get("/api/v1/topics/list").status == 200
        assert "without encryption" not in server.log()
        # The certificate is renewed by another authority: new connections have it, without a restart.
        renewed = CertificateAuthority()
        certificate = renewed.issue("server")
        pem.write_bytes((certificate.chain + certificate.key).encode())
        with pytest.raises(ssl.SSLCertVerificationError):
            server.get("/healthz")
        trusted.write_bytes(renewed.certificate.encode())
        assert server.get("/api/v1/topics/list").status == 200
        pem.write_text("half a file")
        assert server.get("/healthz").status == 200
        assert "what was read before stays" in server.log()


def test_client_certificates_are_principals(cluster: FakeCluster, tmp_path: Path) -> None:
    authority, files = CertificateAuthority(), {}
    for name in ("server", "alice", "bob"):
        issued = authority.issue(name)
        files[name] = tmp_path / f"{name}.pem"
        files[name].write_text(issued.chain + issued.key)
    trusted, tokens = tmp_path / "ca.pem", tmp_path / "tokens.toml"
    trusted.write_text(authority.certificate)
    tokens.write_text('[certificates."CN=alice"]\nrole = "change"\n')
    tokens.chmod(0o600)
    unverified = kwire("-b", "127.0.0.1:1", "http", "--tokens", tokens, "--certificate", files["server"])
    assert "client certificates have roles: give --client-authority FILE" in unverified.err
    options = ("--tokens", tokens, "--certificate", files["server"], "--client-authority", trusted)
    with ServerProcess(cluster.bootstrap, *options, trusted=trusted) as server:
        assert server.get("/api/v1/topics/list").status == 401
        server.certificate = files["bob"]
        assert "the certificate CN=bob has no role" in server.get("/api/v1/topics/list").body["detail"]
        server.certificate = files["alice"]
        assert server.get("/api/v1/topics/list").status == 200
        assert server.get("/api/v1/topics/list", Origin="https://evil.example").status == 403
        assert server.get("/api/v1/topics/list", **bearer("x")).status == 401, "a token goes before the certificate"
        server.post("/api/v1/topics/delete", {"names": ["audit"]})
        assert "User:CN=alice ran topics delete" in server.log()


@for_rows(
    ("options", "message"),
    [
        (["--client-authority", "ca.pem"], "--client-authority requires --certificate"),
        (["--listen", "0.0.0.0:0"], "0.0.0.0:0 is not a loopback address: give --tokens FILE, or listen on 127.0.0.1"),
        (["--listen", "here"], "'here' is not an address: write HOST:PORT"),
        (["--listen", "127.0.0.1:70000"], "'127.0.0.1:70000' is not an address: write HOST:PORT"),
        (["--key", "x.pem"], "--key requires --certificate"),
        (["--certificate", "nosuch.pem"], "cannot read the certificate nosuch.pem or its key"),
        (["--tokens", "nosuch.toml"], "cannot read nosuch.toml"),
        (["--interval", "0"], "Invalid value for '--interval'"),
    ],
)
def test_wrong_usage_exits_with_2(options: list[str], message: str) -> None:
    run = kwire("-b", "127.0.0.1:1", "http", *options)
    assert run.code == 2
    assert message in run.err
    assert "Traceback" not in run.err


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "expected tables such as [tokens.alice]"),
        ("tokens = 7", "expected tables such as [tokens.alice]"),
        ("[tokens.a]\nrole = 'read'", "expected either token or sha256"),
        ("[tokens.a]\nrole = 'admin'\ntoken = 'abc'", "tokens.a.role: expected 'read' or 'change'"),
        ("[tokens.a]\nrole = 'read'\ntoken = 'abc'", "tokens.a.token: expected at least 20 characters"),
        ("[tokens.a]\nrole = 'read'\nsha256 = 'abc'", "tokens.a.sha256: expected 64 hexadecimal digits"),
        (f"[tokens.a]\nrole = 'read'\nsha256 = '{'x' * 64}'", "tokens.a.sha256: expected 64 hexadecimal digits"),
        ("[tokens.a]\nname = 'x'", "expected role, and token or sha256"),
        ("[", "cannot read"),
    ],
)
def test_invalid_file_of_tokens(tmp_path: Path, content: str, message: str) -> None:
    file = tmp_path / "tokens.toml"
    file.write_text(content)
    with pytest.raises(InvalidTokens) as caught:
        read_tokens(file)
    assert message in str(caught.value)


def test_tokens_are_read_with_their_roles(tokens: Path) -> None:
    assert [(token.name, token.role) for token in read_tokens(tokens)] == [
        ("alice", HttpRole.READ),
        ("bob", HttpRole.CHANGE),
    ]


@for_rows(
    ("host", "expected"),
    [
        ("127.0.0.1", True),
        ("127.9.9.9", True),
        ("::1", True),
        ("[::1]", True),
        ("localhost", True),
        ("0.0.0.0", False),
        ("::", False),
        ("10.0.0.1", False),
        ("localhost.example", False),
        ("", False),
    ],
)
def test_loopback(host: str, *, expected: bool) -> None:
    assert is_loopback(host) is expected
