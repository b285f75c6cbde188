"""A webhook on this machine."""

from __future__ import annotations

import json
import threading
from collections import defaultdict
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


class Webhook:
    """Answers with `status`, and keeps the bodies that it accepts, also as bytes by their idempotency keys.

    Attributes:
        status: the status of all answers; 0 holds the connection until the client closes it.
        headers: further headers of answers.
        authorization: the header of the last request.
        requests: the path and the headers of each request.
    """

    def __init__(self) -> None:
        self.status = 200
        self.headers: dict[str, str] = {}
        self.authorization: str | None = None
        self.requests: list[tuple[str, dict[str, str]]] = []
        self.bodies: list[Any] = []
        self.contents: dict[str, list[bytes]] = defaultdict(list)

        def receive(request: BaseHTTPRequestHandler) -> None:
            content = request.rfile.read(int(request.headers["Content-Length"]))
            self.authorization = request.headers["Authorization"]
            self.requests.append((request.path, dict(request.headers)))
            if self.status == 0:
                request.wfile.write(b"HTTP/1.1 2")  # a response that begins, and never ends
                request.rfile.read()
                return
            if self.status == 200:
                self.bodies.append(json.loads(content))
                self.contents[request.headers["Idempotency-Key"]].append(content)
            request.send_response(self.status)
            for name, value in self.headers.items():
                request.send_header(name, value)
            request.end_headers()

        def log_nothing(*_: object) -> None:
            pass

        handler = type("Handler", (BaseHTTPRequestHandler,), {"do_POST": receive, "log_message": log_nothing})
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
        # `close` waits for up to one interval, which is half a second by default.
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01})
        self._thread.start()
        self.url = f"http://127.0.0.1:{self._server.server_port}/alerts?token=secret"

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()
