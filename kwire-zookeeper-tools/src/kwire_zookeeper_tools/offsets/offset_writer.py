"""Writing of consumer offsets to ZooKeeper, with a count for the sentence about a failure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kwire._util.readable import counted
from kwire_admin.operations.declaration import ToolFailed
from kwire_cluster.zookeeper.errors import NoNode, StoreError
from kwire_cluster.zookeeper.store import make_path

if TYPE_CHECKING:
    from kwire_cluster.zookeeper import Store


class OffsetWriter:
    """Writes znodes one after the other.

    Attributes:
        written: number of written offsets.
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        self.written = 0

    async def write(self, path: str, data: bytes) -> None:
        """Set the data of a znode, and create it if necessary.

        Raises:
            ToolFailed: ZooKeeper refuses it. The text says how many were written before.
        """
        try:
            try:
                await self._store.set(path, data)
            except NoNode:
                await make_path(self._store, path)
                await self._store.set(path, data)
        except (StoreError, ValueError) as error:
            raise ToolFailed(f"{error}; {counted(self.written, 'offset')} written before") from None
        self.written += 1
