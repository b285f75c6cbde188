"""`kafka http` or `kafka exporter` as a process, and a client of it."""

from __future__ import annotations

import json
import ssl
import subprocess
import tempfile
from http.client import HTTPConnection, HTTPResponse, HTTPSConnection
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Self
from urllib.parse import urlsplit

from tests.cli.running import COMMAND, environment
from tests.eventually import eventually_sync

if TYPE_CHECKING:
    from collections.abc import Generator, Sequence


class Answer(NamedTuple):
    """The response of the server."""

    status: int
    headers: dict[str, str]
    body: Any


class ServerProcess:
    """Runs `kafka http` on a free port.

    Args:
        bootstrap: the cluster.
        options: further options.
        command: `http`, or `exporter`.
        token: the token of requests.
        trusted: the certificate of the server's authority.
        program: the program `kafka`; by default the one of this environment.

    Attributes:
        certificate: the certificate of the client with its key; None for no certificate.
    """

    def __init__(
        self,
        bootstrap: str,
        *options: str | Path,
        command: str = "http",
        token: str | None = None,
        trusted: Path | None = None,
        program: Sequence[str] = COMMAND,
    ) -> None:
        self._folder = tempfile.TemporaryDirectory()
        self._ready = Path(self._folder.name) / "ready.json"
        self._log = Path(self._folder.name) / "log"
        listen = () if "--listen" in options else ("--listen", "127.0.0.1:0")
        with self._log.open("w") as log:
            self.process = subprocess.Popen(
                [*program, "-b", bootstrap, command, *listen, *map(str, options), "--ready-file", str(self._ready)],
                stderr=log,
                env=environment(),
            )
        self._token = token
        self._trusted = trusted
        self.certificate: Path | None = None
        self.url = ""

    def __enter__(self) -> Self:
        eventually_sync(lambda: self._ready.exists() or self.process.poll() is not None, "the server listens")
        assert self._ready.exists(), self.log()
        self.url = json.loads(self._ready.read_text())["url"]
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()
        self._folder.cleanup()

    def stop(self) -> int:
        """Send SIGTERM and return the exit code."""
        self.process.terminate()
        return self.process.wait(60)

    def log(self) -> str:
        """Return what the server has printed to stderr."""
        return self._log.read_text()

    def get(self, path: str, **headers: str) -> Answer:
        """Send a GET request. Underscores in names of headers stand for hyphens."""
        return self._send("GET", path, None, headers)

    def post(self, path: str, body: Any, **headers: str) -> Answer:
        """Send a POST request with a JSON body, or with bytes as they are."""
        headers.setdefault("Content_Type", "application/json")
        return self._send("POST", path, body if isinstance(body, bytes) else json.dumps(body).encode(), headers)

    def events(self, last_event_id: str | None = None) -> Generator[tuple[str, str, Any]]:
        """Yield the id, name, and data of events, the first one at once."""
        headers = {} if last_event_id is None else {"Last_Event_ID": last_event_id}
        connection, response = self._open("GET", "/api/v1/events", None, headers)
        try:
            assert response.status == 200
            fields: dict[str, str] = {}
            for line in response:
                name, colon, value = line.decode().rstrip("\n").partition(": ")
                if colon and name:
                    fields[name] = value
                elif "data" in fields:
                    yield fields["id"], fields["event"], json.loads(fields["data"])
                    fields = {}
        finally:
            response.close()
            connection.close()

    def _send(self, method: str, path: str, body: bytes | None, headers: dict[str, str]) -> Answer:
        connection, response = self._open(method, path, body, headers)
        content = response.read()
        connection.close()
        is_json = response.headers.get_content_type().endswith("json")
        return Answer(response.status, dict(response.headers), json.loads(content) if is_json else content.decode())

    def _open(
        self, method: str, path: str, body: bytes | None, headers: dict[str, str]
    ) -> tuple[HTTPConnection, HTTPResponse]:
        url = urlsplit(self.url)
        assert url.hostname is not None
        connection = HTTPConnection(url.hostname, url.port, timeout=60)
        if url.scheme == "https":
            context = ssl.create_default_context(cafile=self._trusted)
            if self.certificate is not None:
                context.load_cert_chain(self.certificate)
            connection = HTTPSConnection(url.hostname, url.port, timeout=60, context=context)
        sent = {name.replace("_", "-"): value for name, value in headers.items()}
        if self._token is not None:
            sent.setdefault("Authorization", f"Bearer {self._token}")
        connection.request(method, path, body, sent)
        return connection, connection.getresponse()
