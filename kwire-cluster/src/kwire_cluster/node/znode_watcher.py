"""A copy of znodes that a node keeps for one ZooKeeper session.

| state     | entered                                              | does                                |
|-----------|------------------------------------------------------|-------------------------------------|
| starting  | `start`                                              | sets the watches, then reads all    |
| following | all is read                                          | reads what changed after each event |
| retrying  | a read has failed, or a znode must not be read       | reads again after `RETRY_SECONDS`   |
| ended     | the session has ended, or `stop`                     | nothing                             |

Invariants: watches are set before the znodes are read, so no change is missed. A lost connection repeats the read. No
watch reports a changed access control list of ZooKeeper, so only a retry notices that a znode has become readable.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import TYPE_CHECKING, TypeVar

from kwire_cluster.node.logs import logger
from kwire_cluster.zookeeper.errors import (
    ConnectionLost,
    NotAuthorized,
    SessionExpired,
    StoreClosed,
    StoreError,
    ZnodeError,
)
from kwire_cluster.zookeeper.store import children_of, until_answered

if TYPE_CHECKING:
    from collections.abc import Callable

    from kwire_cluster.zookeeper import Store, WatchEvent
    from kwire_cluster.zookeeper.store import ReadResult

Decoded = TypeVar("Decoded")

RETRY_SECONDS = 5.0
"""Interval in seconds at which unreadable znodes are read again. Chosen, not measured."""

log = logger(__name__)


class ZnodeWatcher:
    """Base class of watchers: a subclass defines `_read_all` and `_read_changed`.

    Args:
        store: an open session.
        name: the name of the znodes in the log.
    """

    def __init__(self, store: Store, name: str) -> None:
        self._store = store
        self._name = name
        self._changed = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    async def start(self) -> None:
        """Read all znodes, and start following changes.

        Raises:
            SessionExpired, StoreClosed: the session has ended.
        """
        await until_answered(self._read_all)
        self._task = asyncio.get_running_loop().create_task(self._follow(), name=self._name)

    async def stop(self) -> None:
        """Follow no further changes."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    @property
    def has_unreadable(self) -> bool:
        """True while the session must not read a znode, so that it is read again later."""
        return False

    async def _read_all(self) -> None:
        """Set the watches, and read all znodes."""
        raise NotImplementedError

    async def _read_changed(self) -> None:
        """Set the watches again, and read what has changed."""
        raise NotImplementedError

    async def _watch_children(self, path: str) -> list[str]:
        """Return the names of the children of a znode, and watch them. See `children_of`."""
        return await children_of(self._store, path, self._on_event)

    def _on_event(self, event: WatchEvent) -> None:
        del event  # every kind of event requires reading again
        self._changed.set()

    async def _follow(self) -> None:
        try:
            while True:
                with suppress(TimeoutError):
                    async with asyncio.timeout(RETRY_SECONDS if self.has_unreadable else None):
                        await self._changed.wait()
                self._changed.clear()
                try:
                    await self._read_changed()
                # The session reconnects by itself; what was missed is read then.
                except ConnectionLost:
                    self._changed.set()
                except (SessionExpired, StoreClosed):
                    raise
                except StoreError as error:  # such as a response that cannot be read
                    log.error("znodes cannot be read, which is tried again", znodes=self._name, reason=str(error))
                    await asyncio.sleep(RETRY_SECONDS)
                    self._changed.set()
        except (SessionExpired, StoreClosed) as error:
            log.debug("znodes are no longer followed", znodes=self._name, reason=str(error))


def decoded(
    path: str, znode: ReadResult, decode: Callable[[bytes, str], Decoded], *, is_secret: bool = False
) -> Decoded | None:
    """Decode a znode. Return None if it does not exist, and log why it cannot be used otherwise.

    Args:
        path: the path.
        znode: the result of reading it.
        decode: decodes the data.
        is_secret: True for data that errors must not quote.
    """
    if isinstance(znode, NotAuthorized):
        log.error("cannot use znode", path=path, reason=znode.reason)
    elif znode is not None:
        try:
            return decode(znode.data, path)
        except ZnodeError as error:
            reason = "hidden" if is_secret else error.reason
            log.error("ignoring malformed znode", path=path, key=error.key, reason=reason)
    return None
