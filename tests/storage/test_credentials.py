"""Locations of S3 without credentials fail at once, with what is missing."""

from __future__ import annotations

import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from kwire.storage.location import Location
from kwire.storage.preconditions import NoCredentials, require_credentials
from kwire.testing.free_ports import free_ports

URI = "s3://tables/kafka"


@pytest.fixture(autouse=True)
def no_credentials(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_PROFILE", "AWS_SKIP_SIGNATURE"):
        monkeypatch.delenv(name, raising=False)
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
    "name", ["AWS_PROFILE", "AWS_WEB_IDENTITY_TOKEN_FILE", "AWS_CONTAINER_CREDENTIALS_FULL_URI", "AWS_SKIP_SIGNATURE"]
)
def test_other_sources_are_left_to_the_library(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setenv(name, "true")

    require_credentials(URI)
    require_credentials("gs://bucket")


def test_profile_is_left_to_the_library(tmp_path: Path) -> None:
    (tmp_path / ".aws").mkdir()
    (tmp_path / ".aws" / "credentials").write_text("[default]\n")

    require_credentials(URI)


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
