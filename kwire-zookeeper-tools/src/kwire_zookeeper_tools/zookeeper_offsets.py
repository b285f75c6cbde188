"""Offsets in ZooKeeper, where consumers of Kafka 0.8 keep them: the part `zookeeper-offsets`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kwire_admin.cli.shell.lag_history import CommittedPartition, Offsets
from kwire_cluster.zookeeper.consumers import ConsumerOffset
from kwire_cluster.zookeeper.errors import NoNode, StoreError, ZnodeError
from kwire_cluster.zookeeper.operations import Znode
from kwire_zookeeper_tools.verbs.zookeeper.show import zookeeper_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from kwire.client.admin import AdminClient
    from kwire_cluster.zookeeper.store import Store

__all__ = ["ZooKeeperOffsets", "committed_in_zookeeper"]


class ZooKeeperOffsets:
    """The offsets of a ZooKeeper. A session that has ended does not come back, so a failed reading opens another one.

    Args:
        address: the address of ZooKeeper; None to ask a broker for it.
    """

    def __init__(self, address: str | None) -> None:
        self._address = address
        self._store: Store | None = None

    async def committed(
        self, admin: AdminClient, topics: Sequence[str], groups: Sequence[str]
    ) -> dict[CommittedPartition, Offsets]:
        """Return the offsets that consumers have committed; empty if no broker reports a ZooKeeper.

        Args:
            admin: the client of the cluster.
            topics: only these topics; empty for all.
            groups: only these groups; empty for all.

        Raises:
            KwireError: ZooKeeper or the cluster does not answer.
        """
        if self._address is None:
            self._address = await zookeeper_of(admin)
        if self._address is None:
            return {}
        from kwire_cluster.zookeeper import connect

        if self._store is None:
            self._store = await connect(self._address)
        try:
            return await committed_in_zookeeper(self._store, topics, groups)
        except StoreError:
            await self.close()
            raise

    async def close(self) -> None:
        """Close the session."""
        store, self._store = self._store, None
        if store is not None:
            await store.close()


async def committed_in_zookeeper(
    store: Store, topics: Sequence[str], groups: Sequence[str]
) -> dict[CommittedPartition, Offsets]:
    """Return the offsets that consumers of Kafka 0.8 have committed: `/consumers/<group>/offsets/<topic>/<partition>`.

    Offsets that are not numbers are left out.

    Raises:
        StoreError: ZooKeeper does not answer.
    """
    keys: dict[str, CommittedPartition] = {}
    # All paths first, then one pipelined read: consumers of Kafka 0.8 have a znode for each partition.
    for group in groups or await _children(store, "/consumers"):
        for topic in topics or await _children(store, f"/consumers/{group}/offsets"):
            for partition in await _children(store, f"/consumers/{group}/offsets/{topic}"):
                if partition.isdecimal():
                    key = CommittedPartition(group, topic, int(partition), "zookeeper")
                    keys[ConsumerOffset.path(*key[:3])] = key
    offsets = {}
    for path, znode in zip(keys, await store.get_many(keys), strict=True):
        offset = _decoded(znode, path)
        if offset is not None:
            offsets[keys[path]] = Offsets(offset, None)
    return offsets


async def _children(store: Store, path: str) -> Iterable[str]:
    try:
        return await store.children(path)
    except NoNode:
        return ()


def _decoded(znode: object, path: str) -> int | None:
    if not isinstance(znode, Znode):
        return None
    try:
        return ConsumerOffset.decode(znode.data, path).offset
    except ZnodeError:
        return None
