"""Locations of S3 without credentials fail at once, with what is missing."""

from __future__ import annotations

import os
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from kwire.storage.location import Location
from kwire.storage.object_storage import REMEDIES, plain_errors
from kwire.storage.preconditions import (
    ENDPOINTS,
    TOKEN_OF_POD,
    InvalidEndpoint,
    NoCredentials,
    require_credentials,
)
from tests.free_ports import free_ports

URI = "s3://tables/kafka"


@pytest.fixture(autouse=True)
def no_credentials(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in [name for name in os.environ if name.startswith("AWS_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path))
    [port] = free_ports(1)
    monkeypatch.setenv("AWS_EC2_METADATA_SERVICE_ENDPOINT", f"http://127.0.0.1:{port}")


def test_missing_credentials_are_named() -> None:
    with pytest.raises(NoCredentials, match="AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY are not set"):
        Location.parse(URI).files()


def test_missing_secret_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "id")

    with pytest.raises(NoCredentials, match=r"no credentials: AWS_SECRET_ACCESS_KEY is not set$"):
        require_credentials(URI)


@pytest.mark.parametrize(
    "name", ["AWS_WEB_IDENTITY_TOKEN_FILE", "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI", "AWS_SKIP_SIGNATURE"]
)
def test_other_sources_are_left_to_the_library(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setenv(name, "true")

    require_credentials(URI)
    require_credentials("gs://bucket")


def test_profile_is_left_to_the_library(tmp_path: Path) -> None:
    (tmp_path / ".aws").mkdir()
    (tmp_path / ".aws" / "credentials").write_text("[default]\n")

    require_credentials(URI)


def test_profile_must_exist(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / ".aws").mkdir()
    (tmp_path / ".aws" / "config").write_text("[profile lake]\nregion = eu-west-1\n")
    monkeypatch.setenv("AWS_PROFILE", "lake")
    require_credentials(URI)

    monkeypatch.setenv("AWS_PROFILE", "lakes")
    with pytest.raises(NoCredentials, match="the profile 'lakes' of AWS_PROFILE does not exist"):
        require_credentials(URI)


@pytest.mark.parametrize("number", [0, 1])
def test_source_of_a_pod_needs_both_variables(monkeypatch: pytest.MonkeyPatch, number: int) -> None:
    monkeypatch.setenv(TOKEN_OF_POD[number], "http://127.0.0.1/")

    with pytest.raises(NoCredentials, match=f"no credentials: {TOKEN_OF_POD[1 - number]} is not set"):
        require_credentials(URI)


@pytest.mark.parametrize("name", ENDPOINTS)
@pytest.mark.parametrize(
    "value", ["store:9000", "127.0.0.1:9000", "s3://store", "http://", "http://store:x", "//store"]
)
def test_endpoint_must_be_a_url(monkeypatch: pytest.MonkeyPatch, name: str, value: str) -> None:
    monkeypatch.setenv("AWS_SKIP_SIGNATURE", "true")
    for valid in ("http://store:9000", "https://store/path", "http://[::1]:9000/"):
        monkeypatch.setenv(name, valid)
        require_credentials(URI)
    monkeypatch.setenv(name, value)

    with pytest.raises(
        InvalidEndpoint, match=f"^{name}=.*: expected the URL of an endpoint, such as http://host:9000$"
    ):
        require_credentials(URI)


@pytest.mark.parametrize("code", [sign for sign in REMEDIES if sign[0].isupper() and " " not in sign])
def test_error_of_the_store_begins_with_what_to_do(code: str) -> None:
    with pytest.raises(OSError, match=f"^{REMEDIES[code]}: Generic S3 error: .*<Code>{code}</Code>"), plain_errors():
        raise OSError(f"Generic S3 error: 400 Bad Request: <Error><Code>{code}</Code></Error>")


@pytest.mark.parametrize("status", [200, 403])
def test_metadata_service_counts_if_it_gives_out_tokens(monkeypatch: pytest.MonkeyPatch, status: int) -> None:
    class Handler(BaseHTTPRequestHandler):
        def do_PUT(self) -> None:
            self.send_response(status)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        monkeypatch.setenv("AWS_EC2_METADATA_SERVICE_ENDPOINT", f"http://127.0.0.1:{server.server_port}")
        if status == 200:
            require_credentials(URI)
        else:
            with pytest.raises(NoCredentials):
                require_credentials(URI)
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
