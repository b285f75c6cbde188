"""TLS of listeners, the time of which is charged to the connection that causes it.

A handshake takes a listener as long as hundreds of requests, and happens before the connection is open.
"""

from __future__ import annotations

import asyncio
import ssl
from contextvars import ContextVar
from time import perf_counter
from typing import TYPE_CHECKING, ClassVar

if TYPE_CHECKING:
    from kwire.cluster.loop_shares import ConnectionShare

__all__ = ["MeasuredTls"]


class MeasuredTls(ssl.SSLObject):
    """TLS of one connection. Set it as `SSLContext.sslobject_class`."""

    opening: ClassVar[ContextVar[ConnectionShare]] = ContextVar("opening")
    """The share of the connection that the current task opens."""
    _share: ConnectionShare | None = None

    def do_handshake(self) -> None:
        """Continue the handshake, and charge its time."""
        if self._share is None:
            self._share = self.opening.get(None)
        began = perf_counter()
        try:
            super().do_handshake()
        finally:
            if self._share is not None:
                self._share.used += perf_counter() - began
                self._share.settle(asyncio.get_running_loop().time())
