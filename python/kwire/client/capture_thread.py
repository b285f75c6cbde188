"""Append polls to a capture in a thread, so that a slow disk does not block the event loop."""

from __future__ import annotations

import asyncio
import queue
import threading

from kwire._util.light_typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from kwire.capture import Capture
    from kwire.client.poll import Poll

MAX_WAITING_BYTES = 256 << 20
"""Maximum bytes of responses that wait to be written: some minutes of a large cluster. Polling then waits."""


class CaptureThread:
    """Appends polls in the order in which they were put. The capture stays open: its creator closes it."""

    def __init__(self, capture: Capture) -> None:
        self._capture = capture
        self._polls: queue.SimpleQueue[Poll[Any] | None] = queue.SimpleQueue()
        self._waiting_bytes = 0
        self._has_room = asyncio.Event()
        self._loop = asyncio.get_running_loop()
        self._error: BaseException | None = None
        self._thread = threading.Thread(target=self._run, name="kwire-poller-capture", daemon=True)
        self._thread.start()

    async def put(self, poll: Poll[Any]) -> None:
        """Queue a poll. Raises the error of the capture for an earlier poll."""
        size = len(poll.payload or b"")
        while self._waiting_bytes >= MAX_WAITING_BYTES and self._error is None:
            self._has_room.clear()
            await self._has_room.wait()
        if self._error is not None:
            raise self._error
        self._waiting_bytes += size
        self._polls.put(poll)

    async def finish(self) -> None:
        """Wait until all polls are written. Raises the error of the capture."""
        self._polls.put(None)
        await self._loop.run_in_executor(None, self._thread.join)
        if self._error is not None:
            raise self._error

    def _run(self) -> None:
        while (poll := self._polls.get()) is not None:
            try:
                self._append(poll)
            except BaseException as error:  # noqa: BLE001  # raised by `put` and `finish`
                self._error = error
            self._loop.call_soon_threadsafe(self._written, len(poll.payload or b""))
            if self._error is not None:
                return

    def _append(self, poll: Poll[Any]) -> None:
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
            poller_id=self._capture.poller_id,
            clock_step_us=poll.clock_step_us,
        )
        self._capture.append(row, poll.message)

    def _written(self, size: int) -> None:
        self._waiting_bytes -= size
        self._has_room.set()
