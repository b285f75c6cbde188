"""An object store on this machine: S3, served by moto."""

from __future__ import annotations

import socket
import subprocess
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pyarrow.fs

from tests.eventually import eventually_sync
from tests.free_ports import free_ports

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pytest

BUCKET = "tables"


@contextmanager
def s3_server(environment: pytest.MonkeyPatch) -> Iterator[str]:
    """Serve an empty bucket while the block runs, set the environment variables of its clients, and return its URI.

    The server is a process of its own, since delta-rs holds the GIL while it waits for a response.
    """
    [port] = free_ports(1)
    command = [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(port)]
    server = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    try:
        eventually_sync(lambda: accepts_connections(port), "the S3 server", within=120)
        for name, value in client_environment(port).items():
            environment.setenv(name, value)
        endpoint = pyarrow.fs.S3FileSystem(
            endpoint_override=f"127.0.0.1:{port}", scheme="http", allow_bucket_creation=True, region="us-east-1"
        )
        endpoint.create_dir(BUCKET)
        yield f"s3a://{BUCKET}"
    finally:
        server.kill()
        server.wait()


def accepts_connections(port: int) -> bool:
    """Return whether a server listens at a port of this machine."""
    with socket.socket() as client:
        return client.connect_ex(("127.0.0.1", port)) == 0


def client_environment(port: int) -> dict[str, str]:
    """Return the environment variables of the clients of a server."""
    return {
        "AWS_ENDPOINT_URL": f"http://127.0.0.1:{port}",
        "AWS_ALLOW_HTTP": "true",
        "AWS_ACCESS_KEY_ID": "id",
        "AWS_SECRET_ACCESS_KEY": "key",
        "AWS_REGION": "us-east-1",
        "AWS_EC2_METADATA_DISABLED": "true",
    }
