"""ZkMigrationStateRecord: the state of the migration from ZooKeeper (KIP-866)."""

from __future__ import annotations

from kwire.declare import Message, int8


class ZkMigrationStateRecord(Message, record_type=21, versions="0", flexible="0+"):
    """The migration from ZooKeeper advances."""

    zk_migration_state: int8
    """0 none; 1 pre-migration; 2 migration; 3 post-migration; 4 ZooKeeper."""
