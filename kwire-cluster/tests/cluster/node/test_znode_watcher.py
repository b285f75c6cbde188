"""A watcher of znodes reads again after any error of a read."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest

from kwire_cluster.node import znode_watcher
from kwire_cluster.node.znode_watcher import ZnodeWatcher
from kwire_cluster.zookeeper.errors import ConnectionLost, MalformedResponse, ServerError, StoreError
from tests.cluster.memory_store import MemoryZooKeeper

if TYPE_CHECKING:
    from kwire_cluster.zookeeper import Store


class Watcher(ZnodeWatcher):
    """A watcher of one znode, with an error of the next read."""

    def __init__(self, store: Store) -> None:
        super().__init__(store, "test")
        self.error: StoreError | None = None
        self.data: asyncio.Queue[bytes] = asyncio.Queue()

    async def _read_all(self) -> None:
        await self._read_changed()

    async def _read_changed(self) -> None:
        error, self.error = self.error, None
        if error is not None:
            raise error
        self.data.put_nowait((await self._store.get("/x", self._on_event)).data)


@pytest.mark.parametrize(
    "error", [ConnectionLost("/x"), MalformedResponse("/x", "test"), ServerError("/x", -1, "Error")]
)
async def test_failed_read_is_repeated(monkeypatch: pytest.MonkeyPatch, error: StoreError) -> None:
    monkeypatch.setattr(znode_watcher, "RETRY_SECONDS", 0.0)
    store = MemoryZooKeeper().session()
    await store.create("/x", b"1")
    watcher = Watcher(store)
    await watcher.start()
    async with asyncio.timeout(20):
        assert await watcher.data.get() == b"1"
        watcher.error = error
        await store.set("/x", b"2")
        assert await watcher.data.get() == b"2"
    await watcher.stop()
