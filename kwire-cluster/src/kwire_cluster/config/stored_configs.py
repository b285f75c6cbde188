"""Settings in ZooKeeper: reading and changing them, with a notification and an audit entry in the same transaction.

`/config/brokers/<default>` has the settings of every broker, and `/config/brokers/<id>` of one, in Kafka's form.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, NamedTuple

from kwire.errors import KwireError
from kwire_cluster.config.audit import audit_write, trim_audit
from kwire_cluster.zookeeper.configs import DEFAULT_ENTITY, ConfigChangeNotification, EntityConfig
from kwire_cluster.zookeeper.errors import (
    BadVersion,
    ConnectionLost,
    NodeExists,
    NoNode,
    TransactionFailed,
    ZnodeError,
)
from kwire_cluster.zookeeper.operations import Create, SetData
from kwire_cluster.zookeeper.store import make_path

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from kwire_cluster.zookeeper.operations import Operation
    from kwire_cluster.zookeeper.store import Store

log = logging.getLogger("kwire_cluster.config")


class ConfigConflict(KwireError):
    """Someone else has changed the same settings meanwhile, and nothing was written.

    Attributes:
        entity: the entity, such as `brokers/<default>`.
        reason: the change.
    """

    def __init__(self, entity: str, reason: str) -> None:
        super().__init__(entity, reason)
        self.entity = entity
        self.reason = reason

    def __str__(self) -> str:
        return f"{self.entity}: {self.reason}: nothing was written, look at it and set it again"


class VersionedConfig(NamedTuple):
    """The settings of an entity, and the version of its znode, -1 without one.

    Attributes:
        malformed: the reason why the znode cannot be decoded; it then counts as one without settings.
    """

    config: EntityConfig
    version: int
    malformed: ZnodeError | None = None


def broker_entity(broker_id: int | None) -> str:
    """Return the entity of a broker, or of every broker."""
    return f"brokers/{DEFAULT_ENTITY if broker_id is None else broker_id}"


async def read_config(store: Store, entity: str) -> VersionedConfig:
    """Read the settings of an entity; without a znode, or with a malformed one, there are none.

    Raises:
        StoreError: it cannot be read.
    """
    path = f"/config/{entity}"
    try:
        znode = await store.get(path)
    except NoNode:
        return VersionedConfig(EntityConfig(), -1)
    try:
        return VersionedConfig(EntityConfig.decode(znode.data, path), znode.stat.version)
    except ZnodeError as error:
        return VersionedConfig(EntityConfig(), znode.stat.version, error)


async def change_config(
    store: Store,
    entity: str,
    changes: Mapping[str, str | None],
    *,
    author: str | None,
    node_id: int,
    hide: frozenset[str] = frozenset(),
    if_version: int | None = None,
) -> VersionedConfig:
    """Change settings of an entity, and return all of its settings.

    Args:
        changes: the new texts; None deletes a setting.
        author: the maker of the change, for the audit; None for a tool outside of the nodes, which leaves no entry.
        node_id: the node that writes it.
        hide: secret settings, which the audit does not show.
        if_version: the version that the author has seen.

    Raises:
        ConfigConflict: someone else has changed the same settings meanwhile.
        StoreError: it cannot be written.
    """
    seen: Mapping[str, str] | None = None
    while True:
        try:
            before = await read_config(store, entity)
            if if_version is not None and before.version != if_version:
                raise ConfigConflict(entity, f"version {before.version} is not {if_version}")
            if seen is not None:
                _check_unchanged(entity, changes, seen, before.config.config, hide)
            seen = before.config.config
            after = _changed(before.config, changes)
            if after == before.config and before.version >= 0 and before.malformed is None:
                return before
            if before.malformed is not None:  # nothing in it can be kept, and no other change could repair it
                log.error("replacing malformed znode: %s", before.malformed)
            audited = _audited(before, changes, hide)
            audit = [] if author is None else [audit_write(author, node_id, entity, audited)]
            path = f"/config/{entity}"
            notification = ConfigChangeNotification(entity).encode()
            announcement = Create(ConfigChangeNotification.path(), notification, sequential=True)
            await write_announced(store, write_of(path, after.encode(), before.version), announcement, audit)
        except ConnectionLost:
            if if_version is None:  # setting the same values again is harmless
                seen = None
                continue
            raise
        except WriteAgain:
            continue
        await trim_audit(store)
        return VersionedConfig(after, before.version + 1)


class WriteAgain(Exception):
    """A znode has changed, or a parent is missing and was made."""


def write_of(path: str, data: bytes, version: int) -> Create | SetData:
    """Return the write of a znode that has a version, or that does not exist (-1)."""
    return Create(path, data) if version < 0 else SetData(path, data, version)


async def write_announced(store: Store, write: Operation, announcement: Create, audit: Sequence[Create]) -> None:
    """Write a znode, the notification of its change, and the audit entries, all or none.

    Raises:
        WriteAgain: nothing was written, and the caller should read the znode and write it again.
        StoreError: nothing was written; after ConnectionLost, perhaps everything.
    """
    operations = [write, announcement, *audit]
    try:
        await store.multi(operations)
    except TransactionFailed as failed:
        if not isinstance(failed.error, NoNode | BadVersion | NodeExists):
            raise failed.error from failed
        if isinstance(failed.error, NoNode):
            for operation in operations:
                await make_path(store, operation.path.rpartition("/")[0])
        raise WriteAgain from failed


def _check_unchanged(
    entity: str,
    changes: Mapping[str, str | None],
    seen: Mapping[str, str],
    now: Mapping[str, str],
    hide: frozenset[str],
) -> None:
    for name in changes:
        if seen.get(name) != now.get(name):
            values = "" if name in hide else f" from {seen.get(name)!r} to {now.get(name)!r}"
            raise ConfigConflict(entity, f"{name} was changed{values} meanwhile")


def _changed(config: EntityConfig, changes: Mapping[str, str | None]) -> EntityConfig:
    values = {**config.config, **{name: text for name, text in changes.items() if text is not None}}
    kept = {name: text for name, text in values.items() if changes.get(name, text) is not None}
    return EntityConfig(kept, config.unknown)


def _audited(
    before: VersionedConfig, changes: Mapping[str, str | None], hide: frozenset[str]
) -> dict[str, tuple[str | None, str | None]]:
    def shown(name: str, text: str | None) -> str | None:
        return "(hidden)" if name in hide and text is not None else text

    return {name: (shown(name, before.config.config.get(name)), shown(name, text)) for name, text in changes.items()}
