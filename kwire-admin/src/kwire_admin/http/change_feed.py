"""Changes of a cluster as server-sent events.

A poller polls every broker. There is one event for each broker that reports a change, and the event names this broker.
If a broker does not respond, there is the event `broker-unreachable`, and `broker-reachable` once it responds again.

The cluster is polled while there is a reader, and READER_TIMEOUT_S longer, so that a reader can reconnect. Events of an
earlier run of the poller have other ids: changes between two runs are not known.

A stream starts with the event `state`. A reader that reconnects with the header Last-Event-ID receives what it missed;
one that is too slow receives the event `lost` and continues with the oldest event that is kept.
"""

from __future__ import annotations

import asyncio
import json
import logging
import re
import secrets
from collections import deque
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from kwire.client import Poller
from kwire.errors import KwireError
from kwire_admin.operations.rows import json_value

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, AsyncIterator

    from kwire.client import ConnectionConfig, Poll

__all__ = ["ChangeFeed"]

log = logging.getLogger("kwire_admin.http")

MAX_EVENTS = 2000
"""Maximum number of events kept for readers that reconnect."""
HEARTBEAT_S = 10.0
"""Seconds without an event after which a comment is sent, so that a closed connection is noticed."""
RETRY_INTERVAL_S = 2.0
"""Pause in seconds before a failed poller is started again."""
READER_TIMEOUT_S = 15.0
"""Seconds without a reader after which polling ends. Browsers reconnect after 3 s."""
EVENT_NUMBER = re.compile("[0-9]{1,18}")
"""`str.isdigit` accepts superscripts, and `int` refuses long texts."""


class ChangeFeed:
    """Polls a cluster while there are readers, and keeps its latest events.

    Args:
        bootstrap: some brokers of the cluster.
        interval: seconds between two polls of a broker.
        config: TLS and SASL; None for plaintext.
    """

    def __init__(self, bootstrap: str, interval: float, config: ConnectionConfig | None = None) -> None:
        self._bootstrap = bootstrap
        self._interval = interval
        self._config = config
        self._run_id = ""
        self._events: deque[tuple[int, str, str]] = deque(maxlen=MAX_EVENTS)
        self._last_id = 0
        self._changed = asyncio.Condition()
        self._unreachable: dict[str, dict[str, Any]] = {}
        self._cluster_id: str | None = None
        self._task: asyncio.Task[None] | None = None
        self._polled = asyncio.Event()
        self._readers = 0
        self._stop_timer: asyncio.TimerHandle | None = None
        self._closed = False

    @property
    def readers(self) -> int:
        """Number of streams."""
        return self._readers

    async def close(self) -> None:
        """Stop polling, and end all streams."""
        async with self._changed:
            self._closed = True
            self._changed.notify_all()
        self._polled.set()
        task = self._task
        self._stop()
        if task is not None:
            with suppress(asyncio.CancelledError):
                await task

    async def stream(self, last_event_id: str | None) -> AsyncGenerator[str]:
        """Yield the text of server-sent events until the feed is closed.

        Args:
            last_event_id: the last event that the reader has seen; None for new events only.
        """
        self._readers += 1
        try:
            self._start()
            await self._polled.wait()  # changes are differences to the first poll
            async for text in self._texts(self._position(last_event_id)):
                yield text
        finally:
            self._readers -= 1
            if self._readers == 0 and self._task is not None:
                self._stop_timer = asyncio.get_running_loop().call_later(READER_TIMEOUT_S, self._stop)

    def _start(self) -> None:
        if self._stop_timer is not None:
            self._stop_timer.cancel()
            self._stop_timer = None
        if self._task is None and not self._closed:
            self._run_id = secrets.token_hex(4)
            self._task = asyncio.create_task(self._poll())

    def _stop(self) -> None:
        """Stop polling and forget the state of the cluster, which changes unseen from now on."""
        if self._stop_timer is not None:
            self._stop_timer.cancel()
            self._stop_timer = None
        if self._task is not None:
            self._task.cancel()
            self._task = None
        if not self._closed:
            self._polled.clear()
            self._events.clear()
            self._unreachable.clear()

    async def _texts(self, position: int) -> AsyncIterator[str]:
        """Yield the state, and the events after a position."""
        state = {"cluster_id": self._cluster_id, "unreachable": list(self._unreachable.values())}
        yield self._text(position, "state", json.dumps(state))
        while not self._closed:
            if not await self._wait_for_event_after(position):
                yield ": no change\n\n"
                continue
            oldest = self._events[0][0]
            if oldest > position + 1:
                yield self._text(oldest - 1, "lost", json.dumps({"events": oldest - 1 - position}))
            later = "".join(self._text(*event) for event in self._events if event[0] > position)
            position = self._last_id
            yield later

    async def _wait_for_event_after(self, position: int) -> bool:
        """Return whether there is a later event, after waiting for one for a while."""
        with suppress(TimeoutError):
            async with asyncio.timeout(HEARTBEAT_S), self._changed:
                await self._changed.wait_for(lambda: self._last_id > position or self._closed)
        return self._last_id > position

    def _position(self, last_event_id: str | None) -> int:
        run_id, _, number = (last_event_id or "").partition("-")
        if run_id != self._run_id or not EVENT_NUMBER.fullmatch(number):
            return self._last_id
        return min(int(number), self._last_id)

    def _text(self, id: int, name: str, data: str) -> str:
        return f"id: {self._run_id}-{id}\nevent: {name}\ndata: {data}\n\n"

    async def _poll(self) -> None:
        while True:
            try:
                async with Poller(self._bootstrap, interval=self._interval, config=self._config) as poller:
                    async for poll in poller:
                        await self._take(poll)
            # The poller survives brokers that fail; this is a cluster that cannot be polled at all yet.
            except KwireError as error:
                log.error("polling of %s failed: %s", self._bootstrap, error)
            await asyncio.sleep(RETRY_INTERVAL_S)

    async def _take(self, poll: Poll[Any]) -> None:
        self._cluster_id = poll.cluster_id or self._cluster_id
        reported = {"broker_id": poll.broker_id, "endpoint": poll.endpoint, "at": poll.polled_at.isoformat()}
        if poll.error is not None:
            if poll.endpoint not in self._unreachable:
                failure = reported | {"text": f"broker {poll.broker_id} does not respond: {poll.error}"}
                self._unreachable[poll.endpoint] = failure
                await self._add("broker-unreachable", failure)
            self._polled.set()
            return
        if self._unreachable.pop(poll.endpoint, None) is not None:
            await self._add("broker-reachable", reported | {"text": f"broker {poll.broker_id} responds again"})
        for event in poll.events:
            await self._add(_name(type(event)), reported | {"text": str(event), "event": json_value(event)})
        if not poll.suspect:  # what a suspect response lists is not compared with later ones
            self._polled.set()

    async def _add(self, name: str, data: dict[str, Any]) -> None:
        async with self._changed:
            self._last_id += 1
            self._events.append((self._last_id, name, json.dumps(data)))
            self._changed.notify_all()


def _name(event_class: type) -> str:
    """Return the name of an event: `leader-moved` for LeaderMoved."""
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "-", event_class.__name__).lower()
