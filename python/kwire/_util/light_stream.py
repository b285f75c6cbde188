"""TCP streams of a `LightLoop`."""

from __future__ import annotations

from kwire._util.light_sockets import EVENT_READ, EVENT_WRITE
from kwire._util.light_typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable
    from socket import socket

    from kwire._util.stream_callbacks import StreamCallbacks

__all__ = ["Transport"]

HIGH_WATER, LOW_WATER = 65_536, 16_384
"""Unsent bytes above which a writer is asked to pause, and up to which it may go on: those of asyncio."""


class Watcher(Protocol):
    """The loop of a stream."""

    def call_soon(self, function: Callable[..., object], *arguments: object) -> object:
        """Make a call in the next round."""

    def watch(self, sock: socket, events: int, callback: Callable[[int], object]) -> None:
        """Call a function whenever a socket is ready; for no events, do not call it any more."""


class Transport:
    """A connected socket: writes without waiting, and passes what it receives to its callbacks."""

    def __init__(self, loop: Watcher, sock: socket, callbacks: StreamCallbacks) -> None:
        self._loop = loop
        self._socket = sock
        self._callbacks = callbacks
        self._unsent = bytearray()
        self._is_paused = False
        self._is_lost = False
        self._peer = sock.getpeername()
        loop.watch(sock, EVENT_READ, self._ready)
        callbacks.on_made(self)

    def get_extra_info(self, name: str) -> Any:
        """Return the address of the peer for `peername`, and None for all else."""
        return self._peer if name == "peername" else None

    def write(self, data: bytes) -> None:
        """Send bytes, or keep them until the socket takes them."""
        if self._is_lost:
            return
        self._unsent += data
        if len(self._unsent) == len(data):  # otherwise, the socket does not take more at the moment
            self._send()
        if len(self._unsent) > HIGH_WATER and not self._is_paused:
            self._is_paused = True
            self._callbacks.on_paused()

    def abort(self) -> None:
        """Close the socket. Bytes that are not sent yet are lost."""
        self._lose(None)

    def _ready(self, events: int) -> None:
        if events & EVENT_WRITE and not self._is_lost:
            self._send()
            if self._is_paused and len(self._unsent) <= LOW_WATER:
                self._is_paused = False
                self._callbacks.on_resumed()
        if events & EVENT_READ and not self._is_lost:
            self._receive()

    def _send(self) -> None:
        try:
            del self._unsent[: self._socket.send(self._unsent)]
        except (BlockingIOError, InterruptedError):
            pass
        except OSError as error:
            self._lose(error)
            return
        events = EVENT_READ | EVENT_WRITE if self._unsent else EVENT_READ
        self._loop.watch(self._socket, events, self._ready)

    def _receive(self) -> None:
        try:
            count = self._socket.recv_into(self._callbacks.buffer())
        except (BlockingIOError, InterruptedError):
            return
        except OSError as error:
            self._lose(error)
            return
        if count:
            self._callbacks.on_updated(count)
        else:
            self._lose(None)

    def _lose(self, error: Exception | None) -> None:
        if self._is_lost:
            return
        self._is_lost = True
        self._unsent.clear()
        self._loop.watch(self._socket, 0, self._ready)
        self._loop.call_soon(self._close, error)

    def _close(self, error: Exception | None) -> None:
        self._socket.close()
        self._callbacks.on_lost(error)
