"""Hands rows to a capture in a thread, so that no disk keeps the event loop from asking.

Rules of this file: rows are written in the order in which they were handed over. They wait in memory while the disk is
slow, up to a number of bytes; then, and only then, polling waits for the disk. What the capture raises is raised to
whoever hands over the next row, and at the end.
"""

from __future__ import annotations

import asyncio
import queue
import threading
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kwire.capture import Capture
    from kwire.client.poll import Poll

__all__ = ["CaptureThread"]

WAITING_BYTES = 256 << 20
"""Of frames that wait to be written: some minutes of a large cluster."""


class CaptureThread:
    """Between ``start`` and ``finish``. The capture stays open: it belongs to whoever made it."""

    def __init__(self, capture: Capture) -> None:
        self._capture = capture
        self._rows: queue.SimpleQueue[Poll | None] = queue.SimpleQueue()
        self._waiting = 0
        self._room = asyncio.Event()
        self._loop = asyncio.get_running_loop()
        self._failure: BaseException | None = None
        self._thread = threading.Thread(target=self._run, name="kwire-poller-capture", daemon=True)
        self._thread.start()

    async def put(self, poll: Poll) -> None:
        """Hand over one row. Raises what the capture raised for an earlier one."""
        size = len(poll.payload or b"")
        while self._waiting >= WAITING_BYTES and self._failure is None:
            self._room.clear()
            await self._room.wait()
        if self._failure is not None:
            raise self._failure
        self._waiting += size
        self._rows.put(poll)

    async def finish(self) -> None:
        """Wait until all rows are written. Raises what the capture raised."""
        self._rows.put(None)
        await self._loop.run_in_executor(None, self._thread.join)
        if self._failure is not None:
            raise self._failure

    def _run(self) -> None:
        while (poll := self._rows.get()) is not None:
            try:
                self._append(poll)
            except BaseException as error:  # noqa: BLE001  raised in the thread that polls
                self._failure = error
            self._loop.call_soon_threadsafe(self._written, len(poll.payload or b""))
            if self._failure is not None:
                return

    def _append(self, poll: Poll) -> None:
        from kwire.capture import Row

        row = Row(
            polled_at=poll.polled_at,
            broker_id=poll.broker_id,
            endpoint=poll.endpoint,
            api_key=poll.api_key,
            api_version=poll.api_version,
            frame=poll.payload,
            request=poll.request,
            error=None if poll.payload is not None else str(poll.error),
            duration_us=poll.duration_us,
            cluster_id=poll.cluster_id,
            dialect=poll.dialect,
            controller_id=poll.controller_id,
        )
        self._capture.append(row, poll.message)

    def _written(self, size: int) -> None:
        self._waiting -= size
        self._room.set()
