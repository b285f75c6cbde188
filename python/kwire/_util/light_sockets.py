"""Sockets of a `LightLoop` without `socket` and `selectors`, whose imports take longer than a request.

They are imported on Windows, where Python makes pairs of sockets itself. Elsewhere, `sockets` is the module below
`socket`: its sockets have no `makefile` and no context manager, and its constants are plain numbers.
"""

from __future__ import annotations

import select
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    import socket as sockets
    from collections.abc import Callable
    from typing import Any
elif sys.platform == "win32":
    import socket as sockets
else:
    import _socket as sockets

__all__ = ["EVENT_READ", "EVENT_WRITE", "Selector", "sockets"]

EVENT_READ, EVENT_WRITE = 1, 4
"""Events of `poll` and `epoll`: there is something to read, and room to write."""
MOST_EVENTS = 256
"""Maximum number of events that one wait returns. Chosen, not measured."""


class Selector:
    """The sockets that a loop waits for, and the function of each.

    `epoll` is used where the system has it, then `poll`, and on Windows `select`.
    """

    def __init__(self) -> None:
        self._watched: dict[int, tuple[int, Callable[[int], object]]] = {}
        self._epoll: Any = select.epoll() if hasattr(select, "epoll") else None
        self._poll: Any = self._epoll or (select.poll() if hasattr(select, "poll") else None)

    def watch(self, sock: sockets.socket, events: int, function: Callable[[int], object]) -> None:
        """Wait for events of a socket; for no events, do not wait for it any more."""
        number = sock.fileno()
        before = self._watched.get(number)
        if not events:
            if self._watched.pop(number, None) is not None and self._poll is not None:
                self._poll.unregister(number)
            return
        if before == (events, function):
            return
        self._watched[number] = events, function
        if self._poll is not None and (before is None or before[0] != events):
            (self._poll.register if before is None else self._poll.modify)(number, events)

    def select(self, seconds: float | None) -> list[tuple[Callable[[int], object], int]]:
        """Wait for events, and return the functions and the events of the sockets that have some.

        Args:
            seconds: the longest time; None for no limit.
        """
        # Rounded up to a millisecond, so that a loop with a timer does not wake up before it.
        milliseconds = -1 if seconds is None else -int(-seconds * 1000 // 1)
        if self._epoll is not None:
            found = self._epoll.poll(milliseconds / 1000 if milliseconds >= 0 else -1, MOST_EVENTS)
        elif self._poll is not None:
            found = self._poll.poll(None if milliseconds < 0 else milliseconds)
        else:
            found = self._selected(None if milliseconds < 0 else milliseconds / 1000)
        ready = []
        for number, flags in found:
            events, function = self._watched[number]
            # Errors and the end of a connection are events of both kinds.
            of_both = (EVENT_READ if flags & ~EVENT_WRITE else 0) | (EVENT_WRITE if flags & ~EVENT_READ else 0)
            ready.append((function, events & of_both))
        return ready

    def _selected(self, seconds: float | None) -> list[tuple[int, int]]:
        readers, writers = (
            [number for number, (events, _) in self._watched.items() if events & kind]
            for kind in (EVENT_READ, EVENT_WRITE)
        )
        if not readers and not writers:  # Windows cannot wait for no socket
            import time

            time.sleep(seconds or 0.0)
            return []
        to_read, to_write, failed = select.select(readers, writers, writers, seconds)
        return [
            *((number, EVENT_READ) for number in to_read),
            *((number, EVENT_WRITE) for number in {*to_write, *failed}),
        ]

    def close(self) -> None:
        """Wait for no socket any more."""
        self._watched.clear()
        if self._epoll is not None:
            self._epoll.close()
