"""Offsets in ZooKeeper, where consumers of Kafka 0.8 keep them: the part `zookeeper-offsets`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kwire_admin.cli.shell.lag_history import CommittedPartition, Offsets
from kwire_cluster.zookeeper.errors import StoreError
from kwire_zookeeper_tools.offsets.consumer_offsets import stored_offsets
from kwire_zookeeper_tools.verbs.zookeeper.show import zookeeper_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kwire.client.admin import AdminClient
    from kwire_cluster.zookeeper.store import Store

__all__ = ["ZooKeeperOffsets"]


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

        Offsets that are not numbers are left out.

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
            stored = await stored_offsets(self._store, groups, topics, skip_malformed=True)
        except StoreError:
            await self.close()
            raise
        return {CommittedPartition(*offset[:3], "zookeeper"): Offsets(offset.offset, None) for offset in stored}

    async def close(self) -> None:
        """Close the session."""
        store, self._store = self._store, None
        if store is not None:
            await store.close()
