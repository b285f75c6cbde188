"""An object store that answers chosen requests wrongly: S3 by moto, behind a server that injects faults.

It is a process of its own, since delta-rs holds the GIL while it waits for a response: `python -m tests.faulty_storage
PORT`. Faults are chosen by folder of the bucket, so several tests and processes share one server.
"""

from __future__ import annotations

import http.client
import io
import json
import re
import subprocess
import sys
import threading
from collections import Counter, defaultdict
from contextlib import contextmanager
from enum import StrEnum
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from moto.moto_server.werkzeug_app import create_backend_app
from moto.s3.models import s3_backends

from tests.eventually import eventually_sync
from tests.free_ports import free_ports
from tests.object_storage import BUCKET, accepts_connections, client_environment

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

CONTROL = "/-/"
ACCOUNT = "123456789012"
"""The account of moto."""

TIMEOUT_S = 1
"""Timeout of clients, after which they repeat a request: with the default, a late response costs 30 seconds."""

FOLDER = re.compile(rf"/{BUCKET}/([^/?]+)|[?&]prefix=([^/&]+)")


class Fault(StrEnum):
    """The fate of a request."""

    LOST = "lost"
    """It is executed, and the connection is closed without a response."""
    ERROR_AFTER = "error after"
    """It is executed, and the response is a 500."""
    UNAVAILABLE = "unavailable"
    """The response is a 503, and it is not executed."""
    LATE = "late"
    """The client times out and repeats it; it is executed after the repetition."""


Request = tuple[str, str]
"""The method, and the path with the query."""


class FaultyStorage:
    """The server at a port, as tests control it.

    Attributes:
        environment: the variables of its clients.
    """

    def __init__(self, port: int) -> None:
        self._port = port
        self.environment = client_environment(port) | {"AWS_TIMEOUT": f"{TIMEOUT_S}s"}

    def inject(self, folder: str, faults: Mapping[int, Fault]) -> list[Request]:
        """Let requests below a folder fail from now on, by number from 0, and return those since the last call."""
        return self._requests("faults", {"folder": folder, "faults": faults})

    def inject_everywhere(self, folder: str, first: int, *, reads: bool) -> list[Request]:
        """Let each write below a folder fail once, with the faults in turn, and return requests as `inject` does.

        Args:
            folder: the folder.
            first: the place of the first fault in `Fault`.
            reads: true if each read fails once, too.
        """
        return self._requests("faults", {"folder": folder, "faults": {}, "first": first, "reads": reads})

    def _requests(self, name: str, values: object) -> list[Request]:
        return [(method, path) for method, path in self._control(name, values)]

    def copy(self, source: str, target: str) -> None:
        """Copy a folder."""
        self._control("copy", {"source": source, "target": target})

    def _control(self, name: str, values: object) -> Any:
        connection = http.client.HTTPConnection("127.0.0.1", self._port, timeout=60)
        try:
            connection.request("PUT", CONTROL + name, json.dumps(values))
            return json.loads(connection.getresponse().read())
        finally:
            connection.close()


@contextmanager
def faulty_storage() -> Iterator[FaultyStorage]:
    """Serve an empty bucket while the block runs."""
    [port] = free_ports(1)
    server = subprocess.Popen([sys.executable, "-m", "tests.faulty_storage", str(port)])
    try:
        eventually_sync(lambda: accepts_connections(port), "the object store", within=120)
        yield FaultyStorage(port)
    finally:
        server.kill()
        server.wait()


class _Everywhere:
    """The faults of all writes, and of all reads if `reads`, from number `first` on in turn."""

    def __init__(self, first: int, reads: bool) -> None:
        self._next, self._reads = first, reads

    def next_fault(self, method: str) -> Fault | None:
        is_read = method in {"GET", "HEAD"}
        if is_read and not self._reads:
            return None
        fault = list(Fault)[self._next % len(Fault)]
        self._next += 1
        return Fault.LOST if is_read and fault == Fault.LATE else fault  # a late read is a lost one


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 64

    def __init__(self, port: int) -> None:
        super().__init__(("127.0.0.1", port), _Handler)
        self.s3: Callable[..., Any] = create_backend_app("s3")
        self.faults: dict[str, dict[int, Fault]] = {}
        self.everywhere: dict[str, _Everywhere] = {}
        self.requests: defaultdict[str, list[Request]] = defaultdict(list)
        self.completed: Counter[Request] = Counter()
        self.changed = threading.Condition()
        self.execution = threading.Lock()  # moto is not safe for threads
        self.execute("PUT", f"/{BUCKET}", {}, b"")

    def execute(
        self, method: str, path: str, headers: Mapping[str, str], body: bytes
    ) -> tuple[int, list[tuple[str, str]], bytes]:
        """Execute a request by moto."""
        plain, _, query = path.partition("?")
        environment = {
            "REQUEST_METHOD": method,
            "PATH_INFO": unquote(plain),
            "RAW_URI": path,
            "REQUEST_URI": path,
            "QUERY_STRING": query,
            "SERVER_NAME": "127.0.0.1",
            "SERVER_PORT": str(self.server_address[1]),
            "SERVER_PROTOCOL": "HTTP/1.1",
            "HTTP_HOST": "127.0.0.1",
            "SCRIPT_NAME": "",
            "CONTENT_LENGTH": str(len(body)),
            "wsgi.input": io.BytesIO(body),
            "wsgi.errors": sys.stderr,
            "wsgi.url_scheme": "http",
            "wsgi.version": (1, 0),
            "wsgi.multithread": False,
            "wsgi.multiprocess": False,
            "wsgi.run_once": False,
        }
        environment |= {f"HTTP_{name.upper().replace('-', '_')}": value for name, value in headers.items()}
        started: list[tuple[str, list[tuple[str, str]]]] = []
        with self.execution:
            content = b"".join(self.s3(environment, lambda *status: started.append((status[0], status[1]))))
        [(status, response_headers)] = started
        return int(status.split()[0]), response_headers, content

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Report an error, unless a client has closed its connection, as it does after its timeout."""
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Server

    def respond(self) -> None:
        """Execute a request, or what a fault makes of it."""
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        if self.path.startswith(CONTROL):
            self._control(json.loads(body))
            return
        request = self.command, self.path
        match = FOLDER.search(unquote(self.path))
        folder = (match[1] or match[2]) if match else ""
        with self.server.changed:
            requests = self.server.requests[folder]
            fault = self.server.faults.get(folder, {}).get(len(requests))
            everywhere = self.server.everywhere.get(folder)
            if everywhere is not None and requests.count(request) % 2 == 0:
                fault = everywhere.next_fault(self.command)
            requests.append(request)
            completed = self.server.completed[request]
        if fault == Fault.UNAVAILABLE:
            self._send(503, [], b"<Error><Code>SlowDown</Code></Error>")
            return
        if fault == Fault.LATE:
            with self.server.changed:
                self.server.changed.wait_for(lambda: self.server.completed[request] > completed, timeout=60)
        status, headers, content = self.server.execute(self.command, self.path, dict(self.headers), body)
        if fault in {Fault.LOST, Fault.LATE}:
            self.close_connection = True
            return
        if fault == Fault.ERROR_AFTER:
            status, headers, content = 500, [], b"<Error><Code>InternalError</Code></Error>"
        self._send(status, headers, content)
        with self.server.changed:
            self.server.completed[request] += 1
            self.server.changed.notify_all()

    def _control(self, values: dict[str, Any]) -> None:
        answer: object = None
        if self.path.endswith("faults"):
            with self.server.changed:
                answer = self.server.requests.pop(values["folder"], [])
                faults = {int(number): Fault(fault) for number, fault in values["faults"].items()}
                self.server.faults[values["folder"]] = faults
                self.server.everywhere.pop(values["folder"], None)
                if "first" in values:
                    self.server.everywhere[values["folder"]] = _Everywhere(values["first"], values["reads"])
        else:
            keys = s3_backends[ACCOUNT]["aws"].buckets[BUCKET].keys
            prefix = f"{values['source']}/"
            with self.server.execution:
                for name in [name for name in keys if name.startswith(prefix)]:
                    s3_backends[ACCOUNT]["aws"].put_object(
                        BUCKET, f"{values['target']}/{name.removeprefix(prefix)}", keys[name].value
                    )
        self._send(200, [], json.dumps(answer).encode())

    def _send(self, status: int, headers: list[tuple[str, str]], content: bytes) -> None:
        self.send_response_only(status)
        lengths = [value for name, value in headers if name.lower() == "content-length"]
        for name, value in headers:
            if name.lower() not in {"content-length", "connection"}:
                self.send_header(name, value)
        self.send_header("Content-Length", lengths[0] if lengths and self.command == "HEAD" else str(len(content)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(content)

    def log_message(self, format: str, *args: Any) -> None:
        """Write nothing: tests read the requests."""


for _method in ("GET", "HEAD", "PUT", "POST", "DELETE"):
    setattr(_Handler, f"do_{_method}", _Handler.respond)


if __name__ == "__main__":
    _Server(int(sys.argv[1])).serve_forever()
