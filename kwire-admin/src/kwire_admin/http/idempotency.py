"""Responses of changes by the header Idempotency-Key, so that a client can repeat a request of unknown outcome.

The semantics are those of the IETF draft "The Idempotency-Key HTTP Header Field": the same request with the same key
has the response of the first one, without running again; another request with the key is 422; a request whose first
one still runs is 409. Keys are kept in memory. Each principal has a budget of keys and of bytes of its own, so requests
of one principal never make the server forget those of another. A request without a response that is kept leaves its
key: it does not run again, and its repetition is 409. So does one that was canceled or failed unexpectedly, since its
change may have been made.
"""

from __future__ import annotations

import re
import time
from collections import OrderedDict
from dataclasses import dataclass
from hashlib import sha256
from typing import TYPE_CHECKING

from starlette.responses import Response

from kwire_admin.http.responses import RequestRefused, refuse

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

__all__ = ["IdempotentResponses"]

MAX_KEYS = 1000
"""Maximum number of keys of a principal. Its oldest is forgotten first. Chosen, not measured; most responses are below
1 kB."""
MAX_BYTES = 8 << 20
"""Maximum size in bytes of the kept responses of a principal. Above it, its oldest responses are dropped."""
MAX_RESPONSE = 1 << 20
"""Maximum size in bytes of a kept response."""
RETENTION_S = 24 * 3600.0
"""Seconds for which a key is kept, as other services do."""
KEY = re.compile("[!-~]{1,255}")


@dataclass(slots=True)
class _Entry:
    """A key that was used.

    Attributes:
        digest: the SHA-256 of the path and body.
        at: the time of the monotonic clock.
        is_running: True while the request runs.
        response: the response; None while the request runs, and if it is lost or not kept.
    """

    digest: bytes
    at: float
    is_running: bool = True
    response: Response | None = None

    @property
    def size(self) -> int:
        return 0 if self.response is None else len(self.response.body)


class IdempotentResponses:
    """The responses of the latest requests with a key.

    Args:
        clock: returns seconds that never go back.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._entries: dict[str, OrderedDict[str, _Entry]] = {}

    async def respond(
        self, principal: str, key: str, request: bytes, run: Callable[[], Awaitable[tuple[Response, bool]]]
    ) -> Response:
        """Return the response of a request, which runs unless it did before.

        Args:
            principal: the principal of the request.
            key: the header.
            request: path and body.
            run: runs the request, and returns its response, and whether something may have been changed. If not, the
                key is not kept.

        Raises:
            RequestRefused: the request has not run, and its key is not kept.
        """
        if not KEY.fullmatch(key):
            return refuse(400, "InvalidArgument", "Idempotency-Key: expected 1 to 255 visible ASCII characters")
        entries = self._entries.setdefault(principal, OrderedDict())
        self._forget_old(entries)
        digest = sha256(request).digest()
        entry = entries.get(key)
        if entry is not None:
            if entry.digest != digest:
                return refuse(422, "IdempotencyKeyReused", "another request had this Idempotency-Key: use a new one")
            if entry.is_running:
                return refuse(409, "RequestRuns", "the first request with this Idempotency-Key still runs")
            if entry.response is None:
                reason = "the request with this Idempotency-Key has run; its response was too large to keep, or lost"
                return refuse(409, "ResponseNotKept", reason)
            return _replay(entry.response)
        entry = entries[key] = _Entry(digest, self._clock())
        is_kept = True
        try:
            response, is_kept = await run()
            if len(response.body) <= MAX_RESPONSE:
                entry.response = response
        except RequestRefused:
            is_kept = False
            raise
        finally:
            entry.is_running = False
            if not is_kept:
                entries.pop(key, None)
        _shrink(entries)
        return response

    def _forget_old(self, entries: OrderedDict[str, _Entry]) -> None:
        """Remove the expired keys of a principal, and its oldest that does not run if there are too many."""
        while entries and next(iter(entries.values())).at < self._clock() - RETENTION_S:
            entries.popitem(last=False)
        if len(entries) >= MAX_KEYS:
            oldest = next((key for key, entry in entries.items() if not entry.is_running), None)
            if oldest is not None:
                del entries[oldest]


def _shrink(entries: OrderedDict[str, _Entry]) -> None:
    """Drop the oldest responses of a principal above MAX_BYTES; their keys stay."""
    size = sum(entry.size for entry in entries.values())
    for entry in entries.values():
        if size <= MAX_BYTES:
            break
        size -= entry.size
        entry.response = None


def _replay(response: Response) -> Response:
    """Return a response again. A response object is used once, since middleware adds headers to it."""
    repeated = Response(bytes(response.body), response.status_code, media_type=response.media_type)
    repeated.headers["Idempotent-Replayed"] = "true"
    return repeated
