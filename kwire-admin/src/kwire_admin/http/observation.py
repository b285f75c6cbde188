"""Request ids and metrics of the server.

Every response has the header X-Request-Id, taken from the request or generated. The audit log contains
it, so that a client's log, a proxy's log, and the audit log can be joined.
"""

from __future__ import annotations

import re
import secrets
import time
from typing import TYPE_CHECKING

from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import Response

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from starlette.types import ASGIApp, Message, Receive, Scope, Send

__all__ = ["RequestObserver", "request_id"]

REQUEST_ID = re.compile("[A-Za-z0-9._-]{1,64}")
"""A request id that is safe in a line of a log."""


def request_id(scope: Scope) -> str:
    """Return the id of a request."""
    identifier: str = scope["state"]["request_id"]
    return identifier


class RequestObserver:
    """ASGI middleware that gives each request an id, and counts requests.

    Args:
        app: the application.
        paths: the paths of the application. Others are counted together, so that clients cannot make labels.
        connections: returns the number of open connections.
        readers: returns the number of streams of changes.
    """

    def __init__(
        self, app: ASGIApp, paths: Iterable[str], connections: Callable[[], int], readers: Callable[[], int]
    ) -> None:
        self._app = app
        self._paths = frozenset(paths)
        self._registry = CollectorRegistry()
        self._requests = Counter(
            "kwire_http_requests", "Requests by path and status.", ["path", "status"], registry=self._registry
        )
        self._seconds = Histogram(
            "kwire_http_request_seconds", "Time until a response starts.", ["path"], registry=self._registry
        )
        for name, text, value in (
            ("kwire_http_connections", "Open connections.", connections),
            ("kwire_http_event_readers", "Clients that read the changes.", readers),
        ):
            Gauge(name, text, registry=self._registry).set_function(value)

    def metrics(self) -> Response:
        """Return the metrics in Prometheus' text format."""
        return Response(generate_latest(self._registry), headers={"Content-Type": CONTENT_TYPE_LATEST})

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        sent = Headers(scope=scope).get("x-request-id", "")
        id = sent if REQUEST_ID.fullmatch(sent) else secrets.token_hex(8)
        scope.setdefault("state", {})["request_id"] = id
        path = scope["path"] if scope["path"] in self._paths else "other"
        started = time.monotonic()

        async def send_observed(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message)["X-Request-Id"] = id
                self._requests.labels(path, str(message["status"])).inc()
                self._seconds.labels(path).observe(time.monotonic() - started)
            await send(message)

        await self._app(scope, receive, send_observed)
