"""Streams on asyncio."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kwire._util.stream_callbacks import StreamCallbacks

__all__ = ["StreamProtocol"]


class StreamProtocol(asyncio.BufferedProtocol):
    """Forwards the callbacks of asyncio to the functions of a stream."""

    def __init__(self, callbacks: StreamCallbacks) -> None:
        # Called for each piece of a large response, so without another lookup.
        self._callbacks = callbacks
        self._buffer = callbacks.buffer
        self._on_updated = callbacks.on_updated

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._callbacks.on_made(transport)

    def get_buffer(self, sizehint: int) -> memoryview:
        del sizehint  # always -1
        return self._buffer()

    def buffer_updated(self, nbytes: int) -> None:
        self._on_updated(nbytes)

    def pause_writing(self) -> None:
        self._callbacks.on_paused()

    def resume_writing(self) -> None:
        self._callbacks.on_resumed()

    def connection_lost(self, exc: Exception | None) -> None:
        self._callbacks.on_lost(exc)
