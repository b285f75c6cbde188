"""Responses of changes by the header Idempotency-Key, so that a client can repeat a request of unknown outcome.

The semantics are those of the IETF draft "The Idempotency-Key HTTP Header Field": the same request with the same key
has the response of the first one, without running again; another request with the key is 422; a request whose first
one still runs is 409. Keys are kept in memory, for each principal apart.
"""

from __future__ import annotations

import re
import time
from collections import OrderedDict
from dataclasses import dataclass
from hashlib import sha256
from typing import TYPE_CHECKING

from starlette.responses import Response

from kwire.http.responses import refuse

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

__all__ = ["IdempotentResponses"]

MAX_KEYS = 1000
"""Maximum number of keys kept. The oldest is forgotten first. Chosen, not measured; most responses are below 1 kB."""
RETENTION_S = 24 * 3600.0
"""Seconds for which a key is kept, as other services do."""
KEY = re.compile("[!-~]{1,255}")


@dataclass(slots=True)
class _Entry:
    """A key that was used.

    Attributes:
        digest: the SHA-256 of the path and body.
        at: the time of the monotonic clock.
        response: None while the request runs.
    """

    digest: bytes
    at: float
    response: Response | None = None


class IdempotentResponses:
    """The responses of the latest requests with a key.

    Args:
        clock: returns seconds that never go back.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._entries: OrderedDict[tuple[str, str], _Entry] = OrderedDict()

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
        """
        if not KEY.fullmatch(key):
            return refuse(400, "InvalidArgument", "Idempotency-Key: expected 1 to 255 visible ASCII characters")
        self._forget_old()
        place, digest = (principal, key), sha256(request).digest()
        entry = self._entries.get(place)
        if entry is not None:
            if entry.digest != digest:
                return refuse(422, "IdempotencyKeyReused", "another request had this Idempotency-Key: use a new one")
            if entry.response is None:
                return refuse(409, "RequestRuns", "the first request with this Idempotency-Key still runs")
            return _replay(entry.response)
        entry = self._entries[place] = _Entry(digest, self._clock())
        is_kept = False
        try:
            response, is_kept = await run()
            entry.response = response
        finally:
            if not is_kept:
                self._entries.pop(place, None)
        return response

    def _forget_old(self) -> None:
        """Remove expired keys, and the oldest that does not run if there are too many."""
        while self._entries and next(iter(self._entries.values())).at < self._clock() - RETENTION_S:
            self._entries.popitem(last=False)
        if len(self._entries) >= MAX_KEYS:
            oldest = next((place for place, entry in self._entries.items() if entry.response is not None), None)
            if oldest is not None:
                del self._entries[oldest]


def _replay(response: Response) -> Response:
    """Return a response again. A response object is used once, since middleware adds headers to it."""
    repeated = Response(bytes(response.body), response.status_code, media_type=response.media_type)
    repeated.headers["Idempotent-Replayed"] = "true"
    return repeated
